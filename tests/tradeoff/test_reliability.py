"""How often what is said of frontiers is true: docs/tradeoff.md has the figures."""

from __future__ import annotations

import pytest
from tests.tradeoff.worlds import reliability, said


def of_ninety(curve: list[tuple[float, float, int]]) -> tuple[float, int]:
    return next((true, count) for stated, true, count in curve if 0.85 <= stated < 0.95)


def test_what_is_said_is_about_true_in_a_few_worlds() -> None:
    found = said("independent", 6, resamples=100)
    assert abs(found.points.mean() - found.there.mean()) < 0.03
    assert found.there[found.points > 0.85].mean() > 0.85
    assert found.there[found.points < 0.15].mean() < 0.1


@pytest.mark.evidence
@pytest.mark.parametrize("kind", ["independent", "saturating", "duplicates"])
def test_reliability(kind: str) -> None:
    found = said(kind, 400)
    points, plain = reliability(found.points, found.there), reliability(found.plain, found.there)
    groups = reliability(found.groups, found.groups_there)
    for name, curve in (("points", points), ("plain", plain), ("groups", groups)):
        print(kind, name, " ".join(f"{stated:.3f}:{true:.3f} ({count})" for stated, true, count in curve))
    true, count = of_ninety(points if kind != "duplicates" else groups)
    assert count > 100
    # In the independent world the target; elsewhere what is measured, so that it does not get worse unseen.
    low, high = {"independent": (0.87, 0.93), "saturating": (0.87, 0.96), "duplicates": (0.76, 0.93)}[kind]
    assert low <= true <= high
