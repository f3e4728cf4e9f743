"""How probes of names look: every form holds every scorer, and nothing published among what was measured."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console
from tests.probes.models import LetterReranker, Letters

from trueval.probes.ablations import ABLATIONS
from trueval.probes.authors import sample_people
from trueval.probes.margin_summary import NamesResult, summarise
from trueval.probes.model_scorers import CosineScorer, LogitScorer, ModelOutputs
from trueval.probes.names import design_names, probe_scorer
from trueval.probes.names_result import NamesSummary
from trueval.probes.views.kind import NAMES
from trueval.probes.views.names import view
from trueval.probes.views.published import SOURCE, TABLES, published_tables
from trueval.report.figures import NARROW
from trueval.report.kinds import find
from trueval.report.page_content import Number
from trueval.report.result_directory import Directory, ResultFile


@pytest.fixture(scope="module")
def found() -> NamesResult:
    probes = []
    for language in ("en", "fr"):
        design = design_names(sample_people(language), language=language, queries=5, runs=2)
        probes += [probe_scorer(CosineScorer(ModelOutputs(Letters())), design)]
        probes += [probe_scorer(LogitScorer(ModelOutputs(LetterReranker())), design)]
    return summarise(probes, resamples=250)


@pytest.fixture(scope="module")
def result(found: NamesResult) -> dict:
    return json.loads(NAMES.write(found.to_dict(), "json"))


def legend(result: dict) -> list[str]:
    return list(view(NamesSummary.from_dict(result)).legend)


def scorer(result: dict, name: str, base: float, near: float | None = None) -> dict:
    """The first scorer of a result under another name, with these shares of its 10 probes kept apart."""
    made = json.loads(json.dumps(result["scorers"][0])) | {"name": name}
    shares = {"base": base} if near is None else {"base": base, "edit_distance_near_miss": near}
    made["conditions"] = [
        each | {"kept_apart": shares[each["name"]]} for each in made["conditions"] if each["name"] in shares
    ]
    return made


@pytest.mark.parametrize(
    ("scorers", "answer"),
    [
        ({"a": (0.9, None)}, "a (en) confuses names: the right author is above both impostors in 9 of 10 probes."),
        ({"a": (1, None)}, "a (en) keeps every name apart: the right author is above both impostors in all 10 probes."),
        (
            {"a": (0.9, None), "b": (0.4, None), "c": (0.5, None)},
            "b (en) confuses names most: the right author is above both impostors in 4 of 10 probes, under a (en) in "
            "9 of 10.",
        ),
        (
            {"a": (1, 0.3), "b": (0.9, 0.8)},
            "a (en) confuses names most: with impostors one and two letters away the right author is above both "
            "impostors in 3 of 10 probes, under b (en) in 8 of 10.",
        ),
        (
            {"a": (0.5, None), "b": (0.5, None)},
            "All 2 scorers confuse names alike: the right author is above both impostors in 5 of 10 probes.",
        ),
    ],
)
def test_the_answer_counts_probes(result: dict, scorers: dict, answer: str) -> None:
    made = result | {"scorers": [scorer(result, name, *shares) for name, shares in scorers.items()]}
    text = " ".join(re.sub(r"\s+", " ", NAMES.write(made, "markdown")).split())
    assert f"**{answer}**" in text
    assert "of bundles" not in text


def test_the_result_reads_its_own_json(result: dict) -> None:
    assert NamesSummary.from_dict(result).to_dict() == result


def test_the_kind_is_found_by_its_name() -> None:
    assert find("probe-names") is NAMES


def test_the_table_holds_every_scorer_and_condition(found: NamesResult, result: dict) -> None:
    text = repr(found)
    for scorer in result["scorers"]:
        assert f"{scorer['name']}, {scorer['language']} ({scorer['unit']}), 10 probes" in text
    assert len(re.findall("initials_form", text)) == 4
    assert "at least 0.02 of cosines, and 0.0443 of the scorer's mean Δboth of other scores" in " ".join(legend(result))


def test_a_terminal_of_80_columns_has_a_line_for_each_condition(result: dict) -> None:
    console = Console(width=80, file=io.StringIO())
    console.print(NAMES.write(result, "table"))
    lines = console.file.getvalue().splitlines()
    for scorer in result["scorers"]:
        at = lines.index(f"{scorer['name']}, {scorer['language']} ({scorer['unit']}), 10 probes")
        below = [line.split()[:2] for line in lines[at + 3 : at + 3 + len(scorer["conditions"])]]
        assert below == [[each["name"], f"{10 * each['kept_apart']:.0f}"] for each in scorer["conditions"]]


def test_csv_holds_the_means_of_the_json(result: dict) -> None:
    lines = list(csv.DictReader(io.StringIO(NAMES.write(result, "csv"))))
    conditions = [(scorer, each) for scorer in result["scorers"] for each in scorer["conditions"]]
    assert len(lines) == len(conditions) == 4 * (1 + len(ABLATIONS))
    for line, (scorer, each) in zip(lines, conditions, strict=True):
        assert (line["scorer"], line["condition"]) == (scorer["name"], each["name"])
        assert float(line["delta_name"]) == each["delta_name"]["mean"]
        assert float(line["delta_both_run_sd"]) == each["delta_both"]["run_sd"]
        assert float(line["kept_apart"]) == each["kept_apart"]
        relative = None if each["change"] is None else each["change"]["relative"]["mean"]
        assert (line["change_relative"] or None) == (None if relative is None else str(relative))


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "csv"])
def test_texts_hold_nothing_published(form: str, result: dict) -> None:
    text = str(NAMES.write(result, form)) if form != "table" else NAMES.in_console(result)
    assert "letters" in text
    assert not any(value in text for value in ("0.574", "76.9", "OpenAI"))


def test_published_tables_are_as_they_are_printed() -> None:
    assert [len(each.rows) for each in TABLES] == [4, 4, 10, 10]
    assert TABLES[2].rows[1] == ("gibberish_name", "-76.9%", "-68.0%")
    assert TABLES[3].rows[8] == ("author_position_shift", "+21.8%", "+8.4%")
    assert [each.title[:9] for each in published_tables(frozenset({"en"}))] == ["Table 10:", "Table 11:", "Table 4.1"]
    assert "not measured by trueval" in SOURCE


def test_the_page_has_a_panel_for_each_scorer_and_every_number_its_source(result: dict, tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="altair, of the extra report, is not installed")
    file = ResultFile("probe-names.json", "probe-names", result)
    part = NAMES.page(file, Directory(tmp_path, (file,)))
    panels = next(block for block in part.blocks if block.id == "probe-names-changes").figures
    charts = [json.dumps(each.draw(NARROW).to_dict(validate=False), ensure_ascii=False) for each in panels]
    assert len({re.search(r'"domain": \[[^]]*\]', each)[0] for each in charts}) == 1, "panels can be compared"
    for drawn, scorer in zip(charts, result["scorers"], strict=True):
        assert all(name in drawn for name in ABLATIONS)
        assert str(scorer["conditions"][2]["change"]["relative"]["mean"]) in drawn
    (lead,) = part.lead
    assert '"count": "10 of 10"' in json.dumps(lead.draw(NARROW).to_dict(validate=False))
    numbers = [each for words in (part.answer.sure, *part.said) for each in words if isinstance(each, Number)]
    assert len(numbers) > len(result["scorers"])
    for number in numbers:
        value = result
        for key in number.source.partition("#/")[2].split("/"):
            value = value[int(key) if isinstance(value, list) else key]
        assert value == number.value
    published = next(block for block in part.blocks if block.id == "as-published-for-context")
    assert published.words == ((SOURCE,),)
    assert ("gibberish_name", "-76.9%", "-68.0%") in [
        tuple(cell.text for cell in row.cells) for row in published.tables[2].rows
    ]


def test_a_page_of_base_alone_has_no_panels(tmp_path: Path) -> None:
    design = design_names(sample_people("en"), queries=4, runs=1, ablations=[])
    found = summarise([probe_scorer(CosineScorer(ModelOutputs(Letters())), design)], resamples=250)
    result = json.loads(NAMES.write(found.to_dict(), "json"))
    file = ResultFile("probe-names.json", "probe-names", result)
    part = NAMES.page(file, Directory(tmp_path, (file,)))
    assert "probe-names-changes" not in {block.id for block in part.blocks}
    assert result["scorers"][0]["conditions"][0]["delta_name"]["run_sd"] is None


def test_margins_within_rounding_are_told() -> None:
    design = design_names(sample_people("en"), queries=4, runs=1, ablations=[])
    coarse = CosineScorer(ModelOutputs(Letters()), scoring="float8_e5m2")
    result = summarise([probe_scorer(coarse, design)], resamples=250).to_dict()
    share = result["scorers"][0]["conditions"][0]["within_grain"]
    assert share > 0
    assert any(f"{4 * share:.0f} of its 4 base margins are within the grain" in line for line in legend(result))
