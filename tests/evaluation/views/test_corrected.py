"""What a person reads of corrected values says no more than their intervals do."""

from __future__ import annotations

import pytest

from trueval.evaluation.views.corrected import CorrectedEntry, describe_leader_changes


def told(name: str, judge: float, low: float, high: float, measure: str = "P@10") -> CorrectedEntry:
    corrected = {"estimate": (low + high) / 2, "low": low, "high": high}
    return CorrectedEntry(name, {"measure": measure, "judge": {"estimate": judge}, "corrected": corrected}, ())


@pytest.mark.parametrize(("low", "overlap"), [(0.45, False), (0.35, True)])
def test_another_best_run_is_named_with_what_its_interval_leaves_open(low: float, overlap: bool) -> None:
    (said,) = describe_leader_changes([told("old", 0.6, 0.2, 0.4), told("new", 0.5, low, 0.5)])
    named = "P@10: by the judge's labels old is best, by the corrected values new"
    assert said == named + ("; the corrected intervals of the two overlap." if overlap else ".")
