"""Settings of the quality of configurations in a sweep: measures, labels, policy and intervals."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from trueval.errors import TruevalWarning
from trueval.measures import Measure, parse_list
from trueval.policy.policy import Policy

AT_K: Final = re.compile(r"@K\b")  # placeholder for the number of contexts in the name of a measure


@dataclass(frozen=True, eq=False)
class QualitySettings:
    """Settings that determine how the quality of runs is measured.

    Attributes:
        names: names of the measures, the first being the quality; @K stands for each number of contexts.
        judgments: file of the judgments; None for those of the collection.
        grades: grade in the file → grade to use; None keeps them.
        unjudged: grade of listed documents without a judgment; None leaves them unjudged.
        policy: every choice that changes a number.
    """

    names: tuple[str, ...]
    judgments: str | None
    grades: Mapping[float, float] | None
    unjudged: float | None
    policy: Policy
    level: float
    resamples: int
    seed: int

    def at(self, k: int) -> tuple[Measure, ...]:
        """The measures with K contexts.

        >>> [str(each) for each in QualitySettings(("nDCG@K", "AP"), None, None, None, Policy(), 0.95, 2000, 0).at(5)]
        ['nDCG@5', 'AP']
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruevalWarning)  # already reported when the plan was read
            return tuple(measure for name in self.names for measure in parse_list(AT_K.sub(f"@{k}", name)))
