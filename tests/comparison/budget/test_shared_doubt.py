"""What more questions do not average out: read from a budget, and taken by gates, power and frontiers."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest
from scipy.stats import t as student
from tests.comparison.made_scores import made_scores
from tests.tradeoff.sweeps import made_sweep
from tests.tradeoff.swept import write_sweep

import trueval as tv
from trueval.comparison.budget.budget_result import Budget
from trueval.comparison.budget.doubt_budget import BudgetChoices, budget_of_scores
from trueval.comparison.budget.shared_doubt import SharedDoubt, doubt_of_means, read_budget, shared_doubt
from trueval.comparison.power.power_analysis import power_of_scores
from trueval.comparison.views.checks import sentences
from trueval.errors import InputError, PolicyError
from trueval.policy.policy import OURS

JUDGE = tv.Judgments.from_dict({f"q{at}": {"a": 1, "b": 0} for at in range(40)})


def budget_of(
    shift: float, systems: int = 2, repeats: int = 6, measures: str = "nDCG@10", seed: int = 0, **choices
) -> Budget:
    """Of systems whose every repeat moves all queries by a shift of its own."""
    rng = np.random.default_rng(seed)
    width = len(measures.split())
    scores = {}
    for system in range(systems):
        own = rng.normal(0.5, 0.1, (40, width))
        runs = [own + rng.normal(0, shift) + rng.normal(0, 0.01, (40, width)) for _ in range(repeats)]
        scores[f"s{system}"] = [[made_scores(f"s{system}", values, measures=measures)] for values in runs]
    return budget_of_scores(scores, [JUDGE], BudgetChoices(None, 0.95, None, **choices))


def test_it_is_the_variance_of_the_effects_without_a_question() -> None:
    found = budget_of(0.05, systems=3)
    for first, second in (("s0", "s1"), ("s2", "s0")):
        effects = [each for each in found.pair("nDCG@10", first, second).effects if each.effect == "R"]
        shared = shared_doubt(found, "nDCG@10", first, second)
        assert len(effects) == 2
        assert shared.variance == pytest.approx(sum(each.variance for each in effects))
        assert 5 <= shared.degrees <= 10  # of two systems with 6 repeats each
        assert {shared.first, shared.second} == {first, second}
    # Of runs that the budget does not know, the pair with the most.
    most = max((shared_doubt(found, "nDCG@10", a, b) for a, b in (("s0", "s1"), ("s0", "s2"), ("s1", "s2"))))
    assert shared_doubt(found, "nDCG@10", "new", "s0").variance == most.variance


def test_judges_count_unless_they_are_fixed() -> None:
    rng = np.random.default_rng(1)
    lead = rng.normal(0.1, 0.05, 4)  # what each judge gives the first system
    scores = {
        name: [[made_scores(name, rng.normal(0.5, 0.1, 40) + (own if name == "a" else 0)) for own in lead]]
        for name in ("a", "b")
    }
    judges = [
        tv.Judgments.from_dict({f"q{at}": {"a": 1, "b": int(at % 5 == judge)} for at in range(40)})
        for judge in range(4)
    ]
    for fixed in (False, True):
        found = budget_of_scores(scores, judges, BudgetChoices(None, 0.95, None, fixed_judges=fixed))
        shared = shared_doubt(found, "nDCG@10", "a", "b")
        assert (shared.variance > 0) == (not fixed)
        assert math.isinf(shared.degrees) == fixed


def test_a_budget_is_read_from_its_folder_or_file_and_others_are_refused(tmp_path: Path) -> None:
    found = budget_of(0.05)
    (tmp_path / "budget.json").write_text(json.dumps(found.to_dict()), encoding="utf-8")
    for place in (tmp_path, tmp_path / "budget.json", found):
        assert shared_doubt(read_budget(place, OURS.to_dict()), "nDCG@10") == shared_doubt(found, "nDCG@10")
    (tmp_path / "other.json").write_text('{"kind": "power"}', encoding="utf-8")
    with pytest.raises(InputError, match=r"other\.json: no result of trueval budget"):
        read_budget(tmp_path / "other.json", OURS.to_dict())
    with pytest.raises(InputError, match="The budget is of nDCG@10, and not of P@5"):
        shared_doubt(found, "P@5")
    alone = {name: [[made_scores(name, np.linspace(0, 1, 40))]] for name in ("a", "b")}
    with pytest.raises(InputError, match="one run of each system and one judge"):
        shared_doubt(budget_of_scores(alone, [JUDGE], BudgetChoices(None, 0.95, None)), "nDCG@10")


def test_drawn_errors_differ_by_a_t_distribution_of_its_degrees() -> None:
    shared = SharedDoubt(0.04, 5.0, "a", "b")
    drawn = shared.draw(3, 20_000, np.random.default_rng(0))
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert kstest((drawn[one] - drawn[other]) / 0.2, student(5).cdf).pvalue > 0.001
    assert not SharedDoubt(0.0, math.inf, "a", "b").draw(2, 3, np.random.default_rng(0)).any()


@pytest.mark.slow
def test_an_interval_of_a_gate_holds_for_other_repeats_where_one_over_queries_does_not() -> None:
    """Equal systems whose runs move by .02 each: 200 pairs of runs against an allowed drop that neither has."""
    rng = np.random.default_rng(3)
    found = budget_of(0.02, repeats=12)
    held = {False: 0, True: 0}
    for _ in range(200):
        both = [
            made_scores(name, 0.5 + rng.normal(0, 0.02) + rng.normal(0, 0.02, 40)) for name in ("candidate", "main")
        ]
        for with_budget in held:
            check = next(
                each
                for each in tv.gate(
                    both[0],
                    [tv.MaxDrop(None, 0.0)],
                    baseline=both[1],
                    budget=found if with_budget else None,
                    resamples=200,
                )
                if each.name == "max-drop"
            )
            assert check.low is not None
            assert check.high is not None
            held[with_budget] += check.low <= 0 <= check.high
    assert held[False] < 100
    assert held[True] >= 186


def test_a_gate_says_what_it_added_and_how_many_queries_are_left_to_need() -> None:
    rng = np.random.default_rng(4)
    base = rng.normal(0.5, 0.05, 40)
    both = [made_scores("candidate", base - 0.03 + rng.normal(0, 0.01, 40)), made_scores("main", base)]
    limits = [tv.MaxDrop(None, 0.0)]
    (plain,) = (each for each in tv.gate(both[0], limits, baseline=both[1]) if each.name == "max-drop")
    found = budget_of(0.05)
    (wide,) = (each for each in tv.gate(both[0], limits, baseline=both[1], budget=found) if each.name == "max-drop")
    assert (plain.verdict, wide.verdict) == ("worse", "cannot tell")
    added = shared_doubt(found, "nDCG@10").half_width(0.95)
    assert wide.high == pytest.approx(wide.value + math.hypot(plain.high - plain.value, added))
    assert f", with ±{added:.4f} of repeats and labels, does not decide" in wide.line
    assert wide.shared == wide.to_dict()["shared"] == added
    assert "shared" not in plain.to_dict()
    assert any(f"of the budget: ±{added:.4f} of candidate" in line for line in sentences([plain, wide]))
    assert not any("of the budget" in line for line in sentences([plain]))
    assert wide.needed is None  # the repeats alone leave more than the difference
    with pytest.raises(PolicyError, match="does not go with labels='corrected'"):
        tv.gate(both[0], limits, baseline=both[1], budget=found, labels="corrected", corrected=object())


@pytest.mark.slow
def test_power_adds_the_squares_and_finds_no_number_of_queries_where_they_do_not_help() -> None:
    rng = np.random.default_rng(5)
    scores = [made_scores(name, rng.normal(mean, 0.1, 40)) for name, mean in (("a", 0.6), ("b", 0.4))]
    found = budget_of(0.05)
    (alone,) = power_of_scores(scores).measures[0].pairs
    (pair,) = power_of_scores(scores, budget=found).measures[0].pairs
    assert alone.shared is None
    assert pair.shared is not None
    assert (pair.expected, pair.curve) == (alone.expected, alone.curve)
    shared = shared_doubt(found, "nDCG@10")
    half = shared.half_width(0.95)
    least = half + float(student(shared.degrees).ppf(0.8)) * math.sqrt(shared.variance)
    assert pair.shared.half_width == pytest.approx(math.hypot(pair.expected.half_width, half))
    assert pair.shared.least_difference == pytest.approx(math.hypot(pair.expected.least_difference, least))
    wanted = math.hypot(least, 0.05)
    of_queries = power_of_scores(scores, difference=0.05).measures[0].pairs[0].expected.queries_needed
    both = power_of_scores(scores, difference=wanted, budget=found).measures[0].pairs[0].shared
    assert both is not None
    assert both.queries_needed == of_queries
    small = power_of_scores(scores, difference=least, budget=found).measures[0].pairs[0].shared
    assert small is not None
    assert small.queries_needed is None


def test_a_frontier_separates_no_systems_that_repeats_move_by_more(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "sweep", made_sweep(), queries=30, timed=8)
    plain = tv.frontier(folder, resamples=300).result
    names = " ".join(dict.fromkeys(point.quality.measure for point in plain.points))
    wide = tv.frontier(folder, resamples=300, budget=budget_of(0.4, measures=names)).result
    narrow = tv.frontier(folder, resamples=300, budget=budget_of(1e-6, measures=names)).result
    best = next(each for each in plain.rules if each.seeks == "quality")
    others = [next(each for each in found.rules if each.seeks == "quality") for found in (wide, narrow)]
    assert len(others[0].within_noise) > len(best.within_noise)
    assert others[1].within_noise == best.within_noise
    assert any("other repeats and judges too" in note for note in wide.notes)
    assert [point.quality for point in wide.points] == [point.quality for point in plain.points]


def test_a_budget_of_values_under_another_policy_is_refused() -> None:
    """nDCG@10 with the gain 2^g - 1 varies otherwise than with the grade itself, and has the same name."""
    found = budget_of(0.05)
    scores = [made_scores(name, np.linspace(0, 1, 40), policy=OURS.but(gain="exp")) for name in ("s0", "s1")]
    with pytest.raises(PolicyError, match="of values with gain='linear', and these have gain='exp'"):
        power_of_scores(scores, budget=found)
    with pytest.raises(PolicyError, match="with gain="):
        tv.gate(scores, [tv.MaxDrop(None, 0.05)], baseline="s0", budget=found)
    ties = [made_scores(name, np.linspace(0, 1, 40), policy=OURS.but(tie_order="random")) for name in ("s0", "s1")]
    assert power_of_scores(ties, budget=found).measures


def test_a_pair_that_ran_once_has_the_largest_of_the_pairs_whose_repeats_are_known() -> None:
    rng = np.random.default_rng(0)
    scores = {
        name: [[made_scores(name, rng.normal(0.5, 0.1, 40) + rng.normal(0, 0.1))] for _ in range(number)]
        for name, number in (("a", 6), ("b", 1), ("c", 1))
    }
    found = budget_of_scores(scores, [JUDGE], BudgetChoices(None, 0.95, None))
    once = shared_doubt(found, "nDCG@10", "b", "c")
    assert once.variance > 0
    assert once.variance == max(shared_doubt(found, "nDCG@10", "a", other).variance for other in ("b", "c"))


def test_a_limit_on_another_measure_holds_for_other_repeats_too(tmp_path: Path) -> None:
    """At a limit that a configuration's measure is far above, repeats that move it by .4 leave a chance below 1."""
    folder = write_sweep(tmp_path / "sweep", made_sweep(), queries=30, timed=8)
    plain = tv.frontier(folder, resamples=300).result
    names = " ".join(dict.fromkeys(point.quality.measure for point in plain.points))
    sweep = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    other = next(name for name in sweep["configurations"][0]["measures"] if name != sweep["quality"])
    limit = {other: 0.01}
    found = [
        tv.frontier(folder, resamples=300, min_quality=limit, budget=given).result
        for given in (None, budget_of(0.4, measures=" ".join(dict.fromkeys([*names.split(), other]))))
    ]
    alone, wide = ([each.feasible_chance for each in result.rules if each.limits.measure] for result in found)
    assert alone
    assert min(alone) == 1
    assert max(wide) < 1


def test_a_least_quality_holds_for_judges_who_are_stricter_with_all_systems(tmp_path: Path) -> None:
    """Judges move both systems by the same .4: no difference has that, and every mean does."""
    rng = np.random.default_rng(0)
    folder = write_sweep(tmp_path / "sweep", made_sweep(), queries=30, timed=8)
    plain = tv.frontier(folder, resamples=300).result
    names = list(dict.fromkeys(point.quality.measure for point in plain.points))
    strict = rng.normal(0, 0.4, 6)
    scores = {}
    for name in ("s0", "s1"):
        own = rng.normal(0.5, 0.1, (40, len(names)))
        judged = [own + shift + rng.normal(0, 0.01, own.shape) for shift in strict]
        scores[name] = [[made_scores(name, values, measures=" ".join(names)) for values in judged]]
    found = budget_of_scores(scores, [JUDGE] * 6, BudgetChoices(), judge_names=list("ABCDEF"))
    assert shared_doubt(found, names[0]).variance < 0.001 < 0.01 < doubt_of_means(found, names[0]).variance
    least = min(point.quality.value for point in plain.points) - 0.2
    alone, wide = (
        [
            each.feasible_chance
            for each in tv.frontier(folder, resamples=300, min_quality=least, budget=given).result.rules
            if each.limits.quality is not None
        ]
        for given in (None, found)
    )
    assert min(alone) > 0.99
    assert max(wide) < 0.95
