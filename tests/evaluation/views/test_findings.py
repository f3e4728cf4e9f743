import pytest
from tests.report.results import results, value

from trueval.evaluation.evaluation_result import Evaluation
from trueval.evaluation.views.findings import Finding, explain_marks, find, marks


def found_in(measures: dict) -> tuple[Finding, ...]:
    return find(Evaluation.from_dict(results(measures)))


@pytest.mark.parametrize(
    ("first", "second", "kinds"),
    [
        (value(0.2, 0.3, 0.4, 0.4), value(0.35, 0.35, 0.35, 0.35), ["overlap", "reversed"]),
        (value(0.2, 0.3, 0.4, 0.3), value(0.35, 0.35, 0.35, 0.35), ["overlap"]),
        (value(0.2, 0.3, 0.4, 0.3), value(0.4, 0.4, 0.4, 0.4), ["overlap"]),
        (value(0.2, 0.3, 0.4, 0.3), value(0.41, 0.41, 0.41, 0.41), ["inside"]),
        (value(0.2, 0.3, 0.4, 0.3), value(0.6, 0.6, 0.6, 0.6), []),
        (value(0.3, 0.3, 0.3, 0.3), value(0.3, 0.3, 0.3, 0.3), []),
        (value(None, 0.3, None, 0.3), value(0.2, 0.3, 0.4, 0.3), []),
        (value(0.2, 0.3, 0.4, None), value(0.35, 0.35, 0.35, 0.35), ["overlap"]),
    ],
)
def test_kinds_follow_from_the_intervals_in_both_orders(first: dict, second: dict, kinds: list[str]) -> None:
    for pair in ((first, second), (second, first)):
        found = found_in({"a": {"RR": pair[0]}, "b": {"RR": pair[1]}})
        assert [finding.kind for finding in found] == kinds


def test_words_name_the_runs_by_what_was_found() -> None:
    tied, clear = value(0.2, 0.3, 0.4, 0.4), value(0.35, 0.35, 0.35, 0.35)
    found = found_in({"clear": {"RR": clear}, "tied": {"RR": tied}, "far": {"RR": value(0.9, 0.9, 0.9, 0.9)}})
    explained = {mark.sign: mark.meaning for mark in explain_marks(found)}
    assert explained["*"] == "not separated, because the order of ties decides which is higher: RR: clear and tied."
    assert explained["!"] == (
        "change places: higher by the tie-broken value, lower by the expected value: RR: tied above clear."
    )
    assert [marks(found, run, "RR") for run in ("clear", "tied", "far")] == ["*!", "*!", ""]


def test_no_runs_no_findings() -> None:
    assert found_in({}) == ()


def test_of_many_pairs_their_number_is_given() -> None:
    names = {f"run {number}": {"RR": value(0.2, 0.3, 0.4, 0.3)} for number in range(6)}
    assert explain_marks(found_in(names))[0].meaning.endswith("decides which is higher: 15 pairs of runs.")
