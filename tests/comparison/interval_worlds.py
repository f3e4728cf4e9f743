"""How often corrected intervals hold the true mean where values are rare, skewed or smooth: many draws at once.

Run `python -m tests.comparison.interval_worlds` to draw them all, print the table of docs/audit.md and draw
docs/images/coverage.svg. Weights, estimates and errors are written again here, for all draws at once, and held against
`by_queries`; the intervals are those of trueval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, stdtrit

from trueval.comparison.labels.design_estimate import NEW, THESE, interval
from trueval.measures.span import UNIT, ValueRange

Floats = NDArray[np.float64]
Values = Callable[[Floats], Floats]

QUERIES: Final = 200
KIND: Final = 0.3  # standard deviations by which the judge is too kind
GRADED: Final = (10, 20, 30, 50, 100)
CORRELATIONS: Final = (0.0, 0.3, 0.8)  # of the normal values behind
HOW: Final = ("people", "tuned", "untuned")
DRAWS: Final = 1000
IMAGE = Path(__file__).parents[2] / "docs" / "images" / "coverage.svg"


def _binary(mean: float) -> Values:
    return lambda u: (u > 1 - mean).astype(np.float64)


def _reciprocal(found: float) -> Values:
    """Reciprocal ranks from 1 to 10 of so large a part of the queries, 0 of the others."""
    return lambda u: np.where(u <= 1 - found, 0.0, 1 / np.ceil(1e-9 + 10 * ((1 - u) / found) ** 2))


def _beta(a: float, b: float, steps: int = 0) -> Values:
    def values(u: Floats) -> Floats:
        found: Floats = betaincinv(a, b, u)
        return np.round(steps * found) / steps if steps else found

    return values


SINGLE: Final[Mapping[str, Values]] = {
    **{f"0/1, mean {mean}": _binary(mean) for mean in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)},
    "RR, nothing for 85 %": _reciprocal(0.15),
    "RR, nothing for 25 %": _reciprocal(0.75),
    "P@5, mean .07": _beta(0.3, 4, steps=5),
    "P@10, mean .40": _beta(1.2, 1.8, steps=10),
    "skewed, mean .1": _beta(0.3, 2.7),
    "skewed, mean .9": _beta(2.7, 0.3),
    "smooth, mean .5": _beta(4, 4),
    "smooth, mean .8": _beta(8, 2),
    "narrow, mean .6": _beta(30, 20),
}
# Worlds in which a t interval is right: none may become much wider.
WELL: Final = (
    "0/1, mean 0.3",
    "0/1, mean 0.5",
    "0/1, mean 0.7",
    "RR, nothing for 25 %",
    "P@10, mean .40",
    "smooth, mean .5",
    "smooth, mean .8",
    "narrow, mean .6",
)


class Two(NamedTuple):
    """Two runs, and how their normal values go together."""

    first: Values
    second: Values
    together: float


PAIRS: Final[Mapping[str, Two]] = {
    "0/1, .05 less .02": Two(_binary(0.05), _binary(0.02), 0.5),
    "0/1, .1 less .05": Two(_binary(0.1), _binary(0.05), 0.9),
    "0/1, .2 less .1": Two(_binary(0.2), _binary(0.1), 0.8),
    "0/1, .5 less .3": Two(_binary(0.5), _binary(0.3), 0.8),
    "0/1, .95 less .9": Two(_binary(0.95), _binary(0.9), 0.9),
    "RR, both nothing for 85 %": Two(_reciprocal(0.15), _reciprocal(0.15), 0.6),
    "RR, both nothing for 25 %": Two(_reciprocal(0.75), _reciprocal(0.75), 0.8),
    "skewed, .1 less .06": Two(_beta(0.3, 2.7), _beta(0.2, 3), 0.7),
    "smooth, .8 less .5": Two(_beta(8, 2), _beta(4, 4), 0.8),
}


class Both(NamedTuple):
    """Values by both labels, [draw, query]."""

    people: Floats
    judge: Floats


def of_one(values: Values, rng: np.random.Generator, draws: int, correlation: float) -> Both:
    """Values of queries by people and by the judge."""
    people, own = rng.standard_normal((2, draws, QUERIES))
    judge = correlation * people + np.sqrt(1 - correlation**2) * own
    return Both(values(ndtr(people)), values(ndtr(judge + KIND)))


def of_two(two: Two, rng: np.random.Generator, draws: int, correlation: float) -> Both:
    """Differences of two runs."""
    people, other, *own = rng.standard_normal((4, draws, QUERIES))
    other = two.together * people + np.sqrt(1 - two.together**2) * other
    rest = np.sqrt(1 - correlation**2)
    judge = [correlation * z + rest * e + KIND for z, e in zip((people, other), own, strict=True)]
    return Both(
        two.first(ndtr(people)) - two.second(ndtr(other)), two.first(ndtr(judge[0])) - two.second(ndtr(judge[1]))
    )


def mean_of(values: Values) -> float:
    """Over all queries there could be."""
    steps = 400_000
    return float(values((np.arange(steps) + 0.5) / steps).mean())


def weights(people: Floats, judge: Floats, how: str) -> Floats:
    """[draw, graded] of the judge; each without its own query where they are tuned."""
    if how != "tuned":
        return np.full_like(people, how == "untuned")
    count = people.shape[1]
    beyond, own = (each - each.mean(axis=1, keepdims=True) for each in (people, judge))

    def left_out(products: Floats) -> Floats:
        rest: Floats = products.sum(axis=1, keepdims=True) - count / (count - 1) * products
        return rest

    found, squares = left_out(beyond * own), left_out(own * own)
    known = squares > 1e-12 * squares.max(axis=1, keepdims=True)
    return np.clip(np.divide(found, squares, out=np.zeros_like(found), where=known), 0, 1)


def estimated(both: Both, graded: int, how: str, target: str) -> tuple[Floats, Floats]:
    """[draw] estimates and standard errors; the first queries are graded."""
    people, judge = both.people[:, :graded], both.judge[:, :graded]
    each = weights(people, judge, how)
    around = judge - judge.mean(axis=1, keepdims=True)
    open_part = (QUERIES - graded) / graded / QUERIES
    mean = people.mean(axis=1) - each.mean(axis=1) * (judge.mean(axis=1) - both.judge.mean(axis=1))
    mean = mean - open_part * (each * around).sum(axis=1)
    residual = people - people.mean(axis=1, keepdims=True) - each * around
    variance = open_part * (residual**2).sum(axis=1) / (graded - 1)
    if target == NEW:
        variance = variance + people.var(axis=1, ddof=1) / QUERIES
    return mean, np.sqrt(variance)


class Row(NamedTuple):
    """What a setting gives.

    Attributes:
        world: name.
        correlation: of the normal values behind.
        graded: queries.
        target: of the estimate.
        how: people, tuned or untuned.
        none: share of draws without an interval, as all graded queries are alike.
        t: share of draws in which no t interval misses the true mean.
        ours: the same of trueval's intervals.
        width: mean width over that of t intervals, both cut to the range.
        whole: the same over that of t intervals that are not cut.
    """

    world: str
    correlation: float
    graded: int
    target: str
    how: str
    none: float
    t: float
    ours: float
    width: float
    whole: float


def rows_of(name: str, draws: int = DRAWS, graded: Sequence[int] = GRADED, how: Sequence[str] = HOW) -> Iterator[Row]:
    """Every setting of a world."""
    single = name in SINGLE
    make = partial(of_one, SINGLE[name]) if single else partial(of_two, PAIRS[name])
    mean = mean_of(SINGLE[name]) if single else mean_of(PAIRS[name].first) - mean_of(PAIRS[name].second)
    span = UNIT if single else UNIT.of_differences
    for correlation in CORRELATIONS:
        both = make(np.random.default_rng([int(10 * correlation), len(name)]), draws, correlation)
        for target in (NEW, THESE):
            truth = np.full(draws, mean) if target == NEW else both.people.mean(axis=1)
            for count in graded:
                for each in how:
                    yield Row(name, correlation, count, target, each, *_covered(both, count, each, target, truth, span))


def _covered(
    both: Both, graded: int, how: str, target: str, truth: Floats, span: ValueRange
) -> tuple[float, float, float, float, float]:
    means, errors = estimated(both, graded, how, target)
    there = errors > 1e-9
    means, errors, truth = means[there], errors[there], truth[there]
    half = float(stdtrit(graded - 1, 0.975)) * errors
    found = [
        (each.low, each.high)
        for each in (interval(m, e**2, graded - 1, 0.95, span) for m, e in zip(means, errors, strict=True))
    ]
    ours, plain = np.array(found), np.stack([means - half, means + half], axis=1)
    cut = plain.clip(span.low, span.high)
    missed = [
        float(((ends[:, 0] > truth + 1e-9) | (ends[:, 1] < truth - 1e-9)).sum()) / len(there) for ends in (plain, ours)
    ]
    widths = [float(np.diff(ends, axis=1).mean()) for ends in (ours, cut, plain)]
    return 1 - float(there.mean()), 1 - missed[0], 1 - missed[1], widths[0] / widths[1], widths[0] / widths[2]


def least(rows: Sequence[Row], name: str, **only: object) -> float:
    """The lowest of a column over the rows that are as told."""
    return min(getattr(row, name) for row in rows if all(getattr(row, key) == value for key, value in only.items()))


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Lines of docs/audit.md: of each world the lowest coverage over correlations and targets, tuned."""
    yield "| values | 20 graded: t | ours | width | 30: t | ours | width | 100: t | ours | width |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for world in dict.fromkeys(row.world for row in rows):
        cells = []
        for graded in (20, 30, 100):
            own = [row for row in rows if (row.world, row.graded, row.how) == (world, graded, "tuned")]
            width = np.mean([row.whole for row in own])
            cells += [f"{least(own, 't'):.3f}", f"{least(own, 'ours'):.3f}", f"{width:.2f}"]
        yield f"| {world} | {' | '.join(cells)} |"


def draw(rows: Sequence[Row]) -> None:
    """Draw the lowest coverage of each world, one panel for each number of graded queries."""
    import altair as alt
    import vl_convert

    order = list(dict.fromkeys(row.world for row in rows))
    colors = alt.Scale(domain=["t", "trueval"], range=["#c2571a", "#1f5fa8"])

    def panel(graded: int) -> alt.LayerChart:
        own = [row for row in rows if row.graded == graded and row.how == "tuned"]
        points = [
            {"world": world, "ends": ends, "covers": least(own, name, world=world)}
            for world in order
            for ends, name in (("t", "t"), ("trueval", "ours"))
        ]
        scale = alt.Scale(domain=[0.75, 1.0], zero=False)
        axis = alt.Axis(format=".2f", tickCount=6)
        x = alt.X("covers:Q", scale=scale, axis=axis, title="share of draws, lowest")
        y = alt.Y("world:N", sort=order, title=None)
        color = alt.Color("ends:N", title="interval", scale=colors)
        base = alt.Chart(alt.Data(values=points))
        line = base.mark_line(color="#bbbbbb").encode(x=x, y=y, detail="world:N")
        dots = base.mark_circle(size=45, opacity=1).encode(x=x, y=y, color=color)
        said = alt.Chart(alt.Data(values=[{"covers": 0.95}]))
        rule = said.mark_rule(color="#444444", strokeDash=[4, 3]).encode(x=x)
        return alt.layer(rule, line, dots).properties(width=230, title=f"{graded} of {QUERIES} queries graded")

    spec = alt.hconcat(*map(panel, (20, 100))).to_dict()
    spec["config"] = {"view": {"stroke": None}, "axis": {"gridColor": "#dddddd", "domain": False}}
    IMAGE.write_text(vl_convert.vegalite_to_svg(spec) + "\n", newline="\n")
    print(f"docs/images/{IMAGE.name}")


if __name__ == "__main__":
    singles = [row for world in SINGLE for row in rows_of(world)]
    pairs = [row for world in PAIRS for row in rows_of(world, how=("tuned",))]
    print("\n".join([*table(singles), "", *table(pairs)]))
    draw(singles)
