"""All choices of a comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from trueval.errors import PolicyError

# Each test, with the correction that goes with it. Otero, Parapar & Ferro (ECIR 2025) found Wilcoxon with Benjamini &
# Hochberg to keep its level and to have the most power at the sizes of TREC collections, about 50 queries.
TESTS: Final = {"randomization": "maxt", "t": "holm", "wilcoxon": "benjamini-hochberg"}
CORRECTIONS: Final = ("maxt", "holm", "benjamini-hochberg")
# Maximum number of tie orders drawn for a verdict. A win probability within about .008 of .95 is then undecidable.
MOST_TIE_SAMPLES: Final = 16_000
FAMILIES: Final = ("measure", "all")
# Methods of intervals: resampling; betting, for one look at a number of queries fixed in advance, or for any number of
# looks while they arrive.
BOOTSTRAP: Final = "bootstrap"
BOUNDED: Final = "bounded"
ANYTIME: Final = "anytime"
INTERVALS: Final = (BOOTSTRAP, BOUNDED, ANYTIME)


@dataclass(frozen=True)
class ComparisonChoices:
    """All choices of a comparison.

    Attributes:
        level: level of intervals, tests and verdicts.
        resamples: bootstrap resamples, and sign patterns of the randomization test where not all are listed.
        seed: seed of all randomness; for one seed, results are the same on any number of threads.
        test: the test whose p is adjusted and decides: "randomization", "t" or "wilcoxon".
        correction: correction for a family of pairs: "maxt" (randomization only), "holm", "benjamini-hochberg"; "" for
            the default of the test: maxt for randomization, holm for t, benjamini-hochberg for wilcoxon.
        family: tests that are adjusted together: those of each "measure", or "all".
        tolerance: per-query differences up to this value are ties in the counts of wins, ties and losses.
        tie_samples: minimum number of tie orders drawn for a win probability whose orders cannot be enumerated, at most
            MOST_TIE_SAMPLES. A verdict draws as many as it needs, independent of this choice.
        intervals: "bootstrap"; "bounded", by betting, valid for any distribution of the differences and any number of
            queries; or "anytime", valid also at every look while queries arrive in the order of the judgments.
    """

    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0
    test: str = "randomization"
    correction: str = ""
    family: str = "measure"
    tolerance: float = 1e-9
    tie_samples: int = 0
    intervals: str = BOOTSTRAP

    def __post_init__(self) -> None:
        if not 0.5 < self.level < 1:
            raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {self.level!r}.")
        if self.resamples < 100:
            raise PolicyError(f"resamples must be an integer >= 100. Got {self.resamples!r}.")
        if self.tolerance < 0:
            raise PolicyError(f"tolerance must be at least 0. Got {self.tolerance!r}.")
        if not 0 <= self.tie_samples <= MOST_TIE_SAMPLES:
            raise PolicyError(f"tie_samples must be from 0 to {MOST_TIE_SAMPLES:,}. Got {self.tie_samples!r}.")
        self._check("test", tuple(TESTS))
        object.__setattr__(self, "correction", self.correction or TESTS[self.test])
        self._check("correction", CORRECTIONS)
        self._check("family", FAMILIES)
        self._check("intervals", INTERVALS)
        if self.correction == "maxt" and self.test != "randomization":
            raise PolicyError(
                f"The correction maxt needs the signs of the randomization test. Got the test {self.test!r}; take "
                "holm or benjamini-hochberg."
            )

    def _check(self, name: str, accepted: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if value not in accepted:
            raise PolicyError(f"{name} must be one of {', '.join(accepted)}. Got {value!r}.")

    @property
    def alpha(self) -> float:
        """1 - level, computed without the rounding error of the subtraction."""
        return round(1 - self.level, 12)

    @property
    def patterns(self) -> int:
        """Number of sign patterns to draw, large enough that the least p is a twentieth of alpha."""
        return max(self.resamples, math.ceil(20 / self.alpha))
