"""The plan of generated answers: a TOML file, with the questions, contexts and references that it names.

[corpus]                      # texts of documents and queries, and judgments
path = "corpus"
[answers]
run = "run.trec"              # the system's lists
references = "references.jsonl"
[generate]
model = "gpt-5-mini"
contexts = 5                  # documents in a prompt
[judge]                       # who judges the answers; without it they are compared with references by words
model = "gpt-5"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from trueval.answers.answer_logs import ANSWERABLE, CLUSTER, NUGGET_KEYS, REFERENCE_KEYS
from trueval.answers.answer_measures import MEASURES, find_measures
from trueval.answers.generation.asked_questions import AskedQuestion, GenerationInputs, RankedDocument
from trueval.answers.generation.generation_tables import AnswersFile
from trueval.collection import Collection, place_beside, relevant_documents
from trueval.comparison.resampling.resampled_sums import sample
from trueval.errors import InputError, MeasureError, Place
from trueval.files.json.context_logs import unread_lines
from trueval.files.json.jsonl_pairs import as_id
from trueval.files.source.source_bytes import read_content
from trueval.files.toml import Toml, Where
from trueval.files.toml_tables import read_tables
from trueval.golden.build.golden_plan import JudgePlan, judge_plan
from trueval.judgments import Judgments
from trueval.models.hosted.services import check_url
from trueval.rag.contexts import Contexts, contexts_or_file
from trueval.report.number_texts import count_phrase
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.run import Run

JUDGED_MEASURE: Final = "correctness"
WORDS_MEASURE: Final = "token-F1"
# What a line of references may say beside the id: it is copied into the logs.
COPIED: Final = (*REFERENCE_KEYS, *NUGGET_KEYS, ANSWERABLE, CLUSTER)


@dataclass(frozen=True)
class GenerationPlan:
    """What an answers file says.

    Attributes:
        source: the file.
        asked: key of [answers] → value, with paths resolved.
        generate: key of [generate] → value, with paths resolved.
        brittle: key of [brittle] → value, with paths resolved.
        judge: None without a table [judge].
        measure: of answers.
    """

    source: str
    corpus: str
    fields: tuple[str, ...]
    asked: Mapping[str, Any]
    generate: Mapping[str, Any]
    brittle: Mapping[str, Any]
    judge: JudgePlan | None
    measure: str

    @classmethod
    def read(cls, path: Path) -> GenerationPlan:
        """Read an answers file.

        Raises:
            InputError: it cannot be read, or a table, a key or a value is none; with the line.
        """
        toml = Toml.read(path, "the TOML file of answers")
        written = read_tables(AnswersFile, toml.tables, toml.place)
        asked, generate, brittle = (dict(vars(each)) for each in (written.answers, written.generate, written.brittle))
        paths = {"run": asked, "qrels": asked, "references": asked, "contradicting": brittle}
        for name, table in paths.items():
            if table[name] is not None:
                table[name] = str(path.parent / table[name])
        generate = generator_values(generate, path, toml.place)
        judge = judge_plan(written.judge, path, toml.place, asked["seed"]) if "judge" in toml.tables else None
        measure = asked["measure"] or (WORDS_MEASURE if judge is None else JUDGED_MEASURE)
        try:
            find_measures([measure], judged=judge is not None)
        except MeasureError as error:
            raise toml.place("answers", "measure").error(str(error)) from None
        if MEASURES[measure].measure.better != "higher":
            raise toml.place("answers", "measure").error(
                f"{measure} is better when lower, and losses are taken from what is better when higher. Name another."
            )
        if brittle["contradicting"] is None and "contradicting" in brittle["kinds"]:
            raise toml.place("brittle", "kinds").error(
                "contradicting distractors are documents that you mark. Name their file as contradicting in [brittle]."
            )
        corpus = place_beside(path, written.corpus.path)
        fields = tuple(written.corpus.fields)
        return cls(str(path), corpus, fields, asked, generate, brittle, judge, measure)

    def read_inputs(self) -> GenerationInputs:
        """Read what the plan names.

        Raises:
            InputError: a file is bad, or a question or document of the run has no text.
        """
        asked = self.asked
        texts = Collection.read(self.corpus, fields=self.fields, qrels=asked["qrels"])
        given = contexts_or_file(asked["run"])
        run = given.run if isinstance(given, Contexts) else Run.read(given)
        judgments = texts.judgments
        if isinstance(given, Contexts) and asked["qrels"] is None and given.judgments is not None:
            judgments = given.judgments
        if judgments is None:
            raise Place(self.source).error(
                "there are no judgments, and contexts of gold documents need some. Name a file as qrels in [answers]."
            )
        about = {} if asked["references"] is None else read_references(asked["references"])
        questions = _questions(run, texts, judgments, about, asked["rel"])
        there = {*run.query_ids.to_list(), *run.empty}
        strange = [query for query in there if query not in texts.queries]
        absent = [query for query in relevant_documents(judgments, texts.documents, asked["rel"]) if query not in there]
        if not questions:
            raise Place(asked["run"]).error(f"no question of the run is in {self.corpus}. Name the run of this corpus.")
        drawn = {*sample([each.query for each in questions], asked["sample"], asked["seed"])}
        kept = tuple(each for each in questions if asked["sample"] is None or each.query in drawn)
        named = sum(CLUSTER in each.about for each in kept)
        notes = (*texts.notes, *run.notes)
        if strange:
            told = count_phrase(len(strange), "question of the run has", "questions of the run have")
            notes += (f"{told} no text in {self.corpus}, such as {min(strange)!r}: left out.",)
        if absent:
            told = count_phrase(len(absent), "question", "questions")
            notes += (
                f"{told} with gold documents left out, such as {min(absent)!r}: not in the run, so no value counts "
                "what the system did not find there.",
            )
        if 0 < named < len(kept):  # logs have clusters of all questions, or of none
            kept = tuple(_without_cluster(each) for each in kept)
            notes += (f"a cluster is named for {named:,} of {len(kept):,} questions: clusters are not used.",)
        return GenerationInputs(kept, texts.documents, notes)


def _without_cluster(question: AskedQuestion) -> AskedQuestion:
    return replace(question, about={name: value for name, value in question.about.items() if name != CLUSTER})


def generator_values(values: Mapping[str, Any], path: Path, place: Where) -> dict[str, Any]:
    """The values of a table [generate], with its files and folders counted from the folder of the file.

    Args:
        values: key → value; model is a tuple.
        path: of the file.
        place: from a table and its keys to what an error calls these.

    Raises:
        InputError: base_url is none.
    """
    found = dict(values)
    if found["book"] is not None:
        found["book"] = str(path.parent / found["book"])
    for name in ("prompt", "closed_prompt"):
        if found[name].endswith(".toml"):
            found[name] = str(path.parent / found[name])
    found["model"] = tuple(_beside(path, each) for each in found["model"])
    found["planted"] = dict(vars(found["planted"]))
    try:
        check_url(found["base_url"], found["model"][0])
    except InputError as error:
        raise place("generate", "base_url").error(str(error)) from None
    return found


def _beside(path: Path, model: str) -> str:
    """A model's name; a folder of local: counts from that of the file, if it is there."""
    kind, _, rest = model.partition(":")
    folder = path.parent / rest
    return f"local:{folder}" if kind == "local" and folder.exists() else model


def _questions(
    run: Run, texts: Collection, judgments: Judgments, about: Mapping[str, Mapping[str, object]], rel: float
) -> tuple[AskedQuestion, ...]:
    lists = rank_lists(run)
    ids, scores = lists.documents["doc_id"].to_list(), lists.documents["score"].to_list()
    gold = relevant_documents(judgments, texts.documents, rel)
    judged: dict[str, set[str]] = {}
    for query, document, grade in judgments.frame.select("query_id", "doc_id", "grade").iter_rows():
        if grade >= 0:
            judged.setdefault(query, set()).add(document)
    parts = {
        query: slice(int(lists.offsets[at]), int(lists.offsets[at + 1]))
        for at, query in enumerate(lists.query_ids.to_list())
    }
    parts |= dict.fromkeys(
        run.empty, slice(0, 0)
    )  # a question for which nothing was found is answered without passages
    found = []
    for query, part in parts.items():
        if query not in texts.queries:
            continue
        absent = next((each for each in ids[part] if each not in texts.documents), None)
        if absent is not None:
            raise Place(run.source).error(f"document {absent!r} of {query!r} has no text in {texts.source}. Add it.")
        found.append(
            AskedQuestion(
                query,
                texts.queries[query],
                tuple(map(RankedDocument, ids[part], scores[part])),
                gold.get(query, ()),
                frozenset(judged.get(query, ())),
                about.get(query, {}),
            )
        )
    return tuple(found)


def read_references(path: str) -> dict[str, dict[str, object]]:
    """Read reference answers: query id → what its line says.

    Raises:
        InputError: a line is bad, or a question is there twice; with file and line.
    """
    found: dict[str, dict[str, Any]] = {}
    for row in unread_lines(read_content(path)):
        values = row.values if isinstance(row.values, Mapping) else {}
        query = next((as_id(values[name]) for name in ("query_id", "query", "id") if name in values), None)
        if query is None:
            raise row.place.error('a line must be an object with "query_id" and "reference". Correct it.')
        if query in found:
            raise row.place.error(f"question {query!r} is there twice. Write one line for each question.")
        found[query] = {name: values[name] for name in COPIED if values.get(name) is not None}
    return found


def read_contradicting(path: str, documents: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Read documents that contradict answers: query id → their texts.

    Raises:
        InputError: a line is bad, or names a document without a text; with file and line.
    """
    found: dict[str, list[str]] = {}
    for row in unread_lines(read_content(path)):
        values = row.values if isinstance(row.values, Mapping) else {}
        query, text = as_id(values.get("query_id")), values.get("text")
        id = as_id(values.get("id"))
        if text is None and id is not None and id in documents:
            text = documents[id]
        if query is None or not isinstance(text, str) or not text.strip():
            raise row.place.error('a line must have "query_id", and "text" or the "id" of a document. Correct it.')
        found.setdefault(query, []).append(str(text))
    return {query: tuple(texts) for query, texts in found.items()}
