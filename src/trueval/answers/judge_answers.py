"""Fill the judged table of a log: a judge says of each claim which texts support it, and nothing is paid twice.

A question to the judge is a claim, and some of the texts that it is held against: passages of the context, the
reference, the answer. It is the task "grade" of golden/judge with the prompt support-0-3, so batches, repairs, ledger,
budget and retries are those of golden sets. Texts are shuffled by the seed before they are cut into batches, anew for
each repetition, and stand between markers that no text can hold.

Asked for alone, a judge with the prompt relevance-0-2 says in the same way which claims address the question: then the
query is the question, and the texts are the answer's claims.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trueval.answers.answer import AnswerLog, LoggedAnswer
from trueval.answers.answer_logs import read_answers
from trueval.answers.claim_audit import FOLDER as AUDIT
from trueval.answers.claim_audit import write_audit
from trueval.answers.claim_table import (
    ANSWER,
    LABELS,
    MISSING,
    QUESTION,
    Cell,
    JudgedCells,
    cells_of,
    read_judged,
    texts_of,
)
from trueval.collection import text_hash
from trueval.errors import InputError
from trueval.files import Source
from trueval.files.atomic_files import write_whole
from trueval.golden.judge.judge import Question
from trueval.golden.judge.label_judge import LabelJudge
from trueval.golden.judge.prompt import read_prompt, speaks_to_judge
from trueval.report.number_texts import count_phrase

if TYPE_CHECKING:
    from trueval.golden.build.golden_plan import JudgePlan
    from trueval.golden.build.grade import GradingSettings
    from trueval.golden.judge.judge import Judge, JudgeAnswer
    from trueval.golden.judge.model_judge import ModelJudge
    from trueval.golden.validation.robustness_result import CallUsage
    from trueval.models.hosted.account import Account
    from trueval.models.missing_work import DryRun
    from trueval.retrieval.pipeline.stage_resources import Begin

PROMPT: Final = "support-0-3"
RELEVANCE_PROMPT: Final = "relevance-0-2"
OF_GOLDEN: Final = "grade-1-5"  # default of [judge], which grades passages for queries
TABLE: Final = "table.jsonl"


class AskedCells(NamedTuple):
    """A question to the judge, and the cells that each of its slots answers: texts that are equal share one."""

    question: Question
    cells: tuple[tuple[Cell, ...], ...]


class JudgeWork(NamedTuple):
    """What one judge is asked.

    Attributes:
        task: "grade", or "relevance".
        step: name of the stage.
    """

    task: str
    step: str
    judge: Judge
    asked: list[AskedCells]

    @property
    def questions(self) -> list[Question]:
        """The questions to the judge."""
        return [each.question for each in self.asked]


@dataclass(frozen=True)
class JudgedAnswers:
    """What a judge made of a log.

    Attributes:
        table: file of the judged table.
        judge: name of the judge.
        cells: number of cells.
        missing: number of cells without a label from any repetition.
        usage: calls, tokens and money, of earlier runs too.
        problems: why labels are missing → number of calls.
        notes: one-line remarks.
    """

    table: Path
    judge: str
    cells: int
    missing: int
    usage: CallUsage
    problems: Mapping[str, int]
    notes: tuple[str, ...]


def judge_answers(
    log: AnswerLog | Source,
    out: Path | str,
    judge: JudgePlan | str,
    *,
    relevance: bool = False,
    ledger: Path | None = None,
    max_cost: float | None = None,
    begin: Begin | None = None,
) -> JudgedAnswers:
    """Have a judge fill the table of a log, or resume where it was interrupted.

    Args:
        log: log of answers, or where it is.
        out: folder of the table, of the ledger and of the calls, created if absent.
        judge: a model, labels:TABLE for the labels of another table, a TOML file with a table [judge], or such a plan;
            its keys batch and rounds say how many texts a call shows, and how often each cell is asked for.
        relevance: whether the judge also says which claims address the question, for answer-relevance.
        ledger: file of the ledger; ledger.sqlite of the folder by default.
        max_cost: spending limit, including earlier runs of the same folder; that of the judge by default.
        begin: called with the name of each stage; the returned function is called with its progress.

    Returns:
        What was judged; the table is table.jsonl of the folder, which `evaluate_answers` reads. Its folder audit has
            the cells as trueval golden audit has people grade them (claim_audit.py).

    Raises:
        InputError: the log is bad, the judge cannot be asked, or the money is spent; what was answered is kept.

    >>> judge_answers("log.jsonl", "judged", "gpt-5-mini").table  # doctest: +SKIP
    """
    # Late: `trueval` names this function, and all that it names is imported in twice the time of numpy and polars. Nor
    # may that load pydantic, in which what people write in TOML is declared.
    from trueval.golden.build.build import SENT, open_account
    from trueval.golden.build.golden_plan import read_judge

    plan = read_judge(judge, {}) if isinstance(judge, str) else judge
    read, folder = log if isinstance(log, AnswerLog) else read_answers(log), Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    account = open_account(folder / SENT, plan.values["max_cost"] if max_cost is None else max_cost)
    found = fill_table(read, folder, plan, account, relevance=relevance, ledger=ledger, begin=begin)
    write_audit(read, folder / AUDIT, relevance=relevance)
    return found


def fill_table(
    read: AnswerLog,
    folder: Path,
    plan: JudgePlan,
    account: Account,
    *,
    relevance: bool = False,
    ledger: Path | None = None,
    begin: Begin | None = None,
) -> JudgedAnswers:
    """Have a judge fill the table of a log; as `judge_answers`.

    Args:
        folder: of the table and the ledger; it is there.
        account: that is charged.
    """
    from trueval.golden.build.build import LEDGER
    from trueval.golden.build.build_estimate import announce, estimate_stage
    from trueval.golden.build.stage_files import usage_of
    from trueval.golden.judge.concurrent_questions import ask_all
    from trueval.golden.judge.ledger import open_ledger
    from trueval.golden.validation.robustness_result import CallUsage
    from trueval.retrieval.pipeline.stage_resources import nobody

    work = _plan_work(plan, read, account, relevance=relevance)
    answers: list[JudgeAnswer] = []
    rows = list[dict[str, object]]()
    with open_ledger(ledger or folder / LEDGER) as book:
        for each in work:
            announce(each.judge, account, estimate_stage(each.judge, book, each.task, each.questions))
            step = (begin or nobody)(each.step)
            found = ask_all(book, each.judge, each.questions, at_once=int(plan.values["concurrency"]), step=step)
            rows += [row for one, said in zip(each.asked, found, strict=True) for row in _rows(one, said, each.judge)]
            answers += found
    table = folder / TABLE
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    write_whole(table, lambda file: file.write_text("".join(lines), encoding="utf-8", newline="\n"))
    cells = [cell for answer in read.answers for cell in cells_of(answer, relevance=relevance)]
    judged = read_judged(str(table), read) if rows else JudgedCells({}, str(table))
    missing = sum(judged.label(cell) == MISSING for cell in cells)
    usage = usage_of([one for each in work for one in each.questions], answers)
    return JudgedAnswers(
        table=table,
        judge=work[0].judge.name,
        cells=len(cells),
        missing=missing,
        usage=CallUsage(**{each.name: usage[each.name] for each in fields(CallUsage)}),
        problems=usage["problems"],
        notes=(*read.notes, *_notes(read, cells, missing, usage["problems"])),
    )


def estimate_judging(
    log: AnswerLog | Source,
    out: Path | str,
    judge: JudgePlan | str,
    *,
    relevance: bool = False,
    ledger: Path | None = None,
    max_cost: float | None = None,
) -> DryRun:
    """Calls, tokens and money that judging a log still takes; nothing is sent or written.

    Raises:
        InputError: the log or the judge is bad.
    """
    from trueval.golden.build.build import LEDGER, SENT, open_account
    from trueval.golden.build.build_estimate import dry_run_of, estimate_stage
    from trueval.golden.build.golden_plan import read_judge
    from trueval.golden.judge.ledger import open_existing_ledger

    plan = read_judge(judge, {}) if isinstance(judge, str) else judge
    read, folder = log if isinstance(log, AnswerLog) else read_answers(log), Path(out)
    account = open_account(folder / SENT, plan.values["max_cost"] if max_cost is None else max_cost)
    work = _plan_work(plan, read, account, relevance=relevance)
    with open_existing_ledger(ledger or folder / LEDGER) as book:
        return dry_run_of([estimate_stage(each.judge, book, each.task, each.questions) for each in work], account)


def _plan_work(plan: JudgePlan, log: AnswerLog, account: Account, *, relevance: bool) -> list[JudgeWork]:
    """The judges and what they are asked: of claims and texts, and where asked for of claims and the question.

    Raises:
        InputError: as in `_make_judges`.
    """
    claims, addresses = _make_judges(plan, log, account)
    known = [each.labels if isinstance(each, LabelJudge) else None for each in (claims, addresses)]
    found = [JudgeWork("grade", "judging claims", claims, ask_for(log, plan.grading, known[0]))]
    if relevance:
        asked = ask_for_relevance(log, plan.grading, known[1])
        found.append(JudgeWork("relevance", "judging relevance", addresses, asked))
    return found


def _make_judges(plan: JudgePlan, log: AnswerLog, account: Account) -> tuple[Judge, Judge]:
    """The model, or the labels of a table, as judges of claims, and of their relevance, by codes of labels plus one.

    Raises:
        InputError: the prompt has other grades, or the table does not fit the log.
    """
    from trueval.golden.build.golden_plan import LABELS as FROM_LABELS
    from trueval.golden.build.golden_plan import REPLAY

    if plan.model.startswith(REPLAY):
        raise InputError(
            f"{plan.model}: answers are not judged by replay. Name the model as --judge, and the ledger with --ledger."
        )
    if plan.model.startswith(FROM_LABELS):
        path = plan.model.removeprefix(FROM_LABELS)
        judged = read_judged(path, log)
        found, addresses = dict[tuple[str, str], int](), dict[tuple[str, str], int]()
        by_query = {answer.query: answer for answer in log.answers}
        for cell in judged.labels:
            if (code := judged.label(cell)) != MISSING:
                claim, text = texts_of(by_query[cell.query], cell)
                if cell.against == QUESTION:
                    addresses[text, claim] = code + 1
                else:
                    found[claim, text] = code + 1
        name = f"{FROM_LABELS}{Path(path).name}"
        return LabelJudge(found, name=name), LabelJudge(addresses, name=name)
    chosen = make_claim_judge(plan, account)
    prompts = {**chosen.prompts, "grade": read_prompt(RELEVANCE_PROMPT, "grade")}
    return chosen, replace(chosen, prompts=prompts)


def make_claim_judge(plan: JudgePlan, account: Account) -> ModelJudge:
    """The model as a judge of claims, which grades by the codes of labels plus one.

    Raises:
        InputError: the prompt has other grades, or max_cost has no prices.
    """
    from trueval.golden.build.judge_choice import model_judge

    prompt = plan.values["prompt"]
    made = model_judge({**plan.values, "prompt": PROMPT if prompt == OF_GOLDEN else prompt}, account)
    if not set(made.prompts["grade"].grades.values()) <= set(range(1, len(LABELS) + 1)):
        raise InputError(
            f"{prompt}: a prompt for answers must map its grades to 1 (contradicted), 2 (not), 3 (partly) and 4 "
            f"(supported). Take {PROMPT}, or correct map."
        )
    return made


def ask_for(
    log: AnswerLog,
    grading: GradingSettings,
    known: Container[tuple[str, str]] | None = None,
    unedited: AnswerLog | None = None,
) -> list[AskedCells]:
    """All questions to the judge, in the order of the log.

    Args:
        grading: batch, rounds and seed.
        known: pairs of claim and text that the judge can answer; None for all.
        unedited: log of the same answers whose texts decide the order of the texts of a call; the log itself if None.
    """
    originals = (unedited or log).answers
    return [
        asked
        for answer, original in zip(log.answers, originals, strict=True)
        for asked in _of_answer(answer, original, grading, known)
    ]


def _of_answer(
    answer: LoggedAnswer,
    original: LoggedAnswer,
    grading: GradingSettings,
    known: Container[tuple[str, str]] | None,
) -> Iterator[AskedCells]:
    by_claim: dict[str, dict[str, list[Cell]]] = {}
    for cell in cells_of(answer):
        claim, text = texts_of(answer, cell)
        if known is None or (claim, text) in known:
            by_claim.setdefault(claim, {}).setdefault(text, []).append(cell)
    for claim, by_text in by_claim.items():
        slots = {text: texts_of(original, cells[0]) for text, cells in by_text.items()}
        texts = sorted(by_text, key=lambda text: text_hash([slots[text][1]]))
        for sample in range(grading.rounds):
            shuffled = shuffle_texts(texts, slots[texts[0]][0], sample, grading.seed)
            for start in range(0, len(shuffled), grading.batch):
                shown = tuple(shuffled[start : start + grading.batch])
                yield AskedCells(Question("grade", claim, shown, sample), tuple(tuple(by_text[each]) for each in shown))


def ask_for_relevance(
    log: AnswerLog, grading: GradingSettings, known: Container[tuple[str, str]] | None = None
) -> list[AskedCells]:
    """All questions about claims and the question of their answer, in the order of the log.

    Args:
        grading: batch, rounds and seed.
        known: pairs of question and claim that the judge can answer; None for all.
    """
    found = []
    for answer in log.answers:
        by_claim: dict[str, list[Cell]] = {}
        for number, claim in enumerate(answer.claims, start=1):
            if answer.question and (known is None or (answer.question, claim.text) in known):
                by_claim.setdefault(claim.text, []).append(Cell(answer.query, ANSWER, number, QUESTION))
        found += list(_in_batches(answer.question, by_claim, grading))
    return found


def _in_batches(
    question: str, by_claim: Mapping[str, Sequence[Cell]], grading: GradingSettings
) -> Iterator[AskedCells]:
    claims = sorted(by_claim, key=lambda claim: text_hash([claim]))
    for sample in range(grading.rounds):
        shuffled = shuffle_texts(claims, question, sample, grading.seed)
        for start in range(0, len(shuffled), grading.batch):
            shown = tuple(shuffled[start : start + grading.batch])
            yield AskedCells(Question("grade", question, shown, sample), tuple(tuple(by_claim[each]) for each in shown))


def shuffle_texts(texts: Sequence[str], claim: str, sample: int, seed: int) -> list[str]:
    """Texts, sorted by their hash, in an order that seed, repetition and claim decide."""
    about = json.dumps([seed, sample, text_hash([claim])]).encode()
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(about).digest()[:8], "big"))
    return [texts[at] for at in rng.permutation(len(texts)).tolist()]


def _rows(asked: AskedCells, answer: JudgeAnswer, judge: Judge) -> Iterator[dict[str, object]]:
    """Rows of the table, each with its call in the ledger; a slot without a valid label has the label null, and why."""
    from trueval.golden.judge.judge import key_of

    call = key_of(judge, asked.question).call
    labels = answer.labels or (None,) * len(asked.cells)
    for cells, label, text in zip(asked.cells, labels, asked.question.passages, strict=True):
        for cell in cells:
            yield {
                "query": cell.query,
                "of": cell.of,
                "claim": cell.claim,
                "against": cell.against,
                "label": None if label is None else LABELS[label.grade - 1],
                "sample": asked.question.sample,
                "by": judge.name,
                "reason": "; ".join(answer.problems) if label is None else label.reason,
                "text": text if cell.against == QUESTION else asked.question.query,
                "call": call,
            }


def _notes(log: AnswerLog, cells: Sequence[Cell], missing: int, problems: Mapping[str, int]) -> Iterator[str]:
    if missing:
        said = ", ".join(f"{each} ({number})" for each, number in problems.items())
        why = f" Of the judge's answers: {said}." if said else ""
        told = count_phrase(missing, "cell has", "cells have")
        yield f"{told} no label, of {len(cells):,}: bounds, never zeros.{why}"
    texts = {text for each in log.answers for text in (each.text, *(p.text for p in each.passages or ()))}
    speaking = sum(map(speaks_to_judge, texts))
    if speaking:
        told = count_phrase(speaking, "text seems", "texts seem")
        yield f"{told} to address a judge rather than a reader. They were judged like any other; look at them."
