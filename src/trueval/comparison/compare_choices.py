"""The choices of a comparison as keywords of a call, beside those of a policy."""

from __future__ import annotations

from typing import TypedDict

from trueval.policy.policy_choices import PolicyChoices


class PairChoices(TypedDict, total=False):
    """Single attributes of ComparisonChoices, of which a gate takes level, intervals, resamples and seed."""

    level: float
    resamples: int
    test: str
    correction: str
    family: str
    tolerance: float
    tie_samples: int
    intervals: str


class GateChoices(PairChoices, total=False):
    """What a gate takes of the comparison behind MaxDrop."""

    seed: int


class CompareChoices(PolicyChoices, PairChoices, total=False):
    """Single attributes of ComparisonChoices and of Policy; the seed is that of both."""
