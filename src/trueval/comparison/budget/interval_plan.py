"""What shortens an interval: more questions, repeats or judges, and what these cost.

    half width = t_{1 - alpha/2, f} sqrt(sum over effects of s_k^2 / n_k)

with the degrees of freedom f of Satterthwaite (variance_parts.py) and the number of levels n_k of each effect. The
cheapest purchase minimizes the sum of price times count over numbers of repeats and judges, with as many questions as
each of them then takes (docs/formulas.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.budget.budget_result import Purchase, ShorterInterval
from trueval.comparison.budget.variance_parts import Component, FactorCounts, satterthwaite
from trueval.errors import PolicyError
from trueval.standings.standings import Floats, Ints

# Numbers of more levels that are looked at: each at most a quarter above the last; more than the last counts as never.
STEPS: Final = np.array(sorted({1.25**step // 1 for step in range(73)})) - 1

# A half width that is passed back as the target.
ROUNDING: Final = 1e-9

# Additional repeats and judges that are tried together.
REPEATS: Final = (0, 1, 2, 3, 4, 6, 8, 11, 15, 21)
JUDGES: Final = (0, 1, 2, 3, 4, 6, 8)

# Additional units that people audit, as shares of those that they have.
AUDITED: Final = (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 13.0)


class UnitPrices(NamedTuple):
    """Prices of evaluation, in one currency.

    Attributes:
        question: price of a new question, without its labels.
        label: price of one graded passage.
        answer: price of running one question through one system once.
        currency: their currency.
    """

    question: float = 0.0
    label: float = 0.0
    answer: float = 0.0
    currency: str = "USD"

    def check(self) -> None:
        """Refuse prices that are no prices.

        Raises:
            PolicyError: one is below 0 or not finite, or all are 0.
        """
        for name, price in self._asdict().items():
            if name != "currency" and not 0 <= price < math.inf:
                raise PolicyError(f"The price of one {name} must be a number >= 0, such as 0.02. Got {price!r}.")
        if not self.question + self.label + self.answer > 0:
            raise PolicyError(
                "Nothing has a price, so that nothing is the cheapest. Name what a question, a label or an answer "
                "costs, such as label=0.03, or leave prices out."
            )


class Purchases(NamedTuple):
    """[purchase] numbers of more questions, repeats of each system, judges, and units that people audit."""

    questions: Floats
    repeats: Floats
    judges: Floats
    audited: Floats


class Workload(NamedTuple):
    """What is there now, and what more of it takes.

    Attributes:
        labels: graded passages of a question by one judge, on average.
        systems: number of systems that answer every question.
        unit: labels that an audited unit takes: the passages of a question, or 1.
        repeats: whether the effect of repeats is known.
        judges: whether that of judges is, and others can be asked.
        of_answers: whether labels are of answers, so that each repeat takes its own.
    """

    labels: float
    systems: int
    unit: float
    repeats: bool
    judges: bool
    of_answers: bool = False


class IntervalPlan(NamedTuple):
    """A mean whose interval should be shorter.

    Attributes:
        components: effects that count.
        variances: [effect] their variances, >= 0.
        counts: numbers of levels now.
        level: coverage of the interval.
    """

    components: Sequence[Component]
    variances: Floats
    counts: FactorCounts
    level: float

    def half_widths(self, counts: FactorCounts) -> Floats:
        """Half widths of the interval at other numbers of levels."""
        from scipy.special import stdtrit

        shape = np.broadcast_shapes(*map(np.shape, counts.arrays()))
        parts = [
            np.broadcast_to(variance / each.divisor * self.counts.divisor(each) / counts.divisor(each), shape)
            if variance > 0
            else np.zeros(shape)
            for each, variance in zip(self.components, self.variances, strict=True)
        ]
        degrees = satterthwaite(self.components, parts, counts)
        return np.asarray(stdtrit(degrees, (1 + self.level) / 2) * np.sqrt(sum(parts)))

    def more(self, bought: Purchases) -> FactorCounts:
        """Numbers of levels with so many more; no more is audited than there is."""
        now, queries = self.counts, self.counts.queries + bought.questions
        audited = None
        if now.audited is not None:
            audited = np.minimum(now.audited + bought.audited, queries * now.drawn_from)
        return now._replace(
            queries=queries,
            repeats=tuple(each + bought.repeats for each in now.repeats),
            judges=now.judges + bought.judges,
            audited=audited,
        )

    def shorter(self, target: float, work: Workload, prices: UnitPrices | None) -> ShorterInterval:
        """What makes the half width at most the target, alone and for least.

        Args:
            target: half width to reach, > 0.
            work: what more of each takes.
            prices: prices; None where only single purchases are compared.
        """
        none = np.zeros(1)
        ways: tuple[tuple[bool, Callable[[Floats], Purchases]], ...] = (
            (True, lambda more: Purchases(more, none, none, none)),
            (work.repeats, lambda more: Purchases(none, more, none, none)),
            (work.judges, lambda more: Purchases(none, none, more, none)),
            (self.counts.audited is not None, lambda more: Purchases(none, none, none, more)),
        )
        alone: list[Purchase | None] = []
        for possible, way in ways:
            found = self._fewest(target, way, 1)[0] if possible else -1
            alone.append(self._purchase(way(np.array([float(found)])), work, prices) if found >= 0 else None)
        cheapest = None if prices is None else self._cheapest(target, work, prices)
        questions, repeats, judges, audited = alone
        return ShorterInterval(target, questions, repeats, judges, audited, cheapest)

    def _fewest(self, target: float, way: Callable[[Floats], Purchases], number: int) -> Ints:
        """[purchase] the least number with which the half width is at most the target; -1 where none is enough.

        The half width can rise again where few judges are left to decide the degrees of freedom, so that steps of a
        fixed ratio are looked at before the exact number is found between two of them.

        Args:
            target: half width to reach.
            way: from numbers of more levels to what is bought with each.
            number: of purchases.
        """
        steps = np.broadcast_to(STEPS[:, None], (len(STEPS), number))
        widths = self.half_widths(self.more(way(steps)))
        enough = np.broadcast_to(widths <= target * (1 + ROUNDING), (len(STEPS), number))
        first = enough.argmax(axis=0)
        low, high = np.where(first > 0, STEPS[first - 1] + 1, 0.0), STEPS[first]
        while (low < high).any():
            middle = (low + high) // 2
            reached = self.half_widths(self.more(way(middle))) <= target * (1 + ROUNDING)
            low, high = np.where(reached, low, np.minimum(middle + 1, high)), np.where(reached, middle, high)
        return np.where(enough.any(axis=0), high, -1.0).astype(np.int64)

    def _purchase(self, more: Purchases, work: Workload, prices: UnitPrices | None) -> Purchase:
        """What so many more of each are, and cost."""
        labels, answers = self._work(more, work)
        if self.counts.audited is not None and (then := self.more(more).audited) is not None:
            more = more._replace(audited=then - self.counts.audited)  # no more than there are
        cost = None if prices is None else float(self._cost(more, work, prices)[0])
        width = float(self.half_widths(self.more(more))[0])
        questions, repeats, judges, audited, *work_units = (
            int(np.ceil(each - ROUNDING)[0]) for each in (*more, labels, answers)
        )
        return Purchase(questions, repeats, judges, audited, work_units[0], work_units[1], cost, width)

    def _work(self, more: Purchases, work: Workload) -> tuple[Floats, Floats]:
        """Labels and answers that so many more of each take."""
        now, then = self.counts, self.more(more)
        runs = work.systems / len(now.repeats)
        each = sum(then.repeats) * runs if work.of_answers else 1, sum(now.repeats) * runs if work.of_answers else 1
        labels = work.labels * (then.queries * then.judges * each[0] - now.queries * now.judges * each[1])
        if now.audited is not None and then.audited is not None:
            labels = labels + work.unit * (then.audited - now.audited)
        answers = runs * sum(
            then.queries * after - now.queries * before for after, before in zip(then.repeats, now.repeats, strict=True)
        )
        return np.asarray(labels), np.asarray(answers)

    def _cost(self, more: Purchases, work: Workload, prices: UnitPrices) -> Floats:
        labels, answers = (np.ceil(each - ROUNDING) for each in self._work(more, work))  # as they are told
        return np.asarray(prices.question * more.questions + prices.label * labels + prices.answer * answers)

    def _cheapest(self, target: float, work: Workload, prices: UnitPrices) -> Purchase | None:
        """The purchase of all together that costs least."""
        audited = self.counts.audited
        more = [0.0] if audited is None else [np.ceil(float(audited) * each) for each in AUDITED]
        axes = (REPEATS if work.repeats else (0,), JUDGES if work.judges else (0,), more)
        repeats, judges, people = (each.reshape(-1).astype(float) for each in np.meshgrid(*axes))
        questions = self._fewest(target, lambda more: Purchases(more, repeats, judges, people), len(repeats))
        possible = questions >= 0
        if not possible.any():
            return None
        numbers = (questions.astype(float), repeats, judges, people)
        tried = Purchases(*(each[possible] for each in numbers))
        at = int(np.lexsort((tried.questions, self._cost(tried, work, prices)))[0])
        return self._purchase(Purchases(*(each[[at]] for each in tried)), work, prices)
