"""What the answer of an evaluation says, from values that can be counted in the head."""

from __future__ import annotations

from typing import Any

import pytest
from tests.report.results import results, value

from trueval.evaluation.evaluation_result import Evaluation
from trueval.evaluation.views.verdicts import answer, further
from trueval.report.number_texts import FRACTIONS
from trueval.report.view import Answer
from trueval.report.view_texts import write


def evaluation(measures: dict[str, Any], **policy: Any) -> Evaluation:
    held = results(measures)
    return Evaluation.from_dict({**held, "policy": {**held["policy"], **policy}})


def answer_of(measures: dict[str, Any], **policy: Any) -> Answer:
    return answer(evaluation(measures, **policy))


CLEAR = value(0.4, 0.4, 0.4, 0.4)


@pytest.mark.parametrize(
    ("tied", "told"),
    [
        (value(0.45, 0.7, 1.0, 0.8), "ahead by 0.3000, less than ties move one of them, though no order"),
        (value(0.65, 0.7, 0.75, 0.75), "ahead by 0.3000; no order of equal scores changes that."),
    ],
)
def test_the_answer_is_the_lead_and_what_ties_make_of_it(tied: dict[str, Any], told: str) -> None:
    found = answer_of({"clear": {"RR": CLEAR}, "tied": {"RR": tied}})
    assert write(found.sentence, FRACTIONS).startswith(
        f"tied is better than clear in RR: {tied['expected']:.4f}, ahead"
    )
    assert told in write(found.sentence, FRACTIONS)
    assert found.next == 'trueval compare QRELS RUN... -m "RR"'


@pytest.mark.parametrize(
    ("broken", "told"),
    [(0.6, "."), (0.3, ": in the tie order docid-desc clear leads, by names of documents alone.")],
)
def test_a_lead_inside_the_tie_ranges_is_first_of_all_open(broken: float, told: str) -> None:
    found = answer_of({"clear": {"RR": CLEAR}, "tied": {"RR": value(0.3, 0.5, 0.7, broken)}})
    assert write(found.sentence, FRACTIONS) == (
        "Equal scores decide who leads in RR: tied, 0.5000 on average over their orders, is ahead of clear by 0.1000, "
        f"inside the tie ranges{told}"
    )


def test_the_lead_has_its_range_and_the_part_of_the_tie_order() -> None:
    """.7 - .4, from .6 to .8 less .4; tie-broken .75, of which .05 is the order."""
    found = answer_of({"tied": {"RR": value(0.6, 0.7, 0.8, 0.75)}, "clear": {"RR": CLEAR}})
    assert write(found.sure, FRACTIONS) == (
        "Over all orders of equal scores the lead is between +0.2000 and +0.4000; in the tie order docid-desc it is "
        "+0.3500, of which +0.0500 comes from names of documents."
    )
    order = answer_of({"tied": {"RR": value(0.6, 0.7, 0.8, 0.75)}, "clear": {"RR": CLEAR}}, tie_order="input")
    assert write(order.sure, FRACTIONS).endswith("of which +0.0500 comes from the order of lines in the file.")
    unknown = answer_of({"tied": {"RR": value(0.6, 0.7, 0.8, None)}, "clear": {"RR": CLEAR}})
    assert write(unknown.sure, FRACTIONS).endswith("between +0.2000 and +0.4000.")


def test_where_less_is_better_the_lowest_leads() -> None:
    found = answer_of({"a": {"Harm@10": value(0.1, 0.2, 0.25, 0.2)}, "b": {"Harm@10": CLEAR}, "c": {"Harm@10": CLEAR}})
    assert write(found.sentence, FRACTIONS) == (
        "a is the best of 3 runs in Harm@10: 0.2000, ahead of b by 0.2000; no order of equal scores changes that."
    )
    assert write(found.sure, FRACTIONS) == "Over all orders of equal scores the lead is between +0.1500 and +0.3000."


def test_one_run_has_its_value_and_range() -> None:
    found = answer_of({"tied": {"RR": value(0.6, 0.7, 0.8, 0.75)}})
    assert write(found.sentence, FRACTIONS) == (
        "RR of tied is 0.7000, between 0.6000 and 0.8000 depending on the order of equal scores."
    )
    assert write(found.sure, FRACTIONS) == (
        "In the tie order docid-desc it is 0.7500, of which +0.0500 comes from names of documents."
    )
    assert write(answer_of({"clear": {"RR": CLEAR}}).sentence, FRACTIONS) == (
        "RR of clear is 0.4000; no order of equal scores changes it."
    )


def test_what_has_no_value_has_no_lead() -> None:
    nothing = value(None, None, None, None)
    assert write(answer_of({"a": {"RR": nothing}}).sentence, FRACTIONS) == "No run has a value."
    assert write(answer_of({}).sentence, FRACTIONS) == "There is no run."
    one = answer_of({"a": {"RR": nothing}, "b": {"RR": CLEAR}})
    assert write(one.sentence, FRACTIONS) == "RR of b is 0.4000; no order of equal scores changes it."
    both = answer_of({"a": {"RR": CLEAR}, "b": {"RR": CLEAR}})
    assert write(both.sentence, FRACTIONS) == "a and b share the best RR, 0.4000."


def test_other_leaders_and_open_leads_are_named() -> None:
    tied = value(0.3, 0.5, 0.7, 0.6)
    told = [
        write(each, FRACTIONS)
        for each in further(evaluation({"a": {"RR": tied, "AP": CLEAR}, "b": {"RR": CLEAR, "AP": tied}}))
    ]
    assert told[0] == "Of 2 runs, a has the best expected value on RR; b has the best expected value on AP."
    assert told[1].startswith("Equal scores decide who leads in AP: b, 0.5000 on average over their orders, is ahead")
    assert told[2].startswith("The widest tie range is 0.4000, RR of a; the largest bias is +0.1000, RR of a in the")
    assert told[3].startswith("Give every value with its tie range.")
