"""The choices of a budget."""

from __future__ import annotations

import math
from typing import NamedTuple

from trueval.comparison.budget.interval_plan import UnitPrices
from trueval.errors import PolicyError


class BudgetChoices(NamedTuple):
    """Choices of a budget.

    Attributes:
        baseline: name of the run to compare the others with; None for all pairs.
        level: coverage of the intervals.
        half_width: half width to reach; None for half of the present one of each mean and difference.
        shared_repeats: whether repeats of one number share their condition in all systems, such as a batch size.
        fixed_judges: whether only these judges matter: what judges as such differ by is then no doubt.
        prices: prices of more; None where purchases are not priced.
        seed: of the draws behind intervals of variances.
        answer_labels: labels that an answer takes in one round, where repeats are answers of generators and judges
            rounds of one judge: both are drawn anew for each question, so that neither has an effect common to all
            questions, and each repeat is labeled for itself. None for runs, whose judgments are counted.
    """

    baseline: str | None = None
    level: float = 0.95
    half_width: float | None = None
    shared_repeats: bool = False
    fixed_judges: bool = False
    prices: UnitPrices | None = None
    seed: int = 0
    answer_labels: float | None = None

    def check(self) -> None:
        """Refuse choices out of range.

        Raises:
            PolicyError: one is.
        """
        if not 0.5 < self.level < 1:
            raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {self.level!r}.")
        if self.half_width is not None and not 0 < self.half_width < math.inf:
            raise PolicyError(f"half_width must be a number > 0, such as 0.01. Got {self.half_width!r}.")
        if self.prices is not None:
            self.prices.check()
