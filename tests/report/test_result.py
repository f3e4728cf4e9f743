"""Results show themselves as their kind does."""

from dataclasses import dataclass
from typing import Any

import pytest

from trueval.report import kinds
from trueval.report.kinds import Kind
from trueval.report.result import ReprByKind


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
