"""What of a difference more questions do not average out: repeats of the systems and judges, as a budget found it.

    V = sum over the effects without a question, R, J and RJ, of their variance, for one repeat and one judge
    half width with it = sqrt(h^2 + t_{f}^2 V),   h the half width over questions

with the degrees of freedom f of Satterthwaite. What repeats and judges change for single questions is part of what
values of questions differ by, and so of every interval over questions already.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trueval.comparison.budget.budget_result import Budget, Doubt
from trueval.errors import InputError, PolicyError

if TYPE_CHECKING:
    from trueval.standings.standings import Floats

FILE: Final = "budget.json"

# Choices of a policy that expected values do not depend on.
OF_TIES: Final = frozenset({"convention", "tie_order", "seed"})


class SharedDoubt(NamedTuple):
    """Variance of a difference of two means that more questions leave.

    Attributes:
        variance: V.
        degrees: degrees of freedom; infinite where V is 0.
        first: name of the first run of the pair that it was found for.
        second: name of the second.
    """

    variance: float
    degrees: float
    first: str
    second: str

    def half_width(self, level: float) -> float:
        """Half width of the interval of a difference by this alone.

        Args:
            level: level of the interval.
        """
        from scipy.special import stdtrit

        if not self.variance:
            return 0.0
        return float(stdtrit(self.degrees, (1 + level) / 2)) * math.sqrt(self.variance)

    def widen(self, value: float, low: float, high: float, level: float) -> tuple[float, float]:
        """The ends of an interval over questions with this added.

        Args:
            value: the difference.
            low: lower end.
            high: upper end.
            level: level of the interval.

        >>> SharedDoubt(0.0001, math.inf, "a", "b").widen(0.1, 0.07, 0.13, 0.95)
        (0.06416..., 0.13583...)
        """
        added = self.half_width(level)
        return value - math.hypot(value - low, added), value + math.hypot(high - value, added)

    def draw(self, number: int, size: int, rng: np.random.Generator) -> Floats:
        """[mean, draw] errors of means whose differences are t distributed with this variance.

        Args:
            number: number of means.
            size: number of draws.
            rng: generator.
        """
        if not self.variance:
            return np.zeros((number, size))
        scale = np.ones(size)
        if math.isfinite(self.degrees):
            scale = np.sqrt(self.degrees / np.maximum(rng.chisquare(self.degrees, size), 1e-12))
        return np.asarray(math.sqrt(self.variance / 2) * rng.standard_normal((number, size)) * scale)


def doubt_of_means(budget: Budget, measure: str) -> SharedDoubt:
    """What more questions leave of a mean: the largest of the budget's runs.

    Unlike that of a difference, it holds how much stricter one judge is than another with all runs.

    Args:
        budget: result of `trueval budget`.
        measure: text form of the measure, which the budget has.
    """
    found = [
        _without_questions(budget, each) for own in budget.measures if own.measure == measure for each in own.means
    ]
    return max(found, key=lambda each: each.half_width(0.95))


def shared_doubt(budget: Budget, measure: str, first: str | None = None, second: str | None = None) -> SharedDoubt:
    """What more questions leave of a difference.

    Args:
        budget: result of `trueval budget`.
        measure: text form of the measure.
        first: name of a run; None for any.
        second: name of another.

    Returns:
        That of the pair; of a pair that the budget does not have, or whose repeats it does not know where it knows
        those of others, the largest of all of its pairs.

    Raises:
        InputError: the budget is not of this measure, or knows neither repeats nor several judges.
    """
    own = next((each for each in budget.measures if each.measure == measure), None)
    if own is None:
        known = ", ".join(each.measure for each in budget.measures)
        raise InputError(
            f'The budget is of {known}, and not of {measure}. Make one with trueval budget -m "{measure}".'
        )
    if max(budget.repeats) < 2 and len(budget.judges) < 2 and budget.choices.get("answer_labels") is not None:
        raise InputError(
            "The budget knows one answer to each question and one round of the judge, so nothing that more questions "
            "would leave. Give trueval answers budget answers with several samples, or tables of several rounds."
        )
    if max(budget.repeats) < 2 and len(budget.judges) < 2:
        raise InputError(
            "The budget knows one run of each system and one judge, so nothing that more questions would leave. Give "
            "trueval budget further runs with --repeats, or judges with --judges."
        )
    found = [_without_questions(budget, pair) for pair in own.differences]
    again = dict(zip(budget.runs, budget.repeats, strict=True))
    ran_again = max(budget.repeats) < 2 or min(again.get(str(name), 0) for name in (first, second)) > 1
    asked = [each for each in found if ran_again and {each.first, each.second} == {first, second}]
    return asked[0] if asked else max(found, key=lambda each: each.half_width(0.95))


def _without_questions(budget: Budget, doubt: Doubt) -> SharedDoubt:
    """The effects of a mean or a difference that have no question."""
    fixed = bool(budget.choices.get("fixed_judges"))
    parts = [
        (each.variance, each.degrees)
        for each in doubt.effects
        if each.effect in ("R", "J", "RJ") and not (fixed and each.effect == "J")
    ]
    total = sum(variance for variance, _ in parts)
    squares = sum(variance**2 / degrees for variance, degrees in parts)
    degrees = max(total**2 / squares, 1.0) if squares else math.inf
    return SharedDoubt(total, degrees, doubt.run, str(doubt.minus))


def read_budget(budget: Budget | str | PathLike[str], policy: Mapping[str, object]) -> Budget:
    """A budget, or the one in a file or a folder of results, of values under a policy.

    Args:
        budget: the budget, its JSON file, or the folder that --out of `trueval budget` wrote.
        policy: the policy of the values that it is for, as a dict.

    Raises:
        InputError: there is none.
        PolicyError: it is of expected values under another policy.
    """
    found = budget if isinstance(budget, Budget) else _read(budget)
    own = found.choices["policy"]
    for name in policy.keys() - OF_TIES:
        if own.get(name) != policy[name]:
            raise PolicyError(
                f"The budget is of values with {name}={own.get(name)!r}, and these have {name}={policy[name]!r}. Make "
                "one with trueval budget and the same options."
            )
    return found


def _read(place: str | PathLike[str]) -> Budget:
    from trueval.report.result_inputs import read_result

    return read_result(place, FILE, Budget, "trueval budget")
