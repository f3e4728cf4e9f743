"""τ is that of scipy, ranks share ties, lifts are counted by hand, verdicts fall where they should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from trueval.errors import InputError
from trueval.golden.validation.agreement_intervals import Resampler
from trueval.golden.validation.label_verdicts import (
    PairVerdicts,
    VerdictCounts,
    VerdictRates,
    VerdictSpread,
    in_short,
    outcome,
    rates,
    spread,
)
from trueval.golden.validation.model_families import Families
from trueval.golden.validation.system_rankings import SystemMeans, lift, lift_in_measure, ranks, tau_b, taus, top_of

DRAW = Resampler(resamples=200)
VALUES = st.lists(st.integers(0, 3), min_size=5, max_size=5)


@examples(150)
@given(VALUES, VALUES)
def test_tau_is_that_of_scipy_ties_included(one: list[int], other: list[int]) -> None:
    from scipy.stats import kendalltau

    found = float(tau_b(np.array(one, dtype=float), np.array(other, dtype=float)))
    expected = float("nan") if len(set(one)) == 1 or len(set(other)) == 1 else float(kendalltau(one, other).statistic)
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_means_that_differ_by_rounding_are_ties() -> None:
    assert ranks(np.array([0.1 + 0.2, 0.3, 0.5])).tolist() == [2.5, 2.5, 1.0]
    assert np.isnan(float(tau_b(np.array([0.1 + 0.2, 0.3]), np.array([1.0, 2.0]))))


def test_the_best_systems_hold_all_that_tie_with_the_last() -> None:
    assert top_of(np.array([0.2, 0.9, 0.9, 0.1]), 1) == [1, 2]
    assert top_of(np.array([0.2, 0.9]), 9) == [1, 0]


def means(*labels: list[float]) -> SystemMeans:
    """The same values in each of four queries."""
    values = np.tile(np.array(labels), (4, 1, 1))
    return SystemMeans(values, np.ones(values.shape[:2], dtype=bool))


def test_a_lift_is_how_many_ranks_kin_is_higher_than_by_people_and_than_by_other_judges() -> None:
    # People put the kin (the last system) last of four; its own judge first; another judge third.
    found = lift(means([4, 3, 2, 1], [3, 2, 1, 4], [4, 3, 1, 2]), 1, [2], [3], DRAW)
    assert (found.own.value, found.others.value, found.extra.value) == (3.0, 1.0, 2.0)
    assert (found.own.low, found.own.high) == (3.0, 3.0)  # every query says the same
    alone = lift(means([4, 3, 2, 1], [3, 2, 1, 4]), 1, [], [3], DRAW)
    assert alone.extra.value is None
    assert alone.extra.reason == "no judge of another family"


def test_a_lift_in_the_measure_is_what_the_judge_adds_to_its_kin_beyond_the_others() -> None:
    # The kin is second by people, and first by its judge, which adds .4 to it and .1 to the others; ranks say 1.
    people, own, other = [0.8, 0.7, 0.2], [0.9, 1.1, 0.3], [0.9, 0.8, 0.4]
    found = lift_in_measure(means(people, own, other), 1, [2], [1], DRAW)
    assert found.own.value == pytest.approx(0.4 - 0.1)
    assert found.others.value == pytest.approx(0.1 - 0.15)
    assert found.extra.value == pytest.approx(0.35)
    assert found.extra.low == pytest.approx(0.35)
    assert lift(means(people, own, other), 1, [2], [1], DRAW).own.value == 1.0
    generous = lift_in_measure(means([0.5, 0.2, 0.1], [0.9, 0.6, 0.5]), 1, [], [1], DRAW)
    assert generous.own.value == pytest.approx(0)
    assert generous.extra.reason == "no judge of another family"
    assert lift_in_measure(means([0.5, 0.2], [0.9, 0.6]), 1, [], [0, 1], DRAW).own.value is None


def test_queries_that_labels_do_not_count_are_not_zeros() -> None:
    values = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 0.5], [0.0, 0.0]]])
    counted = np.array([[True, True], [True, False]])
    assert SystemMeans(values, counted).means.tolist() == [[0.5, 0.25], [1.0, 0.0]]
    (one,) = taus(SystemMeans(values, counted), [0, 1], [1], DRAW)
    assert one.value == 1.0
    assert taus(SystemMeans(values, counted), [0], [1], DRAW)[0].reason == "fewer than two systems"


def test_the_rates_count_what_they_say() -> None:
    people = {("a", "b"): "first", ("a", "c"): "first", ("b", "c"): "none", ("a", "d"): "none", ("b", "d"): "second"}
    judge = {("a", "b"): "first", ("a", "c"): "second", ("b", "c"): "first", ("a", "d"): "none", ("b", "d"): "none"}
    found = rates(people, judge, "abcd")
    assert found == VerdictRates(
        5, same=1, reversed=1, false=1, missed=1, neither=1, false_rate=2 / 3, missed_rate=2 / 3
    )
    some = rates(people, judge, "ad")
    assert (some.pairs, some.false_rate, some.missed_rate) == (1, None, None)
    assert {outcome(one, other) for one in ("first", "second") for other in ("first", "second")} == {"same", "reversed"}
    every = spread(people, [judge, people])
    assert every[1] == PairVerdicts("a", "c", "first", VerdictCounts(first=1, second=1, none=0), with_people=1)
    assert in_short(every) == VerdictSpread(pairs=5, all_judges_agree=2, judges_oppose=1, people_alone=0)
    # A judge is not asked about its own kin: of the pairs with c people alone are left, and they agree with themselves.
    unrelated = spread(people, [judge, people], [("c",), ()])
    assert [each.judges.judges for each in unrelated] == [2, 1, 1, 2, 2]
    assert in_short(unrelated).judges_oppose == 0
    assert in_short(spread(people, [judge], ["abcd"])).pairs == 0


def test_families_are_read_and_what_is_unknown_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "family.toml"
    file.write_text('[runs]\nopenai = ["r1", "r2"]\n[judges]\ngpt = "openai"\n')
    found = Families.read(file, ["r1", "r2", "r3"], ["gpt", "llama"])
    assert (found.kin("gpt"), found.kin("llama")) == (("r1", "r2"), ())
    cases = {
        r"family.toml:2: there is no run 'r9'. There are: r1, r2": '[runs]\na = ["r9"]\n[judges]\n',
        r"family.toml:4: there is no judge 'gtp'. .*Did you mean gpt\?": '[runs]\na = []\n[judges]\ngtp = "a"\n',
        r"family.toml:4: there is no family 'b'. There are: a": '[runs]\na = []\n[judges]\ngpt = "b"\n',
        r"family.toml:2: a of \[runs\] must be a list": '[runs]\na = "r1"\n[judges]\n',
        r"the file needs judges: judge = its family": '[runs]\na = ["r1"]\n',
        r"family.toml:1: there is no table \[run\]": "[run]\n",
    }
    for message, text in cases.items():
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            Families.read(file, ["r1", "r2"], ["gpt"])
