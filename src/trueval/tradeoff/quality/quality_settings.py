"""How the quality of the configurations of a sweep is measured: measures, labels, policy and intervals."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from trueval.errors import TruevalWarning
from trueval.measures import Measure, parse_list
from trueval.policy.policy import Policy

AT_K: Final = re.compile(r"@K\b")  # where a number of contexts stands in the name of a measure


@dataclass(frozen=True, eq=False)
class QualitySettings:
    """How the quality of runs is measured.

    Attributes:
        names: of the measures, the first of them the quality; @K stands for each number of contexts.
        judgments: file of the judgments; None for those of the collection.
        grades: grade in the file → grade to use; None keeps them.
        unjudged: grade of documents that a run lists and nobody graded; None leaves them so.
        policy: every choice that changes a number.
        resamples: times that queries are drawn.
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
            warnings.simplefilter("ignore", TruevalWarning)  # said when the plan was read
            return tuple(measure for name in self.names for measure in parse_list(AT_K.sub(f"@{k}", name)))
