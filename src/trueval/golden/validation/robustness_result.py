"""The result of `trueval golden stress --gullibility`, as its JSON has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trueval.report.result import Result


@dataclass(frozen=True)
class Share:
    """A share with its interval by Clopper and Pearson; None without an item."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class CompanionEffect:
    """Grades of the passages that are shown in one call with an adversarial passage.

    Attributes:
        graded: number of valid grades.
        mean: of these grades.
        by: mean difference, per query, to the same passages beside the clean passage.
        lifted: number of queries where it is above 0.
        lowered: number of queries where it is below 0.
        p: of the exact sign test, one-sided.
        p_holm: adjusted over the kinds; None for the control.
        raised_by_it: whether p_holm is below 1 - level.
    """

    graded: int
    mean: float | None
    by: float | None
    lifted: int
    lowered: int
    p: float
    p_holm: float | None = None
    raised_by_it: bool = False


@dataclass(frozen=True)
class AdversarialKind:
    """The judge's results on one kind of adversarial passages.

    Attributes:
        kind: its name.
        about: what such a passage is.
        graded: number of passages with a valid grade.
        unjudged: number of passages without one.
        relevant: number of passages that were graded relevant.
        share: of the graded ones.
        mean: of the grades.
        lifted: number of queries whose passage is graded above their clean one.
        lowered: number of queries whose passage is graded below it.
        p: of the exact sign test, one-sided.
        companions: of the passages beside them; None where each is shown alone.
        p_holm: adjusted over the kinds; None for the control.
        fooled: whether p_holm is below 1 - level.
    """

    kind: str
    about: str
    graded: int
    unjudged: int
    relevant: int
    share: Share
    mean: float | None
    lifted: int
    lowered: int
    p: float
    companions: CompanionEffect | None
    p_holm: float | None = None
    fooled: bool = False


@dataclass(frozen=True)
class AdversarialGrade:
    """The grade of one adversarial passage.

    Attributes:
        query: its id.
        trap: kind of the passage.
        document: that it was made of.
        characters: length of the passage.
        slot: in its call, from 1.
        grade: None where there is no valid one.
        clean: grade of the query's clean passage.
        companions: grades of the others in the call.
        reason: of the judge.
        call: key of the call.
    """

    query: str
    trap: str
    document: str
    characters: int
    slot: int
    grade: int | None
    clean: int | None
    companions: tuple[int | None, ...]
    reason: str
    call: str


@dataclass(frozen=True)
class CallUsage:
    """What the calls took.

    Attributes:
        calls: number of calls.
        invalid: number of answers that were not valid.
        tokens_in: that were sent.
        tokens_out: that were received.
        cost: in the currency of the prices; None where it is not known.
        models: that answered, by name.
    """

    calls: int
    invalid: int
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    models: Mapping[str, int]


@dataclass(frozen=True, repr=False)
class Robustness(Result):
    """A judge's results on adversarial passages.

    Attributes:
        judge: its name.
        seed: of the passages.
        relevant: least grade of a relevant passage.
        level: of the intervals and of the decision.
        mode: in which golden sets are graded.
        passages: in one call.
        queries: number of queries.
        kinds: the control first.
        traps: every passage.
        usage: of the calls.
    """

    KIND: ClassVar = "golden-gullibility"
    FORMAT: ClassVar = 1

    judge: str
    seed: int
    relevant: int
    level: float
    mode: str
    passages: int
    queries: int
    kinds: tuple[AdversarialKind, ...]
    traps: tuple[AdversarialGrade, ...]
    usage: CallUsage
