"""The result of `trueval golden stress --gullibility`, in the form of its JSON."""

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
    """Grades of the passages shown in one call with an adversarial passage.

    Attributes:
        graded: number of valid grades.
        mean: mean of these grades.
        by: mean difference, per query, from the grades of the same passages next to the clean passage.
        lifted: number of queries where it is above 0.
        lowered: number of queries where it is below 0.
        p: p of the exact sign test, one-sided.
        p_holm: p adjusted over the kinds by Holm; None for the control.
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
        kind: name of the kind.
        about: description of such passages.
        graded: number of passages with a valid grade.
        unjudged: number of passages without a valid grade.
        relevant: number of passages that were graded relevant.
        share: share of graded passages that were graded relevant.
        mean: mean of the grades.
        lifted: number of queries whose adversarial passage is graded above their clean one.
        lowered: number of queries whose adversarial passage is graded below their clean one.
        p: p of the exact sign test, one-sided.
        companions: effect on the passages next to them; None if each is shown alone.
        p_holm: p adjusted over the kinds by Holm; None for the control.
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
        query: query id.
        trap: kind of the passage.
        document: id of its source document.
        characters: length of the passage.
        slot: slot in its call, from 1.
        grade: grade; None without a valid one.
        clean: grade of the query's clean passage.
        companions: grades of the other passages in the call.
        reason: the judge's reason.
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
    """Usage of the calls.

    Attributes:
        calls: number of calls.
        invalid: number of invalid answers.
        tokens_in: number of input tokens.
        tokens_out: number of output tokens.
        cost: cost in the currency of the prices; None if unknown.
        models: names of the models that answered.
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
        judge: name of the judge.
        seed: seed of the passages.
        relevant: lowest grade of a relevant passage.
        level: confidence level of the intervals and the test.
        mode: mode in which golden sets are graded.
        passages: number of passages per call.
        queries: number of queries.
        kinds: results by kind, the control first.
        traps: every passage.
        usage: usage of the calls.
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
