"""The page of a sweep: its gold file, where each number is, and what it says of sweeps that lack something."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tests.report.gold_page import scrubbed
from tests.report.test_page import Page, packed_tables, table_cells
from tests.tradeoff.frontiers import made_frontier
from tests.tradeoff.sweeps import large_sweep, made_sweep
from tests.tradeoff.views.gold_page import EVIL, FILE, gold_files, gold_page

from trueval.report.number_texts import FRACTIONS, format_difference, format_value, make_formatter, whole
from trueval.report.page_content import Block, PageTable, Part, Words
from trueval.report.result_directory import Directory, ResultFile
from trueval.report.view import View
from trueval.report.view_texts import write
from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views.kind import SWEEP
from trueval.tradeoff.views.points import points_of_sweep
from trueval.tradeoff.views.sweep import view
from trueval.tradeoff.views.sweep_answer import headroom_advice
from trueval.tradeoff.views.units import four_digits, milliseconds, money, share, size

FORMS = (
    format_value,
    format_difference,
    milliseconds,
    money,
    share,
    size,
    whole,
    four_digits,
    make_formatter(".3g"),
    make_formatter(".2f"),
)


@pytest.fixture(scope="module")
def html() -> str:
    return gold_page()


def directory(**results: dict[str, Any]) -> Directory:
    files = (ResultFile(f"{name}.json", result["kind"], result) for name, result in results.items())
    return Directory(Path("results"), tuple(files))


def part_of(sweep: dict[str, Any], frontier: dict[str, Any] | None = None) -> Part:
    held = directory(sweep=sweep, **({} if frontier is None else {"frontier": frontier}))
    assert SWEEP.page is not None
    return SWEEP.page(held.of("sweep")[0], held)


def view_of(sweep: dict[str, Any]) -> View:
    return view(SweepResult.from_dict(sweep))


def ships(sweep: dict[str, Any]) -> str:
    return write(view_of(sweep).answer.sentence, FRACTIONS)


def table_of(part: Part, name: str) -> PageTable:
    (found,) = [table for block in part.blocks for table in block.tables if table.id == name]
    return found


def text_of(words: Words) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in words)


def blocks_of(part: Part) -> dict[str, Block]:
    return {block.id: block for block in part.blocks}


def value_at(source: str) -> Any:
    """The value that a source names."""
    name, _, fragment = unquote(source).partition("#")
    value: Any = gold_files()[name]
    for key in fragment.split("/")[1:]:
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def test_the_page_is_the_gold_page(html: str) -> None:
    kept = FILE.read_text(encoding="utf-8")
    changed = "The page changed. Look at the difference, then run: python -m tests.tradeoff.views.gold_page"
    assert scrubbed(html) == kept, changed


def test_a_name_that_is_a_script_is_shown_as_text(html: str) -> None:
    parsed = Page(html)
    assert f"{EVIL} K=50" in [text for _, text in parsed.all("td")]
    assert not parsed.all("b")
    running = [text for attributes, text in parsed.all("script") if attributes.get("type") != "application/json"]
    assert len(running) == 1
    ids = [attributes["id"] for _, attributes, _ in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_numbers_in_tables_are_those_of_the_files(html: str) -> None:
    cells = [cell for cell in table_cells(html) if cell.value]
    assert {cell.file for cell in cells} == {"sweep.json", "frontier.json"}
    numbers = 0
    for file, at, value, text in cells:
        found = value_at(f"{file}#{at}")
        if isinstance(found, str):  # a name, in a table whose rows join several parts
            assert (value, text) == (found, found)
            continue
        number = len(found) if isinstance(found, list) else found
        assert float(value) == number, at
        assert text in {form(number) for form in FORMS} | {f"{milliseconds(number)} ms"}, at
        numbers += 1
    assert numbers > 400


def test_numbers_in_sentences_are_those_of_the_files(html: str) -> None:
    numbers = Page(html).all("data")
    assert len(numbers) >= 7
    for attributes, text in numbers:
        found = value_at(attributes["data-source"])
        assert float(attributes["value"]) == found
        assert text in {form(found) for form in FORMS}


def test_every_measured_number_of_a_table_names_its_place(html: str) -> None:
    """What has neither: numbers of the plot, and differences, which are computed for the page."""
    computed = ("no.", "quality gains", "for each 10 contexts", "USD per 1,000 more")
    for table in re.findall(r"<table id=.*?</table>", html, flags=re.DOTALL):
        heads = [(attributes, text) for attributes, text in Page(table).all("th")]
        for row in re.findall(r"<tr data-source=.*?</tr>", table, flags=re.DOTALL):
            for (head, title), (cell, _) in zip(heads, Page(row).all("td"), strict=True):
                if "data-value" in cell and title not in computed:
                    assert head.get("data-field") or cell.get("data-at"), title


# ---- verdicts ----


def without_limits(sweep: dict[str, Any]) -> dict[str, Any]:
    return sweep | {"limits": {}}


def by_quality(sweep: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(sweep["configurations"], key=lambda each: -each["measures"][each["quality"]]["expected"])


@pytest.mark.parametrize(("high", "said"), [(0.5, "it beats "), (0.999, "it is not separated from ")])
def test_it_says_what_to_ship_and_whether_the_next_one_is_apart(high: float, said: str) -> None:
    sweep = without_limits(made_sweep(methods=("dense",), indexes=("flat",), cutoffs=(10,)))
    best, second = by_quality(sweep)
    second["measures"][second["quality"]]["high"] = high
    best["measures"][best["quality"]]["low"] = 0.52
    mean, latency = best["measures"][best["quality"]], sweep["systems"][best["system"]]["latency"]["p50"]["value"]
    told = ships(sweep)
    assert told.startswith(f"Ship {best['name']}, the best quality: RA-nWG@10 {mean['expected']:.4f} (0.5200 to ")
    assert f"{milliseconds(latency)} ms at p50, {best['cost']['total']:.2f} USD per 1,000 queries; {said}" in told
    assert second["name"] in told.partition("; ")[2]


def test_of_those_that_are_not_separated_a_cheaper_one_is_named() -> None:
    sweep = without_limits(made_sweep())
    best, *others = by_quality(sweep)
    for each in others:
        each["measures"][each["quality"]]["high"] = 0.999
    cheapest = min(others, key=lambda each: each["cost"]["total"])
    end = f"it is not separated from {cheapest['name']}, which is cheaper ({cheapest['cost']['total']:.2f} USD)."
    assert ships(sweep).endswith(end)
    near = write(view_of(sweep).answer.sure, FRACTIONS)
    assert near.startswith(f"Of {len(others) + 1} configurations {len(others)} have intervals that overlap its own")
    assert best["name"] in ships(sweep)


def test_the_limits_of_the_sweep_file_are_kept() -> None:
    sweep = made_sweep()
    inside = [
        each
        for each in by_quality(sweep)
        if each["cost"]["total"] <= 2.5 and sweep["systems"][each["system"]]["latency"]["p50"]["value"] <= 0.5
    ]
    told = "the best quality with latency at most 500 ms and cost at most 2.5"
    assert ships(sweep).startswith(f"Ship {inside[0]['name']}, {told}: ")
    change = write(view_of(sweep).answer.change, FRACTIONS)
    assert change.startswith(f"Without limits it would be {by_quality(sweep)[0]['name']}: ")
    sweep["limits"] = {"cost": 0.0}
    assert ships(sweep) == "Ship none of these: no configuration was measured with cost at most 0."


@pytest.mark.parametrize(("pool", "order", "said"), [(0.2, 0.1, "Widen the pool"), (0.1, 0.2, "Mend the order")])
def test_the_larger_headroom_is_what_to_work_on(pool: float, order: float, said: str) -> None:
    sweep = made_sweep()
    for configuration in sweep["configurations"]:
        configuration["ceiling"] |= {"retrieval_headroom": pool, "ordering_headroom": order}
    told = write(view_of(sweep).findings[-1], FRACTIONS)
    assert told.startswith(said)
    assert f"lacks {pool:.4f}, and the order of the pool loses {order:.4f}." in told


# ---- measures that are others at another K ----


def by_precision(*cutoffs: int) -> dict[str, Any]:
    """A made sweep whose quality is P@K."""
    found: dict[str, Any] = json.loads(json.dumps(made_sweep(cutoffs=cutoffs)).replace("RA-nWG", "P"))
    return found


def test_each_k_has_its_own_best_where_the_measure_is_another_one_there() -> None:
    sweep, values = by_precision(10, 50), {}
    points = points_of_sweep(SweepResult.from_dict(sweep))
    assert [point.k for point in points] == [10] * (len(points) // 2) + [50] * (len(points) // 2)
    for k in (10, 50):
        values[k] = [point.quality for point in points if point.k == k]
        assert values[k] == sorted(values[k], reverse=True)
        assert any(point.on for point in points if point.k == k)
    assert max(values[50]) > max(values[10])  # across K none of 10 would be best
    part, said = part_of(sweep), ships(without_limits(sweep))
    assert said.startswith("At K = 10: Ship ")
    assert " At K = 50: Ship " in said
    chart = blocks_of(part)["frontier"].figures[0].draw(920)
    chosen = next(each for each in chart["params"] if each["name"] == "only_k")
    assert (chosen["value"], chosen["bind"]["labels"]) == (10, ["10", "50"])
    assert [figure.id for figure in blocks_of(part)["over-k-block"].figures] == ["over-k"]
    assert not blocks_of(part)["over-k-block"].tables
    together = points_of_sweep(SweepResult.from_dict(made_sweep(cutoffs=(10, 50))))
    assert [point.quality for point in together] == sorted((point.quality for point in together), reverse=True)


# ---- what is not there ----


def test_what_was_not_measured_has_no_block() -> None:
    everything = blocks_of(part_of(made_sweep()))
    bare = made_sweep(latency=False, priced=False)
    for system in bare["systems"]:
        system |= {"memory": None, "tokens": None}
    for configuration in bare["configurations"]:
        configuration |= {"cost": None, "ceiling": None, "prompt_tokens": None}
    bare |= {"ladder": [], "tuned": [], "left_out": [], "failed": []}
    found = blocks_of(part_of(bare))
    lost = {"headroom-block", "ladder-block", "latency-block", "memory-block", "reasons"}
    assert everything.keys() - found.keys() == lost
    assert found["frontier"].figures == ()
    assert "Neither latencies nor prices" in text_of(found["frontier"].words[0])
    assert "No price is known" in text_of(found["price-block"].words[0])
    titles = [column.title for column in found["configurations"].tables[0].columns]
    assert "p50, ms" not in titles
    assert " per 1,000" not in "".join(titles)


def test_a_sweep_in_which_everything_failed_says_so() -> None:
    sweep = made_sweep() | {"systems": [], "configurations": [], "ladder": [], "tuned": []}
    part = part_of(sweep)
    assert text_of(part.answer.sentence) == "No configuration of this sweep has a value."
    rows = {table.id: len(table.rows) for table in blocks_of(part)["reasons"].tables}
    assert rows == {"failed": len(sweep["failed"]), "left-out": len(sweep["left_out"])}


def test_configurations_without_a_value_are_passed_over() -> None:
    sweep = made_sweep()
    first = sweep["configurations"][0]
    first["measures"][first["quality"]]["expected"] = None
    table = table_of(part_of(sweep), "configurations")
    assert len(table.rows) == len(sweep["configurations"]) - 1
    assert first["name"] not in [row.cells[0].text for row in table.rows]


def test_each_reason_is_told() -> None:
    failed = table_of(part_of(made_sweep()), "failed")
    assert [cell.text for cell in failed.rows[0].cells] == [
        "dense 384d <b>ivf</b>",
        "index.spec: no index is called 'ivf'",
    ]


def test_beside_a_frontier_the_sweep_draws_no_chart_of_its_own() -> None:
    sweep = made_sweep()
    alone, beside = part_of(sweep), part_of(sweep, made_frontier(sweep))
    assert len(blocks_of(alone)["frontier"].figures) == 1
    assert blocks_of(alone).keys() - blocks_of(beside).keys() == {"frontier"}


def test_routing_is_shown_with_both_depths_and_a_random_router() -> None:
    sweep = made_sweep()
    assert "route-block" not in blocks_of(part_of(sweep))
    sweep["route"] = made_route()
    block = blocks_of(part_of(sweep))["route-block"]
    assert "The rule either escalates .300 of them, for RA-nWG@10 0.7920." in text_of(block.words[0])
    rules, curve = block.tables
    texts = {row.cells[0].text: [cell.text for cell in row.cells[1:]] for row in rules.rows}
    assert list(texts) == ["always 50", "always 100", "either", "oracle"]
    own = [".300", "65", "0.7920", "0.7620", "0.8220"]
    assert texts["either"] == [*own, "+0.0120", "-0.0080", "+0.0060", "-0.0040", "+0.0160", "yes"]
    assert texts["always 50"][5:] == ["", "-0.0200", "", "–", "–", ""]
    assert [cell.value for cell in curve.rows[0].cells] == [0.1, 0.1, 0.782, 0.781]
    markdown = str(SWEEP.write(sweep, "markdown"))
    assert (
        "| either | .300 | 65 | 0.7920 | [0.7620, 0.8220] | +0.0120 | -0.0080 | +0.0060 | [-0.0040, +0.0160] | yes |"
        in markdown
    )
    assert "Routing by either gives .300 of the queries 100 candidates instead of 50" in markdown
    assert "Rules of routing" in str(SWEEP.write(sweep, "latex"))
    # Milliseconds are of the routed system: the rest of a query, and the time of a pair for each candidate.
    system = next(each for each in sweep["systems"] if any(stage["name"] == "rerank" for stage in each["stages"]))
    sweep["route"]["name"] = f"{system['name']}, routed"
    system["settings"]["rerank"] = {"depth": 50}
    whole = system["latency"]["p50"]["value"]
    rerank = next(stage["p50"]["value"] for stage in system["stages"] if stage["name"] == "rerank")
    rows = blocks_of(part_of(sweep))["route-block"].tables[0].rows
    found = {row.cells[0].text: row.cells[3].value for row in rows}
    assert found["always 50"] == pytest.approx(whole)
    assert found["either"] == pytest.approx(whole + 0.3 * rerank)


def made_route() -> dict[str, Any]:
    """A routing result of four routers."""

    def ends(value: float) -> dict[str, Any]:
        return {"value": value, "low": value - 0.01, "high": value + 0.01, "queries": 98}

    def router(name: str, share: float, quality: float, **over: float) -> dict[str, Any]:
        changes = {each: {**ends(value), "better": "yes"} for each, value in over.items()}
        spread = {"value": quality, "low": quality - 0.03, "high": quality + 0.03, "queries": 98}
        told = {"name": name, "share": share, "cost": 50 + 50 * share, "quality": spread}
        return {**told, "thresholds": {}, "over": changes}

    return {
        "name": "hybrid+rerank, routed",
        "format": 1,
        "measure": "RA-nWG@10",
        "depths": [50, 100],
        "unit": "candidates",
        "budget": 0.3,
        "price": None,
        "charge": 0.002,
        "queries": 98,
        "left_out": 2,
        "folds": 5,
        "repeats": 10,
        "level": 0.95,
        "rule": "either",
        "constants": [router("fewer", 0.0, 0.78, more=-0.02), router("more", 1.0, 0.8, fewer=0.02)],
        "rules": [router("either", 0.3, 0.792, fewer=0.012, more=-0.008, random=0.006)],
        "oracles": [router("oracle", 0.4, 0.83, fewer=0.05, more=0.03, random=0.04)],
        "curve": [{"budget": 0.1, "share": 0.1, "quality": 0.782, "random": 0.781}],
    }


# ---- many ----


def test_of_many_configurations_tables_are_folded_and_plots_show_the_first() -> None:
    sweep = large_sweep()
    assert len(sweep["configurations"]) > 200
    part = part_of(sweep, made_frontier(sweep))
    found = blocks_of(part)
    tables = {table.id: table for block in part.blocks for table in block.tables}
    assert len(tables["configurations"].rows) == len(sweep["configurations"])
    assert all(table.folded for table in tables.values() if len(table.rows) > 60)
    for block in ("headroom-block", "latency-block", "memory-block", "price-block"):
        for figure in found[block].figures:
            spec = figure.draw(350).to_dict(validate=False)
            layers = [layer["data"]["values"] for layer in spec["layer"] if "data" in layer] or [spec["data"]["values"]]
            assert len({row["name"] for rows in layers for row in rows}) <= 14, figure.id


def test_a_difference_of_k_is_the_difference_of_its_two_configurations() -> None:
    sweep = made_sweep(methods=("dense",), dimensions=(384,), indexes=("flat",))
    table = table_of(part_of(sweep), "gains")
    values = [each["measures"][each["quality"]]["expected"] for each in sweep["configurations"]]
    costs = [each["cost"]["total"] for each in sweep["configurations"]]
    assert [row.cells[3].value for row in table.rows] == [values[1] - values[0], values[2] - values[1]]
    assert [row.cells[4].value for row in table.rows] == [
        pytest.approx((values[1] - values[0]) / 1),
        pytest.approx((values[2] - values[1]) / 3),
    ]
    assert [row.cells[5].value for row in table.rows] == [costs[1] - costs[0], costs[2] - costs[1]]


def test_the_json_of_both_is_read_as_it_is_written(tmp_path: Path) -> None:
    from trueval.report.kinds import read_directory

    for name, result in gold_files().items():
        (tmp_path / name).write_text(json.dumps(result), encoding="utf-8")
    assert {file.kind for file in read_directory(tmp_path).files} == {"sweep", "frontier"}


def test_numbers_of_the_paper_s_tables_are_written_in_their_units(html: str) -> None:
    """They have no column of one form: milliseconds are beside fractions and dollars."""
    (table,) = [each for each in packed_tables(html) if each["id"] == "paper-2"]
    latency = next(at for at, column in enumerate(table["columns"]) if column["title"] == "retrieve ms")
    value, text, _ = table["rows"][0][2 + latency]
    assert text == milliseconds(value) != str(value)


def test_papers_get_each_figure_of_the_page(tmp_path: Path) -> None:
    sweep = made_sweep(methods=("dense",), dimensions=(384, 128), indexes=("flat",), cutoffs=(10,))
    for system in sweep["systems"]:
        system["memory"] = None
    sweep |= {"ladder": [], "tuned": []}
    held = directory(sweep=sweep)
    assert SWEEP.figures is not None
    written = SWEEP.figures(held.files[0], held, tmp_path)
    part = part_of(sweep)
    names = {f"sweep-{figure.id}" for block in part.blocks for figure in block.figures}
    names = (names - {"sweep-frontier-chart"}) | {"sweep-frontier"}
    assert {path.stem for path in written} == names
    assert {path.suffix for path in written} == {".svg", ".png", ".pdf"}
    assert sorted(tmp_path.iterdir()) == sorted(written)


def test_where_nothing_is_lost_nothing_is_to_mend() -> None:
    found = SweepResult.from_dict(made_sweep())
    points = points_of_sweep(found)
    ceiling = found.configurations[points[0].place].ceiling
    assert ceiling is not None
    lossless = replace(ceiling, retrieval_headroom=0.0, ordering_headroom=0.00004)
    configurations = [replace(each, ceiling=lossless) for each in found.configurations]
    lost = [*headroom_advice(found, points)]
    none = [*headroom_advice(replace(found, configurations=tuple(configurations)), points)]
    assert str(lost[0][0]).startswith(("Widen the pool", "Mend the order"))
    assert none == [f"Neither the pool nor the order of {points[0].name} loses anything."]
