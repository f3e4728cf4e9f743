"""Worth of passages: what each judged passage is worth to a measure that is a sum over passages, whatever its grade.

    M = constant + sum over passages d of a_d g(h_d)

a_d is the weight of the ranks that d may have under ties, g the gain of a grade. Both are the measure's own, found by
evaluating lists in which d is the only judged passage (contributions.py) once for each grade.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.labels.both_labels import LabelSets, Sides
from trueval.comparison.labels.contributions import Contributions, single_lists
from trueval.measures import Measure
from trueval.standings.counting import counter
from trueval.standings.input_rules import whole_grades
from trueval.standings.standings import Bools, Floats, Ints

# Gains agree to this at every rank, or the measure is no sum of weight times gain.
ROUNDING: Final = 1e-9


class GainWeights(NamedTuple):
    """What passages are worth to a run: weight of their rank times gain of their grade.

    A passage with a grade below 0, which nobody judged, has the weight that it would have if somebody did, or none.

    Attributes:
        gains: [grade] gain, the greatest in size 1 or -1.
        expected: [row] weight, expected over tie orders.
        lowest: [row] least weight over tie orders.
        highest: [row] greatest weight.
        constant: [query] value that does not depend on labels.
        there: [query] whether the query counts.
        owner: [row] index of its query.
    """

    gains: Floats
    expected: Floats
    lowest: Floats
    highest: Floats
    constant: Floats
    there: Bools
    owner: Ints

    def less(self, other: GainWeights) -> GainWeights:
        """The worth to this run less that to another, on the queries that count for both.

        Args:
            other: worth to subtract.
        """
        return self._replace(
            gains=self.gains if self.gains.any() else other.gains,
            expected=self.expected - other.expected,
            lowest=self.lowest - other.highest,
            highest=self.highest - other.lowest,
            constant=self.constant - other.constant,
            there=self.there & other.there,
        )


def weigh_gains(
    side: Sides, measure: Measure, grades: Floats, added: Contributions, *, unjudged: bool = True
) -> GainWeights | str:
    """The worth of passages to a run; or why the measure has none.

    Args:
        side: the run under both labels.
        measure: the measure as requested.
        grades: [grade] the scale, ascending.
        added: contributions of passages to the measure.
        unjudged: whether passages that the judge did not grade have a weight, since people may grade them.
    """
    policy = side.labels.policy.of(measure.innermost.name)
    settled, judge = measure.under(policy), side.labels.judge
    graded = judge.frame["grade"].clip(lower_bound=0.0)
    # Standings leave out passages without a grade.
    as_judged = not unjudged or graded.equals(judge.frame["grade"])
    if policy.judged_only and not as_judged:
        return (
            "judged_only leaves out what the judge did not grade; where people grade it, it comes into the list and "
            "moves the others, so that the measure is no sum over passages. Leave judged_only out"
        )
    filled = judge if as_judged else replace(judge, frame=judge.frame.with_columns(grade=graded))
    standings = side.judge(policy) if as_judged else counter(side.run, filled)(policy)
    single, rows = single_lists(standings), len(graded)
    tables = np.zeros((3, len(grades), rows))
    for at, grade in enumerate(whole_grades(grades, policy.float_grades, judge.source).tolist()):
        same = np.full_like(single.grade, grade), np.full_like(single.pool_grade, grade)
        values = settled.evaluate(replace(single, grade=same[0], pool_grade=same[1]))
        for kind, name in enumerate(("expected", "lowest", "highest")):
            tables[kind, at, standings.item] = getattr(values, name)
    sums = tables[0].sum(axis=1)
    top = int(np.abs(sums).argmax())
    gains = sums / sums[top] if sums[top] else np.zeros(len(grades))
    weights = tables[:, top]
    if not np.allclose(tables[0], gains[:, None] * weights[0], atol=ROUNDING):
        return "with these parameters a grade is not worth the same at every rank"
    return GainWeights(gains, weights[0], weights[1], weights[2], added.constant, added.there, side.labels.owner)


def scale_of(labels: LabelSets) -> Floats:
    """[grade] the grades that judge or people gave, or could give, ascending.

    Args:
        labels: labels of judge and people.
    """
    low, high = labels.audited.scale
    given, said = (each.frame["grade"].to_numpy() for each in (labels.judge, labels.people))
    return np.unique(np.concatenate((given[given >= 0], said[said >= 0], np.arange(low, high + 1), [low, high])))
