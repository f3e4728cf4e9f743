"""Questions for a corpus that has none, written by the judge's model from passages that are drawn by a seed.

    draw    passages of each kind                      passage_draws.py
    write   one call for each passage                  a question and its answer, or none
    reword  calls for questions with too many words of their passages, at most REWORDED, each names the words to avoid
    check   "none": the judge grades what BM25 finds for the question; one that has an answer is left out

A passage that gives no question is replaced by the next one, in at most ROUNDS rounds. Every answer is in the ledger
before it is used, so the same command pays for nothing twice.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final, NamedTuple, cast

from trueval.collection import Collection, read_corpus
from trueval.errors import InputError, PolicyError, nearest
from trueval.golden.build.build import LEDGER, SENT, open_account
from trueval.golden.build.build_estimate import announce, dry_run_of, estimate_stage, longest
from trueval.golden.build.golden_plan import LABELS, JudgePlan
from trueval.golden.build.judge_choice import make_judge
from trueval.golden.build.stage_files import usage_of
from trueval.golden.judge.concurrent_questions import ask_all
from trueval.golden.judge.judge import Judge, JudgeAnswer, Question, Task, key_of
from trueval.golden.judge.ledger import Ledger, open_existing_ledger, open_ledger
from trueval.golden.judge.prompt import read_prompt, speaks_to_judge
from trueval.golden.questions.passage_draws import SHOWN, PassageDraws, SourcePassages
from trueval.golden.questions.wording import Wording
from trueval.golden.questions.written_questions import (
    KindOfQuestions,
    SourcePassage,
    WrittenQuestion,
    WrittenQuestions,
)
from trueval.golden.validation.robustness_result import CallUsage
from trueval.models.hosted.account import Account
from trueval.models.missing_work import DryRun
from trueval.report.number_texts import count_phrase
from trueval.retrieval.pipeline.stage_resources import Begin, nobody

KINDS: Final = tuple(SHOWN)
ROUNDS: Final = 3  # rounds of drawing, of which the later ones replace passages without a question
REWORDED: Final = 2  # times that a question is asked for in other words
CHECKED: Final = 8  # passages that the judge grades to see whether a question has an answer
ANSWERS: Final = 4  # grade of a passage that answers: useful passages are those of grade 4 and 5


@dataclass(frozen=True)
class QuestionPlan:
    """What is written.

    Attributes:
        number: questions of all kinds.
        kinds: kinds of questions, of KINDS.
        most_overlap: share of its terms above which a question is asked for in other words; None for any.
        seed: seed of the passages.
        language: whose stop words and stems BM25 uses; None for words as they are.

    Raises:
        PolicyError: a choice is none.
    """

    number: int = 50
    kinds: tuple[str, ...] = KINDS
    most_overlap: float | None = None
    seed: int = 0
    language: str | None = "en"

    def __post_init__(self) -> None:
        wrong = next((kind for kind in self.kinds if kind not in KINDS), None)
        if wrong is not None or not self.kinds or len(set(self.kinds)) < len(self.kinds):
            got = ",".join(self.kinds)
            raise PolicyError(
                f"kinds must be different ones of {', '.join(KINDS)}. Got {got!r}.{nearest(wrong or '', KINDS)}"
            )
        if self.number < len(self.kinds):
            raise PolicyError(f"number must be an integer >= {len(self.kinds)}, one of each kind. Got {self.number}.")
        if self.most_overlap is not None and not 0 <= self.most_overlap < 1:
            raise PolicyError(f"the overlap must be at least 0 and below 1, such as 0.3. Got {self.most_overlap:g}.")

    def counts(self) -> dict[str, int]:
        """Number of questions of each kind; the first kinds get the remainder.

        >>> QuestionPlan(8).counts()
        {'one': 3, 'several': 3, 'none': 2}
        """
        each, more = divmod(self.number, len(self.kinds))
        return {kind: each + (place < more) for place, kind in enumerate(self.kinds)}


class _Draft(NamedTuple):
    """A question on its way.

    Attributes:
        fate: why it is left out: a count of `KindOfQuestions`; "" where it is not.
    """

    source: SourcePassages
    text: str = ""
    answer: str = ""
    overlap: float | None = None
    requests: int = 1
    call: str = ""
    fate: str = ""


def write_questions(
    corpus: Collection | str | Path,
    out: Path | str,
    judge: JudgePlan,
    plan: QuestionPlan = QuestionPlan(),
    *,
    ledger: Path | None = None,
    max_cost: float | None = None,
    begin: Begin | None = None,
) -> WrittenQuestions:
    """Have a model write questions from passages of a corpus, or resume where it was interrupted.

    Args:
        corpus: documents, or their place as `read_corpus` takes it.
        out: folder for ledger and calls, created if absent.
        judge: the model, as `read_judge` reads it.
        plan: what is written.
        ledger: file of the ledger; ledger.sqlite of the folder by default.
        max_cost: spending limit, including earlier runs of the same folder; that of the judge by default.
        begin: called with the name of each stage; the returned function is called with its progress.

    Returns:
        The questions. Nothing but ledger and calls is written: `files()` has queries and judgments.

    Raises:
        InputError: an input is bad, the model cannot be asked, or the money is spent; what was answered is kept.
    """
    _refuse_labels(judge)
    collection = corpus if isinstance(corpus, Collection) else read_corpus(str(corpus))
    draws = PassageDraws(collection, plan.seed, plan.language)
    draws.check()
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    account = open_account(folder / SENT, judge.values["max_cost"] if max_cost is None else max_cost)
    chosen = make_judge(judge, collection, account, plan.seed)
    with open_ledger(ledger or folder / LEDGER) as book:
        writer = _Writer(plan, draws, chosen, book, account, int(judge.values["concurrency"]), begin or nobody)
        return writer.write(collection)


def dry_run(
    corpus: Collection | str | Path,
    out: Path | str,
    judge: JudgePlan,
    plan: QuestionPlan = QuestionPlan(),
    *,
    ledger: Path | None = None,
    max_cost: float | None = None,
) -> DryRun:
    """Estimate the calls of the first round, and their bound with all others; nothing is sent or written.

    Raises:
        InputError: an input is bad.
    """
    _refuse_labels(judge)
    collection = corpus if isinstance(corpus, Collection) else read_corpus(str(corpus))
    draws = PassageDraws(collection, plan.seed, plan.language)
    draws.check()
    account = open_account(Path(out) / SENT, judge.values["max_cost"] if max_cost is None else max_cost)
    chosen, work, most = make_judge(judge, collection, account, plan.seed), [], 0
    with open_existing_ledger(ledger or Path(out) / LEDGER) as book:
        for kind, count in plan.counts().items():
            first = [_question(source) for source in draws.take(kind, count)]
            found = estimate_stage(chosen, book, _task(kind), first)
            calls = ROUNDS * count * (1 if plan.most_overlap is None else 1 + REWORDED)
            words = "w" * 500 if plan.most_overlap is not None else ""  # no question has more to avoid
            bound = Question(_task(kind), words, longest(draws.texts, SHOWN[kind]))
            most += calls
            work.append(replace(found, at_most=estimate_stage(chosen, None, kind, [], calls, [(calls, bound)]).at_most))
        if "none" in plan.kinds:
            calls, texts = ROUNDS * plan.counts()["none"], longest(draws.texts, CHECKED)
            example = Question("grade", "w" * 80, texts)
            most += calls
            work.append(estimate_stage(chosen, book, "grade", [example], plan.counts()["none"], [(calls, example)]))
    told = (
        f"A passage that gives no question is replaced, and questions are asked for again in other words: {most} calls "
        "at most. What it costs at most includes them, its other numbers do not."
    )
    return dry_run_of(work, account, [told])


def _refuse_labels(judge: JudgePlan) -> None:
    if judge.model.startswith(LABELS):
        raise InputError(f"{judge.model}: labels write no questions. Name a model as the judge.")


def _task(kind: str) -> Task:
    return cast(Task, f"question-{kind}")


def _question(source: SourcePassages, avoid: Sequence[str] = ()) -> Question:
    return Question(_task(source.kind), ", ".join(avoid), source.texts)


class _Writer:
    """Writes the questions of a plan."""

    def __init__(
        self,
        plan: QuestionPlan,
        draws: PassageDraws,
        judge: Judge,
        ledger: Ledger,
        account: Account,
        at_once: int,
        begin: Begin,
    ) -> None:
        self.plan, self.draws, self.judge, self.ledger = plan, draws, judge, ledger
        self.account, self.at_once, self.begin = account, at_once, begin
        self.wording = Wording(draws.unfilled.analyzer)
        self.asked: list[Question] = []
        self.answers: list[JudgeAnswer] = []

    def write(self, collection: Collection) -> WrittenQuestions:
        """Write all kinds, one after another."""
        wanted, drafts = self.plan.counts(), list[_Draft]()
        for kind, count in wanted.items():
            drafts += self._write_kind(kind, count, drafts)
        kept = [each for each in drafts if not each.fate]
        copies = self.draws.copies([text for each in kept for text in each.source.texts])
        usage = usage_of(self.asked, self.answers)
        counts = tuple(
            self._count(kind, count, [each for each in drafts if each.source.kind == kind])
            for kind, count in wanted.items()
        )
        return WrittenQuestions(
            corpus=collection.source,
            judge=self.judge.name,
            seed=self.plan.seed,
            language=self.plan.language,
            most_overlap=self.plan.most_overlap,
            kinds=counts,
            questions=tuple(_finish(each, copies) for each in kept),
            usage=CallUsage(**{each.name: usage[each.name] for each in fields(CallUsage)}),
            notes=(*collection.notes, *_notes(counts)),
        )

    def _write_kind(self, kind: str, count: int, before: Sequence[_Draft]) -> list[_Draft]:
        """Drafts of one kind: passages without a question are replaced."""
        found: list[_Draft] = []
        for number in range(ROUNDS):
            missing = count - sum(not each.fate for each in found)
            sources = self.draws.take(kind, missing)
            if not sources:
                break
            name = f"writing, {kind}" + f", round {number + 1}" * bool(number)
            drafts = self._reword(self._first(sources, name), kind)
            found += self._leave_out_repeated(self._check(drafts) if kind == "none" else drafts, [*before, *found])
        return found

    def _ask(self, questions: Sequence[Question], name: str) -> list[JudgeAnswer]:
        """Ask what the ledger does not know, after saying what it takes."""
        announce(self.judge, self.account, estimate_stage(self.judge, self.ledger, questions[0].task, questions))
        step = self.begin(name)
        answers = ask_all(self.ledger, self.judge, questions, at_once=self.at_once, step=step)
        self.asked += questions
        self.answers += answers
        return answers

    def _first(self, sources: Sequence[SourcePassages], name: str) -> list[_Draft]:
        questions = [_question(source) for source in sources]
        return [
            self._draft(source, question, answer)
            for source, question, answer in zip(sources, questions, self._ask(questions, name), strict=True)
        ]

    def _draft(self, source: SourcePassages, question: Question, answer: JudgeAnswer) -> _Draft:
        text, _, told = answer.text.partition("\n")
        fate = "" if text else "invalid" if answer.problems else "declined"
        overlap = self.wording.overlap(text, source.texts)
        return _Draft(source, text, told, overlap, 1, key_of(self.judge, question).call, fate)

    def _reword(self, drafts: list[_Draft], kind: str) -> list[_Draft]:
        """Ask for questions with too many words of their passages again, naming the words; the best of all stays."""
        limit = self.plan.most_overlap
        avoid: list[dict[str, None]] = [{} for _ in drafts]
        latest = list(drafts)
        for _ in range(REWORDED if limit is not None else 0):
            places = [at for at, each in enumerate(drafts) if not each.fate and (each.overlap or 0.0) > (limit or 0.0)]
            if not places:
                break
            for at in places:
                avoid[at] |= dict.fromkeys(self.wording.shared_words(latest[at].text, drafts[at].source.texts))
            questions = [_question(drafts[at].source, list(avoid[at])) for at in places]
            answers = self._ask(questions, f"writing, {kind}, in other words")
            for at, question, answer in zip(places, questions, answers, strict=True):
                again = self._draft(drafts[at].source, question, answer)
                latest[at] = again if not again.fate else latest[at]
                better = not again.fate and (again.overlap or 0.0) < (drafts[at].overlap or 0.0)
                drafts[at] = (again if better else drafts[at])._replace(requests=drafts[at].requests + 1)
        return drafts

    def _check(self, drafts: Sequence[_Draft]) -> list[_Draft]:
        """Leave out questions that a passage of the corpus answers, by the judge's grades of what BM25 finds."""
        found, places = list(drafts), [at for at, each in enumerate(drafts) if not each.fate]
        questions = []
        for at in places:
            hits = self.draws.search(drafts[at].text, CHECKED)
            texts = dict.fromkeys([*(self.draws.texts[hit] for hit in hits), *drafts[at].source.texts])
            questions.append(Question("grade", drafts[at].text, tuple(texts)[:CHECKED]))
        if not questions:
            return found
        for at, answer in zip(places, self._ask(questions, "checking, none"), strict=True):
            grades = [None if label is None else label.grade for label in answer.labels]
            if any(grade is not None and grade >= ANSWERS for grade in grades):
                found[at] = found[at]._replace(fate="answered")
            elif None in grades:
                found[at] = found[at]._replace(fate="unchecked")
        return found

    def _leave_out_repeated(self, drafts: Sequence[_Draft], before: Sequence[_Draft]) -> list[_Draft]:
        """Leave out questions of the same words: their other passages would count as not relevant."""
        seen, found = {each.text.casefold() for each in before if not each.fate}, []
        for each in drafts:
            repeated = not each.fate and each.text.casefold() in seen
            found.append(each._replace(fate="repeated") if repeated else each)
            seen |= {each.text.casefold()} if not each.fate else set()
        return found

    def _count(self, kind: str, wanted: int, drafts: Sequence[_Draft]) -> KindOfQuestions:
        fates = Counter(each.fate for each in drafts)
        shares = [each.overlap for each in drafts if not each.fate and each.overlap is not None]
        limit = self.plan.most_overlap
        return KindOfQuestions(
            kind=kind,
            wanted=wanted,
            written=fates[""],
            drawn=len(drafts),
            **{fate: fates[fate] for fate in ("declined", "invalid", "answered", "unchecked", "repeated")},
            overlap=sum(shares) / len(shares) if shares else None,
            above=None if limit is None else sum(share > limit for share in shares),
            prompt=read_prompt(_task(kind), _task(kind)).name,
        )


def _finish(draft: _Draft, copies: Mapping[str, tuple[str, ...]]) -> WrittenQuestion:
    source = draft.source
    digest = hashlib.sha256(repr((source.kind, draft.text, source.documents)).encode("utf-8", "replace")).hexdigest()
    return WrittenQuestion(
        query=f"{source.kind}-{digest[:10]}",
        kind=source.kind,
        text=draft.text,
        answer=draft.answer,
        passages=tuple(
            SourcePassage(id, tuple(each for each in copies[text] if each != id), text)
            for id, text in zip(source.documents, source.texts, strict=True)
        ),
        overlap=draft.overlap,
        requests=draft.requests,
        speaks_to_judge=any(map(speaks_to_judge, source.texts)),
        call=draft.call,
    )


def _notes(counts: Sequence[KindOfQuestions]) -> list[str]:
    return [
        f"{count_phrase(each.written, 'question', 'questions')} of kind {each.kind} instead of {each.wanted}: "
        f"{count_phrase(each.drawn, 'passage was', 'passages were')} drawn in at most {ROUNDS} rounds."
        for each in counts
        if each.written < each.wanted
    ]
