"""Choices of a comparison as keyword arguments, alongside those of a policy."""

from __future__ import annotations

from typing import TypedDict

from trueval.policy.policy_choices import PolicyChoices


class PairChoices(TypedDict, total=False):
    """Attributes of ComparisonChoices as keywords; a gate takes level, intervals, resamples and seed of them."""

    level: float
    resamples: int
    test: str
    correction: str
    family: str
    tolerance: float
    tie_samples: int
    intervals: str


class GateChoices(PairChoices, total=False):
    """Keywords of a gate for the comparison behind MaxDrop."""

    seed: int


class CompareChoices(PolicyChoices, PairChoices, total=False):
    """Attributes of ComparisonChoices and of Policy as keywords; the seed is shared by both."""
