"""Lists that end inside a tie: what they may cost."""

from __future__ import annotations

import numpy as np
import pytest

from trueval.errors import PolicyError
from trueval.evaluation.arrays import evaluate_arrays
from trueval.measures import list_end

MEASURES = ["nDCG(base='list')@3", "R(base='list')@4", "AP(base='list')"]


@pytest.mark.parametrize("rows", [1, 40])
def test_outcomes_taken_part_by_part_say_what_they_say_together(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    scores, grades = rng.integers(2, size=(6, 12)) * 1.0, rng.integers(0, 3, (6, 12)) * 1.0
    together = evaluate_arrays(scores, grades, MEASURES, depth=8)
    calls = []
    made = list_end._standings_of
    monkeypatch.setattr(list_end, "_standings_of", lambda s, c: calls.append(sum(len(p.kept) for p in c)) or made(s, c))
    monkeypatch.setattr(list_end, "ROWS", rows)
    found = evaluate_arrays(scores, grades, MEASURES, depth=8)
    assert max(calls) <= max(2, rows // 12 + 1)
    for statistic in ("expected", "lowest", "highest", "tie_broken", "sd"):
        np.testing.assert_allclose(getattr(found, statistic), getattr(together, statistic), rtol=1e-14)


def test_too_many_outcomes_are_refused_with_the_cure() -> None:
    grades = (np.arange(10_000) % 2) * 1.0
    with pytest.raises(PolicyError, match=r"too many ways to count\. Choose base='judgments'"):
        evaluate_arrays([np.zeros(10_000)], [grades], "nDCG(base='list')", depth=5000)
