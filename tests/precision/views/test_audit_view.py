"""A reranker whose scores of the first query tie in bfloat16: RR@10 is 1 or 1/2 there, and 1 in the second query."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.report.results import places_of

from trueval import Judgments, Run
from trueval.precision.audit import audit
from trueval.precision.audit_result import PrecisionAudit
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


def test_latex_has_a_table_for_each_measure(found: dict[str, Any]) -> None:
    text = text_of(found, "latex", FRACTIONS)
    assert [line for line in text.splitlines() if line.startswith("\\caption")][:2] == [
        "\\caption{RR@10}",
        "\\caption{P@1}",
    ]
    assert "m\\_1 & BF16 $\\to$ FP32 & 1.0000 & 1.0000 & 0.0000 & 0.0000 & 0.0000" in text


def test_the_answer_is_about_the_first_measure_and_what_float32_repairs(found: dict[str, Any]) -> None:
    """P@1 has the wider range, 1/2; nobody asked about it first."""
    text = " ".join(text_of(found, "table", FRACTIONS).split())
    assert text.startswith(
        "m_1, BF16 → BF16: the order of ties moves RR@10 by 0.2500, between 0.7500 and 1.0000. Scoring the same "
        "outputs in float32 repairs it: no range is left. Exact over all orders of tied documents, on these 2 queries."
    )
    assert "Its expected RR@10 is 0.8750; scored in float32 it is 1.0000." in text
    assert "Of its documents 50.00% are tied; scored in float32, 0.00%." in text
    assert "Of the other measures ties move P@1 most, by 0.5000." in text


@pytest.mark.parametrize(
    ("fine", "answer"),
    [
        # One, two and three of three queries stay tied.
        ([[0.499, 0.5], [0.5, 0.499], [0.5, 0.5]], "repairs most of it: 0.1667 is left."),
        ([[0.499, 0.5], [0.5, 0.5], [0.5, 0.5]], "repairs part of it: 0.3333 is left."),
        ([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], "does not repair it: 0.5000 is left."),
        (None, "; scores in float32 were not asked for."),
    ],
)
def test_what_float32_leaves_is_judged(fine: list[list[float]] | None, answer: str) -> None:
    runs = {Regime("m", "softmax", "bfloat16", "bfloat16"): Run.from_arrays([[0.5, 0.5]] * 3)}
    if fine is not None:
        runs[Regime("m", "softmax", "bfloat16", "float32")] = Run.from_arrays(fine)
    judgments = Judgments.from_arrays([[0, 1], [1, 0], [1, 0]])
    assert answer in " ".join(text_of(audit(runs, judgments, "RR").to_dict(), "table", FRACTIONS).split())


def test_an_audit_without_low_precision_says_so() -> None:
    runs = {Regime("m", "softmax", "float32", "float32"): Run.from_arrays([[0.5, 0.5]])}
    text = text_of(audit(runs, Judgments.from_arrays([[0, 1]]), "RR").to_dict(), "table", FRACTIONS)
    assert text.startswith("No model ran and scored below float32")


def test_models_that_ties_decide_come_first() -> None:
    """Model a ties everything; b is surely right half of the time. Input order flatters a."""
    scores = {"a": [[0.5, 0.5, 0.5]] * 2, "b": [[0.9, 0.5, 0.1], [0.5, 0.9, 0.1]]}
    runs = {Regime(name, "softmax", "bfloat16", "bfloat16"): Run.from_arrays(each) for name, each in scores.items()}
    found = audit(runs, Judgments.from_arrays([[1, 0, 0], [1, 0, 0]]), "RR", tie_order="input", empty="skip")
    assert PRECISION.page
    part = PRECISION.page(ResultFile("precision.json", "precision", found.to_dict()), Directory(Path(), ()))
    assert part.said[:2] == (
        (
            "Do not rank these by the tie-broken value, the expected value reverses their order: b and a on RR in "
            "BF16 → BF16.",
        ),
        ("Ties leave it open which of these is better: b and a on RR in BF16 → BF16.",),
    )


def test_the_page_shows_fractions_and_where_they_are_from(found: dict[str, Any]) -> None:
    assert PRECISION.page
    part = PRECISION.page(ResultFile("precision.json", "precision", found), Directory(Path(), ()))
    (table,) = part.blocks[0].tables
    cells = table.rows[0].cells
    assert [cell.text for cell in cells[6:11]] == ["0.7500", "0.8750", "0.2500", "-0.1250", "0.1250"]
    assert places_of(table)[0][7] == "/regimes/0/measures/RR@10/expected"
    assert not any("percent" in str(words) for words in part.blocks[0].words)


def test_the_result_reads_its_own_json(found: dict[str, Any]) -> None:
    assert PrecisionAudit.from_dict(found).to_dict() == found


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
