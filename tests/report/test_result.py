"""Results show themselves as their kind does, and write and read their own JSON."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pytest

from trueval.errors import InputError
from trueval.report import kinds
from trueval.report.json_fields import OMITTED, encode, find_pointers, json_key
from trueval.report.kinds import Kind
from trueval.report.result import ReprByKind, Result
from trueval.version import __version__


@dataclass(frozen=True, repr=False)
class Weather(ReprByKind):
    """A result of another package."""

    degrees: int

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "weather", "format": 1, "degrees": self.degrees}


def shown_by(monkeypatch: pytest.MonkeyPatch, kind: Kind | None) -> Weather:
    monkeypatch.setattr(kinds, "find", {"weather": kind}.__getitem__)
    return Weather(21)


def test_a_console_shows_the_table_of_the_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = Kind("weather", 1, 1, text={"table": lambda result, **_: f"{result['degrees']} degrees"})
    found = shown_by(monkeypatch, kind)
    assert repr(found) == str(found) == "21 degrees"
    assert found._repr_html_() is None  # the notebook then shows the text


def test_a_kind_may_show_it_otherwise_in_a_console_and_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    def sentence(result: Any) -> str:
        return f"It is {result['degrees']}."

    kind = Kind(
        "weather", 1, 1, text={"table": str}, console=sentence, notebook=lambda result: f"<b>{sentence(result)}</b>"
    )
    found = shown_by(monkeypatch, kind)
    assert (repr(found), found._repr_html_()) == ("It is 21.", "<b>It is 21.</b>")


def test_without_an_installed_kind_a_result_says_where_its_values_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """As from a checkout on the path, whose metadata nobody reads."""
    found = shown_by(monkeypatch, None)
    assert repr(found) == "<Weather: install trueval to see its tables; to_dict() has its values>"
    assert found._repr_html_() is None


@dataclass(frozen=True)
class Station:
    """A part of a result, with each kind of field."""

    name: str
    height: float | None
    open: bool
    of_day: Mapping[str, float]
    span: tuple[int, int]
    first: int = field(metadata=json_key("from"), default=0)
    remark: str = field(metadata=OMITTED, default="")


@dataclass(frozen=True, repr=False)
class Report(Result):
    """A result of typed parts."""

    KIND: ClassVar = "report"
    FORMAT: ClassVar = 3

    stations: tuple[Station, ...]
    best: Station | None
    size: Literal["small", "large"]


REPORT = Report(
    (Station("a", 1.5, True, {"mon": 2.0}, (1, 2), 7), Station("b", None, False, {}, (0, 0), 1, "shut")), None, "small"
)


def test_a_result_is_its_json_and_back() -> None:
    written = REPORT.to_dict()
    assert {name: written[name] for name in ("kind", "format", "trueval")} == {
        "kind": "report",
        "format": 3,
        "trueval": __version__,
    }
    first = {"name": "a", "height": 1.5, "open": True, "of_day": {"mon": 2.0}, "span": [1, 2], "from": 7}
    assert written["stations"][0] == first  # a remark that is not there is left out
    assert written["stations"][1]["remark"] == "shut"
    assert Report.from_dict(json.loads(json.dumps(written))) == REPORT
    assert encode(Station("a", math.nan, True, {}, (0, 1)))["height"] is None


@pytest.mark.parametrize(
    ("keys", "value", "told"),
    [
        (("stations", 0, "height"), "high", "#/stations/0/height: a result of kind report must be a number here"),
        (("stations", 0, "height"), True, "#/stations/0/height: a result of kind report must be a number here"),
        (("stations", 1, "open"), 1, "#/stations/1/open: a result of kind report must be true or false here. Got 1"),
        (("stations", 1, "name"), None, "#/stations/1/name: a result of kind report must be a text here. Got None"),
        (("stations", 0, "of_day"), [], "#/stations/0/of_day: a result of kind report must be an object here"),
        (("stations", 0, "of_day", "mon"), "x", "#/stations/0/of_day/mon: a result of kind report must be a number"),
        (("stations", 0, "span"), [1], "#/stations/0/span: a result of kind report must be a list of 2 here"),
        (("stations", 0, "span", 1), 1.5, "#/stations/0/span/1: a result of kind report must be an integer here"),
        (("stations",), {}, "#/stations: a result of kind report must be a list here. Got {}"),
        (("stations", 0), 7, "#/stations/0: a result of kind report must be an object here"),
        (("best",), [], "#/best: a result of kind report must be an object here"),
        (("size",), "huge", "#/size: a result of kind report must be small or large here. Got 'huge'"),
    ],
)
def test_a_value_of_another_type_is_named_by_its_place(keys: tuple[Any, ...], value: Any, told: str) -> None:
    found = json.loads(json.dumps(REPORT.to_dict()))
    within = found
    for key in keys[:-1]:
        within = within[key]
    within[keys[-1]] = value
    with pytest.raises(InputError, match=re.escape(f"report.json{told}")) as caught:
        Report.from_dict(found, "report.json")
    assert caught.value.source == "report.json"


def test_a_missing_value_is_named_and_one_with_a_default_is_not_missed() -> None:
    found = json.loads(json.dumps(REPORT.to_dict()))
    del found["stations"][0]["from"]
    assert Report.from_dict(found).stations[0].first == 0
    del found["stations"][1]["name"]
    with pytest.raises(InputError, match="#/stations/1/name: a result of kind report lacks this value"):
        Report.from_dict(found)


def test_every_part_is_found_by_its_pointer() -> None:
    pointers = find_pointers(REPORT)
    assert [pointers[id(each)] for each in REPORT.stations] == ["/stations/0", "/stations/1"]
