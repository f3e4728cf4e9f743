"""The worked example of P-A, Appendix B, from its logits through the whole of Table 1 to rows of the table.

One query of MIRACL, reranked by Qwen3-Reranker-0.6B: 94 documents. Here several queries have its logits, each with
another document as the relevant one.
The answers are arithmetic on the printed float32 scores: of t documents that tie below a others, the relevant one has
each of the ranks a + 1 ... a + t with the same chance.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from typer.testing import CliRunner

from trueval.cli.main import app
from trueval.precision.published_table import ASKUBUNTU, MIRACL, QWEN

PRINTED = Path(__file__).resolve().parents[3] / "shared" / "data" / "paper" / "appendix_b.json"
RELEVANT = (0, 1, 2, 4, 6, 8, 9, 15, 21)  # places in the printed list, whose first ten scores are 1 in bfloat16
pytestmark = pytest.mark.slow  # a page is written, too

MEASURES: dict[str, Callable[[int], float]] = {
    "nDCG@10": lambda rank: 1 / np.log2(rank + 1) if rank <= 10 else 0.0,
    "RR@10": lambda rank: 1 / rank if rank <= 10 else 0.0,
}


@pytest.fixture(scope="module")
def printed() -> dict[str, list[float]]:
    if not PRINTED.exists():
        pytest.skip("../shared/data/paper/appendix_b.json is not here")
    return json.loads(PRINTED.read_text())  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def cells(printed: dict[str, list[float]], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The cells of `trueval precision audit --reproduce table1` of these logits, candidates in an order of chance."""
    place = tmp_path_factory.mktemp("appendix_b")
    gaps = np.array(printed["logit_difference_yes_minus_no"])
    count = len(gaps)
    asked = range(len(RELEVANT))
    logits = np.tile(np.stack([np.zeros_like(gaps), gaps], axis=1)[order_of(count)], (len(asked), 1)).astype(np.float32)
    documents = [f"q{query}d{at}" for query in asked for at in range(count)]
    queries = np.repeat([f"q{query}" for query in asked], count)
    folder = place / "sets" / MIRACL
    folder.mkdir(parents=True)
    texts = [json.dumps({"_id": each, "text": each}) for each in documents]
    (folder / "corpus.jsonl").write_text("\n".join(texts), encoding="utf-8")
    texts = [json.dumps({"_id": f"q{query}", "text": "asked"}) for query in asked]
    (folder / "queries.jsonl").write_text("\n".join(texts), encoding="utf-8")
    lines = [
        f"q{query} 0 q{query}d{at} {int(printed_at == RELEVANT[query])}"
        for query in asked
        for at, printed_at in enumerate(order_of(count).tolist())
    ]
    (folder / "qrels.trec").write_text("\n".join(lines) + "\n", encoding="utf-8")
    np.savez(place / f"{MIRACL}.npz", query=queries, doc=documents, bfloat16=logits, float32=logits)
    given = ["--reproduce", "table1", "--model", f"{QWEN}:{place}", "--out", str(place / "out"), "--format", "json"]
    done = CliRunner().invoke(app, ["precision", "audit", str(place / "sets"), *given])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert [(each["data"], each["model"]) for each in result["unmade"]] == [(ASKUBUNTU, "")]  # it is not here
    rows = (place / "out" / "precision-table.md").read_text(encoding="utf-8")
    assert rows.count(f"| {QWEN} | ") == 9
    assert str(place) not in rows
    return [each for each in result["cells"] if each["data"] == MIRACL]


def order_of(count: int) -> Any:
    """Places of the printed list in the order of the candidates."""
    return np.random.default_rng(11).permutation(count)


@pytest.mark.parametrize("measure", list(MEASURES))
@pytest.mark.parametrize("regime", ["FP32", "BF16", "BF16 → FP32"])
def test_rows_of_the_table_are_those_of_the_printed_scores(
    measure: str, regime: str, cells: list[dict[str, Any]], printed: dict[str, list[float]]
) -> None:
    scores = np.array(printed["hps_float32"])[order_of(len(printed["hps_float32"]))]
    if regime == "BF16":
        scores = scores.astype(np.float32).astype(ml_dtypes.bfloat16).astype(float)
    worth = np.array([MEASURES[measure](rank) for rank in range(1, len(scores) + 1)])
    expected, lowest, highest, broken = [], [], [], []
    order = order_of(len(scores)).tolist()
    for at in map(order.index, RELEVANT):
        score = scores[at]
        above, tied = int((scores > score).sum()), int((scores == score).sum())
        ranks = worth[above : above + tied]
        expected.append(ranks.mean())
        lowest.append(ranks.min())
        highest.append(ranks.max())
        broken.append(ranks[int((scores[:at] == score).sum())])
    (cell,) = [each for each in cells if (each["measure"], each["regime"]) == (measure, regime)]
    ours = cell["ours"]
    assert (cell["model"], cell["scoring"], cell["queries"]) == (QWEN, "softmax", len(RELEVANT))
    assert ours["expected"] == pytest.approx(np.mean(expected), abs=1e-12)
    assert ours["range"] == pytest.approx(np.mean(highest) - np.mean(lowest), abs=1e-12)
    assert ours["tie_broken"] == pytest.approx(np.mean(broken), abs=1e-12)
    assert ours["bias"] == pytest.approx(np.mean(broken) - np.mean(expected), abs=1e-12)


def test_float32_scoring_takes_most_of_the_range_away(cells: list[dict[str, Any]]) -> None:
    for measure in MEASURES:
        low, high = (
            next(each["ours"]["range"] for each in cells if (each["measure"], each["regime"]) == (measure, regime))
            for regime in ("BF16", "BF16 → FP32")
        )
        assert low > 3 * high
