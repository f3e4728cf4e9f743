"""The page of a sweep: its gold file, where each number is, and what it says of sweeps that lack something."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tests.report.gold_page import scrubbed
from tests.report.test_page import Page, packed_tables, table_cells
from tests.tradeoff.frontiers import made_frontier
from tests.tradeoff.sweeps import large_sweep, made_sweep
from tests.tradeoff.views.gold_page import EVIL, FILE, gold_files, gold_page

from trueval.report.number_texts import format_difference, format_value, make_formatter, whole
from trueval.report.page_content import Block, Number, Part, Words
from trueval.report.result_directory import Directory, ResultFile
from trueval.tradeoff.views.figures import draw_sweep
from trueval.tradeoff.views.lists import configuration_table, reason_tables
from trueval.tradeoff.views.page import build
from trueval.tradeoff.views.quality_blocks import contexts_block
from trueval.tradeoff.views.sweep_points import points_of_sweep
from trueval.tradeoff.views.units import four_digits, milliseconds, money, share, size
from trueval.tradeoff.views.verdict import headroom_advice, sweep_verdict

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
    return build(held.of("sweep")[0], held)


def text_of(words: Words) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in words)


def blocks_of(part: Part) -> dict[str, Block]:
    return {block.id: block for block in part.blocks}


def value_at(source: str) -> Any:
    """The value that a source names; of two with a minus between them, their difference."""
    ends = []
    for end in source.split(" - "):
        name, _, fragment = unquote(end).partition("#")
        value: Any = gold_files()[name]
        for key in fragment.split("/")[1:]:
            value = value[int(key)] if isinstance(value, list) else value[key]
        ends.append(value)
    return ends[0] if len(ends) == 1 else ends[0] - ends[1]


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
    numbers = [cell for cell in table_cells(html) if cell.value]
    assert len(numbers) > 400
    assert {cell.file for cell in numbers} == {"sweep.json", "frontier.json"}
    for file, at, value, text in numbers:
        found = value_at(" - ".join(f"{file}#{end}" for end in at.split(" - ")))
        number = len(found) if isinstance(found, list) else found
        assert float(value) == number, at
        assert text in {form(number) for form in FORMS} | {f"{milliseconds(number)} ms"}, at


def test_numbers_in_sentences_are_those_of_the_files(html: str) -> None:
    numbers = Page(html).all("data")
    assert len(numbers) >= 7
    for attributes, text in numbers:
        found = value_at(attributes["data-source"])
        assert float(attributes["value"]) == found
        assert text in {form(found) for form in FORMS}


def test_every_measured_number_of_a_table_names_its_place(html: str) -> None:
    """What has neither: numbers of the plot, and gains per ten contexts, which are computed for the page."""
    for table in re.findall(r"<table id=.*?</table>", html, flags=re.DOTALL):
        heads = [(attributes, text) for attributes, text in Page(table).all("th")]
        for row in re.findall(r"<tr data-source=.*?</tr>", table, flags=re.DOTALL):
            for (head, title), (cell, _) in zip(heads, Page(row).all("td"), strict=True):
                if "data-value" in cell and title not in ("no.", "for each 10 contexts"):
                    assert head.get("data-field") or cell.get("data-at"), title


# ---- verdicts ----


@pytest.mark.parametrize(("high", "said"), [(0.5, "do not overlap"), (0.999, "inside the noise of these queries")])
def test_without_a_frontier_intervals_say_how_near_the_next_one_is(high: float, said: str) -> None:
    sweep = made_sweep()
    ordered = sorted(sweep["configurations"], key=lambda each: -each["measures"][each["quality"]]["expected"])
    for configuration in ordered[1:]:
        configuration["measures"][configuration["quality"]]["high"] = high
    ordered[0]["measures"][ordered[0]["quality"]]["low"] = 0.6
    verdict = text_of(sweep_verdict(directory(sweep=sweep).files[0], points_of_sweep(sweep)))
    assert verdict.startswith(f"Best quality: {ordered[0]['name']}: ")
    assert f"Next is {ordered[1]['name']}" in verdict
    assert said in verdict


@pytest.mark.parametrize(("pool", "order", "said"), [(0.2, 0.1, "Widen the pool"), (0.1, 0.2, "Mend the order")])
def test_the_larger_headroom_is_what_to_work_on(pool: float, order: float, said: str) -> None:
    sweep = made_sweep()
    for configuration in sweep["configurations"]:
        configuration["ceiling"] |= {"retrieval_headroom": pool, "ordering_headroom": order}
    (words,) = headroom_advice(directory(sweep=sweep).files[0], points_of_sweep(sweep))
    assert text_of(words).startswith(said)
    assert [part.value for part in words if isinstance(part, Number)] == [pool, order]


# ---- measures that are others at another K ----


def by_precision(*cutoffs: int) -> dict[str, Any]:
    """A made sweep whose quality is P@K."""
    found: dict[str, Any] = json.loads(json.dumps(made_sweep(cutoffs=cutoffs)).replace("RA-nWG", "P"))
    return found


def test_each_k_has_its_own_best_where_the_measure_is_another_one_there() -> None:
    sweep, values = by_precision(10, 50), {}
    points = points_of_sweep(sweep)
    assert [point.k for point in points] == [10] * (len(points) // 2) + [50] * (len(points) // 2)
    for k in (10, 50):
        values[k] = [point.quality for point in points if point.k == k]
        assert values[k] == sorted(values[k], reverse=True)
        assert any(point.on for point in points if point.k == k)
    assert max(values[50]) > max(values[10])  # across K none of 10 would be best
    part = part_of(sweep)
    said = text_of(sweep_verdict(directory(sweep=sweep).files[0], points))
    assert said.startswith("Best quality at K = 10: ")
    assert "Best quality at K = 50: " in said
    chosen = next(
        each for each in blocks_of(part)["frontier"].figures[0].draw(920)["params"] if each["name"] == "only_k"
    )
    assert (chosen["value"], chosen["bind"]["labels"]) == (10, ["10", "50"])
    assert [figure.id for figure in blocks_of(part)["over-k-block"].figures] == ["over-k"]
    assert not blocks_of(part)["over-k-block"].tables
    together = points_of_sweep(made_sweep(cutoffs=(10, 50)))
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
    titles = [column.title for column in found["frontier"].tables[0].columns]
    assert "p50, ms" not in titles
    assert " per 1,000" not in "".join(titles)


def test_a_sweep_in_which_everything_failed_says_so() -> None:
    sweep = made_sweep() | {"systems": [], "configurations": [], "ladder": [], "tuned": []}
    part = part_of(sweep)
    assert text_of(part.verdict) == "No configuration of this sweep has a value."
    rows = {table.id: len(table.rows) for table in blocks_of(part)["reasons"].tables}
    assert rows == {"failed": len(sweep["failed"]), "left-out": len(sweep["left_out"])}


def test_configurations_without_a_value_are_passed_over() -> None:
    sweep = made_sweep()
    first = sweep["configurations"][0]
    first["measures"][first["quality"]]["expected"] = None
    table = configuration_table(directory(sweep=sweep).files[0], points_of_sweep(sweep))
    assert len(table.rows) == len(sweep["configurations"]) - 1
    assert first["name"] not in [row.cells[0].text for row in table.rows]


def test_each_reason_is_told() -> None:
    tables = {table.id: table for table in reason_tables(directory(sweep=made_sweep()).files[0])}
    assert [cell.text for cell in tables["failed"].rows[0].cells] == [
        "dense 384d <b>ivf</b>",
        "index.spec: no index is called 'ivf'",
    ]


def test_beside_a_frontier_the_sweep_has_no_chart_and_no_verdict() -> None:
    sweep = made_sweep()
    alone, beside = part_of(sweep), part_of(sweep, made_frontier(sweep))
    assert len(blocks_of(alone)["frontier"].figures) == 1
    assert not blocks_of(beside)["frontier"].figures
    assert alone.verdict
    assert not beside.verdict


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
            spec = figure.chart.to_dict(validate=False)
            layers = [layer["data"]["values"] for layer in spec["layer"] if "data" in layer] or [spec["data"]["values"]]
            assert len({row["name"] for rows in layers for row in rows}) <= 14, figure.id


def test_a_difference_of_k_is_the_difference_of_its_two_configurations() -> None:
    sweep = made_sweep(methods=("dense",), dimensions=(384,), indexes=("flat",))
    ((table,),) = (block.tables for block in contexts_block(directory(sweep=sweep).files[0], points_of_sweep(sweep)))
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
    sweep = made_sweep(methods=("dense",), dimensions=(384,), indexes=("flat",), cutoffs=(10,))
    for system in sweep["systems"]:
        system["memory"] = None
    sweep |= {"ladder": [], "tuned": []}
    held = directory(sweep=sweep)
    written = draw_sweep(held.files[0], held, tmp_path)
    part = part_of(sweep)
    names = {f"sweep-{figure.id}" for block in part.blocks for figure in block.figures}
    assert {path.stem for path in written} == names
    assert {path.suffix for path in written} == {".svg", ".png", ".pdf"}
    assert sorted(tmp_path.iterdir()) == sorted(written)
