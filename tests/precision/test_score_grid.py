"""Grids of scores, planted in random and in real scores, by their observational class: the coarsest that holds them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

from trueval.errors import InputError
from trueval.precision.run_grids import grid_runs
from trueval.precision.score_grid import find_grids
from trueval.run import Run
from trueval.standings.standings import Floats

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FORMATS = {
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}
COUNT = 200


class Planted(NamedTuple):
    """Scores on a known grid, and the beginning of its name."""

    case: str
    name: str
    scores: Floats


def rounded(scores: Floats, name: str) -> Floats:
    return scores.astype(np.float32).astype(FORMATS[name]).astype(np.float64)


def sigmoid(logits: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-logits.astype(np.float32))), dtype=np.float32).astype(np.float64)


def softmax(logits: Floats) -> Floats:
    powers = np.exp(logits.astype(np.float32) - logits.astype(np.float32).max(axis=1, keepdims=True))
    return np.asarray(powers[:, 1] / powers.sum(axis=1), dtype=np.float32).astype(np.float64)


def written(scores: Floats) -> Floats:
    """As a file has float32 in nine digits."""
    return np.array([float(f"{score:.9g}") for score in scores.astype(np.float32).tolist()])


def plant(scores: Floats, at: int, rng: np.random.Generator) -> list[Planted]:
    """Each grid once; formats and decimals in turn."""
    name, decimals = list(FORMATS)[at % 4], 2 + at % 6
    logits = (scores - np.median(scores)) / (scores.std() + 1e-9) * 3
    pairs = np.stack([rng.normal(size=COUNT), logits], axis=1)
    step = np.ptp(scores) / 255
    codes = scores.min() + np.rint((scores - scores.min()) / step) * step
    first, second = (rng.permutation(1000)[:COUNT] + 1 for _ in range(2))
    fused = 1 / (60 + first) + (rng.random(COUNT) < 0.5) / (60 + second)
    other = rng.normal(size=COUNT)
    found = [
        Planted("float32", "not known", written(scores)),
        Planted("format", name, rounded(scores, name)),
        Planted("format in six decimals", name, np.round(rounded(scores, name), 6)),
        Planted("decimals", f"{decimals} decimals", np.round(scores, decimals)),
        Planted("sigmoid, then rounded", name, rounded(sigmoid(logits), name)),
        Planted("rounded, then sigmoid", "sigmoid of", written(sigmoid(rounded(logits, name)))),
        Planted("codes", "int8 codes", written(codes)),
        Planted("fusion", "sums of 1/(60 + rank)", written(fused)),
        Planted(
            "two grids",
            "4 decimals+bfloat16",
            np.concatenate([rounded(sigmoid(logits), "bfloat16"), np.round(sigmoid(other), 4)]),
        ),
        Planted(
            "a grid and none",
            "bfloat16+not known",
            np.concatenate([rounded(sigmoid(logits), "bfloat16"), written(sigmoid(other))]),
        ),
    ]
    if name != "float16":  # differences of two float16 logits are finer than float32's softmax can show
        found.append(Planted("rounded, then softmax", "sigmoid of", written(softmax(rounded(pairs, name)))))
    return found


def is_told_right(planted: Planted) -> bool:
    """Whether the name is the one that was planted, or nobody could tell it."""
    top = float(np.sort(planted.scores)[-10])
    found = "+".join("not known" if each.grid is None else each.grid.name for each in find_grids(planted.scores, top))
    if planted.case == "decimals":
        # Decimals that are finer than float32 hold any float32 score, and a file of fewer decimals keeps them.
        if 10.0 ** -int(planted.name[0]) < np.spacing(np.float32(np.median(np.abs(planted.scores)))):
            return True
        fewer = [f"{count} decimals" for count in range(2, int(planted.name[0]))]
        return found == planted.name or (
            found in fewer and bool((np.round(planted.scores, int(found[0])) == planted.scores).all())
        )
    if "+" not in planted.name and len(np.unique(planted.scores)) < 3:
        return found == "not known"
    return found == planted.name or (planted.name == "sigmoid of" and found.startswith(planted.name))


def test_planted_grids_are_told() -> None:
    rng = np.random.default_rng(3)
    for at in range(12):
        scores = np.unique(rng.normal(8, 4, size=3 * COUNT) if at % 2 else rng.beta(2, 5, size=3 * COUNT))
        for planted in plant(rng.permutation(scores)[:COUNT], at, rng):
            assert is_told_right(planted), planted.case


def real_scores() -> dict[str, Floats]:
    """Scores by source: six runs of BM25 variants, the logits of a reranker, and BM25 of AskUbuntu."""
    if not SHARED.is_dir():
        pytest.skip("real data is absent: ../shared/data")
    paths = [*sorted((SHARED / "runs" / "dl-hard-passage").glob("*.run.gz")), SHARED / "runs/askubuntu-bm25/run.trec"]
    found = {path.name: Run.read(path).documents["score"].to_numpy() for path in paths}
    logits = np.load(SHARED / "logits" / "epqa-reranker.npz")["float32"]
    return {**found, "logits": (logits[:, 1] - logits[:, 0]).astype(float)}


@pytest.mark.evidence
def test_grids_planted_in_two_thousand_runs_of_real_scores(capsys: pytest.CaptureFixture[str]) -> None:
    sources, rng = real_scores(), np.random.default_rng(1)
    right: dict[str, list[bool]] = {}
    for at in range(200):  # ten or eleven runs of 200 scores each
        scores = list(sources.values())[at % len(sources)]
        for planted in plant(rng.choice(scores, COUNT, replace=False), at // len(sources), rng):
            right.setdefault(planted.case, []).append(is_told_right(planted))
    with capsys.disabled():
        for case, told in right.items():
            print(f"{case}: {sum(told)} of {len(told)}")
    assert sum(map(len, right.values())) >= 2000
    assert all(np.mean(told) >= 0.99 for told in right.values()), {case: np.mean(told) for case, told in right.items()}


def test_scores_off_the_grid_are_counted_and_named() -> None:
    rng = np.random.default_rng(5)
    lists = rounded(rng.random((50, 40)), "bfloat16")
    lists[3, 7], lists[9, 1] = 0.123456789, 0.3333333
    found = grid_runs([Run.from_arrays(lists)]).runs[0]
    assert (found.grid, found.contradicting, found.second) == ("bfloat16", 2, None)
    assert sorted(each.score for each in found.examples) == [0.123456789, 0.3333333]
    assert found.confidence > 0.999999
    # Between one half and one, values of bfloat16 are 1/256 apart.
    assert found.spacing in (2**-8, 2**-9)


def test_ties_and_what_one_step_finer_leaves() -> None:
    lists = np.array([[0.01, 0.01, 0.02, 0.03], [0.5, 0.25, 0.75, 0.12]])
    found = grid_runs([Run.from_arrays(lists)]).runs[0]
    assert (found.grid, found.tied_fraction, found.largest_group) == ("2 decimals", 0.25, 2)
    assert found.finer_tied == pytest.approx(0.25 / 10)  # of a pair one in ten stays tied
    from trueval.judgments import Judgments

    judged = Judgments.from_arrays([[1, 0, 0, 0], [0, 0, 1, 0]])
    (measure,) = grid_runs([Run.from_arrays(lists)], judged, "RR").runs[0].measures
    assert (measure.expected, measure.range) == (pytest.approx((7 / 24 + 1) / 2), pytest.approx((1 / 3 - 1 / 4) / 2))
    assert measure.finer_range in (0.0, measure.range)


def test_decimals_that_went_through_float32_are_decimals() -> None:
    lists = np.round(np.random.default_rng(6).random((20, 40)), 3).astype(np.float32).astype(np.float64)
    lists[4, 5] = np.float64(np.float32(0.12345678))
    found = grid_runs([Run.from_arrays(lists)]).runs[0]
    assert (found.grid, found.contradicting) == ("3 decimals", 1)


def test_few_and_no_scores() -> None:
    assert grid_runs([{"q": {"a": 1.0, "b": 0.5}}]).runs[0].grid is None
    assert grid_runs([{"q": {f"d{at}": 1.0 for at in range(50)}}]).runs[0].grid is None
    with pytest.raises(InputError, match="no finite score"):
        grid_runs([{"q": {"a": float("inf")}}])


def test_measures_of_a_run_that_lacks_queries_are_noted_and_no_warning() -> None:
    run = {"q1": {f"d{at}": round(0.1 + at * 0.0137, 2) for at in range(60)}}
    found = grid_runs([run], {"q1": {"d3": 1}, "q2": {"d1": 1}}, "RR")  # a warning is an error in tests
    assert "judged and missing from the run: 1 query, 'q2'" in " ".join(found.notes)
