"""What a terminal shows of a sweep: the best of each K, in 80 columns."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console
from tests.tradeoff.sweeps import large_sweep, made_sweep

from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views.kind import SWEEP
from trueval.tradeoff.views.sweep import MOST, best_of_each_k


def shown(sweep, width: int = 80) -> str:
    text = io.StringIO()
    Console(file=text, width=width, color_system=None, highlight=False).print(SWEEP.write(sweep, "table", legend=True))
    return text.getvalue()


def best(sweep):
    """The configurations that the table shows."""
    return [sweep["configurations"][place] for place in best_of_each_k(SweepResult.from_dict(sweep))]


@pytest.mark.parametrize(
    "sweep", [made_sweep(), large_sweep(), made_sweep(latency=False, priced=False)], ids=["few", "many", "bare"]
)
def test_it_fits_80_columns(sweep) -> None:
    assert max(map(cell_len, shown(sweep).splitlines())) <= 80


def test_the_best_of_each_k_come_first() -> None:
    sweep = large_sweep()
    chosen = best(sweep)
    assert len(chosen) == 18 <= MOST
    for k in (10, 20, 50):
        here = [each["measures"][f"RA-nWG@{k}"]["expected"] for each in chosen if each["K"] == k]
        known = [each["measures"][f"RA-nWG@{k}"]["expected"] for each in sweep["configurations"] if each["K"] == k]
        assert here == sorted(known, reverse=True)[:6]
    assert [each["K"] for each in chosen] == [10] * 6 + [20] * 6 + [50] * 6


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_name_and_no_number_is_cut(width: int) -> None:
    """What all names share is said once, below."""
    sweep = large_sweep()
    text = shown(sweep, width)
    said = " ".join(text.split())
    begin = 'Every name also begins with "sentence-transformers/all-MiniLM-L6-v2 normalised hybrid+rerank".'
    assert begin in said
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= width
    for each in best(sweep):
        name = sweep["systems"][each["system"]]["name"]
        assert name.removeprefix("sentence-transformers/all-MiniLM-L6-v2 normalised hybrid+rerank ") in said
        assert f"{each['measures'][each['quality']]['expected']:.4f}" in said


def test_where_all_find_everything_cost_decides_and_the_sentence_says_so() -> None:
    sweep = made_sweep() | {"limits": {}}
    for each in sweep["configurations"]:
        each["measures"][each["quality"]] |= dict.fromkeys(("expected", "low", "high", "lowest", "highest"), 1.0)
    least = min(each["cost"]["total"] for each in sweep["configurations"])
    cheapest = [each["name"] for each in sweep["configurations"] if each["cost"]["total"] == least]
    said, count = " ".join(shown(sweep).split()), len(sweep["configurations"])
    assert any(said.startswith(f"Ship {name}: ") for name in cheapest)
    ceiling = f"; all {count} configurations reach 1, the ceiling of {sweep['quality']}, so that quality cannot tell"
    assert f"{ceiling} them apart on these queries, and it is the cheapest" in said
    assert any(f"; the runner-up is {each['name']}. Only harder" in said for each in sweep["configurations"])
    assert "Only harder questions, on which some of them fail" in said
    sweep["configurations"][0]["measures"][sweep["configurations"][0]["quality"]]["expected"] = 0.99
    assert f"; {count - 1} of {count} configurations reach 1" in " ".join(shown(sweep).split())


def test_of_equal_ones_the_cheaper_is_first_and_the_unknown_last() -> None:
    sweep = made_sweep(methods=("dense",), cutoffs=(10,), indexes=("flat",), dimensions=(128, 256, 384))
    for cost, configuration in zip((2.0, 1.0, None), sweep["configurations"], strict=True):
        configuration["cost"]["total"] = cost
        configuration["measures"]["RA-nWG@10"]["expected"] = 0.5
    assert [each["cost"]["total"] for each in best(sweep)] == [1.0, 2.0, None]
    sweep["configurations"][1]["measures"]["RA-nWG@10"]["expected"] = None
    assert [each["cost"]["total"] for each in best(sweep)] == [2.0, None, 1.0]


def test_remarks_say_what_a_reader_must_know() -> None:
    sweep = large_sweep()
    text = " ".join(shown(sweep).split())
    assert f"The best 18 of {len(sweep['configurations'])} configurations, by K." in text
    assert "--format csv has all" in text
    assert (
        "quality is RA-nWG@K, its interval 95 % over 100 queries; the order of ties moves it by up to 0.0080." in text
    )
    assert "Judged are 29.00% to 45.00% of the documents in the contexts" in text
    assert "Costs are in USD for 1,000 queries, by prices of 2025-11-01 (prices.toml)." in text
    assert "failed dense 384d <b>ivf</b> index.spec: no index is called 'ivf'" in text
    assert len(sweep["left_out"]) == 48
    assert f"left out {sweep['left_out'][0]['name']} and 47 more K 100 is above the pool of 50 candidates" in text
    assert "Half of the top documents are not judged." not in text  # a note, which the command says before


def test_what_is_not_known_is_a_dash() -> None:
    text = shown(made_sweep(latency=False, priced=False, methods=("dense",), cutoffs=(10,)))
    line = next(line for line in text.splitlines() if line.startswith("384d flat"))
    assert line.split()[-2:] == ["–", "–"]


def test_many_reasons_are_counted() -> None:
    sweep = made_sweep()
    sweep["failed"] = [{"name": f"s{place}", "key": "k", "reason": f"reason {place}"} for place in range(8)]
    text = " ".join(shown(sweep).split())
    assert "failed s0 reason 0" in text
    assert "failed others 3 further reasons in sweep.json" in text


def test_a_sweep_without_configurations_tells_why() -> None:
    text = shown({**made_sweep(), "configurations": []})
    assert text.startswith("No configuration of this sweep has a value.")
    assert "failed dense 384d" in " ".join(text.split())
