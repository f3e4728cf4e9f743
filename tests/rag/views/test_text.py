import itertools
import math

import pytest

from trueval import Judgments, Run
from trueval.rag.answer_accuracy import AccuracyGivenHit
from trueval.rag.sensitivity import ALPHAS, CAPS3, CAPS4, LabelFlip, sensitivity
from trueval.rag.views.text import answer_line, detail_lines, flip_line, sensitivity_lines
from trueval.report.number_texts import FRACTIONS, POINTS, ValueUnit

JUDGMENTS = Judgments.from_dict({"q": {"a": 5, "b": 4, "c": 3}})
FIRST = Run.from_dict({"q": {"a": 2.0, "b": 1.0}}, name="first")
SECOND = Run.from_dict({"q": {"b": 2.0, "c": 1.0}}, name="second")


def test_numbers_beside_a_mean_are_said_where_there_are_some() -> None:
    measures = {"RA-nWG@3": {"details": {"unjudged_in_top": 0.5, "upper": 1.0}}, "RR": {}}
    lines = list(detail_lines({"runs": [{"name": "a", "measures": measures}]}))
    assert lines == ["a  RA-nWG@3: unjudged in top 0.5, upper 1"]


@pytest.mark.parametrize(("scale", "said"), [(FRACTIONS, "0.5000"), (POINTS, "50.00")])
def test_answers_say_what_they_average_and_leave_out(scale: ValueUnit, said: str) -> None:
    found = AccuracyGivenHit(0.5, 0.0, 1.0, math.nan, 2.0, 3, 1)
    line = answer_line("a", "AllGold@3", found, scale)
    assert line.startswith(f"a  Acc|AllGold@3: {said} over 2 expected hits (")
    assert line.endswith("1 queries without an answer are left out")


def test_no_hit_gives_no_number() -> None:
    found = AccuracyGivenHit(math.nan, math.nan, math.nan, math.nan, 0.0, 3, 0)
    assert "nothing to average" in answer_line("a", "AllGold@3", found)


def test_a_flip_of_a_query_without_a_value_shows_a_dash() -> None:
    assert flip_line(LabelFlip("q", "d", 1, 5, math.nan, 0.25), POINTS).endswith("1 to 5: – to 25.00")


def test_sensitivity_says_the_grid_and_what_flips_do() -> None:
    found = sensitivity([FIRST, SECOND], JUDGMENTS, "RA-nWG@2")
    lines = list(sensitivity_lines(found))
    assert lines[0] == "Sensitivity of RA-nWG@2"
    choices = [tuple(map(float, line.split()[:3])) for line in lines[2:26]]
    assert choices == list(itertools.product(ALPHAS, CAPS4, CAPS3))
    assert "  Order of runs: as by default everywhere." in lines
    assert any(line.startswith("  first: under each of 8 one-label flips the mean stays between ") for line in lines)
    assert any(line.startswith("  One-label flips that reverse two runs: ") for line in lines)
    mean = found.grid[0].means[0].expected
    assert f"{mean:.4f}" in lines[2]
    assert f"{100 * mean:.2f}" in list(sensitivity_lines(found, POINTS))[2]
