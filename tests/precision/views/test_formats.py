"""A reranker whose scores of the first query tie in bfloat16: RR@10 is 1 or 1/2 there, and 1 in the second query."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from trueval import Judgments, Run
from trueval.precision.audit import audit
from trueval.precision.regimes import Regime
from trueval.precision.views.kind import PRECISION
from trueval.report.number_texts import FRACTIONS, POINTS, ValueUnit
from trueval.report.result_directory import Directory, ResultFile

FORMS = ("table", "markdown", "latex")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    scores = {"bfloat16": [[0.5, 0.5], [2.0, 1.0]], "float32": [[0.499, 0.5], [2.0, 1.0]]}
    runs = {Regime("m_1", "softmax", "bfloat16", form): Run.from_arrays(lists) for form, lists in scores.items()}
    return audit(runs, Judgments.from_arrays([[0, 1], [1, 0]]), ["RR@10", "P@1"], tie_order="input").to_dict()


def text_of(found: dict[str, Any], form: str, scale: ValueUnit) -> str:
    written = PRECISION.write(found, form, scale=scale)
    if form != "table":
        return str(written)
    console = Console(width=80, file=io.StringIO(), color_system=None, highlight=False)
    console.print(written)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("scale", "values"),
    [
        # tie-broken (order of the input: the wrong one first), expected, range, bias, sd over tie orders
        (FRACTIONS, ["0.7500", "0.8750", "0.2500", "-0.1250", "0.1250"]),
        (POINTS, ["75.00", "87.50", "25.00", "-12.50", "12.50"]),
    ],
)
def test_table_1_has_the_scale_that_was_asked_for(
    found: dict[str, Any], form: str, scale: ValueUnit, values: list[str]
) -> None:
    rows = [
        row.replace("|", " ").replace("&", " ").replace("\\\\", " ").split()
        for row in text_of(found, form, scale).splitlines()
    ]
    assert any(row[-5:] == values for row in rows)
    assert ("Values in points" in text_of(found, form, scale)) == (scale == POINTS)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_json_and_csv_keep_every_digit_of_a_fraction(found: dict[str, Any], form: str) -> None:
    assert text_of(found, form, POINTS) == text_of(found, form, FRACTIONS)
    assert "0.875" in text_of(found, form, POINTS)


def test_latex_sets_each_measure_above_its_regimes(found: dict[str, Any]) -> None:
    text = text_of(found, "latex", FRACTIONS)
    assert text.count("\\multicolumn{10}{c}") == 2
    assert "\\midrule\n\\multicolumn{10}{c}{P@1} \\\\\n\\midrule\nm\\_1 & softmax & bfloat16 &" in text


def test_the_page_shows_fractions(found: dict[str, Any]) -> None:
    assert PRECISION.page
    part = PRECISION.page(ResultFile("precision.json", "precision", found), Directory(Path(), ()))
    (table,) = part.blocks[0].tables
    cells = [cell.text for cell in table.rows[0].cells]
    assert cells[6:11] == ["0.7500", "0.8750", "0.2500", "-0.1250", "0.1250"]
    assert not any("percent" in str(words) for words in part.blocks[0].words)


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_pairs_that_stay_tied_are_of_one_population_or_both_are_named(form: str) -> None:
    """Of four documents a and b tie in every format; in bfloat16 c ties with d, and a to d with each other.

    6 pairs tie in bfloat16. Scored in float32, a and b still tie: half of the documents. The float32 run ties them too,
    so it orders 5 of the pairs, of which none is left tied.
    """
    low, fine = [[0.5, 0.5, 0.5, 0.5]], [[0.4, 0.4, 0.3, 0.5]]
    runs = {
        Regime("m", "softmax", model, scoring): Run.from_arrays(low if scoring == "bfloat16" else fine)
        for model, scoring in (("bfloat16", "bfloat16"), ("bfloat16", "float32"), ("float32", "float32"))
    }
    result = audit(runs, Judgments.from_arrays([[0, 1, 0, 0]]), "RR").to_dict()
    assert result["regimes"][1]["ties"]["tied_fraction"] == 0.5
    text = " ".join(text_of(result, form, FRACTIONS).split())
    assert "m BF16 → FP32: of 6 pairs that tie in BF16 → BF16, it leaves 1 tied." in text
    assert (
        "The float32 run orders 5 of them: 0 are left tied here, and 100.00% of the others are in that order." in text
    )


def test_a_run_in_float32_that_orders_none_of_them_is_said() -> None:
    runs = {
        Regime("m", "softmax", model, scoring): Run.from_arrays([[0.5, 0.5]])
        for model, scoring in (("bfloat16", "bfloat16"), ("bfloat16", "float32"), ("float32", "float32"))
    }
    text = " ".join(text_of(audit(runs, Judgments.from_arrays([[0, 1]]), "RR").to_dict(), "table", FRACTIONS).split())
    assert "of 1 pair that ties in BF16 → BF16, it leaves 1 tied. The float32 run orders none of them." in text
