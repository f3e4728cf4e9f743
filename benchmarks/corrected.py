"""How wide corrected intervals are beside those of people's labels alone, by how well the judge agrees with people.

Run `python benchmarks/corrected.py` to draw simulated worlds of 200 queries; `--keep` also keeps the figures in
benchmarks/corrected.json and draws docs/images/corrected.svg from them; `--draw` only draws. The judge is tuned (its
weight found from the labels, cross-fitted) or not (weight 1). Intervals are for new queries.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.special import betaincinv, ndtr
from support.apart import machine

from trueval.comparison.labels.both_labels import PairedValues
from trueval.comparison.labels.design_estimate import NEW
from trueval.comparison.labels.query_design import by_queries
from trueval.measures.span import UNIT

QUERIES = 200
DRAWS = 300
GRADED = (20, 100)
CORRELATIONS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
REAL = 0.17  # median of the real judges of LLMJudge: tests/comparison/test_correct_simulation.py
KEPT = Path(__file__).with_name("corrected.json")
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "corrected.svg"


def world(rng: np.random.Generator, correlation: float) -> PairedValues:
    """Values in tenths by people and by a judge that is too kind, as tests/comparison/audit_worlds.py has them."""
    people, own = rng.standard_normal((2, QUERIES))
    judge = correlation * people + np.sqrt(1 - correlation**2) * own
    values = [np.round(10 * betaincinv(a, b, ndtr(z))) / 10 for a, b, z in ((1.2, 1.8, people), (2.0, 1.6, judge))]
    return PairedValues(values[1], values[0], np.ones(QUERIES, dtype=bool), np.zeros(QUERIES, dtype=bool))


def measured(correlation: float, graded: int, draws: int) -> list[dict[str, object]]:
    """Widths over those of people's labels alone, tuned and untuned, over draws."""
    rng = np.random.default_rng([int(100 * correlation), graded])
    found: dict[str, list[float]] = {"tuned": [], "untuned": []}
    own = []
    for _ in range(draws):
        whole = np.zeros(QUERIES, dtype=bool)
        whole[rng.choice(QUERIES, graded, replace=False)] = True
        values = world(rng, correlation)
        one = by_queries(values, whole, NEW, 0.95, UNIT)
        assert one is not None
        own.append(float(np.corrcoef(values.judge, values.people)[0, 1]))
        for name, bounded in (("tuned", one.corrected), ("untuned", one.untuned)):
            found[name].append(bounded.width / one.people.width)
    return [
        {
            "graded": graded,
            "weight": name,
            "correlation": round(float(np.mean(own)), 3),
            "ratio": round(float(np.mean(ratios)), 4),
            "low": round(float(np.quantile(ratios, 0.1)), 4),
            "high": round(float(np.quantile(ratios, 0.9)), 4),
            "wider": round(float(np.mean(np.array(ratios) > 1 + 1e-9)), 3),
        }
        for name, ratios in found.items()
    ]


def draw(rows: list[dict[str, object]]) -> None:
    """Draw width against correlation, one panel for each number of graded queries."""
    import altair as alt
    import vl_convert

    scale = alt.Scale(domain=[0.4, 1.6], zero=False)
    color = alt.Color(
        "weight:N", title="judge", scale=alt.Scale(domain=["tuned", "untuned"], range=["#1f5fa8", "#c2571a"])
    )

    def panel(graded: int) -> alt.LayerChart:
        own = [row for row in rows if row["graded"] == graded]
        base = alt.Chart(alt.Data(values=own)).encode(
            x=alt.X(
                "correlation:Q", title="correlation of the judge's values with people's", axis=alt.Axis(format=".1f")
            )
        )
        width = alt.Y("low:Q", scale=scale, title="width of the interval, people alone = 1")
        band = base.mark_area(opacity=0.18, clip=True).encode(y=width, y2="high:Q", color=color)
        line = base.mark_line(point=True, clip=True).encode(y=alt.Y("ratio:Q", scale=scale), color=color)
        same = alt.Chart(alt.Data(values=[{"y": 1}])).mark_rule(color="#444444").encode(y=alt.Y("y:Q", scale=scale))
        real = alt.Chart(alt.Data(values=[{"x": REAL}])).mark_rule(color="#888888", strokeDash=[4, 3]).encode(x="x:Q")
        layers = alt.layer(same, real, band, line)
        return layers.properties(width=300, height=240, title=f"{graded} of {QUERIES} queries graded")

    panels = [panel(graded) for graded in GRADED]
    spec = alt.hconcat(*panels).to_dict()
    spec["config"] = {"view": {"stroke": None}, "axis": {"gridColor": "#dddddd", "domain": False}}
    IMAGE.write_text(vl_convert.vegalite_to_svg(spec) + "\n", newline="\n")
    print(f"docs/images/{IMAGE.name}")


def main() -> None:
    """Measure, keep and draw as asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep the figures, and draw them")
    parser.add_argument("--draw", action="store_true", help="only draw the kept figures")
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"worlds of each kind (default {DRAWS})")
    options = parser.parse_args()
    if not options.draw:
        print(machine())
        rows = []
        for graded in GRADED:
            for correlation in CORRELATIONS:
                rows += measured(correlation, graded, options.draws)
                for row in rows[-2:]:
                    print(row, flush=True)
        if options.keep:
            KEPT.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    if options.draw or options.keep:
        draw(json.loads(KEPT.read_text())["rows"])


if __name__ == "__main__":
    main()
