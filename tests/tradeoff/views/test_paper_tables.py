"""The paper's tables for the data of a sweep: made of P-B's own numbers they are P-B's tables."""

from __future__ import annotations

import copy
import csv
import io
import re
from typing import Any

import numpy as np
import pytest
from tests.tradeoff.paper import CEILINGS, HEAD, LITE, TABLE_1, TABLE_8, TABLE_9, TABLE_15, TABLE_16, TOP_10, TOP_30
from tests.tradeoff.paper_sweep import DEPTHS, paper_sweep
from tests.tradeoff.sweeps import large_sweep, made_sweep

from trueval.report.number_texts import FRACTIONS, POINTS
from trueval.report.terminal import render_text
from trueval.report.units import FRACTION, TEXT
from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views import paper_tables as made
from trueval.tradeoff.views.cost_tables import scenarios
from trueval.tradeoff.views.kind import SWEEP
from trueval.tradeoff.views.paper_cells import CellValue, MissingTable, PaperTable, Row, format_cell, number_of
from trueval.tradeoff.views.pipelines import PipelineTexts
from trueval.tradeoff.views.pipelines import pipelines_of as pipelines_of_result

PAPER = paper_sweep()
EVERY = [
    *("Prices of reranking", "Prices of generation", "Table 1", "Table 2", "Table 3", "Table 4", "Table 5", "Table 6"),
    *("Table 7", "Table 8", "Table 9", "Table 14", "Table 15", "Table 16", "Tables 17-20", "Tables 21-24"),
]


def paper_tables(sweep) -> list[PaperTable | MissingTable]:
    return made.paper_tables(SweepResult.from_dict(sweep))


def pipelines_of(sweep) -> list[PipelineTexts]:
    return pipelines_of_result(SweepResult.from_dict(sweep))


def to_markdown(sweep) -> str:
    return str(SWEEP.write(sweep, "markdown"))


def to_latex(sweep) -> str:
    return str(SWEEP.write(sweep, "latex"))


def to_csv(sweep) -> str:
    return str(SWEEP.write(sweep, "csv"))


def shown(sweep) -> str:
    return render_text(SWEEP.write(sweep, "table"))


def found(sweep, name: str) -> list[PaperTable]:
    return [each for each in paper_tables(sweep) if each.name == name and isinstance(each, PaperTable)]


def numbers(table: PaperTable) -> list[list[Any]]:
    return [
        [number_of(cell) for cell, unit in zip(row, table.units, strict=True) if unit is not TEXT] for row in table.rows
    ]


def labels(table: PaperTable) -> list[str]:
    return [str(row[table.units.count(TEXT) - 1]) for row in table.rows]


def texts(table: PaperTable, row: Row) -> list[str]:
    return [format_cell(cell, unit, FRACTIONS) for cell, unit in zip(row, table.units, strict=True)]


def test_every_table_of_the_paper_is_made_of_its_own_data() -> None:
    assert list(dict.fromkeys(each.name for each in paper_tables(PAPER))) == EVERY
    assert not [each for each in paper_tables(PAPER) if isinstance(each, MissingTable)]


def test_table_1_is_the_paper_s() -> None:
    (table,) = found(PAPER, "Table 1")
    assert table.head == ("model", *HEAD, "embed ms", "retrieve ms")
    rows = dict(zip(labels(table), numbers(table), strict=True))
    for embedder, row in TABLE_1.items():
        *measures, retrieve, embed = row
        expected = [*measures, embed / 1000, retrieve / 1000]
        assert rows[f"{embedder.model} ({embedder.dimension}d)"] == pytest.approx(expected)
    assert len(rows) == len(TABLE_1)  # indexes other than the exact one are not in it


@pytest.mark.parametrize(("name", "top"), [("Table 5", TOP_10), ("Table 6", TOP_30)])
def test_the_top_configurations_are_the_paper_s_in_its_order(name: str, top) -> None:
    (table,) = found(PAPER, name)
    told = [f"{e.model} ({e.dimension}d) + rerank-2.5 (depth {depth})" for e, depth, _, _ in top]
    assert labels(table) == told
    assert numbers(table) == [list(row[2:]) for row in top]
    assert [row[0] for row in table.rows] == list("12345")


def test_table_7_has_the_changes_of_its_values_and_not_the_misprints() -> None:
    (table,) = found(PAPER, "Table 7")
    flat, graph, coded = table.rows
    assert flat[0] == "flat"
    told = texts(table, graph)
    assert told[5:8] == ["0.5940 (-6.6%)", "0.6160 (-9.0%)", "0.5800 (-7.2%)"]
    assert told[-1] == "35.4 (-25.6%)"
    assert texts(table, coded)[2] == "0.5210 (-12.0%)"
    assert all(not isinstance(cell, CellValue) or cell.change is None for cell in flat)


def test_the_rules_of_scenarios_choose_what_the_paper_chose_but_for_the_cost_saver() -> None:
    """Rerank-2.5-lite at 50 costs the same with every embedder, and the paper takes the worst of the five."""
    first = next(
        each.system.name
        for each in pipelines_of(PAPER)
        if each.full_name == "voyage-3.5 (1024d) + rerank-2.5 (depth 50)"
    )
    chosen = scenarios(pipelines_of(PAPER), first)
    told = {name: (pipeline.embedder, pipeline.reranker, pipeline.depth) for name, _, pipeline in chosen}
    paper = {name: (f"{e.model} ({e.dimension}d)", reranker, k) for name, (e, reranker, k, *_) in TABLE_8.items()}
    assert told.pop("cost saver") == ("voyage-3.5 (512d)", "rerank-2.5-lite", 50)
    assert paper.pop("cost saver") == ("voyage-3.5-lite (1024d)", "rerank-2.5-lite", 50)
    assert told == paper
    table = found(PAPER, "Table 8")[0]
    costs = {row[0]: row[4] for row in table.rows}
    assert {name: costs[name] for name in paper if name != "baseline"} == pytest.approx(
        {"quality push": 2.5, "efficient small-dim": 2.5, "high-K check": 5.0}
    )


def test_table_9_has_the_efficiencies_that_can_be_known() -> None:
    """The paper has the four measures of only one system with rerank-2.5; the first and the last row are both there."""
    (table,) = found(PAPER, "Table 9")
    first, second = numbers(table)[:2]
    assert [round(first[0], 3), round(first[1], 3), first[2]] == [2.454, 0.817, 0.3329]
    assert [round(second[0], 2), round(second[1], 3), second[2]] == [2.35, 0.799, 0.3395]
    assert labels(table)[:2] == [
        "voyage-3.5 (1024d) + rerank-2.5 (depth 50)",
        "voyage-3.5 (512d) + rerank-2.5-lite (depth 50)",
    ]
    assert (TABLE_9[0][2], TABLE_9[-1][3]) == (2.454, 0.799)


@pytest.mark.parametrize(("name", "paper"), [("Table 15", TABLE_15), ("Table 16", TABLE_16)])
def test_latency_by_depth_is_the_paper_s(name: str, paper) -> None:
    (table,) = found(PAPER, name)
    assert table.head == ("model", *(f"depth {depth}" for depth in DEPTHS))
    for label, row, embedder in zip(labels(table), numbers(table), paper, strict=True):
        assert label == f"{embedder.model} ({embedder.dimension}d)"
        assert row == pytest.approx([each / 1000 for each in paper[embedder]])


def test_measures_and_ceilings_by_depth_are_the_paper_s() -> None:
    lite = [each for each in found(PAPER, "Tables 17-20") if each.title.startswith("rerank-2.5-lite")]
    ceilings = found(PAPER, "Tables 21-24")
    at = [HEAD.index(f"RA-nWG@{k}") for k in (10, 20, 30)]
    for depth, measured, pool in zip(DEPTHS, lite, ceilings, strict=True):
        told = np.array([[*row[:9], row[9] / 1000] for row in LITE[depth].values()])
        assert np.array(numbers(measured)) == pytest.approx(told)
        assert numbers(pool) == [[row[place] for place in at] for row in CEILINGS[depth].values()]


def test_prices_are_the_paper_s() -> None:
    (reranking,), (generation,) = found(PAPER, "Prices of reranking"), found(PAPER, "Prices of generation")
    assert "prices of 2025-11" in reranking.title
    costs = np.array([[500, 1.25, 0.5], [500, 2.5, 1], [500, 3.75, 1.5], [500, 5, 2]])
    assert np.array(numbers(reranking)) == pytest.approx(costs)
    assert np.array(numbers(generation)) == pytest.approx(np.array([[5e6, 6.25], [10e6, 12.5], [15e6, 18.75]]))


CURES = {
    "Table 1": ({"methods": ("hybrid+rerank",)}, "dense"),
    "Table 2": ({"methods": ("dense",)}, "methods"),
    "Table 7": ({"indexes": ("hnsw",)}, "[index] spec"),
    "Table 9": ({"latency": False}, "[latency]"),
    "Table 14": ({"methods": ("dense",)}, "[rerank]"),
    "Table 15": ({"methods": ("dense",)}, "[rerank]"),
    "Table 16": ({}, "a second model to [rerank]"),
    "Prices of reranking": ({"priced": False}, "[prices] rerank"),
    "Prices of generation": ({"priced": False}, "[prices] generator"),
    "Tables 17-20": ({"methods": ("dense",)}, "[rerank]"),
    "Tables 21-24": ({"methods": ("dense",)}, "[rerank]"),
    "Table 6": ({"cutoffs": (10,)}, "contexts of [generate]"),
}


@pytest.mark.parametrize("name", CURES)
def test_a_table_without_data_is_left_out_and_says_what_to_add(name: str) -> None:
    options, cure = CURES[name]
    sweep = made_sweep(**options)
    if name == "Prices of reranking":
        for configuration in sweep["configurations"]:
            configuration["cost"]["rerank"] = None
    (missing,) = [each for each in paper_tables(sweep) if each.name == name and isinstance(each, MissingTable)]
    assert cure in missing.cure
    assert not found(sweep, name)
    assert f"| {missing.name} | {missing.title} | " in to_markdown(sweep)


def test_ceilings_need_a_measure_of_evidence() -> None:
    sweep = made_sweep()
    for configuration in sweep["configurations"]:
        configuration["ceiling"] = None
    missing = [each for each in paper_tables(sweep) if isinstance(each, MissingTable)]
    assert [each.name for each in missing if "measure of evidence" in each.cure] == ["Table 3", "Table 4"]


def test_table_4_has_both_means_of_percentages() -> None:
    (table,) = found(made_sweep(), "Table 4")
    actual, ceiling, share, mean, queries = numbers(table)[0]
    assert share == pytest.approx(actual / ceiling)
    assert (mean, queries) == (pytest.approx(share - 0.01), 98)
    assert "ratio of the two means" in table.notes[0]


def test_the_reference_is_not_ranked() -> None:
    sweep = made_sweep(methods=("dense+rerank", "hybrid+rerank"))
    (table,) = found(sweep, "Table 5")
    assert table.rows[-1][0] == "–"
    assert str(table.rows[-1][1]).startswith("Hybrid")
    assert all("Hybrid" not in str(row[1]) for row in table.rows[:-1])


def test_a_k_that_no_reranked_hybrid_pool_gives_has_no_reference() -> None:
    """A reranker of fewer candidates than the last K has no configuration there."""
    sweep = made_sweep(methods=("dense+rerank", "hybrid+rerank"))
    last = max(each["K"] for each in sweep["configurations"])
    hybrids = {place for place, each in enumerate(sweep["systems"]) if each["method"] == "hybrid+rerank"}
    sweep["configurations"] = [
        each for each in sweep["configurations"] if each["K"] < last or each["system"] not in hybrids
    ]
    first, deepest = (found(sweep, name)[0] for name in ("Table 5", "Table 6"))
    assert first.rows[-1][0] == "–"
    assert "–" not in [row[0] for row in deepest.rows]


def test_ceilings_are_of_the_best_that_reranks_a_hybrid_pool_even_if_a_dense_one_is_better() -> None:
    sweep = made_sweep(methods=("dense+rerank", "hybrid+rerank", "hybrid"), indexes=("flat",))
    for configuration in sweep["configurations"]:
        if sweep["systems"][configuration["system"]]["method"] != "hybrid+rerank":
            configuration["measures"][configuration["quality"]]["expected"] = 0.99
    titles = [found(sweep, name)[0].title for name in ("Table 3", "Table 4")]
    assert all("Hybrid all-MiniLM-L6-v2 (384d) + rerank (depth 50), pool of 50" in title for title in titles)


def test_cells_tell_intervals_and_ties_where_they_are_not_one_value() -> None:
    value = CellValue(0.5, low=0.4, high=0.6, lowest=0.49, highest=0.51)
    assert format_cell(value, FRACTION, FRACTIONS) == "0.5000 [0.4000, 0.6000] ties [0.4900, 0.5100]"
    assert format_cell(value, FRACTION, POINTS) == "50.00 [40.00, 60.00] ties [49.00, 51.00]"
    assert format_cell(value._replace(lowest=0.5, highest=0.5), FRACTION, FRACTIONS) == "0.5000 [0.4000, 0.6000]"
    assert format_cell(value._replace(change=-0.1), FRACTION, FRACTIONS).startswith("0.5000 (-10.0%) [0.4000")
    assert format_cell(CellValue(None, low=0.1, high=0.2), FRACTION, FRACTIONS) == "–"


@pytest.mark.parametrize(
    "sweep",
    [
        pytest.param(PAPER, id="paper"),
        pytest.param(large_sweep(), id="large"),
        pytest.param(made_sweep(latency=False, priced=False), id="bare"),
    ],
)
def test_every_form_holds_every_table(sweep) -> None:
    names = [each.caption for each in paper_tables(sweep) if isinstance(each, PaperTable)]
    markdown, terminal = to_markdown(sweep), shown(sweep)
    assert all(f"### {name.split(':')[0]}: " in markdown for name in names)
    assert not any(name in terminal for name in names)  # twenty tables would bury what a terminal says
    latex = to_latex(sweep)
    missing = any(isinstance(each, MissingTable) for each in paper_tables(sweep))
    others = 1 + bool(sweep["left_out"] or sweep["failed"]) + missing  # the best, reasons, and what tables need
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == len(names) + others
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == len(names) + others
    # Every row has as many cells as its table has columns.
    for columns, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end", latex, re.DOTALL):
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(columns)}
    assert "nan" not in markdown.lower().replace("nana", "")
    assert "None" not in markdown + latex


def test_values_of_the_latex_tables_are_those_of_the_json() -> None:
    """Digit for digit: every measure of Table 1, from its text back to the configuration."""
    sweep = made_sweep(methods=("dense",), indexes=("flat",))
    (text,) = [each for each in to_latex(sweep).split(r"\end{table}") if "Table 1:" in each]
    head, *rows = [line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if line.endswith(r"\\")]
    for row in rows:
        dimension = int(re.search(r"\((\d+)d\)", row[0])[1])
        place = next(i for i, s in enumerate(sweep["systems"]) if s["values"]["embed.dimension"] == dimension)
        told = {n: m for c in sweep["configurations"] if c["system"] == place for n, m in c["measures"].items()}
        for name, cell in zip(head[1:-2], row[1:-2], strict=True):
            one = told[name.replace("\\", "")]
            value, low, high, lowest, highest = map(float, re.findall(r"\d\.\d+", cell))
            read = (value, low, high, lowest, highest)
            wanted = [one[part] for part in ("expected", "low", "high", "lowest", "highest")]
            assert read == tuple(float(f"{part:.4f}") for part in wanted)


def test_csv_has_every_configuration_and_its_numbers_in_full() -> None:
    sweep = large_sweep()
    rows = list(csv.DictReader(io.StringIO(to_csv(sweep))))
    assert len(rows) == len(sweep["configurations"]) >= 200
    for row, configuration in zip(rows, sweep["configurations"], strict=True):
        assert row["configuration"] == configuration["name"]
        measure = configuration["measures"][configuration["quality"]]
        for end in ("expected", "low", "high", "lowest", "highest"):
            assert float(row[f"RA-nWG {end}"]) == measure[end]
        total = configuration["cost"]["total"]
        assert row["cost total"] == ("" if total is None else repr(total))
        assert int(row["embed.dimension"]) == sweep["systems"][configuration["system"]]["values"]["embed.dimension"]


def test_what_a_sweep_does_not_say_is_no_error() -> None:
    sweep = made_sweep(methods=("dense", "dense+rerank"), latency=False)
    for configuration in sweep["configurations"]:
        configuration |= {"cost": None, "prompt_tokens": None, "ceiling": None}
    for system in sweep["systems"]:
        system |= {"tokens": None, "memory": None, "recall": None, "settings": {}}
    sweep["prices"] = None
    missing = {each.name for each in paper_tables(sweep) if isinstance(each, MissingTable)}
    assert missing >= {"Prices of reranking", "Prices of generation", "Table 9", "Table 14", "Table 15"}
    assert found(sweep, "Table 1")
    assert "Table 8" in to_latex(sweep)
    assert to_csv(sweep).count("\n") == 1 + len(sweep["configurations"])
    assert "–" in shown(sweep)


def test_names_of_others_cannot_break_a_table() -> None:
    sweep = copy.deepcopy(made_sweep(methods=("dense", "dense+rerank")))
    for system in sweep["systems"]:
        system["settings"]["embed"]["model"] = "a|b & c\n\\end{tabular}\x1b[31m"
        system["name"] += "\n% a & b"
    latex, text = to_latex(sweep), to_markdown(sweep)
    assert r"a|b \& c" in latex
    assert r"a\|b" in text
    assert "\x1b" not in latex + text + shown(sweep)
    lines = latex.splitlines()
    assert lines.count("\\end{tabular}") == sum(line.startswith("\\begin{tabular}") for line in lines)
    assert not [line for line in lines if line.startswith("% a")]


def test_a_sweep_in_which_nothing_could_be_measured_says_so() -> None:
    sweep = {**made_sweep(), "configurations": []}
    (missing,) = paper_tables(sweep)
    assert isinstance(missing, MissingTable)
    assert "no configuration could be measured; see failed and left_out." in to_markdown(sweep)
    assert to_csv(sweep).count("\n") == 1


def test_csv_gives_each_measure_a_column_of_its_own_and_no_column_twice() -> None:
    sweep = made_sweep(methods=("dense",), dimensions=(128,), indexes=("flat",), cutoffs=(5, 10))
    sweep["axes"] = [{"key": "method", "values": ["dense"]}, {"key": "K", "values": [5, 10]}]
    nothing = dict.fromkeys(("lowest", "highest", "range", "sd", "low", "high")) | {"queries": 8}
    for configuration in sweep["configurations"]:
        for place, name in enumerate(("nDCG@10", "R@5", "R@100", "AP"), start=1):
            configuration["measures"][name] = nothing | {"expected": place / 8}
        configuration["measures"][f"P@{configuration['K']}"] = nothing | {"expected": configuration["K"] / 16}
    text = to_csv(sweep)
    head = text.splitlines()[0].split(",")
    assert len(set(head)) == len(head)
    for row in csv.DictReader(io.StringIO(text)):
        told = [row[f"{name} expected"] for name in ("nDCG@10", "R@5", "R@100", "AP", "P")]
        assert list(map(float, told)) == [0.125, 0.25, 0.375, 0.5, int(row["K"]) / 16]
        assert "nDCG expected" not in row
