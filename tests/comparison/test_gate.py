"""Gates as library code: limits in, findings out."""

import math

import pytest

import trueval as tv
from trueval.comparison.gate import Limit, MaxDrop, MaxRange, Minimum, parse_limit
from trueval.errors import MeasureError, PolicyError

QUERIES = 40
JUDGMENTS = tv.Judgments.from_dict({f"q{query}": {"a": 1} for query in range(QUERIES)})


def run(name: str, first: float = 2.0, second: float = 1.0) -> tv.Run:
    """A run that lists the relevant document and another one."""
    return tv.Run.from_dict({f"q{query}": {"a": first, "b": second} for query in range(QUERIES)}, name=name)


def scores(name: str, *values: float, measures: str = "RR P@1") -> tv.Scores:
    return tv.evaluate(run(name, *values), JUDGMENTS, measures)


GOOD, TIED, BAD = scores("good"), scores("tied", 1, 1), scores("bad", 1, 2)


def test_a_check_holds_the_numbers_that_decided() -> None:
    """Tied, RR is 1 or 1/2: expected 3/4."""
    wide, low = tv.gate(TIED, [MaxRange("RR", 0.25), Minimum("RR", 0.75)])
    assert wide.to_dict() == {
        "name": "max-range",
        "measure": "RR",
        "baseline": None,
        "limit": 0.25,
        "value": 0.5,
        "low": 0.5,
        "high": 1.0,
        "level": None,
        "bounded": False,
        "verdict": "failed",
        "passed": False,
    }
    assert (wide.run, wide.line) == ("tied", "tied: the range of RR is 0.5, above --max-range RR=0.25.")
    assert (low.value, low.low, low.high, low.passed, low.verdict) == (0.75, 0.5, 1.0, True, "passed")


def test_a_limit_without_a_measure_is_about_each() -> None:
    found = tv.gate([GOOD, TIED], [MaxRange(None, 0.5)])
    assert [(check.run, check.measure, check.passed) for check in found] == [
        ("good", "RR", True),
        ("good", "P@1", True),
        ("tied", "RR", True),
        ("tied", "P@1", False),
    ]


def test_a_drop_is_held_against_the_joint_interval() -> None:
    """BAD loses 1/2 on every query, without ties: the interval is the point itself."""
    check, kept = tv.gate([BAD, GOOD], [MaxDrop("RR", 0.4), MaxDrop("RR", 0.5)], baseline=GOOD)
    assert (check.run, check.baseline, check.level, check.passed) == ("bad", "good", 0.95, False)
    assert (check.value, check.low, check.high) == (0.5, 0.5, 0.5)
    assert kept.passed
    (gain,) = tv.gate(GOOD, [MaxDrop("RR", 0)], baseline=BAD, level=0.9)
    assert (gain.value, gain.level, gain.passed) == (-0.5, 0.9, True)


def test_the_drop_of_a_measure_of_which_less_is_better_is_a_rise() -> None:
    judgments = tv.Judgments.from_dict({f"q{query}": {"a": 5, "b": 1} for query in range(QUERIES)})
    good, bad = (tv.evaluate(run(*each), judgments, "Harm@1") for each in (("good",), ("bad", 1, 2)))
    (check,) = tv.gate(bad, [MaxDrop(None, 0.9)], baseline=good)
    assert (check.value, check.low, check.passed) == (1, 1, False)
    assert tv.gate(good, [MaxDrop(None, 0)], baseline=bad)[0].passed


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_nothing_judged_fails_alone() -> None:
    strange = tv.Run.from_dict({"q0": {"x": 1.0}}, name="strange")
    found = tv.evaluate(strange, JUDGMENTS, "RR")
    (check,) = tv.gate(found, [MaxRange(None, 1)])
    assert (check.name, check.run, check.measure, check.value, check.passed) == ("judged", "strange", None, None, False)
    assert tv.gate(found, []) == ()


@pytest.mark.parametrize(
    ("name", "text", "limit"),
    [
        ("max-range", "0.02", MaxRange(None, 0.02)),
        ("max-range", "nDCG(gain='exp')@10=0", MaxRange("nDCG(gain='exp')@10", 0)),
        ("max-drop", "Hit@3=1e-3", MaxDrop("AllGold@3", 0.001)),
        ("min", "P@5=0.5", Minimum("P@5", 0.5)),
    ],
)
def test_limits_are_read_as_the_command_line_has_them(name: str, text: str, limit: Limit) -> None:
    found = parse_limit(name, text)
    assert found == limit
    assert parse_limit(name, str(found).partition(" ")[2]) == found


@pytest.mark.parametrize(
    ("name", "text"),
    [("max-range", "wide"), ("max-drop", "-1"), ("max-drop", "nan"), ("min", "0.5"), ("min", "RR=inf")],
)
def test_a_limit_that_cannot_be_read_names_its_option(name: str, text: str) -> None:
    with pytest.raises(PolicyError, match=f"--{name} must be .*such as .* Got {text}"):
        parse_limit(name, text)


def test_limits_that_nothing_can_be_held_against_are_refused() -> None:
    for make in (lambda: MaxRange(None, -1), lambda: MaxDrop("RR", math.nan), lambda: Minimum(None, 0.5)):
        with pytest.raises(PolicyError, match="must be"):
            make()
    with pytest.raises(PolicyError, match="Of Harm@5, less is"):
        Minimum("Harm@5", 0.1)
    with pytest.raises(MeasureError, match="Did you mean nDCG"):
        MaxRange("nDGC@10", 0.1)
    with pytest.raises(PolicyError, match="AP is not evaluated"):
        tv.gate(GOOD, [MaxRange("AP", 0.1)])
    with pytest.raises(PolicyError, match="needs --baseline RUN"):
        tv.gate(GOOD, [MaxDrop(None, 0.1)])
    with pytest.raises(MeasureError, match="geometric"):
        tv.gate(scores("a", measures="gm(RR)"), [MaxDrop(None, 0.1)], baseline=scores("b", measures="gm(RR)"))
