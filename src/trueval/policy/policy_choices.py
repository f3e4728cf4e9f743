"""The choices of a policy as keywords of a call: given ones override the policy's."""

from __future__ import annotations

from typing import TypedDict


class PolicyChoices(TypedDict, total=False):
    """Attributes of Policy as keywords, and a convention to start from; None means not chosen."""

    convention: str | None
    tie_order: str | None
    tie_precision: str | float | None
    rel: float | None
    base: str | None
    empty: str | None
    missing: str | None
    depth: int | None
    judged_only: bool | None
    seed: int | None
    gain: str | None
    norm: str | None
    short: str | None
    rounding: str | None
    unopposed: str | None
    labels: str | None
    float_grades: str | None
    nonpositive: str | None
    skip_first: bool | None
