"""bpref, interpolated precision, RBP residuals and geometric means as trec_eval printed them, to the printed digits."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.run import Run

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
HALF_A_DIGIT = 0.5e-4 + 1e-9
LEVELS = [0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0]


def names(rounding: str) -> dict[str, str]:
    """trec_eval's names and our measures; its rounding of recall changed with version 10."""
    curve = {f"iprec_at_recall_{x:.2f}": f"IPrec(recall={x}, rounding='{rounding}')" for x in LEVELS}
    return curve | {
        "bpref": "bpref",
        "11pt_avg": f"IPrec11(rounding='{rounding}')",
        "rbp_resid": "RBP-residual(p=0.9)",
        "gm_map": "gm(AP)",
        "gm_bpref": "gm(bpref)",
    }


def folder(name: str) -> Path:
    if not (SHARED / name).is_dir():
        pytest.skip(f"real data is absent: ../shared/data/{name}")
    return SHARED / name


def compare(printed: Path, run: Path, qrels: Path, rounding: str, **policy: object) -> tuple[int, list[str]]:
    text = gzip.decompress(printed.read_bytes()).decode() if printed.suffix == ".gz" else printed.read_text()
    measures = names(rounding)
    lines = [line.split() for line in text.splitlines() if line.split() and line.split()[0] in measures]
    if run.name == "results.trunc":  # of a query without a list nothing is left open for trec_eval, and all for us
        lines = [line for line in lines if line[0] != "rbp_resid" or line[1] not in ("302", "all")]
    scores = evaluate(Run.read(run), Judgments.read(qrels), list(measures.values()), convention="trec_eval", **policy)
    wrong = []
    for name, query, value in lines:
        column = scores.index(measures[name])
        ours = scores.mean(measures[name]).tie_broken
        if query != "all":
            ours = scores.tie_broken[scores.query_ids.index(query), column]
        if abs(ours - float(value)) > HALF_A_DIGIT:
            wrong.append(f"{name} {query}: {value}, ours {ours}")
    return len(lines), wrong


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("output", "run", "qrels", "policy", "count"),
    [
        ("out.test", "results.test", "qrels.test", {"missing": "skip"}, 13),
        ("out.test.a", "results.test", "qrels.test", {"missing": "skip"}, 16),
        ("out.test.aq", "results.test", "qrels.test", {"missing": "skip"}, 58),
        ("out.test.aqc", "results.trunc", "qrels.test", {"missing": "worst"}, 56),
        ("out.test.aqcM", "results.trunc", "qrels.test", {"missing": "worst", "depth": 100}, 56),
        ("out.test.aql", "results.test", "qrels.rel_level", {"missing": "skip", "rel": 2}, 58),
        ("out.test.meas_params", "results.test", "qrels.test", {"missing": "skip"}, 20),
        ("out.comment.test", "results.comment.test.gz", "qrels.comment.test", {"missing": "skip"}, 13),
    ],
)
def test_trec_evals_own_outputs(output: str, run: str, qrels: str, policy: dict[str, object], count: int) -> None:
    """Version 10 made these: with ties, graded levels, truncated runs and a depth."""
    data = folder("trec_eval")
    assert compare(data / output, data / run, data / qrels, "nearest", **policy) == (count, [])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "name", ["bm25", "bm25+rm3", "bm25+bert(zs)", "bm25+rm3+bert(zs)", "bm25+t5(zs)", "bm25+rm3+t5(zs)"]
)
def test_the_dl_hard_outputs(name: str) -> None:
    """Version 9 made these, which rounded recall up: `trec_eval -l 2 -c -M1000 -q -m all_trec`."""
    data = folder("runs/dl-hard-passage")
    run, printed = data / f"{name}.run.gz", data / f"{name}.run.eval.gz"
    found = compare(printed, run, data / "qrels.trec", "up", rel=2, depth=1000, missing="worst")
    assert found == (665, [])
