"""Folded tables as data: nothing of a cell is lost, and nothing is said twice."""

from trueval.report.folded_tables import pack_table
from trueval.report.number_texts import format_difference, format_value
from trueval.report.page_content import PageCell, PageColumn, PageTable, Row

COLUMNS = (
    PageColumn("run", "/run"),
    PageColumn("AP", "/AP", True, format_value),
    PageColumn("gain", "/gain", True, format_difference, turned="-/gain"),
    PageColumn("grade", "/grade", True, lambda grade: "not judged" if grade is None else f"{grade:g}"),
)


def table(*entries: dict, turned: bool = False) -> PageTable:
    """Cells of AP are strong."""
    rows = tuple(
        Row(f"/{place}", tuple(PageCell(each.show(value), value, each.title == "AP") for each, value in cells), turned)
        for place, entry in enumerate(entries)
        if (cells := [(each, entry[each.title]) for each in COLUMNS])
    )
    return PageTable("t", ("All.",), "f.json", COLUMNS, rows)


def test_a_value_says_its_text_by_the_form_of_its_column() -> None:
    data = pack_table(table({"run": "a", "AP": 0.25, "gain": -0.5, "grade": 2}))
    assert data["columns"] == [
        {"title": "run", "field": "/run"},
        {"title": "AP", "field": "/AP", "numeric": 1, "form": "fixed", "strong": 1},
        {"title": "gain", "field": "/gain", "turned": "-/gain", "numeric": 1, "form": "signed"},
        {"title": "grade", "field": "/grade", "numeric": 1},
    ]
    assert data["rows"] == [["/0", 0, "a", 0.25, -0.5, [2, "2", 0]]]


def test_what_a_form_cannot_say_travels_as_text() -> None:
    data = pack_table(table({"run": "a", "AP": None, "gain": None, "grade": None}))
    assert data["rows"] == [["/0", 0, "a", None, None, [None, "not judged", 0]]]


def test_a_turned_row_says_so() -> None:
    assert pack_table(table({"run": "a", "AP": 0.25, "gain": -0.5, "grade": 1}, turned=True))["rows"][0][:5] == [
        "/0", 1, "a", 0.25, -0.5,
    ]  # fmt: skip
