"""Missing work: one sentence in dry run and notice, and sums that are unknown where a part of them is."""

import json
from typing import Any

import pytest

from trueval.errors import TruevalWarning
from trueval.models.hosted.account import Account
from trueval.models.missing_work import DryRun, MissingWork, announce, sum_work

TEXTS = MissingWork("documents", "m", 60, 3, 900, cost=0.5, at_most=1.5, kept=40)
PAIRS = MissingWork("pairs (bfloat16)", "local", 80, exact=False, seconds=90.0)
GRADES = MissingWork("grade", "judge", 96, 12, 9_000, 600, cost=0.25, at_most=None)


def test_a_dry_run_is_a_sentence_for_each_stage_a_sum_and_a_verdict() -> None:
    found = DryRun([TEXTS, PAIRS, GRADES], max_cost=5.0, spent=0.125, lines=["two systems."], notes=["a note."])
    assert found.sentences() == [
        "two systems.",
        "documents: 60 texts in 3 calls to m, about 900 tokens, for about 0.5, at most 1.5. 40 more are kept.",
        "pairs (bfloat16): at most 80 pairs through local, about 1.5 minutes.",
        "grade: 96 passages in 12 calls to judge, about 9,000 tokens and 600 back (thinking not counted), for about "
        "0.25.",
        "In all: 15 calls, for about 0.75; 0.125 is spent.",
        "max_cost is 5: it is likely to be enough; else it stops before the limit is exceeded, and keeps what is done.",
        "a note.",
    ]
    told = json.loads(json.dumps(DryRun([TEXTS, PAIRS], about={"name": "x"}).to_dict()))
    assert [told[name] for name in ("name", "calls", "tokens", "cost", "at_most")] == ["x", 3, 900, 0.5, 1.5]
    assert told["seconds"] == 90.0
    assert told["work"][1] == vars(PAIRS)


@pytest.mark.parametrize(
    ("limit", "spent", "told"),
    [
        (1.5, 0.0, "it allows this work."),
        (1.5, 0.01, "it is likely to be enough; else it stops before"),  # at most 1.51
        (0.5, 0.01, "it stops before the limit is exceeded"),
        (None, 0.0, ""),
    ],
)
def test_what_is_spent_counts_in_the_limit(limit: float | None, spent: float, told: str) -> None:
    said = [line for line in DryRun([TEXTS], limit, spent).sentences() if line.startswith("max_cost is")]
    assert len(said) == (limit is not None)
    assert all(line.startswith(f"max_cost is {limit:g}: {told}") for line in said)


def test_nothing_is_said_of_money_where_nobody_bills() -> None:
    labels = MissingWork("grade", "labels", 5, 2)
    assert DryRun([labels], 1.0).sentences() == ["grade: 5 passages in 2 calls to labels.", "In all: 2 calls."]
    unknown = DryRun([MissingWork("queries", "m", 1, 1, 5, cost=None, at_most=None)], 1.0).sentences()
    assert unknown[1:] == [
        "In all: 1 call, at a price that is not known.",
        "max_cost is 1: a price is not known, and nothing is sent whose price is not known.",
    ]
    kept = MissingWork("queries", "m", 0, kept=7)
    assert DryRun([kept]).sentences() == [
        "queries: no text goes to m. 7 more are kept.",
        "Nothing goes through a model: all outputs are in the cache.",
    ]


def test_parts_of_one_stage_and_model_are_added_up() -> None:
    free: dict[str, Any] = {"cost": None, "at_most": None, "exact": False}
    first, second = sum_work([TEXTS, GRADES, MissingWork("documents", "m", 1, 1, 10, **free)])
    assert (first.items, first.calls, first.tokens, first.kept) == (61, 4, 910, 40)
    assert (first.cost, first.at_most, first.exact) == (None, None, False)
    assert second == GRADES


def test_a_notice_begins_with_the_sentence_of_the_dry_run() -> None:
    with pytest.warns(TruevalWarning) as caught:
        announce(GRADES, "https://api.example.com/v1", "KEY", Account(max_cost=0.125), " More.")
    announce(MissingWork("grade", "judge", 0), "https://api.example.com/v1", "", Account())  # nothing to say
    (notice,) = (str(each.message) for each in caught)
    assert notice == (
        f"{GRADES.sentence} It leaves this machine for api.example.com, with the key in KEY; 0 of at most 0.125 is "
        "spent. It stops there, and keeps what is done. More."
    )
