"""The runner of a golden set: each stage is loaded where complete, else computed from the stages before it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from trueval.collection import Collection, texts_with_ids_hash
from trueval.errors import InputError, TruevalWarning
from trueval.golden.build.anchoring import in_other_words
from trueval.golden.build.build_estimate import announce, estimate_orders, estimate_stage
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.golden.build.golden_result import GoldenJudge
from trueval.golden.build.golden_set import BuildRecord, read_rewritten_queries
from trueval.golden.build.grade import GradingSettings, grade, grades_of, questions_of
from trueval.golden.build.judge_choice import writer_of
from trueval.golden.build.pooling import find_pools, pools_of, rewrite, rewrite_questions
from trueval.golden.build.prune import Candidate, means_of, prune_pool
from trueval.golden.build.refine_pools import RefinementPool, order_by_grades, refine_pools, top_of
from trueval.golden.build.regrade import find_contradictions, once_more
from trueval.golden.build.stage_files import StageFiles, key_for_stage, lines_of, read_lines, usage_of
from trueval.golden.build.steadiness import again_of, ask_again
from trueval.golden.judge.concurrent_questions import Step
from trueval.golden.judge.judge import Judge, Question
from trueval.golden.judge.label_judge import LabelJudge
from trueval.golden.judge.ledger import Ledger
from trueval.golden.refine.aggregate import expectations
from trueval.models.hosted.account import Account
from trueval.report.json_fields import encode
from trueval.retrieval.pipeline.rewriting import MODEL_FORMS, forms_of, name_form, name_forms, rewritten
from trueval.retrieval.pipeline.stage_resources import Begin
from trueval.run import Run

FORMS: Final = "forms"  # of a query, its text by the name of each form, where several are searched


class UnmadeError(Exception):
    """A stage that does not exist yet; never shown to users."""


class BuildRunner:
    """The stages of one golden set.

    Args:
        judge: judge that grades and orders.
        cache: keeps embeddings and indexes.
    """

    def __init__(
        self,
        plan: GoldenPlan,
        folder: Path,
        collection: Collection,
        judge: Judge,
        ledger: Ledger,
        account: Account,
        cache: Path | None,
        begin: Begin,
    ) -> None:
        self.plan, self.folder, self.collection, self.judge = plan, folder, collection, judge
        self.ledger, self.account, self.cache, self.begin = ledger, account, cache, begin
        self.stages = StageFiles(folder)
        self.made: dict[str, dict[str, Any]] = {}
        self.making = True

    @property
    def at_once(self) -> int:
        """Maximum number of concurrent calls."""
        return int(self.plan.judge.values["concurrency"])

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Hashes of the texts with their ids."""
        sides = {"documents": self.collection.documents, "queries": self.collection.queries}
        return {name: texts_with_ids_hash(texts) for name, texts in sides.items()}

    def record(self) -> BuildRecord:
        """How the golden set was built, so far."""
        judge = GoldenJudge(self.judge.name, **asdict(self.plan.judge.grading))
        return BuildRecord(self.plan.seed, judge, self.hashes, list(self.made.values()))

    def complete_stages(self, names: Sequence[str]) -> list[str]:
        """The leading stages that are complete under the current plan; computes nothing.

        Args:
            names: names of stages, in order.
        """
        self.making = False
        found: list[str] = []
        for name in names:
            try:
                getattr(self, name)()
            except UnmadeError:
                break
            found.append(name)
        self.making = True
        return found

    def stage(
        self,
        name: str,
        inputs: Mapping[str, object],
        parameters: Mapping[str, object],
        make: Callable[[Step], tuple[Mapping[str, Any], Mapping[str, Any]]],
    ) -> None:
        """Load a stage, or compute it.

        Args:
            inputs: name → hash.
            parameters: JSON values.
            make: function from a progress callback to writers of the stage's files, by name, and further entries of its
                manifest.
        """
        key = key_for_stage(name, inputs, parameters)
        found = self.stages.find_complete(name, key)
        if found is None and not self.making:
            raise UnmadeError
        if found is None:
            files, about = make(self.begin(name))
            about = {"inputs": dict(inputs), "parameters": dict(parameters), **about}
            found = self.stages.keep(name, key, files, about)
        self.made[name] = found

    def output(self, stage: str) -> Mapping[str, Any]:
        """Hashes of the output of an earlier stage."""
        return {f"{stage}/{file}": sha256 for file, sha256 in self.made[stage]["outputs"].items()}

    def _announce(self, task: str, questions: Sequence[Question]) -> None:
        announce(self.judge, self.account, estimate_stage(self.judge, self.ledger, task, questions))

    def rewrite(self) -> None:
        """S1: rewrite queries."""
        way, queries = self.plan.rewrite, self.collection.queries
        forms = forms_of(way)
        writers = [writer_of(self.judge, form) for form in forms if form in MODEL_FORMS]
        parameters: dict[str, Any] = {"rewrite": name_forms(way)}
        inputs = {"queries": self.hashes["queries"]}
        for form in forms:
            of_form = f" ({name_form(form)})" if len(forms) > 1 else ""
            if form in MODEL_FORMS:
                parameters["judge" + of_form] = dict(writer_of(self.judge, form).identity("rewrite"))
            else:
                inputs["rewritten" + of_form] = texts_with_ids_hash(rewritten(queries, form))
        if self.making:
            self._say_reworded()

        def make(step: Step) -> tuple[dict[str, Any], dict[str, Any]]:
            asked = rewrite_questions(queries.values())
            for writer in writers:
                announce(writer, self.account, estimate_stage(writer, self.ledger, "rewrite", asked))
            found = rewrite(queries, way, self.judge, self.ledger, at_once=self.at_once, step=step)
            rows = [_rewritten_row(query, text, found.texts) for query, text in queries.items()]
            changed = sum(any(own[query] != text for own in found.texts.values()) for query, text in queries.items())
            about = {"queries": len(rows), "changed": changed, "notes": list(found.notes)}
            return {"rewritten.jsonl": lines_of(rows)}, {**about, **usage_of(found.asked, found.answers)}

        self.stage("rewrite", inputs, parameters, make)

    def _say_reworded(self) -> None:
        """Report which questions of an earlier build have a different text now."""
        asked, now = read_rewritten_queries(self.folder), self.collection.queries
        reworded = [query for query, text in now.items() if asked.get(query, text) != text]
        if reworded:
            warnings.warn(
                f"{self.folder}: {in_other_words(reworded)}. The judge is asked about them anew; what it said of the "
                "old words stays in the ledger and is not used.",
                TruevalWarning,
                stacklevel=3,
            )

    def pool(self) -> None:
        """S2 and S3: search and fuse."""
        inputs = {"documents": self.hashes["documents"], **self.output("rewrite")}
        # The forms of the queries are those of the stage before, whose hash is among the inputs.
        settings = {name: dict(of) for name, of in self.plan.settings.items() if name != "queries"}
        parameters = {"depth": self.plan.depth, "settings": settings}
        before = self.stages.read("pool")
        if self.making and before is not None and before.get("inputs", {}).get("documents") != inputs["documents"]:
            warnings.warn(
                f"{self.folder}: the corpus is not the one that this golden set was built from. Pools are made anew; "
                "answers that the ledger has are used where the same passages are asked about.",
                TruevalWarning,
                stacklevel=2,
            )

        def make(step: Step) -> tuple[dict[str, Any], dict[str, Any]]:
            queries, rows = self.collection.queries, list(read_lines(self.folder / "rewritten.jsonl"))
            texts = {
                form: {row["_id"]: row.get(FORMS, {}).get(name_form(form), row["text"]) for row in rows}
                for form in forms_of(self.plan.rewrite)
            }
            spent = self.account.spent
            found = find_pools(
                self.collection,
                texts,
                self.plan.settings,
                cache=self.cache,
                begin=lambda name: self.begin(f"pool, {name}"),
                account=self.account,
            )
            _refuse_blanks(found.frame, self.collection.source)
            step("queries", len(queries), len(queries))
            about = {
                "queries": len(queries),
                "passages": found.frame.height,
                "retrieval_seconds": dict(found.seconds),
                "cost": round(self.account.spent - spent, 9) or None,
                "notes": list(found.notes),
            }
            return {"pool.parquet": found.frame.write_parquet}, about

        self.stage("pool", inputs, parameters, make)

    def grade(self) -> None:
        """S4: grade the pools."""
        how, repeat = self.plan.judge.grading, self.plan.judge.values["repeat"]
        inputs = {"queries": self.hashes["queries"], **self.output("pool")}
        parameters = {**asdict(how), "repeat": repeat, "judge": dict(self.judge.identity("grade"))}

        def make(step: Step) -> tuple[dict[str, Any], dict[str, Any]]:
            pools = pools_of(pl.read_parquet(self.folder / "pool.parquet"))
            files, about = self._grade(pools, how, repeat, step, "graded.parquet")
            return files, {**about, "notes": self._describe_filled(pools)}

        self.stage("grade", inputs, parameters, make)

    def _describe_filled(self, pools: Mapping[str, Sequence[str]]) -> list[str]:
        """How many passages of the pools have the grade of what has no label, where labels are the judge."""
        judge = self.judge
        if not isinstance(judge, LabelJudge) or judge.unknown is None:
            return []
        pairs = [(query, document) for query, found in pools.items() for document in found]
        texts = ((self.collection.queries[query], self.collection.documents[document]) for query, document in pairs)
        lacking = sum(each not in judge.labels for each in texts)
        if not lacking:
            return []
        return [
            f"{judge.name} has a label of {len(pairs) - lacking:,} of the {len(pairs):,} passages in the pools; the "
            f"other {lacking:,} have grade {judge.unknown} because [judge] says so (unknown), and nobody judged them."
        ]

    def _grade(
        self, pools: Mapping[str, Sequence[str]], how: GradingSettings, repeat: int, step: Step, file: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        queries, documents = self.collection.queries, self.collection.documents
        likely = [each.question for each in questions_of(pools, queries, documents, how)]
        self._announce("grade", likely + again_of(likely, repeat, self.plan.seed))
        found = grade(pools, queries, documents, self.judge, self.ledger, how, at_once=self.at_once, step=step)
        asked, answers, about = [each.question for each in found.asked], list(found.answers), dict[str, Any]()
        if repeat:
            again = ask_again(
                asked, answers, self.judge, self.ledger, repeat, seed=self.plan.seed, at_once=self.at_once
            )
            asked += again.asked
            answers += again.second
            about = {"repeated": encode(again.summarize())}
        unjudged = int(found.grades["grade"].null_count())
        about |= {"passages": found.grades.height, "unjudged": unjudged, **usage_of(asked, answers)}
        return {file: found.labels.write_parquet}, about

    def prune(self) -> None:
        """S5: prune the pools."""
        # The recorded fields of a passage are a parameter, so that folders without them are recomputed.
        inputs, parameters = (
            self.output("grade"),
            {"keep": self.plan.keep, "kept": ["grade", "mean", "expected", "gross"]},
        )
        aggregate = self.plan.judge.grading.aggregate

        def make(_: Step) -> tuple[dict[str, Any], dict[str, Any]]:
            pools = pools_of(pl.read_parquet(self.folder / "pool.parquet"))
            labels = pl.read_parquet(self.folder / "graded.parquet")
            rows = select_rows_to_refine(pools, labels, grades_of(pools, labels, aggregate), self.plan.keep)
            about = {"queries": len(rows), "passages": sum(len(row["documents"]) for row in rows)}
            return {"kept.jsonl": lines_of(rows)}, about

        self.stage("prune", inputs, {**parameters, "aggregate": aggregate}, make)

    def refine(self) -> None:
        """S6: refine the order."""
        how = self.plan.refining
        # Ids and grades may be equal while texts differ, so the hashes of the texts in the pool count too.
        inputs = {"queries": self.hashes["queries"], **self.output("pool"), **self.output("prune")}
        repeat = self.plan.judge.values["repeat"]
        parameters = {**asdict(how), "repeat": repeat, "judge": dict(self.judge.identity("order"))}
        del parameters["regrade"]  # it affects all later stages

        def make(step: Step) -> tuple[dict[str, Any], dict[str, Any]]:
            rows = read_lines(self.folder / "kept.jsonl")
            if how.method == "none":
                of = {row["query"]: [row[name] for name in ("documents", "grades", "means")] for row in rows}
                best = order_by_grades({query: list(zip(*each, strict=True)) for query, each in of.items()}, how.top)
                return {"refined.jsonl": lines_of([]), "top.trec": _run(best)}, {"queries": len(best)}
            return self._refine([row for row in rows if row["documents"]], repeat, step)

        self.stage("refine", inputs, parameters, make)

    def _refine(
        self, rows: Sequence[Mapping[str, Any]], repeat: int, step: Step
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        queries, documents, how = self.collection.queries, self.collection.documents, self.plan.refining
        pools = [
            RefinementPool(
                row["query"],
                queries[row["query"]],
                tuple(row["documents"]),
                tuple(documents[each] for each in row["documents"]),
                tuple(map(float, row["expected"])),
                tuple(map(float, row["gross"])),
            )
            for row in rows
        ]
        likely = [(pool.query, pool.texts) for pool in pools]
        announce(self.judge, self.account, estimate_orders(self.judge, self.ledger, likely, how, repeat))
        found = refine_pools(pools, self.judge, self.ledger, how, at_once=self.at_once, step=step)
        asked = [question for each in found for question in each.asked]
        answers, about = [answer for each in found for answer in each.answers], dict[str, Any]()
        if repeat and asked:
            again = ask_again(
                asked, answers, self.judge, self.ledger, repeat, seed=self.plan.seed, at_once=self.at_once
            )
            asked += again.asked
            answers += again.second
            about = {"repeated": encode(again.summarize())}
        lines = lines_of([{"query": each.query_id, **each.refinement.to_dict()} for each in found])
        about |= {"queries": len(found), **usage_of(asked, answers)}
        return {"refined.jsonl": lines, "top.trec": _run(top_of(found))}, about

    def regrade(self) -> None:
        """Regrade passages whose refined order contradicts their grades."""
        how = self.plan.judge.grading
        again = once_more(how)
        inputs = {"queries": self.hashes["queries"], **self.output("pool"), **self.output("refine")}
        parameters = {**asdict(again), "judge": dict(self.judge.identity("grade"))}

        def make(step: Step) -> tuple[dict[str, Any], dict[str, Any]]:
            pools = find_contradictions(read_lines(self.folder / "refined.jsonl"))
            return self._grade(pools, again, 0, step, "regraded.parquet")

        self.stage("regrade", inputs, parameters, make)


def select_rows_to_refine(
    pools: Mapping[str, Sequence[str]], labels: pl.DataFrame, grades: pl.DataFrame, keep: int
) -> list[dict[str, Any]]:
    """The passages of each query that go into the refinement.

    Args:
        pools: query id → document ids.
        keep: maximum number of passages per query.

    Returns:
        query, documents, grades, means of labels, and expected grades with the chance that they are grossly wrong, of
        each query, best grade first.
    """
    given: dict[str, dict[str, list[int]]] = {query: {} for query in pools}
    valid = labels.filter(pl.col("grade").is_not_null())
    for query, document, one in valid.select("query_id", "doc_id", "grade").iter_rows():
        given[query].setdefault(document, []).append(one)
    made = {(query, document): one for query, document, one in grades.select("query_id", "doc_id", "grade").iter_rows()}
    every = [(query, document) for query, pool in given.items() for document in pool]
    expected = dict(zip(every, expectations([given[query][document] for query, document in every]), strict=True))
    rows = []
    for query, pool in pools.items():
        means = means_of(given[query])
        kept = prune_pool([Candidate(each, made[query, each], means.get(each, 0.0)) for each in pool], keep)
        rows.append(
            {
                "query": query,
                "documents": [each.doc_id for each in kept],
                "grades": [each.grade for each in kept],
                "means": [each.mean for each in kept],
                "expected": [expected[query, each.doc_id].grade for each in kept],
                "gross": [expected[query, each.doc_id].gross for each in kept],
            }
        )
    return rows


def _refuse_blanks(pool: pl.DataFrame, source: str) -> None:
    """Refuse ids that TREC qrels cannot hold, before anything is paid for."""
    for name in ("query_id", "doc_id"):
        wrong = next((each for each in pool[name].unique(maintain_order=True) if each != "".join(each.split())), None)
        if wrong is not None:
            raise InputError(
                f"{source}: the id {wrong!r} holds white space, which separates columns of qrels.trec and top.trec. "
                "Give it another id. Nothing was sent to be graded."
            )


def _run(best: Mapping[str, Mapping[str, float]]) -> Callable[[Path], object]:
    """A writer of the best passages as a TREC run."""

    def write(file: Path) -> None:
        filled = {query: scores for query, scores in best.items() if scores}
        if filled:
            Run.from_dict(filled, name="golden").write(file, tag="golden")

    return write


def _rewritten_row(query: str, asked: str, texts: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """A row of rewritten.jsonl: the text of the first form, and where there are several forms that of each."""
    found = {name_form(form): own[query] for form, own in texts.items()}
    several = {FORMS: found} if len(found) > 1 else {}
    return {"_id": query, "text": next(iter(found.values())), "asked": asked, **several}
