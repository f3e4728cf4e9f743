"""How power looks: which pairs and points are shown, headings, and the page."""

import csv
import io
import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tests.comparison.made_scores import made_scores
from tests.report.results import places_of

from trueval.comparison.power.power_analysis import power_of_scores
from trueval.comparison.power.power_result import Power
from trueval.comparison.views.kind import POWER
from trueval.comparison.views.power import measure_heading, middle_pair, near, select_pairs, view
from trueval.report import view_page
from trueval.report.number_texts import FRACTIONS, POINTS, ValueUnit
from trueval.report.page import page
from trueval.report.page_content import Part
from trueval.report.result_directory import Directory, ResultFile
from trueval.report.terminal import render_text
from trueval.report.view_texts import as_csv, as_latex, as_markdown, in_terminal, write


@pytest.fixture(autouse=True)
def few_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueval.comparison.power.power_analysis.WORLDS", 80)
    monkeypatch.setattr("trueval.comparison.power.power_analysis.OTHER_WORLDS", 40)


def asked(runs: int, queries: int = 30, reach: float = 0.05, **options: Any) -> Power:
    rng = np.random.default_rng(runs)
    scores = [made_scores(f"run-{at:02}", rng.random(queries) / 2 + at / 50, reach) for at in range(runs)]
    found = power_of_scores(scores, **options)
    assert Power.from_dict(json.loads(json.dumps(found.to_dict()))).to_dict() == found.to_dict()
    return found


def text(result: Power, scale: ValueUnit | None = None) -> str:
    return render_text(in_terminal(view(result), scale or FRACTIONS, legend=True))


def part_of(result: Power) -> Part:
    read = Power.from_dict(result.to_dict())
    return view_page.part_of(view(read), ResultFile("power.json", "power", result.to_dict()), read)


@pytest.mark.slow
def test_of_many_runs_neighbors_are_shown_and_the_text_says_so() -> None:
    result = asked(9)
    (found,) = result.measures
    names = [row.run for row in found.ranking]
    assert len(found.pairs) == 36
    assert [(pair.first, pair.second) for pair in select_pairs(result, found)] == list(pairwise(names))
    assert "Shown are neighbors in the ranking; --format csv and json hold all 36 pairs" in " ".join(
        text(result).split()
    )
    against = asked(9, baseline="run-03")
    assert len(select_pairs(against, against.measures[0])) == 8
    assert "Shown are neighbors" not in text(against)
    assert "run-03 (baseline)" in text(against)


def test_few_runs_show_all_pairs() -> None:
    result = asked(4)
    assert len(select_pairs(result, result.measures[0])) == 6
    assert "on other queries like these, deciding all 6 pairs of a measure together;" in " ".join(text(result).split())
    assert "deciding all " + "3 pairs" not in text(asked(2))


def test_the_middle_pair_has_as_many_above_as_below() -> None:
    (pair,) = asked(2).measures[0].pairs
    pairs = [
        replace(pair, expected=replace(pair.expected, least_difference=least)) for least in (0.3, math.nan, 0.1, 0.2)
    ]
    assert middle_pair(pairs) is pairs[3]
    assert middle_pair(pairs[1:2]) is None


def test_the_curve_is_shown_around_the_queries_there_are() -> None:
    (found,) = asked(2, queries=200).measures
    assert [found.curve.queries[at] for at in near(found)] == [50, 100, 200, 500, 1000, 2000]


@pytest.mark.slow
def test_headings_say_what_clusters_are_worth() -> None:
    equal = asked(2, clusters={f"q{at}": str(at // 3) for at in range(30)}).measures[0]
    unequal = asked(2, clusters={f"q{at}": str(max(at - 20, 0)) for at in range(30)}).measures[0]
    assert measure_heading(equal) == "nDCG@10: higher is better, 30 queries in 10 clusters"
    assert (
        measure_heading(unequal) == "nDCG@10: higher is better, 30 queries in 10 clusters, as good as 2.0 of one size"
    )
    assert measure_heading(replace(equal, clusters=None, left_out=("q",))) == (
        "nDCG@10: higher is better, 30 queries, 1 left out"
    )


@pytest.mark.slow
@pytest.mark.parametrize("runs", [2, 7])
def test_every_format_holds_the_least_difference(runs: int) -> None:
    result = asked(runs, difference=0.02)
    pair = select_pairs(result, result.measures[0])[0]
    least = pair.expected.least_difference
    shown = view(result)
    for shape in (text(result), as_markdown(shown), as_latex(shown)):
        assert f"{least:.4f}" in shape
        assert "difference of 0.02 with that chance" in " ".join(shape.split())
    assert f"{100 * least:.2f}" in text(result, POINTS)
    rows = list(csv.DictReader(io.StringIO(as_csv(shown))))
    assert len(rows) == len(result.measures[0].pairs)
    assert float(rows[0]["expected_least_difference"]) == least
    wide = io.StringIO()
    Console(file=wide, width=80, color_system=None, highlight=False).print(in_terminal(shown))
    assert max(map(len, wide.getvalue().splitlines())) <= 80
    assert "…" not in wide.getvalue()


def test_the_page_has_curves_where_something_is_known() -> None:
    part = part_of(asked(3, difference=0.1))
    (figure,) = part.lead
    assert {meaning for _, meaning in figure.key} >= {
        "dashed: tie-broken values",
        "the difference that was asked about",
    }
    places = [row[3] for row in places_of(part.blocks[0].tables[0])]
    assert places == [f"/measures/0/pairs/{at}/expected/difference" for at in range(3)]
    assert [row.cells[0].text for row in part.closing[0].tables[0].rows] == [
        "level",
        "power",
        "difference",
        "worlds",
        "clusters",
    ]
    (alone,) = part_of(asked(3, reach=0.0)).lead
    assert len(alone.key) == 3
    nothing = part_of(asked(2, queries=1))
    assert nothing.lead == ()
    assert nothing.answer.sentence == ("No differences that these queries could find are known.",)


def test_pages_and_figures_are_written(tmp_path: Path) -> None:
    file = ResultFile("power.json", "power", asked(3).to_dict())
    directory = Directory(tmp_path, (file,))
    assert "<svg" in page(directory)
    assert POWER.figures is not None
    assert sorted(path.name for path in POWER.figures(file, directory, tmp_path)) == [
        "power.pdf",
        "power.png",
        "power.svg",
    ]


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        (20, "nDCG@10: these 30 queries find a difference of 0.0500, which takes 20, where runs vary "),
        (
            31,
            "nDCG@10: these 30 queries are too few to find a difference of 0.0500, which takes 31, where runs vary ",
        ),
        (None, "nDCG@10: no number of queries finds a difference of 0.0500, where runs vary "),
    ],
)
def test_the_answer_is_about_the_difference_that_was_asked_about(needed: int | None, said: str) -> None:
    result = asked(2, difference=0.05)
    (found,) = result.measures
    (pair,) = found.pairs
    changed = replace(pair, expected=replace(pair.expected, queries_needed=needed))
    answer = view(replace(result, measures=(replace(found, pairs=(changed,)),))).answer
    assert write(answer.sentence, FRACTIONS) == f"{said}as {pair.first} and {pair.second} do."
    assert answer.question == "Can these queries find a difference of 0.05?"
    assert answer.next == ('trueval compare QRELS RUN RUN -m "nDCG@10"' if needed == 20 else "")


def test_without_a_difference_the_measured_one_is_doubted() -> None:
    result = asked(2)
    (pair,) = result.measures[0].pairs
    answer = view(result).answer
    measured = f"{pair.first} - {pair.second} was measured as {pair.expected.difference:+.4f}, which takes "
    assert write(answer.change, FRACTIONS).startswith(measured)
    assert answer.next == 'trueval power QRELS RUN RUN -m "nDCG@10" --difference X'
