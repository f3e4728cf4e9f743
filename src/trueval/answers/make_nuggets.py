"""Make the nuggets of questions from the passages that are judged relevant to them, and put them into a log of answers.

    make    a model lists statements of a few passages at a time, best grade first; each further call of a question
            also shows what was found so far
    mark    the same model says of each nugget whether it is vital or okay, in shuffled batches, repeated

Both steps are those of TREC RAG 2024's AutoNuggetizer (Pradeep et al. 2024, arXiv 2411.09607; nuggetizer's create).
Unlike there, an answer that is not valid is asked for once more and then missing, importance comes from several rounds,
and equal nuggets are kept once. Batches, repairs, ledger, budget and retries are those of golden sets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Final, NamedTuple

from trueval.answers.answer import OKAY, VITAL, AnswerLog, ReferenceClaim
from trueval.answers.answer_logs import nugget_row, read_answers, read_nuggets, row_of
from trueval.answers.judge_answers import OF_GOLDEN, shuffle_texts
from trueval.collection import Collection, relevant_documents, text_hash
from trueval.errors import InputError
from trueval.files import Source
from trueval.files.atomic_files import write_whole
from trueval.golden.judge.judge import NUGGETS, JudgeAnswer, Question
from trueval.golden.judge.prompt import speaks_to_judge
from trueval.golden.judge.responses import ASKED
from trueval.models.missing_work import sum_work
from trueval.report.number_texts import count_phrase

if TYPE_CHECKING:
    from trueval.golden.build.golden_plan import JudgePlan
    from trueval.golden.build.grade import GradingSettings
    from trueval.golden.judge.ledger import Ledger
    from trueval.golden.validation.robustness_result import CallUsage
    from trueval.models.hosted.account import Account
    from trueval.models.missing_work import DryRun
    from trueval.retrieval.pipeline.stage_resources import Begin

IMPORTANCE_PROMPT: Final = "importance-0-1"
MARKING: Final = "importance"
LOG: Final = "log.jsonl"
FILE: Final = "nuggets.jsonl"
MOST: Final = 30  # nuggets of a question, as nuggetizer has them (creator_max_nuggets)
# In a dry run, of a question whose nuggets are not made yet: their number, and characters of one.
EXPECTED: Final = 10
LIKELY: Final = 80
_IMPORTANCE: Final = {1: OKAY, 2: VITAL}  # grades of the prompt


@dataclass(frozen=True)
class NuggetSet:
    """Nuggets of the questions of a log.

    Attributes:
        log: file of the log with nuggets.
        file: file of the nuggets alone, as nuggetizer writes them.
        judge: who made them.
        questions: number of questions of the log.
        known: number of those with nuggets.
        passages: number of passages that were shown.
        nuggets: number of nuggets.
        vital: number of vital ones.
        usage: calls, tokens and money, of earlier runs too; None where nuggets are read.
        problems: why answers are not valid → number of calls.
        notes: one-line remarks.
    """

    log: Path
    file: Path
    judge: str
    questions: int
    known: int
    passages: int
    nuggets: int
    vital: int
    usage: CallUsage | None
    problems: Mapping[str, int]
    notes: tuple[str, ...]


class _Sources(NamedTuple):
    """A question, and its relevant passages.

    Attributes:
        query: id of the question.
        text: of the question.
        passages: texts, best grade first, each once.
    """

    query: str
    text: str
    passages: tuple[str, ...]


@dataclass
class _Chain:
    """The nuggets of a question while they are made.

    Attributes:
        found: nuggets so far.
        calls: number of calls answered.
        open: number of calls that nobody answered yet, in a dry run.
        invalid: number of calls without a valid answer.
        copies: number of nuggets left out, for they were there.
        cut: number of nuggets left out beyond `MOST`.
    """

    found: list[str]
    calls: int = 0
    open: int = 0
    invalid: int = 0
    copies: int = 0
    cut: int = 0

    def add(self, answer: JudgeAnswer) -> None:
        """Add the nuggets of an answer that are new."""
        self.calls += 1
        self.invalid += bool(answer.problems and not answer.text)
        known = {_same(each) for each in self.found}
        for text in filter(None, answer.text.split("\n")):
            if _same(text) in known:
                self.copies += 1
            elif len(self.found) == MOST:
                self.cut += 1
            else:
                known.add(_same(text))
                self.found.append(text)


def make_nuggets(
    log: AnswerLog | Source,
    corpus: Collection | Path | str | None,
    out: Path | str,
    judge: JudgePlan | str,
    *,
    qrels: Path | str | None = None,
    rel: float = 1,
    ledger: Path | None = None,
    max_cost: float | None = None,
    begin: Begin | None = None,
) -> NuggetSet:
    """Make the nuggets of a log's questions from passages judged relevant, or resume where it was interrupted.

    Args:
        log: log of answers, or where it is; nuggets that it has are replaced.
        corpus: texts and judgments, or their place as `Collection.read` takes it; None where nuggets are read.
        out: folder of the log with nuggets, of the nuggets, the ledger and the calls, created if absent.
        judge: a model, a TOML file with a table [judge], or such a plan: its keys batch and rounds say how many
            passages or nuggets a call shows, and how often importance is asked for. Or labels:FILE: nuggets that are
            there, as nuggetizer and TREC RAG write them.
        qrels: file of judgments, instead of those of the corpus.
        rel: least grade of a relevant passage.
        ledger: file of the ledger; ledger.sqlite of the folder by default.
        max_cost: spending limit, including earlier runs of the same folder; that of the judge by default.
        begin: called with the name of each stage; the returned function is called with its progress.

    Returns:
        What was made. A question without nuggets has an empty list in the log: its measures of nuggets are not known.

    Raises:
        InputError: a file is bad, no question of the log is judged, the model cannot be asked, or the money is spent;
            what was answered is kept.

    >>> make_nuggets("log.jsonl", "corpus", "nuggets", "gpt-5-mini").log  # doctest: +SKIP
    """
    from trueval.golden.build.build import LEDGER, SENT, open_account
    from trueval.golden.build.golden_plan import read_judge
    from trueval.golden.judge.ledger import open_ledger

    plan = read_judge(judge, {}) if isinstance(judge, str) else judge
    read, folder = log if isinstance(log, AnswerLog) else read_answers(log), Path(out)
    if not plan.is_model:
        return _from_file(read, folder, plan.model)
    sources, notes = _sources(read, corpus, qrels, rel)
    folder.mkdir(parents=True, exist_ok=True)
    account = open_account(folder / SENT, plan.values["max_cost"] if max_cost is None else max_cost)
    with open_ledger(ledger or folder / LEDGER) as book:
        asker = _Asker(plan, account, book, begin)
        chains = _chains(sources, plan.grading.batch, lambda questions: asker.ask(NUGGETS, questions))
        asked = _marks_to_ask(sources, chains, plan.grading)
        importance = _importance(asked, asker.ask(MARKING, asked))
    by_query = {
        source.query: tuple(ReferenceClaim(text, importance.get((source.text, text), "")) for text in chain.found)
        for source, chain in zip(sources, chains, strict=True)
    }
    usage, problems = asker.usage()
    notes += (*_notes(sources, chains, by_query, problems),)
    found = _write(read, by_query, folder, asker.judge.name, notes)
    return replace(found, passages=sum(len(each.passages) for each in sources), usage=usage, problems=problems)


def estimate_nuggets(
    log: AnswerLog | Source,
    corpus: Collection | Path | str | None,
    out: Path | str,
    judge: JudgePlan | str,
    *,
    qrels: Path | str | None = None,
    rel: float = 1,
    ledger: Path | None = None,
    max_cost: float | None = None,
) -> DryRun:
    """Calls, tokens and money that making nuggets still takes; nothing is sent or written.

    Args:
        log: as in `make_nuggets`, and so are the others.

    Raises:
        InputError: an input is bad, or nuggets are read, which takes no call.
    """
    from trueval.golden.build.build import LEDGER, SENT, open_account
    from trueval.golden.build.build_estimate import dry_run_of, estimate_stage, longest
    from trueval.golden.build.golden_plan import read_judge
    from trueval.golden.judge.judge import key_of
    from trueval.golden.judge.ledger import open_existing_ledger

    plan = read_judge(judge, {}) if isinstance(judge, str) else judge
    if not plan.is_model:
        raise InputError(f"{plan.model}: nuggets are read, and no call is made. Leave out --dry-run.")
    read, size = log if isinstance(log, AnswerLog) else read_answers(log), plan.grading.batch
    sources, _ = _sources(read, corpus, qrels, rel)
    account = open_account(Path(out) / SENT, plan.values["max_cost"] if max_cost is None else max_cost)
    with open_existing_ledger(ledger or Path(out) / LEDGER) as book:
        asker, asked = _Asker(plan, account, book, None), list[Question]()

        def look_up(questions: Sequence[Question]) -> list[JudgeAnswer | None]:
            asked.extend(questions)
            return [None if book is None else book.find(key_of(asker.judge, each)) for each in questions]

        chains = _chains(sources, size, look_up)
        going = [source for source, chain in zip(sources, chains, strict=True) if chain.open]
        done = [(source, chain) for source, chain in zip(sources, chains, strict=True) if not chain.open]
        marking = _marks_to_ask([each for each, _ in done], [each for _, each in done], plan.grading)
        work = [
            estimate_stage(asker.judge, book, NUGGETS, asked),
            replace(estimate_stage(asker.judge, book, "grade", marking), stage=MARKING),
        ]
        later = sum(chain.open - 1 for chain in chains if chain.open)
        if later:  # calls that show what earlier ones of their question find
            query = longest((each.text for each in going), 1)[0]
            largest = Question(
                NUGGETS,
                _with_found(query, ["w" * ASKED] * MOST),
                longest((text for each in going for text in each.passages), size),
            )
            likely = [_ask_for(source, ["w" * LIKELY] * EXPECTED, size, size) for source in going]
            likely = [each for each in likely if each.passages]
            work.append(estimate_stage(asker.judge, book, NUGGETS, likely, later, [(later, largest)]))
        if going:
            calls = len(going) * plan.grading.rounds * -(-MOST // size)
            likely = [Question("grade", each.text, ("w" * LIKELY,) * min(EXPECTED, size)) for each in going]
            largest = Question("grade", longest((each.text for each in going), 1)[0], ("w" * ASKED,) * min(MOST, size))
            found = estimate_stage(asker.judge, book, "grade", likely, calls, [(calls, largest)])
            work.append(replace(found, stage=MARKING))
    return dry_run_of(sum_work(work), account)


class _Asker:
    """Asks a model for nuggets and their importance, and counts what that takes."""

    def __init__(self, plan: JudgePlan, account: Account, ledger: Ledger | None, begin: Begin | None) -> None:
        from trueval.golden.build.judge_choice import model_judge
        from trueval.retrieval.pipeline.stage_resources import nobody

        self.plan, self.account, self.ledger, self.begin = plan, account, ledger, begin or nobody
        prompt = plan.values["prompt"]
        chosen = IMPORTANCE_PROMPT if prompt == OF_GOLDEN else prompt
        self.judge = model_judge({**plan.values, "prompt": chosen}, account)
        if not set(self.judge.prompts["grade"].grades.values()) <= set(_IMPORTANCE):
            raise InputError(
                f"{prompt}: a prompt for the importance of nuggets must map its grades to 1 (okay) and 2 (vital). Take "
                f"{IMPORTANCE_PROMPT}, or correct map."
            )
        self.asked: list[Question] = []
        self.answers: list[JudgeAnswer] = []

    def ask(self, stage: str, questions: Sequence[Question]) -> list[JudgeAnswer]:
        """Ask what the ledger does not know, after saying what it takes."""
        from trueval.golden.build.build_estimate import announce, estimate_stage
        from trueval.golden.judge.concurrent_questions import ask_all

        if not questions or self.ledger is None:
            return []
        missing = replace(estimate_stage(self.judge, self.ledger, questions[0].task, questions), stage=stage)
        announce(self.judge, self.account, missing)
        at_once = int(self.plan.values["concurrency"])
        answers = ask_all(self.ledger, self.judge, questions, at_once=at_once, step=self.begin(stage))
        self.asked += questions
        self.answers += answers
        return answers

    def usage(self) -> tuple[CallUsage, Mapping[str, int]]:
        """Calls, tokens and money, and why answers are not valid."""
        from trueval.golden.build.stage_files import usage_of
        from trueval.golden.validation.robustness_result import CallUsage

        found = usage_of(self.asked, self.answers)
        return CallUsage(**{each.name: found[each.name] for each in fields(CallUsage)}), found["problems"]


def _sources(
    log: AnswerLog, corpus: Collection | Path | str | None, qrels: Path | str | None, rel: float
) -> tuple[list[_Sources], tuple[str, ...]]:
    """The questions of a log with passages that are judged relevant, and remarks on the others.

    Raises:
        InputError: there is no corpus, or none of its judgments is of a question of the log.
    """
    if corpus is None:
        raise InputError("Nuggets are made from judged passages. Name their corpus: --corpus DIR.")
    texts = Collection.of(corpus, qrels=qrels)
    relevant = relevant_documents(texts.graded, texts.documents, rel)
    found = [
        _Sources(
            answer.query,
            answer.question,
            tuple(dict.fromkeys(texts.documents[each] for each in relevant[answer.query])),
        )
        for answer in log.answers
        if answer.query in relevant
    ]
    if not found:
        raise InputError(
            f"{texts.source}: no question of {log.source} has a passage of grade {rel:g} or more, and a text. Are the "
            "ids of the questions the same? Name other judgments with --qrels, or lower --rel."
        )
    absent = [answer.query for answer in log.answers if answer.query not in relevant]
    told = count_phrase(len(absent), "question has", "questions have")
    notes = (f"{told} no passage of grade {rel:g} or more, and no nuggets, such as {absent[0]!r}.",) if absent else ()
    return found, (*log.notes, *texts.notes, *notes)


def _chains(
    sources: Sequence[_Sources], size: int, ask: Callable[[Sequence[Question]], Sequence[JudgeAnswer | None]]
) -> list[_Chain]:
    """Make the nuggets of each question, one batch of its passages after another.

    Args:
        size: maximum number of passages in a call.
        ask: from questions to answers; None for an answer that is not there, which ends the chain of a question.
    """
    chains = [_Chain([]) for _ in sources]
    while True:
        going = [
            (source, chain)
            for source, chain in zip(sources, chains, strict=True)
            if not chain.open and chain.calls * size < len(source.passages)
        ]
        if not going:
            return chains
        answers = ask([_ask_for(source, chain.found, chain.calls * size, size) for source, chain in going])
        for (source, chain), answer in zip(going, answers, strict=True):
            if answer is None:
                chain.open = -(-len(source.passages) // size) - chain.calls
            else:
                chain.add(answer)


def _ask_for(source: _Sources, found: Sequence[str], start: int, size: int) -> Question:
    return Question(NUGGETS, _with_found(source.text, found), source.passages[start : start + size])


def _with_found(question: str, nuggets: Sequence[str]) -> str:
    """The question, and below it the nuggets that there are."""
    return "\n".join([question, *(f"- {each}" for each in nuggets)])


def _same(text: str) -> str:
    """What equal nuggets share: capitals, blanks and the last full stop do not count."""
    return " ".join(text.casefold().split()).rstrip(".!")


def _marks_to_ask(sources: Sequence[_Sources], chains: Sequence[_Chain], grading: GradingSettings) -> list[Question]:
    """Questions for the importance of nuggets, in shuffled batches, repeated."""
    found = []
    for source, chain in zip(sources, chains, strict=True):
        texts = sorted(chain.found, key=lambda text: text_hash([text]))
        for sample in range(grading.rounds):
            shuffled = shuffle_texts(texts, source.text, sample, grading.seed)
            starts = range(0, len(shuffled), grading.batch)
            found += [Question("grade", source.text, tuple(shuffled[at : at + grading.batch]), sample) for at in starts]
    return found


def _importance(asked: Sequence[Question], answers: Sequence[JudgeAnswer]) -> dict[tuple[str, str], str]:
    """Question and nugget → its importance by the median of its rounds, the lower of two; without any, absent."""
    grades: dict[tuple[str, str], dict[int, int]] = {}
    for question, answer in zip(asked, answers, strict=True):
        for text, label in zip(question.passages, answer.labels, strict=True):
            if label is not None:
                grades.setdefault((question.query, text), {})[question.sample] = label.grade
    return {key: _IMPORTANCE[median_low(found.values())] for key, found in grades.items()}


def _notes(
    sources: Sequence[_Sources],
    chains: Sequence[_Chain],
    nuggets: Mapping[str, Sequence[ReferenceClaim]],
    problems: Mapping[str, int],
) -> Iterator[str]:
    why = ", ".join(f"{each} ({number})" for each, number in problems.items())
    of_answers = f" Of the model's answers: {why}." if why else ""
    pairs = list(zip(sources, chains, strict=True))
    lost = [source.query for source, chain in pairs if chain.invalid and not chain.found]
    if lost:
        told = count_phrase(len(lost), "question has", "questions have")
        yield f"{told} no nuggets, for no call gave any, such as {lost[0]!r}: not known, never zero.{of_answers}"
    partly = [source.query for source, chain in pairs if chain.invalid and chain.found]
    if partly:
        told = count_phrase(len(partly), "question", "questions")
        yield f"nuggets of {told} may lack some, for a call gave none, such as {partly[0]!r}.{of_answers}"
    nothing = [source.query for source, chain in pairs if not chain.invalid and not chain.found]
    if nothing:
        told = count_phrase(len(nothing), "question has", "questions have")
        yield f"{told} no nuggets, for the model found none in the passages, such as {nothing[0]!r}: not known."
    unmarked = sum(not each.importance for found in nuggets.values() for each in found)
    if unmarked:
        told = count_phrase(unmarked, "nugget is", "nuggets are")
        yield f"{told} neither vital nor okay: measures of vital ones are not known for these questions.{of_answers}"
    if copies := sum(chain.copies for chain in chains):
        yield f"{count_phrase(copies, 'nugget was', 'nuggets were')} there already, and kept once."
    if cut := sum(chain.cut for chain in chains):
        yield f"{count_phrase(cut, 'nugget', 'nuggets')} left out, beyond {MOST} of a question."
    if speaking := sum(speaks_to_judge(text) for source in sources for text in source.passages):
        told = count_phrase(speaking, "passage seems", "passages seem")
        yield f"{told} to address a model rather than a reader. They were shown like any other; look at them."


def _from_file(log: AnswerLog, folder: Path, model: str) -> NuggetSet:
    """Put the nuggets of a file into a log.

    Raises:
        InputError: the file is bad, or has none for any question.
    """
    from trueval.golden.build.golden_plan import LABELS

    path = model.removeprefix(LABELS)
    if not model.startswith(LABELS):
        raise InputError(f"{model}: nuggets are made by a model, or read from labels:FILE.")
    read = read_nuggets(path)
    found = {answer.query: read[answer.query] for answer in log.answers if answer.query in read}
    if not found:
        raise InputError(f"{path}: it has nuggets for no question of {log.source}. Are the ids the same?")
    lacking = [answer.query for answer in log.answers if not found.get(answer.query)]
    told = count_phrase(len(lacking), "question has", "questions have")
    notes = (f"{told} no nuggets in {path}, such as {lacking[0]!r}: not known.",) if lacking else ()
    folder.mkdir(parents=True, exist_ok=True)
    return _write(log, found, folder, f"{LABELS}{Path(path).name}", (*log.notes, *notes))


def _write(
    log: AnswerLog,
    nuggets: Mapping[str, tuple[ReferenceClaim, ...]],
    folder: Path,
    judge: str,
    notes: tuple[str, ...],
) -> NuggetSet:
    """Write the log with nuggets, and the nuggets alone."""
    rows = [
        row_of(replace(answer, reference_claims=nuggets.get(answer.query, ())), log.clusters.get(answer.query))
        for answer in log.answers
    ]
    alone = [
        {"qid": answer.query, "query": answer.question, "nuggets": [nugget_row(each) for each in nuggets[answer.query]]}
        for answer in log.answers
        if nuggets.get(answer.query)
    ]
    _write_lines(folder / LOG, rows)
    _write_lines(folder / FILE, alone)
    every = [each for found in nuggets.values() for each in found]
    return NuggetSet(
        log=folder / LOG,
        file=folder / FILE,
        judge=judge,
        questions=len(log.answers),
        known=len(alone),
        passages=0,
        nuggets=len(every),
        vital=sum(each.importance == VITAL for each in every),
        usage=None,
        problems={},
        notes=notes,
    )


def _write_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_whole(path, lambda file: file.write_text(text, encoding="utf-8", newline="\n"))
