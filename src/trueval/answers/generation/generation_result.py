"""The result of `trueval answers generate`, in the form of its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trueval.golden.validation.robustness_result import CallUsage
from trueval.latency.percentiles import PercentileEstimate
from trueval.report.result import Result


@dataclass(frozen=True)
class BoundedMean:
    """A mean over questions; None where it is not available.

    Attributes:
        value: the middle of lowest and highest.
        low: lower end of the interval over questions, of the lowest values.
        high: upper end of that of the highest values.
        lowest: mean if everything that is not known were at its least.
        highest: mean if it were at its greatest.
        questions: number of questions.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    lowest: float | None
    highest: float | None
    questions: int

    @property
    def width(self) -> float:
        """How much of it is not known: highest minus lowest."""
        return 0.0 if self.lowest is None or self.highest is None else self.highest - self.lowest


@dataclass(frozen=True)
class ContextMean:
    """What answers from one kind of context are worth.

    Attributes:
        mean: over the questions that have this context.
        abstained: share of its answers that are none.
        answers: number of answers.
        unknown: number of questions of which some answer has no value.
        without: number of questions that do not have this context, such as gold documents where none is judged so.
        all_lowest: mean over all questions if those were worth 0.
        all_highest: mean if those were worth 1.
        tie_lowest: mean of the least value of each question over its contexts.
        tie_highest: mean of the greatest.
    """

    mean: BoundedMean
    abstained: float | None
    answers: int
    unknown: int
    without: int
    all_lowest: float | None
    all_highest: float | None
    tie_lowest: float | None
    tie_highest: float | None


@dataclass(frozen=True)
class TiedContext:
    """One of the contexts that ties leave open.

    Attributes:
        documents: ids in the order of the prompt.
        chance: of this context.
        lowest: least value of its answer, the mean over repetitions.
        highest: greatest value.
        answer: the first.
    """

    documents: tuple[str, ...]
    chance: float
    lowest: float
    highest: float
    answer: str


@dataclass(frozen=True)
class TiedQuestion:
    """A question whose context is a matter of ties.

    Attributes:
        count: number of contexts that ties leave open.
        lowest: least value over the contexts that were tried.
        highest: greatest value.
        contexts: those that were tried.
    """

    query: str
    question: str
    count: float
    lowest: float
    highest: float
    contexts: tuple[TiedContext, ...]


@dataclass(frozen=True)
class TieReach:
    """How far ties reach into answers.

    Attributes:
        questions: number of questions with several contexts.
        all: number of these of which every context was tried.
        moved: number of these whose answers surely differ in value between the contexts that were tried.
        listed: those, the widest range first.
    """

    questions: int
    all: int
    moved: int
    listed: tuple[TiedQuestion, ...]


@dataclass(frozen=True)
class TokenTimes:
    """Times of answers with the same number of passages, in seconds.

    Attributes:
        passages: number of passages in the prompt.
        answers: number of answers.
        tokens_in: mean tokens of a prompt; None if not known.
        tokens_out: mean tokens of an answer; None if not known.
        first: from sending the question to the first token, by percentile.
        between: between two tokens, the mean of each answer, by percentile.
        whole: until the answer was whole, by percentile.
    """

    passages: int
    answers: int
    tokens_in: float | None
    tokens_out: float | None
    first: Mapping[str, PercentileEstimate]
    between: Mapping[str, PercentileEstimate]
    whole: Mapping[str, PercentileEstimate]


@dataclass(frozen=True, repr=False)
class GeneratedAnswers(Result):
    """Answers of a generator from several contexts.

    Attributes:
        generator: its name.
        judge: name of the judge; "" where answers are compared with references by words.
        measure: of answers.
        level: of the intervals.
        questions: number of questions.
        k: number of documents in a context.
        contexts: in the order asked for.
        losses: where values are lost, paired by question.
        gap: half of retrieval's loss minus reading's; None without both.
        ties: how far ties reach into answers.
        times: by number of passages; empty for generators without a model.
        usage: calls, tokens and money of the generator.
        files: context → log of its answers, in the folder of the results.
        tables: context → judged table of it.
        notes: one-line remarks.
    """

    KIND: ClassVar = "generated-answers"
    # 1: first version.
    FORMAT: ClassVar = 1

    generator: str
    judge: str
    measure: str
    level: float
    questions: int
    k: int
    contexts: tuple[ContextMean, ...]
    losses: tuple[BoundedMean, ...]
    gap: BoundedMean | None
    ties: TieReach
    times: tuple[TokenTimes, ...]
    usage: CallUsage
    files: Mapping[str, str]
    tables: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def limit(self) -> str:
        """What limits the answers: "retrieval", "reading" or "labels"; "" where the questions do not tell.

        Labels, if what is not known could be as much as either loss. Retrieval or reading, if the interval of the
        difference of their losses excludes 0.
        """
        found = {each.name: each for each in self.losses}
        retrieval, reading = found.get("retrieval"), found.get("reading")
        if retrieval is None or reading is None or self.gap is None or not self.gap.questions:
            return ""
        open = max(retrieval.width, reading.width)
        if open > 0 and open >= max(retrieval.value or 0.0, reading.value or 0.0):
            return "labels"
        low, high = self.gap.low, self.gap.high
        return "retrieval" if low is not None and low > 0 else "reading" if high is not None and high < 0 else ""

    def __getitem__(self, name: str) -> BoundedMean:
        """The mean of a context, or a loss.

        Raises:
            KeyError: it is not there.
        """
        found = {each.mean.name: each.mean for each in self.contexts} | {each.name: each for each in self.losses}
        return found[name]
