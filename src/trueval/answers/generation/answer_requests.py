"""Requests to a generator, answered through the ledger, as logs that `answers judge` and `answers evaluate` read."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.answers.answer import AnswerLog, Passage
from trueval.answers.answer_logs import read_answers
from trueval.answers.answer_measures import MEASURES, RELEVANCE
from trueval.answers.claim_measures import Bounds
from trueval.answers.claim_table import JudgedCells, read_judged
from trueval.answers.evaluate_answers import JudgedLog
from trueval.answers.generation.asked_questions import AskedQuestion, GenerationInputs
from trueval.answers.generation.generation_plan import GenerationPlan
from trueval.answers.generation.generator_choice import make_generator
from trueval.answers.generation.generator_judge import GeneratorJudge, generation_of, question_to
from trueval.answers.generation.model_generator import STOPPED
from trueval.answers.judge_answers import TABLE, fill_table
from trueval.answers.reference_measures import normalize
from trueval.files.atomic_files import write_whole
from trueval.golden.build.build import LEDGER, SENT, open_account
from trueval.golden.build.build_estimate import announce, estimate_stage
from trueval.golden.build.stage_files import usage_of
from trueval.golden.judge.concurrent_questions import ask_all
from trueval.golden.judge.ledger import open_existing_ledger, open_ledger
from trueval.golden.judge.model_judge import ModelJudge
from trueval.models.generator import Generation, Generator
from trueval.models.hosted.account import round_up_amount
from trueval.models.missing_work import DryRun
from trueval.report.number_texts import count_phrase

if TYPE_CHECKING:
    from trueval.golden.build.golden_plan import JudgePlan
    from trueval.golden.judge.judge import JudgeAnswer, Question
    from trueval.models.hosted.account import Account
    from trueval.retrieval.pipeline.stage_resources import Begin

JUDGED: Final = "judged"
ENDLESS: Final = (
    "Nothing limits the length of an answer: set max_completion_tokens in [generate], else nobody knows what it costs "
    "at most, and the bill can pass max_cost by the calls under way."
)
CUT: Final = "Streams that break off are sent again and may be billed: these calls are in no number."
JUDGING: Final = "The judge's calls depend on the answers: `trueval answers judge LOG --dry-run` says them afterwards."
_PLAIN: Final = re.compile(r"[^\w+.-]+")


class AnswerRequest(NamedTuple):
    """An answer that is asked for.

    Attributes:
        query: id of the question.
        log: name of the log that it belongs to, which has each question at most once.
        passages: in the order of the prompt.
        sample: number that distinguishes repetitions.
        chance: of this context among those that ties leave open.
        text: of the question where it is not that of the corpus, such as one with chatter; else "".
    """

    query: str
    log: str
    passages: tuple[Passage, ...]
    sample: int = 0
    chance: float = 1.0
    text: str = ""


class Answered(NamedTuple):
    """A request with its answer."""

    request: AnswerRequest
    generation: Generation
    abstained: bool


@dataclass(frozen=True, eq=False)
class AnsweredRequests:
    """All requests to one generator.

    Attributes:
        name: of the generator.
        answered: [request].
        usage: calls, tokens and money, of earlier runs too, as of a stage of a golden set.
    """

    name: str
    answered: tuple[Answered, ...]
    usage: Mapping[str, Any]


def passages_of(inputs: GenerationInputs, documents: Sequence[str]) -> tuple[Passage, ...]:
    """Documents with their texts."""
    return tuple(Passage(id, inputs.documents[id]) for id in documents)


def answer_all(
    plan: GenerationPlan,
    model: str,
    inputs: GenerationInputs,
    requests: Sequence[AnswerRequest],
    out: Path,
    *,
    generator: Generator | None = None,
    ledger: Path | None = None,
    max_cost: float | None = None,
    within: Account | None = None,
    begin: Begin | None = None,
) -> AnsweredRequests:
    """Have a generator answer, or resume where it was interrupted.

    Args:
        model: one of those of the plan.
        out: folder of the ledger and of the calls, created if absent.
        generator: that of the caller, instead of the plan's.
        within: an account with a limit that counts these calls too.

    Raises:
        InputError: it cannot be asked, or the money is spent; what was answered is kept.
    """
    from trueval.retrieval.pipeline.stage_resources import nobody

    out.mkdir(parents=True, exist_ok=True)
    account = _account(plan, out, max_cost)
    account.within = within
    chosen = make_generator(plan, model, inputs, account, generator)
    questions = questions_to(inputs, requests)
    with open_ledger(ledger or out / LEDGER) as book:
        announce(chosen, account, estimate_stage(chosen, book, "answer", questions))
        step = (begin or nobody)(f"answers of {chosen.name}")
        at_once = 1 if isinstance(chosen, GeneratorJudge) else int(plan.generate["concurrency"])
        answers = ask_all(book, chosen, questions, at_once=at_once, step=step)
    abstention = normalize(plan.generate["abstention"])
    answered = tuple(_to_generated(one, answer, abstention) for one, answer in zip(requests, answers, strict=True))
    return AnsweredRequests(chosen.name, answered, usage_of(questions, answers))


def estimate_answers(
    plan: GenerationPlan,
    models: Sequence[str],
    inputs: GenerationInputs,
    requests: Sequence[AnswerRequest],
    out: Path,
    *,
    ledger: Path | None = None,
    max_cost: float | None = None,
) -> DryRun:
    """Calls, tokens and money that answers still take; nothing is sent or written.

    Raises:
        InputError: a generator cannot be made.
    """
    account = _account(plan, out, max_cost)
    notes = [JUDGING] if plan.judge is not None else []
    work = []
    with ExitStack() as stack:
        book = stack.enter_context(open_existing_ledger(ledger or out / LEDGER))
        for model in models:
            chosen = make_generator(plan, model, inputs, account)
            found = estimate_stage(chosen, book, "answer", questions_to(inputs, requests))
            work.append(found)
            if isinstance(chosen, ModelJudge) and found.calls:
                notes += [CUT] + [ENDLESS] * (chosen.use.most_out is None)
    return DryRun(work, account.max_cost, account.spent, notes=tuple(dict.fromkeys(notes)))


def _account(plan: GenerationPlan, out: Path, max_cost: float | None) -> Account:
    return open_account(out / SENT, plan.generate["max_cost"] if max_cost is None else max_cost)


def questions_to(inputs: GenerationInputs, requests: Sequence[AnswerRequest]) -> list[Question]:
    """[request] the question as the ledger keeps it."""
    texts = {each.query: each.text for each in inputs.questions}
    return [
        question_to(one.text or texts[one.query], tuple(passage.text for passage in one.passages), one.sample)
        for one in requests
    ]


def _to_generated(request: AnswerRequest, answer: JudgeAnswer, abstention: str) -> Answered:
    found = generation_of(answer)
    said = f" {normalize(found.text)} "
    return Answered(request, found, not found.problem and f" {abstention} " in said)


def log_rows(questions: Mapping[str, AskedQuestion], answered: Sequence[Answered]) -> list[dict[str, object]]:
    """Lines of a log; answers that are not known are left out, and are counted where values are taken."""
    return [
        {
            "query_id": one.request.query,
            "question": one.request.text or questions[one.request.query].text,
            "answer": one.generation.text,
            "contexts": [each._asdict() for each in one.request.passages],
            **questions[one.request.query].about,
            "abstained": one.abstained,
            "model": one.generation.model,
            "sample": one.request.sample,
            "chance": one.request.chance,
            "first_token": one.generation.moments[0] if one.generation.moments else None,
            "seconds": one.generation.seconds,
        }
        for one in answered
        if not one.generation.problem
    ]


class QuestionValue(NamedTuple):
    """What an answer is worth: the bounds of its value.

    Attributes:
        known: whether there is an answer with a value; bounds are 0 and 1 if not.
    """

    low: float
    high: float
    known: bool


UNKNOWN: Final = QuestionValue(0.0, 1.0, known=False)


def write_logs(
    inputs: GenerationInputs, answered: Sequence[Answered], out: Path, *, folders: Mapping[str, str]
) -> dict[str, Path]:
    """Write each log; returns log → file.

    Args:
        folders: log → file below `out`, without suffix.
    """
    questions = {each.query: each for each in inputs.questions}
    by_log: dict[str, list[Answered]] = {name: [] for name in folders}
    for one in answered:
        by_log[one.request.log].append(one)
    found = {}
    for name, rows in by_log.items():
        path = out / f"{folders[name]}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_lines(path, log_rows(questions, rows))
        found[name] = path
    return found


def remove_other_logs(out: Path, names: re.Pattern[str], kept: Collection[Path]) -> None:
    """Remove logs and tables of an earlier run of the folder that asked for more, so that nobody reads them as of this.

    Args:
        names: files below `out`, and below the folder "judged" there, that runs write.
        kept: files of this run.
    """
    for folder in (out, out / JUDGED):
        for path in folder.rglob("*.jsonl"):
            if path not in kept and names.fullmatch(path.relative_to(folder).as_posix()):
                path.unlink()


def file_name(name: str) -> str:
    """A name as a file has it.

    >>> file_name("local:models/my model")
    'local-models-my-model'
    """
    return _PLAIN.sub("-", name).strip("-")


def _write_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    write_whole(path, lambda file: file.write_text("".join(lines), encoding="utf-8", newline="\n"))


def judge_logs(
    judge: JudgePlan | None,
    files: Mapping[str, Path],
    out: Path,
    *,
    judging: Path,
    measures: Sequence[str],
    within: Account | None = None,
    begin: Begin | None = None,
) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Have a judge fill one table for all logs, and part it: log → table; and what the judge's notes say.

    Args:
        judge: None for no tables.
        files: log → file below `out`; its table has the same name in the folder "judged" there.
        judging: folder of the judge's ledger and money, common to all generators, so that its max_cost holds for all.
        measures: of which the tables are read: only for answer-relevance is the judge asked for it.
        within: an account with a limit that counts these calls too.
        begin: called with the name of the stage.

    Raises:
        InputError: the judge cannot be asked, or the money is spent; what was answered is kept.
    """
    if judge is None:
        return {}, ()
    logs = {name: read_answers(str(path)) for name, path in files.items() if path.stat().st_size}
    parts = [
        replace(answer, query=f"{at}\n{answer.query}") for at, log in enumerate(logs.values()) for answer in log.answers
    ]
    whole = AnswerLog("answers", str(out), tuple(parts), {})
    judging.mkdir(parents=True, exist_ok=True)
    account = open_account(judging / SENT, judge.values["max_cost"])
    account.within = within
    found = fill_table(whole, judging, judge, account, relevance=RELEVANCE in measures, begin=begin)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in logs}
    names = list(logs)
    for line in (judging / TABLE).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        at, _, query = str(row["query"]).partition("\n")
        rows[names[int(at)]].append({**row, "query": query})
    tables = {}
    for name, lines in rows.items():
        path = out / JUDGED / files[name].relative_to(out)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_lines(path, lines)
        tables[name] = path
    return tables, found.notes


def value_answers(
    measure: str, files: Mapping[str, Path], tables: Mapping[str, Path]
) -> dict[str, dict[str, QuestionValue]]:
    """What each answer is worth: log → question → value. Questions without an answer in a log are not there."""
    found: dict[str, dict[str, QuestionValue]] = {}
    for name, path in files.items():
        found[name] = {}
        if not path.stat().st_size:
            continue
        log = read_answers(str(path))
        table = tables.get(name)
        judged = read_judged(str(table), log) if table is not None and table.stat().st_size else JudgedCells({}, "")
        values = JudgedLog.of(log, judged).values([MEASURES[measure]])[measure]
        found[name] = dict(zip(log.query_ids, _values(values.bounds, values.unknown), strict=True))
    return found


def _values(bounds: Bounds, unknown: Any) -> list[QuestionValue]:
    """A question of which the measure says nothing may have any value."""
    return [
        UNKNOWN if no or np.isnan(low) else QuestionValue(float(low), float(high), known=True)
        for low, high, no in zip(bounds.lowest.tolist(), bounds.highest.tolist(), unknown.tolist(), strict=True)
    ]


def notes_of(inputs: GenerationInputs, answered: Sequence[Answered], measure: str) -> tuple[str, ...]:
    """What a reader must know of the answers."""
    found = [*inputs.notes]
    lost: dict[str, int] = {}
    for one in answered:
        if one.generation.problem:
            said = one.generation.problem.partition(" (")[0]
            lost[said] = lost.get(said, 0) + 1
    if lost:
        told = count_phrase(sum(lost.values()), "answer is", "answers are")
        why = "; ".join(f"{said}: {number}" for said, number in lost.items())
        found.append(f"{told} not known of {len(answered):,} ({why}): bounded by 0 and 1, never counted as wrong.")
        unbilled = [one.generation for one in answered if one.generation.problem.startswith(STOPPED)]
        if unbilled:
            most = [each.cost for each in dict.fromkeys(unbilled) if each.cost is not None]
            told = count_phrase(len(unbilled), "stream", "streams")
            said = (
                f"they count at the most that they can cost, {round_up_amount(sum(most))}" if most else "cost unknown"
            )
            found.append(f"{told} broke off on every attempt, and nobody knows what is billed: {said}.")
    bare = [each for each in inputs.questions if not each.references]
    if bare:
        told = count_phrase(len(bare), "question has", "questions have")
        found.append(f"{told} no reference, such as {bare[0].query!r}: {measure} of theirs is not known.")
    return tuple(found)
