"""Cost of tie-aware measures against the length n of a list (P-A, Appendix D says O(n) after sorting, O(k + N) beyond).

Run `python benchmarks/tie_cost.py`; `--keep` keeps the figures in benchmarks/tie_cost.json and draws
docs/images/tie_cost.svg, `--draw` only draws them. Scores are drawn, once as float64 has them, without a tie, and once
rounded to bfloat16. Every length has the same number of documents in all; expected value, lowest, highest, tie-broken
value and sd of a measure are computed at once, and the fastest of some repetitions counts. numpy sorts the same scores
for comparison.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from support.apart import machine

from trueval import evaluate_arrays
from trueval.numerics import round_to

LENGTHS = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
MEASURES = ("nDCG@10", "RR@10", "AP@10", "R@10")
DOCUMENTS = 200_000
RELEVANT = 5  # documents of a list
RUNS = 15
KEPT = Path(__file__).with_name("tie_cost.json")
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "tie_cost.svg"


def measure_cost(lengths: tuple[int, ...]) -> list[dict[str, object]]:
    """Nanoseconds a document for each length, measure and kind of scores."""
    rng, rows = np.random.default_rng(38), list[dict[str, object]]()
    for length in lengths:
        queries = max(1, DOCUMENTS // length)
        scores = rng.uniform(0, 1, (queries, length))
        grades = (rng.random((queries, length)).argsort(axis=1) < min(RELEVANT, length // 2)).astype(float)
        low = round_to(scores, "bfloat16")
        sizes = np.unique(low[0], return_counts=True)[1]
        row: dict[str, object] = {"documents": length, "tied": round(float(sizes[sizes > 1].sum()) / length, 3)}
        row["sort"] = _nanoseconds(partial(np.sort, scores, axis=1), scores.size)
        for name in MEASURES:
            for kind, values in (("no ties", scores), ("bfloat16", low)):
                row[f"{name}, {kind}"] = _nanoseconds(partial(evaluate_arrays, values, grades, name), scores.size)
        rows.append(row)
        told = "  ".join(f"{name} {row[f'{name}, no ties']}, {row[f'{name}, bfloat16']}" for name in MEASURES)
        print(f"{length:>7,} documents, {row['tied']:.0%} tied: sort {row['sort']} ns a document; {told}", flush=True)
    return rows


def _nanoseconds(work: Callable[[], object], documents: int) -> float:
    seconds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return round(min(seconds) / documents * 1e9, 1)


def draw(kept: dict[str, object]) -> None:
    """Draw time per list against its length, both axes logarithmic; the same figures give the same file."""
    import altair as alt
    import vl_convert

    points = [
        {"n": row["documents"], "what": name, "us": row[key] * row["documents"] / 1e3}
        for row in kept["rows"]
        for name, key in (
            ("nDCG@10, ties of bfloat16", "nDCG@10, bfloat16"),
            ("nDCG@10, no ties", "nDCG@10, no ties"),
            ("AP@10, ties of bfloat16", "AP@10, bfloat16"),
            ("RR@10, ties of bfloat16", "RR@10, bfloat16"),
            ("numpy.sort alone", "sort"),
        )
    ]
    axis = alt.Axis(tickCount=5, format="~s")
    plot = (
        alt.Chart(alt.Data(values=points))
        .mark_line(point=True)
        .encode(
            x=alt.X("n:Q", title="documents in a list", scale=alt.Scale(type="log"), axis=axis),
            y=alt.Y("us:Q", title="microseconds a list", scale=alt.Scale(type="log"), axis=axis),
            color=alt.Color("what:N", title=None, sort=None),
        )
    )
    spec = plot.properties(width=420, height=260).to_dict()
    spec["config"] = {"view": {"stroke": None}, "axis": {"gridColor": "#dddddd", "domain": False}}
    IMAGE.write_text(vl_convert.vegalite_to_svg(spec) + "\n", newline="\n")
    print(f"docs/images/{IMAGE.name}")


def main() -> None:
    """Measure, keep and draw as asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep the figures, and draw them")
    parser.add_argument("--draw", action="store_true", help="only draw the kept figures")
    parser.add_argument("--most", type=int, default=LENGTHS[-1], help="longest list")
    asked = parser.parse_args()
    if asked.draw:
        draw(json.loads(KEPT.read_text(encoding="utf-8")))
        return
    rows = measure_cost(tuple(each for each in LENGTHS if each <= asked.most))
    if asked.keep:
        kept = {"machine": machine(), "rows": rows}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8", newline="\n")
        draw(kept)


if __name__ == "__main__":
    main()
