"""The result of `trueval answers evaluate`, in the form of its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from trueval.evaluation.corrected_values import EstimateWithInterval
from trueval.report.json_fields import OMITTED
from trueval.report.result import Result


@dataclass(frozen=True)
class PeopleAgreement:
    """How far values by the judge's labels are those by people's, over questions that people labeled in whole.

    Attributes:
        questions: number of these with both values.
        equal: share of them with the same value.
        difference: mean of the judge's value minus people's.
        correlation: Pearson's; None where either side has one value alone.
    """

    questions: int
    equal: float
    difference: EstimateWithInterval
    correlation: float | None


@dataclass(frozen=True)
class AnswerMean:
    """The mean of a measure over questions; None where it is not available.

    Attributes:
        name: of the measure.
        better: "higher" or "lower".
        value: mean over the questions with a value; the middle of lowest and highest.
        low: lower end of the interval over questions, of the lowest values.
        high: upper end of that of the highest values.
        lowest: mean if all missing labels were the worst.
        highest: mean if they were the best.
        questions: number of questions with a value.
        empty: number of questions with nothing to measure, such as an answer without citations.
        unknown: number of questions of which the log lacks what the measure needs.
        all_lowest: mean if those were 0 too.
        all_highest: mean if those were 1 too.
        units: number of clusters, or of questions without clusters.
        corrected: the mean for people's labels, by theirs and the judge's; None without enough of them.
        labeled: number of questions that people labeled in whole.
        agreement: of judge and people; None without such questions.
    """

    name: str
    better: str
    value: float | None
    low: float | None
    high: float | None
    lowest: float | None
    highest: float | None
    questions: int
    empty: int
    unknown: int
    all_lowest: float | None
    all_highest: float | None
    units: int
    corrected: EstimateWithInterval | None
    labeled: int
    agreement: PeopleAgreement | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class Losses:
    """Where the claims of references are, over questions with a reference and a context.

    Attributes:
        answered: made by the answers.
        reading: in the contexts, and not in the answers.
        retrieval: in neither.
        undecided: open, as labels are missing.
        gap: mean over questions of the claims lost in retrieval minus those lost in reading.
    """

    answered: int
    reading: int
    retrieval: int
    undecided: int
    gap: EstimateWithInterval


@dataclass(frozen=True)
class JudgedText:
    """A label of a claim against a text.

    Attributes:
        against: "reference", "answer", or the number and id of a passage.
        label: "supported", "partly", "not", "contradicted" or "missing".
        text: the text.
        calls: keys of the judge's calls in its ledger, where the table says.
    """

    against: str
    label: str
    text: str
    calls: tuple[str, ...] = field(default=(), metadata=OMITTED)


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its labels."""

    of: str
    claim: str
    cited: str
    texts: tuple[JudgedText, ...]


@dataclass(frozen=True)
class JudgedQuestion:
    """A question with its answer and claims."""

    query: str
    question: str
    answer: str
    correctness: float | None
    claims: tuple[JudgedClaim, ...]


@dataclass(frozen=True, repr=False)
class AnswersEvaluation(Result):
    """Values of a system's answers.

    Attributes:
        log: name of the system.
        judged: file of the judged table; "" without one.
        level: of the intervals.
        questions: number of questions.
        cells: number of cells of the table that the measures use.
        missing: number of these without a label.
        disagreeing: number of cells whose repetitions differ.
        losses: None without a table.
        measures: in the order asked for.
        listed: questions with their claims, the least correct first.
        clusters: where clusters are from; "" without.
        notes: one-line remarks.
    """

    KIND: ClassVar = "answers"
    # 1: first version.
    FORMAT: ClassVar = 1

    log: str
    judged: str
    level: float
    questions: int
    cells: int
    missing: int
    disagreeing: int
    losses: Losses | None
    measures: tuple[AnswerMean, ...]
    listed: tuple[JudgedQuestion, ...]
    clusters: str
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> AnswerMean:
        """The mean of a measure.

        Raises:
            KeyError: it was not evaluated.
        """
        return self.by_name[name]

    @property
    def by_name(self) -> Mapping[str, AnswerMean]:
        """The means by the name of each measure."""
        return {each.name: each for each in self.measures}
