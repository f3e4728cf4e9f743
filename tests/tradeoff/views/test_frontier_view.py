"""The view of a frontier: what it says to ship, how sure that is, and what its tables and files hold."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from tests.tradeoff.frontiers import made_frontier
from tests.tradeoff.sweeps import made_sweep

from trueval.report.number_texts import FRACTIONS, format_value
from trueval.report.view import Sentence, View
from trueval.report.view_texts import as_csv, write
from trueval.tradeoff.frontier.frontier_result import FrontierResult
from trueval.tradeoff.views.frontier import view


def view_of(frontier: dict[str, Any]) -> View:
    return view(FrontierResult.from_dict(frontier))


def said(sentence: Sentence) -> str:
    return write(sentence, FRACTIONS)


def ships(frontier: dict[str, Any]) -> str:
    return said(view_of(frontier).answer.sentence)


def titles(shown: View) -> list[str]:
    return [section.title for section in shown.sections]


def test_it_says_what_to_ship_what_that_costs_and_what_it_is_not_separated_from() -> None:
    frontier = made_frontier(made_sweep())
    rule = frontier["rules"][0]
    answer, second = (frontier["points"][rule[name]] for name in ("answer", "runner_up"))
    quality, latency = answer["quality"], answer["latency"]["p50"]["value"]
    second["cost"] = answer["cost"]
    second["latency"]["p50"]["value"] = latency
    ends = f"({format_value(quality['low'])} to {format_value(quality['high'])})"
    worth = f"{quality['measure']} {format_value(quality['value'])} {ends}, {1000 * latency:.2f} ms at p50"
    assert ships(frontier) == (
        f"Ship {answer['name']}, the best quality with latency at most 500 ms: {worth}, {answer['cost']:.2f} USD per "
        f"1,000 queries; it is not separated from {second['name']} ({second['quality']['measure']} "
        f"{format_value(second['quality']['value'])})."
    )
    sure = said(view_of(frontier).answer.sure)
    assert sure.startswith(f"It is better than {second['name']} in .620, inside the limits in .970 and on the frontier")
    assert "2 configurations tie with the best." in sure
    assert "choosing flatters it by 0.0100." in sure


@pytest.mark.parametrize(
    ("cost", "seconds", "told"),
    [(0.5, 2.0, "which is cheaper (0.50 USD)."), (9.0, 0.001, "which is faster (1.00 ms)."), (9.0, 2.0, None)],
)
def test_what_ties_and_is_cheaper_or_faster_is_named(cost: float, seconds: float, told: str | None) -> None:
    frontier = made_frontier(made_sweep())
    rule = frontier["rules"][0]
    second = frontier["points"][rule["runner_up"]]
    second["cost"], second["latency"]["p50"]["value"] = cost, seconds
    end = ships(frontier).partition("; ")[2]
    assert end.startswith(f"it is not separated from {second['name']}")
    assert end.endswith(told or ").")
    rule["within_noise"] = [rule["answer"]]
    assert "; it beats " in ships(frontier)


def test_who_is_not_the_best_says_what_decides() -> None:
    frontier = made_frontier(made_sweep())
    rule = frontier["rules"][0]
    rule |= {"best": rule["runner_up"], "decided_by": "smaller prompt"}
    best = frontier["points"][rule["best"]]
    best["cost"], best["latency"]["p50"]["value"] = 99.0, 9.0
    value = f"{best['quality']['measure']} {format_value(best['quality']['value'])}"
    told = f"the best quality with latency at most 500 ms, {best['name']} ({value}), and the smaller prompt decides."
    assert ships(frontier).endswith(f"; it is not separated from {told}")


def test_where_nothing_is_inside_the_limits_nothing_is_to_be_shipped() -> None:
    frontier = made_frontier(made_sweep())
    rule = frontier["rules"][0]
    rule |= {"answer": None, "runner_up": None, "feasible_chance": None}
    none = "Ship none of these: none keeps the limits of the best quality with latency at most 500 ms"
    assert ships(frontier) == f"{none}."
    rule |= {"surest": 2, "feasible_chance": 0.25}
    often = f"in at least 0.5 of the resamples; {frontier['points'][2]['name']} is inside in .250."
    assert ships(frontier) == f"{none} {often}"
    shown = view_of(frontier)
    best = frontier["points"][frontier["rules"][1]["answer"]]
    limit = float(shown.answer.next.removeprefix("trueval frontier SWEEP_DIR --max-latency-ms "))
    assert limit >= 1000 * best["latency"]["p50"]["value"]
    assert frontier["rules"][1]["sentence"] in map(said, shown.findings)


def test_what_would_change_it_is_the_answer_without_limits() -> None:
    frontier = made_frontier(made_sweep())
    answer = view_of(frontier).answer
    best = frontier["points"][frontier["rules"][1]["answer"]]
    assert said(answer.change).startswith(f"Without limits it would be {best['name']}: ")
    assert said(answer.change).endswith("More judged queries could separate those that tie.")
    assert answer.next.startswith("trueval power QRELS RUN RUN -m ")
    frontier["rules"][1]["answer"] = frontier["rules"][0]["answer"]
    assert said(view_of(frontier).answer.change).startswith("Without limits the answer is the same.")


def test_without_limits_the_next_cheaper_on_the_frontier_is_named() -> None:
    frontier = made_frontier(made_sweep())
    frontier["rules"] = [frontier["rules"][1] | {"within_noise": [frontier["rules"][1]["answer"]]}]
    points = frontier["points"]
    own = points[frontier["rules"][0]["answer"]]["cost"]
    cheaper = [each for each in points if each["on_frontier"] and each["cost"] < own]
    named = max(cheaper, key=lambda each: each["quality"]["value"])
    answer = view_of(frontier).answer
    assert f"A limit on cost could change it: the next cheaper on the frontier is {named['name']}: " in said(
        answer.change
    )
    assert float(answer.next.removeprefix("trueval frontier SWEEP_DIR --max-cost ")) >= named["cost"]


def test_each_k_has_its_own_answer() -> None:
    frontier = made_frontier(made_sweep())
    first, other = frontier["rules"]
    frontier["rules"] = [first | {"K": 10}, first | {"K": 50, "answer": first["runner_up"]}, other]
    told = ships(frontier)
    assert told.count("Ship ") == 2
    assert told.startswith("At K = 10: Ship ")
    assert "the best quality at K = 10 with latency at most 500 ms" in told


@pytest.mark.parametrize(
    ("verdict", "head"),
    [("widen the pool", "Widen the pool of "), ("either", "Widen the pool of "), ("neither", "Pool and order of ")],
)
def test_advice_names_its_headrooms(verdict: str, head: str) -> None:
    frontier = made_frontier(made_sweep())
    frontier["advice"]["verdict"] = verdict
    told = said(view_of(frontier).findings[-1])
    assert told.startswith(head + frontier["points"][frontier["advice"]["point"]]["name"])
    assert "0.0500" in told
    assert "0.0750" in told
    frontier["advice"]["verdict"] = "unknown"
    assert said(view_of(frontier).findings[-1]) == frontier["advice"]["sentence"]


def test_the_csv_file_has_every_configuration_in_full() -> None:
    frontier = made_frontier(made_sweep())
    frontier["points"][1]["dominated_by"] = 0
    rows = list(csv.DictReader(io.StringIO(as_csv(view_of(frontier)))))
    names = "name system_name method K measure quality low high lowest highest p50 p95 p99 cost prompt_tokens recall"
    assert list(rows[0]) == [
        *names.split(),
        *("on_frontier", "probability", "plain", "group", "group_probability", "dominated_by"),
    ]
    for row, point in zip(rows, frontier["points"], strict=True):
        assert float(row["quality"]) == point["quality"]["value"]
        assert float(row["p95"]) == point["latency"]["p95"]["value"]
        assert float(row["group_probability"]) == frontier["groups"][0]["probability"]
    assert rows[1]["dominated_by"] == rows[0]["name"]


def test_what_was_not_measured_has_no_section_and_no_chart() -> None:
    everything, bare = made_frontier(made_sweep()), made_frontier(made_sweep(latency=False, priced=False))
    bare |= {"marginals": [], "matched_recall": [], "efficiency": [], "left_out": [], "failed": [], "advice": None}
    bare["rules"] = bare["rules"][1:]
    assert set(titles(view_of(everything))) - set(titles(view_of(bare))) == {
        "Steps, equal recall, efficiency",
        "Not there",
    }
    shown = view_of(bare)
    assert shown.lead is None
    assert not shown.paper
    assert "Neither latencies nor prices" in said(shown.sections[0].words)
