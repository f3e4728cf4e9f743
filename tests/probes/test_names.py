"""The probe of names, against a naive twin, and what must hold whatever the scorer."""

from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from tests.probes.models import KeptLetters, LetterReranker, Letters, LetterTokens, letters

from trueval.errors import PolicyError
from trueval.probes.ablations import ABLATIONS
from trueval.probes.authors import sample_people
from trueval.probes.margin_summary import LEAST_PART, ResamplingSettings, least_margin, statistics, summarise
from trueval.probes.model_scorers import CosineScorer, LogitScorer, MaxSimScorer, ModelOutputs
from trueval.probes.names import NamesDesign, NamesProbe, design_names, probe_scorer
from trueval.probes.names_result import Statistic
from trueval.probes.scorer import Bm25Scorer, Hybrid, PairScorer
from trueval.probes.stimuli import build_stimuli

QUERIES, RUNS = 10, 2
PLAIN = ResamplingSettings(0.95, 1000, 0, 1)


def statistic(values: np.ndarray, kept: np.ndarray, authors: np.ndarray, how: ResamplingSettings) -> Statistic:
    return statistics(values[None], kept, authors, how)[0]


@pytest.fixture(scope="module")
def design() -> NamesDesign:
    return design_names(sample_people("fr"), language="fr", queries=QUERIES, runs=RUNS, seed=4)


@pytest.fixture(scope="module")
def probe(design: NamesDesign) -> NamesProbe:
    return probe_scorer(CosineScorer(ModelOutputs(Letters()), scoring="float64"), design)


def naive_margins(condition: str, run: int) -> list[list[float]]:
    """Text by text."""
    found = []
    for bundle in build_stimuli(sample_people("fr"), "fr", QUERIES, run, 4):
        texts = (bundle if condition == "base" else ABLATIONS[condition].apply(bundle)).texts()
        query, *candidates = (letters(text, 32) for text in (texts.query, *texts.candidates))
        score = [float(query @ each / np.linalg.norm(query) / np.linalg.norm(each)) for each in candidates]
        found.append([score[0] - max(score[1:3]), score[0] - score[3], score[0] - score[4]])
    return found


def test_margins_are_those_of_a_naive_twin(probe: NamesProbe) -> None:
    assert list(probe.margins) == ["base", *ABLATIONS]
    for condition, margins in probe.margins.items():
        naive = [naive_margins(condition, run) for run in range(RUNS)]
        assert np.abs(margins.values - naive).max() < 2e-7, condition


def scorers() -> list[PairScorer]:
    passed = ModelOutputs(Letters())
    dense = [CosineScorer(passed, dimension=dimension) for dimension in (None, 16, 8)]
    low = CosineScorer(passed, scoring="bfloat16", stored="float8_e4m3fn")
    sparse = Bm25Scorer("fr")
    rerankers = [LogitScorer(ModelOutputs(LetterReranker(labels))) for labels in (1, 2)]
    return [
        *dense,
        low,
        sparse,
        Hybrid("both", (dense[0], sparse)),
        MaxSimScorer(ModelOutputs(LetterTokens())),
        *rerankers,
    ]


def test_a_mask_takes_all_of_the_margin_from_every_scorer(design: NamesDesign) -> None:
    pytest.importorskip("bm25s", reason="bm25s, of the extra retrieval, is not installed")
    for scorer in scorers():
        found = probe_scorer(scorer, design)
        assert (found.margins["hard_name_mask"].values[..., 0] == 0).all(), scorer.name
        (entry,) = summarise([found], resamples=250).to_dict()["scorers"]
        masked = entry["conditions"][1]
        assert masked["name"] == "hard_name_mask"
        assert masked["change"]["relative"] == {"mean": -1.0, "run_sd": 0.0, "low": -1.0, "high": -1.0}
        assert masked["change"]["of_means"] == -1.0
        assert (masked["tied"], masked["within_grain"], masked["kept_apart"]) == (1, 1, 0)


def test_a_probe_is_the_same_on_one_thread_and_two(design: NamesDesign, probe: NamesProbe) -> None:
    again = probe_scorer(CosineScorer(ModelOutputs(Letters()), scoring="float64"), design)
    one, two = (
        summarise([each], threads=threads, resamples=1000).to_dict() for each, threads in ((probe, 1), (again, 2))
    )
    assert one == two
    other = design_names(sample_people("fr"), language="fr", queries=QUERIES, runs=RUNS, seed=5)
    assert probe_scorer(CosineScorer(ModelOutputs(Letters())), other).margins["base"].values.tolist() != (
        probe.margins["base"].values.tolist()
    )


def test_fewer_ablations_or_runs_change_nothing_else(probe: NamesProbe) -> None:
    some = design_names(
        sample_people("fr"), language="fr", queries=QUERIES, runs=1, seed=4, ablations=["initials_form"]
    )
    found = probe_scorer(CosineScorer(ModelOutputs(Letters()), scoring="float64"), some)
    assert list(found.margins) == ["base", "initials_form"]
    for condition, margins in found.margins.items():
        assert (margins.values == probe.margins[condition].values[:1]).all()


def test_every_text_goes_through_a_model_once(design: NamesDesign, tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors, of the extra models, is not installed")
    model = KeptLetters()
    passed = ModelOutputs(model, folder=tmp_path)
    for dimension in (None, 16, 8):
        probe_scorer(CosineScorer(passed, dimension=dimension), design)
    assert len(model.asked) == design.texts
    assert len(set(model.asked)) >= design.texts - len(design.pairs.queries)
    assert design.texts < len(design.pairs.query)


def test_the_statistic_is_the_mean_with_its_spreads() -> None:
    values = np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 8.0]])
    everything = np.ones((2, 3), dtype=bool)
    found = statistic(values, everything, np.arange(3), PLAIN)
    assert (found.mean, found.run_sd) == (3.5, pytest.approx(np.std([2, 5], ddof=1)))
    assert found.low < 3.5 < found.high
    kept = np.array([[True, False, True], [True, False, False]])
    part = statistic(values, kept, np.arange(3), PLAIN)
    assert (part.mean, part.run_sd) == (pytest.approx(7 / 3), pytest.approx(np.std([2, 3], ddof=1)))
    nothing = statistic(values, np.zeros((2, 3), dtype=bool), np.arange(3), PLAIN)
    assert np.isnan(astuple(nothing)).all()
    one = statistic(values, everything, np.zeros(3, dtype=int), PLAIN)
    assert np.isnan([one.low, one.high]).all(), "one author alone"


def test_queries_about_one_author_are_drawn_together() -> None:
    """Ten authors with ten equal queries each say no more than ten queries."""
    rng = np.random.default_rng(2)
    alone = rng.standard_normal((3, 10))
    together = np.repeat(alone, 10, axis=1)
    one = statistic(alone, np.ones(alone.shape, dtype=bool), np.arange(10), PLAIN)
    ten = statistic(together, np.ones(together.shape, dtype=bool), np.repeat(np.arange(10), 10), PLAIN)
    assert astuple(ten) == pytest.approx(astuple(one), abs=1e-9)
    apart = statistic(together, np.ones(together.shape, dtype=bool), np.arange(100), PLAIN)
    assert apart.high - apart.low < 0.6 * (ten.high - ten.low)


def test_percentages_leave_out_small_margins(probe: NamesProbe) -> None:
    assert least_margin(probe) == 0.02
    base, changed = (probe.margins[name].values[..., 0] for name in ("base", "initials_form"))
    kept = base >= 0.02
    assert 0 < kept.sum() < kept.size
    entry = summarise([probe], resamples=250).to_dict()["scorers"][0]
    found = next(each["change"] for each in entry["conditions"] if each["name"] == "initials_form")
    assert found["relative"]["mean"] == pytest.approx(((changed - base) / base)[kept].mean())
    assert found["relative_bundles"] == kept.sum()
    assert found["absolute"]["mean"] == pytest.approx((changed - base).mean())
    assert found["of_means"] == pytest.approx((changed - base).mean() / base.mean())


def test_scores_of_another_unit_have_a_least_margin_of_their_own(design: NamesDesign) -> None:
    found = probe_scorer(LogitScorer(ModelOutputs(LetterReranker())), design)
    reach = found.margins["base"].values[..., 2].mean()
    assert least_margin(found) == pytest.approx(LEAST_PART * reach)
    assert pytest.approx(0.0443, abs=5e-5) == LEAST_PART
    # Scores in another unit change nothing of what can be compared.
    one, two = (
        summarise([probe_scorer(LogitScorer(ModelOutputs(LetterReranker(labels))), design)], resamples=250).to_dict()
        for labels in (1, 2)
    )
    for first, second in zip(one["scorers"][0]["conditions"], two["scorers"][0]["conditions"], strict=True):
        assert first["name_over_topic"] == second["name_over_topic"]
        assert first["kept_apart"] == second["kept_apart"]
        assert (first["change"] or {}).get("relative") == (second["change"] or {}).get("relative")


def test_a_margin_within_rounding_is_said_to_be() -> None:
    design = design_names(sample_people("en"), queries=QUERIES, runs=1, ablations=["edit_distance_near_miss"])
    fine, coarse = (
        summarise([probe_scorer(CosineScorer(ModelOutputs(Letters()), scoring=form), design)], resamples=250).to_dict()
        for form in ("float32", "float8_e5m2")
    )
    shares = [[each["within_grain"] for each in found["scorers"][0]["conditions"]] for found in (fine, coarse)]
    assert shares[0][0] < 0.1
    assert shares[1][1] > 0.5


def test_no_run_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"runs must be an integer >= 1. Got 0"):
        design_names(sample_people("en"), runs=0)


def test_there_is_no_ratio_to_a_topic_that_a_scorer_does_not_know(probe: NamesProbe) -> None:
    below = {
        name: each._replace(values=each.values - [0, each.values[..., 1].mean() + 1e-3, 0])
        for name, each in probe.margins.items()
    }
    result = summarise([replace(probe, margins=below)], resamples=20)
    base, *_ = result.to_dict()["scorers"][0]["conditions"]
    assert base["delta_topic"]["mean"] == pytest.approx(-1e-3)
    assert base["name_over_topic"] is None
    assert "base" in repr(result)
