"""How retrieval looks: every number of table and page is the one that its place in the JSON holds."""

import json
from pathlib import Path
from typing import Any

import pytest

from trueval.report.number_texts import FRACTIONS
from trueval.report.result_directory import Directory, ResultFile
from trueval.report.terminal import render_text
from trueval.retrieval.views import flow, stages


def stage(name: str, given: int | None, documents: int, tied: float, relevant: tuple[int, int], value: float) -> Any:
    spread = {"expected": value, "lowest": value - 0.01, "highest": value + 0.02, "tie_broken": value}
    return {
        "name": name,
        "seconds": 0.5,
        "made_seconds": 75.25,
        "cached": name == "sparse",
        "queries": 12,
        "given": given,
        "documents": documents,
        "tied_fraction": tied,
        "notes": [f"a remark of {name}"],
        "index": None,
        "relevant_given": relevant[0],
        "relevant": relevant[1],
        "measures": {"R": {"expected": relevant[1] / 40}, "nDCG@10": spread},
    }


def result(*, low: bool = True) -> dict[str, Any]:
    judged = {"rel": 1, "relevant": 40, "notes": ["a remark on judgments"]}
    high = [
        stage("dense", None, 1200, 0.001, (40, 30), 0.5),
        stage("sparse", None, 1000, 0, (40, 20), 0.4),
        stage("fuse", 1900, 1200, 0.25, (35, 32), 0.55),
    ]
    lower = [*high[:2], stage("fuse", 1900, 1200, 0.5, (35, 31), 0.54)]
    found = {
        "kind": "retrieve",
        "format": 1,
        "name": "mine",
        "collection": {"name": "wings"},
        "settings": {"fuse": {"method": "rrf", "weights": None}, "deduplicate": {"duplicates": True}},
        "stages": high,
        "judged": judged,
    }
    return {**found, "low": {"stages": lower, "judged": judged}} if low else found


def test_the_format_that_a_model_ran_in_is_said():
    found = result(low=False)
    found["settings"] |= {
        "embed": {"model": "mine", "dtype": "bfloat16"},
        "rerank": {"model": "cohere:m", "price_per_million_tokens": 1},
    }
    told = " ".join(render_text(stages.table(found)).split())
    assert "mine ran in bfloat16; to run it in another format, set dtype in [embed]." in told
    assert "cohere:m ran" not in told
    assert "mine ran in bfloat16" in stages.to_markdown(found)


def test_the_table_shows_stages_their_worth_and_what_low_precision_does():
    text = " ".join(render_text(stages.table(result())).split())
    assert "fuse 12 1,200 700 0.2500 32 0.5500 0.5400 0.5700 0.5 75.2 The same" in text
    assert "fuse 12 1,200 700 0.5000 31 0.5400" in text
    assert "sparse 12 1,000 0.0000 20 0.4000 0.3900 0.4200 0.5 75.2 kept" in text
    assert "50.00% of the candidates tie in the end, in float32 25.00%." in text
    assert "differ most at fuse: 50.00% and 25.00%, +25.0 points" in text
    assert "0.5400 [0.5300, 0.5600] in the dtype of the models and 0.5500 [0.5400, 0.5700] in float32" in text
    assert "a remark of fuse" in text
    assert "a remark on judgments" in text


def test_without_judgments_nothing_is_said_of_worth():
    plain = result(low=False)
    del plain["judged"]
    plain["stages"] = [{k: v for k, v in each.items() if k not in ("measures", "relevant")} for each in plain["stages"]]
    assert "nDCG" not in render_text(stages.table(plain))
    assert [figure.id for figure in flow.figures(plain)] == ["stages-candidates"]
    assert stages.to_csv(plain).splitlines()[0] == ",".join(stages.COLUMNS)


def test_csv_holds_both_runs_in_full_precision():
    lines = stages.to_csv(result()).splitlines()
    assert lines[0] == ",".join(("scoring", *stages.COLUMNS, *stages.JUDGED_COLUMNS))
    assert len(lines) == 7
    assert lines[3].startswith("float32,fuse,12,1900,1200,0.25,0.5,75.25")
    for form in (stages.to_markdown, stages.to_latex):
        assert form(result(), scale=FRACTIONS).count("fuse") >= 2


def test_every_number_of_the_page_is_where_it_says(tmp_path: Path):
    pytest.importorskip("altair", reason='needs the extra "report"')
    data = json.loads(json.dumps(result()))
    file = ResultFile("retrieval.json", "retrieve", data)
    part = stages.build(file, Directory(tmp_path, (file,)))
    (block,) = part.blocks
    assert len(block.tables) == 2
    for table in block.tables:
        for row in table.rows:
            entry = data
            for key in row.source.split("/")[1:]:
                entry = entry[int(key)] if isinstance(entry, list) else entry[key]
            for column, cell in zip(table.columns, row.cells, strict=True):
                assert cell == column.cell(entry)
    lost = [
        row.cells[[column.title for column in block.tables[0].columns].index("lost")].value
        for row in block.tables[0].rows
    ]
    assert lost == [None, None, 700]
    assert [figure.id for figure in block.figures] == ["stages-candidates", "stages-relevant", "stages-values"]
    assert "+25.0 points" in str(part.summary)


def test_columns_hold_what_becomes_of_the_candidates():
    pytest.importorskip("altair", reason='needs the extra "report"')
    candidates, relevant, values = flow.figures(result())
    rows = candidates.chart.to_dict()["data"]["values"]
    counts = {(row["stage"], row["part"]): row["count"] for row in rows}
    assert counts["fuse", "kept, alone"] == 900
    assert counts["fuse", "kept, tied"] == 300
    assert counts["fuse", "lost"] == 700
    assert counts["dense", "lost"] == 0
    found = {(row["stage"], row["part"]): row["count"] for row in relevant.chart.to_dict()["data"]["values"]}
    assert (found["dense", "lost"], found["fuse", "lost"], found["fuse", "kept"]) == (10, 3, 32)
    assert "fuse 300 of 1,200" in candidates.description
    assert values.title == "nDCG@10 of each stage"
