"""Explanations of why tools disagree: a measure under every convention, and the choices behind each difference.

Causes are found by search, not looked up: the choices in which a convention differs from ours are applied one at a
time, then two at a time and so on, until the resulting policy gives the convention's value for every query.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueval.errors import InputError, MeasureError, TruevalWarning
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.explanation_result import (
    Choice,
    ConventionRow,
    DifferenceCause,
    Explanation,
    Move,
    OurMean,
    Switch,
)
from trueval.evaluation.pairing import read_pair
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.measures import Measure, parse
from trueval.measures.grammar import OtherMeasure
from trueval.policy.conventions import TOOLS
from trueval.policy.policy import OPTIONS, Policy
from trueval.run import Run
from trueval.standings.standings import Floats

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.judgments import JudgmentsLike
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.run import RunLike

# Values closer than this are the same: sums of the same terms in another order differ by less.
CLOSE = 1e-9


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
    mean = ours.scores.mean(parsed)
    of_ours = OurMean(mean.expected, mean.lowest, mean.highest, mean.tie_broken, mean.queries)
    return Explanation(run.name, str(parsed), of_ours, rows, moves, notes)


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
        choices: Mapping[str, object],
        outcome: Callable[[Policy], Outcome],
    ) -> None:
        self.name, self.measure, self.base, self.outcome = name, measure, base, outcome
        self.tool = TOOLS[name]
        self.has = self.tool.has(measure.name, measure.cutoff)
        own = self.tool.policy.but(**choices).of(measure.innermost.name)
        pairs = ((option, getattr(base, option), getattr(own, option)) for option in OPTIONS)
        self.switches = tuple(_switch(*pair) for pair in pairs if pair[1] != pair[2])

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
        causes = [DifferenceCause(**vars(each), alone=number(self.under([each])) - ours) for each in switches]
        return tuple(sorted(causes, key=lambda cause: -abs(np.nan_to_num(cause.alone))))

    def row(self) -> ConventionRow:
        """The convention's value of the measure, with causes."""
        why = f"{self.name} has no {self.measure}"
        row = ConventionRow(self.name, self.tool.version, math.nan, math.nan, (), (), why)
        if not self.has:
            return row
        first, *others = self.causes(_same)
        theirs, ours = self.theirs, self.outcome(self.base)
        row = replace(row, causes=self.effects(first, lambda found: _mean(found.values)), others=tuple(others))
        if theirs.scores is None:
            return replace(row, why=theirs.refusal)
        mean = theirs.scores.mean(self.measure)
        difference = _mean(theirs.values) - _mean(ours.values)
        why = ""
        if math.isnan(mean.tie_broken):
            why = self.tool.order if mean.queries else "no query is counted"
        numbers = {name: getattr(mean, name) for name in ("expected", "lowest", "highest", "tie_broken", "queries")}
        return replace(row, value=mean.tie_broken, difference=difference, why=why, **numbers)


def _switch(option: str, ours: Choice, theirs: Choice) -> Switch:
    topic = OPTIONS[option].topic
    words = OPTIONS[option].words.get(str(theirs), f"{option.replace('_', ' ')} {theirs}")
    return Switch(option, ours, theirs, topic, f"{topic}: {words}")


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
