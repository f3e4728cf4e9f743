"""How probes of names look: every form holds every scorer, and nothing published among what was measured."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from tests.probes.models import LetterReranker, Letters

from trueval.probes.ablations import ABLATIONS
from trueval.probes.authors import sample_people
from trueval.probes.margin_summary import NamesResult, rows, summarise
from trueval.probes.model_scorers import CosineScorer, LogitScorer, ModelOutputs
from trueval.probes.names import design_names, probe_scorer
from trueval.probes.views.kind import NAMES
from trueval.probes.views.names import legend
from trueval.probes.views.published import SOURCE, TABLES, published_tables
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


def test_the_kind_is_found_by_its_name() -> None:
    assert find("probe-names") is NAMES


def test_the_table_holds_every_scorer_and_condition(found: NamesResult, result: dict) -> None:
    text = repr(found)
    for scorer in result["scorers"]:
        assert f"{scorer['name']}, {scorer['language']} ({scorer['unit']})" in text
    assert len(re.findall("initials_form", text)) == 4 + 2, "four of ours and two that are published"
    assert "at least 0.02 of cosines, and 0.0443 of the scorer's mean Δboth of other scores" in " ".join(text.split())


def test_csv_holds_the_means_of_the_json(result: dict) -> None:
    lines = list(csv.DictReader(io.StringIO(NAMES.write(result, "csv"))))
    flat = list(rows(result))
    assert len(lines) == len(flat) == 4 * (1 + len(ABLATIONS))
    for line, row in zip(lines, flat, strict=True):
        assert line["condition"] == row["condition"]
        assert float(line["delta_name"]) == row["delta_name"]
        assert (line["change_relative"] == "") == (row["change_relative"] is None)


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_papers_get_ours_and_the_published_ones_apart(form: str, result: dict) -> None:
    text = NAMES.write(result, form)
    ours, _, published_part = text.partition("### Table 10" if form == "markdown" else "Table 10")
    assert "0.574" not in ours
    assert "0.574" in published_part
    assert published_part.count("76.9") == 1
    assert "letters" in ours
    assert "letters" not in published_part
    assert all(line.split(":")[0] in ours for line in legend(result))


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
    assert len(panels) == 4
    domains = {re.search(r'"domain": \[[^]]*\]', json.dumps(each.chart.to_dict(validate=False)))[0] for each in panels}
    assert len(domains) == 1, "panels can be compared"
    for at, panel in enumerate(panels):
        drawn = json.dumps(panel.chart.to_dict(validate=False), ensure_ascii=False)
        assert all(name in drawn for name in ABLATIONS)
        expected = result["scorers"][at]["conditions"][2]["change"]["relative"]["mean"]
        assert str(expected) in drawn
    for words in (part.verdict, *part.summary, *part.findings):
        for number in (each for each in words if isinstance(each, Number)):
            value = result
            for key in number.source.partition("#/")[2].split("/"):
                value = value[int(key) if isinstance(value, list) else key]
            assert value == number.value


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
    assert any(f"{share:.4f} of its base margins are within the grain" in line for line in legend(result))
