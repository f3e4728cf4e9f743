"""Explanations of why tools disagree: a measure under every convention, and the choices behind each difference.

Causes are found by search, not looked up: the choices in which a convention differs from ours are applied one at a
time, then two at a time and so on, until the resulting policy gives the convention's value for every query.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueval.errors import InputError, MeasureError, TruevalWarning
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.estimate import Estimate
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.pairing import read_pair
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.measures import Measure, parse
from trueval.measures.grammar import OtherMeasure
from trueval.numerics import or_null
from trueval.policy.conventions import TOOLS
from trueval.policy.policy import OPTIONS, Policy
from trueval.report.result import ReprByKind
from trueval.run import Run
from trueval.standings.standings import Floats

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.judgments import JudgmentsLike
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.run import RunLike

KIND = "explain"
# 1: first version. 2: every file names its kind.
FORMAT_VERSION = 2

# Values closer than this are the same: sums of the same terms in another order differ by less.
CLOSE = 1e-9

ESTIMATES = ("expected", "lowest", "highest", "tie_broken")


class Switch(NamedTuple):
    """One choice in which a convention differs from ours.

    Attributes:
        option: name of the choice, an attribute of Policy.
        ours: our value of it; "average" for the tie order, as our number is the mean over all orders.
        theirs: the convention's value.
    """

    option: str
    ours: Any
    theirs: Any

    @property
    def topic(self) -> str:
        """The topic of the choice: tie, normalizer, base, gain, label, missing query, ..."""
        return OPTIONS[self.option].topic

    def __str__(self) -> str:
        """The topic and what the convention does, in words."""
        words = OPTIONS[self.option].words.get(str(self.theirs), f"{self.option.replace('_', ' ')} {self.theirs}")
        return f"{self.topic}: {words}"


class DifferenceCause(NamedTuple):
    """A choice that causes a difference.

    Attributes:
        switch: the choice.
        alone: change of the value when only this choice is made; NaN if that is refused.
    """

    switch: Switch
    alone: float


@dataclass(frozen=True)
class ConventionRow:
    """The value of the measure under one convention.

    Attributes:
        convention: name of the convention.
        version: version of the tool.
        value: the tool's own number, the tie-broken mean; NaN if there is none, for the reason in `why`.
        estimate: the mean with expectation and range under the convention; None if not available.
        difference: value - ours, of the expectation where the value is not known; NaN where neither is.
        causes: the smallest set of choices that causes the difference, usually one, largest effect first.
        others: other sets of that size that also cause it.
        why: why there is no value; empty if there is one.
    """

    convention: str
    version: str
    value: float
    estimate: Estimate | None
    difference: float
    causes: tuple[DifferenceCause, ...]
    others: tuple[tuple[Switch, ...], ...]
    why: str


@dataclass(frozen=True)
class Move:
    """A query whose value differs under some convention.

    Attributes:
        query: the query's id.
        convention: the convention under which it differs most.
        ours: our expected value; NaN if we leave the query out.
        theirs: the convention's value; NaN if it leaves the query out.
        difference: theirs - ours; for a query left out, the effect of replacing it by the mean of the others.
        causes: the smallest set of choices that causes the difference.
    """

    query: str
    convention: str
    ours: float
    theirs: float
    difference: float
    causes: tuple[DifferenceCause, ...]


@dataclass(frozen=True, repr=False)
class Explanation(ReprByKind):
    """A measure under every convention, with the causes of the differences.

    Attributes:
        run: name of the run.
        ours: our mean, with expectation and range.
        rows: one per convention.
        moves: the queries with the largest differences, largest first.
        notes: warnings from reading and evaluation.
    """

    run: str
    measure: Measure
    ours: Estimate
    rows: tuple[ConventionRow, ...]
    moves: tuple[Move, ...]
    notes: tuple[str, ...]

    def row(self, convention: str) -> ConventionRow:
        """The row of a convention."""
        return next(row for row in self.rows if row.convention == convention)

    def to_dict(self) -> dict[str, object]:
        """The JSON of `trueval explain`; null where there is no number."""
        from trueval.version import __version__

        return {
            "kind": KIND,
            "format": FORMAT_VERSION,
            "trueval": __version__,
            "run": self.run,
            "measure": str(self.measure),
            "ours": self.ours.to_dict(*ESTIMATES),
            "conventions": [_row_entry(row) for row in self.rows],
            "queries": [_move_entry(move) for move in self.moves],
            "notes": list(self.notes),
        }


class Outcome(NamedTuple):
    """The result of the measure under a policy.

    Attributes:
        values: [query] the value under the tie order, or the expectation where the order is not known; NaN where left
            out.
        scores: the complete scores; None if the policy refuses the input.
        refusal: reason of the refusal.
    """

    values: Floats
    scores: Scores | None
    refusal: str = ""


def explain(
    run: RunLike,
    judgments: JudgmentsLike,
    measure: str | Measure | OtherMeasure,
    *,
    policy: Policy | None = None,
    conventions: Iterable[str] | None = None,
    examples: int = 5,
    **choices: Unpack[PolicyChoices],
) -> Explanation:
    """Find why other tools report other values.

    Args:
        run: as in evaluate.
        judgments: as in evaluate.
        measure: one measure; conventions do not change parameters that it names, such as the threshold of a golden set.
        policy: policy that the tools are compared with, apart from the tie order; None for the default.
        conventions: names of presets; None for all.
        examples: number of queries with the largest differences to return.
        choices: attributes of Policy applied to every tool: depth=100, rel=2 and so on.

    Returns:
        An Explanation. Our number is the expectation, so a tie order is a difference like any other.

    Raises:
        InputError: our own evaluation refuses the input.
        MeasureError: the measure cannot be read, or its mean over queries is not arithmetic.
        PolicyError: a choice is unknown.

    >>> found = explain({"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 1}}, "RR")
    >>> found.row("trec_eval").value, found.ours.expected
    (0.5, 0.75)
    """
    run, judgments, _ = read_pair(run, judgments)
    (parsed,), base = fill_defaults(judgments, parse(measure), policy, choices)
    if parsed.definition.mean != "arithmetic":
        raise MeasureError(
            f"{parsed} is a {parsed.definition.mean} mean over queries, of which no query has a share. "
            f"Explain {parsed.inner or parsed} instead."
        )
    base = base.but(tie_order="average").of(parsed.innermost.name)
    ours = _outcome(run, judgments, parsed, base)
    if ours.scores is None:
        raise InputError(ours.refusal)

    @cache
    def outcome(chosen: Policy) -> Outcome:
        return ours if chosen == base else _outcome(run, judgments, parsed, chosen)

    conventions = tuple(TOOLS if conventions is None else conventions)
    searches = [_Search(name, parsed, base, choices, outcome) for name in conventions]
    rows = tuple(search.row() for search in searches)
    moves = _moves([search for search in searches if search.has], ours, examples)
    notes = ours.scores.notes + _describe_overrides(parsed, conventions)
    return Explanation(run.name, parsed, ours.scores.mean(parsed), rows, moves, notes)


def _describe_overrides(measure: Measure, conventions: Iterable[str]) -> tuple[str, ...]:
    """The choices of the conventions that the measure overrides by naming them; a threshold applies to all tools."""
    named = {name: value for name, value in measure.chosen if name != "rel" and name in OPTIONS}
    bare = replace(measure, chosen=tuple((name, value) for name, value in measure.chosen if name not in named))
    settled = [bare.under(TOOLS[name].policy) for name in conventions]
    overruled = [name for name, value in named.items() if any(each[name] != value for each in settled)]
    if not overruled:
        return ()
    words = f"{measure} names {' and '.join(overruled)}, so every row has it, also where the tool computes otherwise"
    return (f"{words}. Explain {bare} to see what each tool computes.",)


def _outcome(run: Run, judgments: Judgments, measure: Measure, chosen: Policy) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        try:
            scores = evaluate(run, judgments, measure, policy=chosen)
        except InputError as error:
            return Outcome(np.empty(0), None, str(error))
    tie_broken, expected = scores.tie_broken[:, 0], scores.expected[:, 0]
    return Outcome(np.where(np.isnan(tie_broken), expected, tie_broken), scores)


class _Search:
    """The search for the causes of one convention's difference.

    Args:
        name: name of the convention.
        base: our policy.
        choices: choices applied to every tool.
        outcome: function from a policy to its outcome; cached.
    """

    def __init__(
        self,
        name: str,
        measure: Measure,
        base: Policy,
        choices: Mapping[str, Any],
        outcome: Callable[[Policy], Outcome],
    ) -> None:
        self.name, self.measure, self.base, self.outcome = name, measure, base, outcome
        self.tool = TOOLS[name]
        self.has = self.tool.has(measure.name, measure.cutoff)
        own = self.tool.policy.but(**choices).of(measure.innermost.name)
        pairs = ((option, getattr(base, option), getattr(own, option)) for option in OPTIONS)
        self.switches = tuple(Switch(*pair) for pair in pairs if pair[1] != pair[2])

    def under(self, switches: Sequence[Switch]) -> Outcome:
        """Our policy with the given choices made as in the convention."""
        choices: dict[str, Any] = {each.option: each.theirs for each in switches}
        return self.outcome(replace(self.base, **choices))

    @property
    def theirs(self) -> Outcome:
        """The convention's outcome, with all its choices."""
        return self.under(self.switches)

    def causes(self, same: Callable[[Outcome, Outcome], bool]) -> Iterator[tuple[Switch, ...]]:
        """The smallest sets of choices that turn our outcome into theirs."""
        # Two choices can cancel each other, so no set is skipped because a part of it changes nothing. Known outcomes
        # are not evaluated again, and conventions differ from ours in few choices.
        for size in range(len(self.switches) + 1):
            found = [each for each in combinations(self.switches, size) if same(self.under(each), self.theirs)]
            if found:
                yield from found
                return

    def effects(self, switches: Sequence[Switch], number: Callable[[Outcome], float]) -> tuple[DifferenceCause, ...]:
        """The change of the value by each choice alone, largest first."""
        ours = number(self.outcome(self.base))
        causes = [DifferenceCause(each, number(self.under([each])) - ours) for each in switches]
        return tuple(sorted(causes, key=lambda cause: -abs(np.nan_to_num(cause.alone))))

    def row(self) -> ConventionRow:
        """The convention's value of the measure, with causes."""
        row = ConventionRow(
            self.name, self.tool.version, math.nan, None, math.nan, (), (), f"{self.name} has no {self.measure}"
        )
        if not self.has:
            return row
        first, *others = self.causes(_same)
        theirs, ours = self.theirs, self.outcome(self.base)
        row = replace(row, causes=self.effects(first, lambda found: _mean(found.values)), others=tuple(others))
        if theirs.scores is None:
            return replace(row, why=theirs.refusal)
        estimate = theirs.scores.mean(self.measure)
        difference = _mean(theirs.values) - _mean(ours.values)
        why = ""
        if math.isnan(estimate.tie_broken):
            why = self.tool.order if estimate.queries else "no query is counted"
        return replace(row, value=estimate.tie_broken, estimate=estimate, difference=difference, why=why)


def _same(one: Outcome, other: Outcome) -> bool:
    if one.scores is None or other.scores is None:
        return one.refusal == other.refusal
    return bool(np.allclose(one.values, other.values, rtol=0, atol=CLOSE, equal_nan=True))


def _moves(searches: Sequence[_Search], ours: Outcome, most: int) -> tuple[Move, ...]:
    """The queries with the largest differences, each under the convention where it is largest."""
    open_to_all = [search for search in searches if search.theirs.scores is not None]
    if not open_to_all or ours.scores is None:
        return ()
    theirs = np.array([search.theirs.values for search in open_to_all])
    # Leaving a query out affects the mean like replacing its value by the mean of the others.
    filled = np.array([np.where(np.isnan(values), _mean(values), values) for values in (ours.values, *theirs)])
    differences = np.where(np.isnan(theirs) & np.isnan(ours.values), 0.0, filled[1:] - filled[0])
    by_size = np.nan_to_num(np.abs(differences))
    best, size = by_size.argmax(axis=0).tolist(), by_size.max(axis=0)
    chosen = [index for index in np.argsort(-size, kind="stable").tolist() if size[index] > CLOSE][:most]
    return tuple(_move(open_to_all[best[each]], each, ours, float(differences[best[each], each])) for each in chosen)


def _move(search: _Search, query: int, ours: Outcome, difference: float) -> Move:
    def value(found: Outcome) -> float:
        return float(found.values[query]) if found.scores else math.nan

    def same(one: Outcome, other: Outcome) -> bool:
        # A refusal has no values; it differs from a query left out, whose value is NaN on both sides.
        return one.scores is not None and bool(np.isclose(value(one), value(other), rtol=0, atol=CLOSE, equal_nan=True))

    causes = search.effects(next(search.causes(same)), value)
    name = search.theirs.scores.query_ids[query] if search.theirs.scores else ""
    return Move(name, search.name, value(ours), value(search.theirs), difference, causes)


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def _row_entry(row: ConventionRow) -> dict[str, object]:
    return {
        "convention": row.convention,
        "version": row.version,
        **{name: or_null(getattr(row, name)) for name in ("value", "difference")},
        "causes": [_cause_entry(each) for each in row.causes],
        "other_causes": [[_switch_entry(each) for each in other] for other in row.others],
        "why": row.why,
        **(row.estimate.to_dict(*ESTIMATES) if row.estimate else {}),
    }


def _move_entry(move: Move) -> dict[str, object]:
    numbers = {name: or_null(getattr(move, name)) for name in ("ours", "theirs", "difference")}
    causes = [_cause_entry(each) for each in move.causes]
    return {"query": move.query, "convention": move.convention, **numbers, "causes": causes}


def _cause_entry(cause: DifferenceCause) -> dict[str, object]:
    return {**_switch_entry(cause.switch), "alone": or_null(cause.alone)}


def _switch_entry(switch: Switch) -> dict[str, object]:
    return {**switch._asdict(), "topic": switch.topic, "words": str(switch)}
