"""Figures of precision audits: tie groups of a query and their sizes, curves over the cutoff, bits of the formats.

P-A, Figure 1, of the user's own scores; Figures 2, 4 and 5; Appendix A.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trueval.numerics import find_format, resolution
from trueval.precision.audit_result import CutoffCurve, GroupSize, RegimeEntry
from trueval.precision.tie_example import ExampleDocument, TieExample
from trueval.report.figures import NARROW, RUN_TONES, Chart, ChartRow, axis_domain, tone
from trueval.report.plots import DIFFERS, HOLLOW_TICK

HEIGHT = 170  # CSS pixels of a plot
GRADE_TONES = ("good", "run-2", "run-3", "run-1", "expected", "quiet")  # from the highest grade
BITS = ("sign", "exponent", "mantissa")


def curve_plot(regimes: Mapping[str, RegimeEntry], measure: str, width: int = NARROW, *, title: str = "") -> Chart:
    """A measure over its cutoff: lines expected, bands from lowest to highest, hollow ticks tie-broken.

    Args:
        regimes: name → regime, all of one model.
        measure: a key of their curves.
        width: CSS pixels of the whole plot.
        title: above the plot.
    """
    import altair as alt

    names = list(regimes)
    rows = [row for name, regime in regimes.items() for row in _points(name, regime.curves[measure])]
    ends = axis_domain(row[end] for row in rows for end in ("lowest", "highest", "tie"))
    # Cutoffs are apart by their place and not by their size: 1, 5 and 100 would leave the first two in one.
    x = alt.X("k:N", sort=None, title="k", axis=alt.Axis(labelAngle=0, grid=False))
    scale, axis = alt.Scale(domain=ends, nice=False, zero=False), alt.Axis(tickCount=4)
    colors = [tone(RUN_TONES[index % len(RUN_TONES)]) for index in range(len(names))]
    color = alt.Color("name:N", title=None, sort=None, scale=alt.Scale(domain=names, range=colors))
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, color=color)
    layers = [
        base.mark_area(opacity=0.18).encode(y=alt.Y("lowest:Q", title=None, scale=scale, axis=axis), y2="highest:Q"),
        base.mark_line(point=alt.OverlayMarkDef(size=24, filled=True), strokeWidth=1.5).encode(
            y=alt.Y("expected:Q", title=None, scale=scale, axis=axis)
        ),
        base.mark_point(shape=HOLLOW_TICK, size=70, filled=False, strokeWidth=1.2)
        .transform_filter("isValid(datum.tie)")
        .encode(y="tie:Q"),
    ]
    plot = alt.layer(*layers).properties(width=width - 60, height=HEIGHT)
    return plot.properties(title=title) if title else plot


def reach_plot(regimes: Mapping[str, RegimeEntry], width: int, *, title: str = "") -> Chart:
    """For each size of tie group, the share of documents in groups of that size or larger.

    Args:
        regimes: name → regime, all of one model.
        width: CSS pixels of the whole plot.
        title: above the plot.
    """
    import altair as alt

    names = list(regimes)
    rows: list[ChartRow] = [
        {"name": name, "size": size, "share": share}
        for name, regime in regimes.items()
        for size, share in zip(*reach(regime.ties.group_sizes), strict=True)
    ]
    colors = [tone(RUN_TONES[index % len(RUN_TONES)]) for index in range(len(names))]
    plot = alt.Chart(alt.Data(values=rows), title=title or alt.Undefined)
    plot = plot.mark_line(interpolate="step", strokeWidth=1.4, point=True)
    doubled = [2**power for power in range(max(row["size"] for row in rows).bit_length())]
    scale, axis = alt.Scale(type="log", base=2, nice=False), alt.Axis(values=doubled)
    return plot.encode(
        x=alt.X("size:Q", title="documents in the tie group, at least", scale=scale, axis=axis),
        y=alt.Y("share:Q", title="share of documents", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("name:N", title=None, sort=None, scale=alt.Scale(domain=names, range=colors)),
    ).properties(width=width - 70, height=HEIGHT)


def groups_plot(example: TieExample, names: Sequence[str], width: int, *, title: str = "") -> Chart:
    """The first documents of a query in low precision, groups of equal scores as bars, and where float32 puts them.

    Args:
        example: the query.
        names: of the scores in low precision and of those in float32.
        width: CSS pixels of the whole plot.
        title: above the plot.
    """
    import altair as alt

    shown, finer = example.documents, example.documents[0].finer is not None
    places: dict[str, list[int]] = {}
    for rank, each in enumerate(shown, 1):
        places.setdefault(f"{each.score:.9g}", []).append(rank)
    groups = [
        {"x": 0, "first": ranks[0] - 0.42, "last": ranks[-1] + 0.42, "tied": len(ranks) > 1, "told": f"score {score}"}
        for score, ranks in places.items()
    ]
    far = len(shown) + 1  # what float32 puts after the last one shown
    rows = [
        {
            "document": each.document,
            "x": column,
            "rank": rank if column == 0 else min(each.finer_rank or far, far),
            "kind": _grade_text(each),
            "score": f"{each.score if column == 0 else each.finer or 0.0:.6g}",
            "told": f"{each.document}: {_grade_text(each)}",
        }
        for rank, each in enumerate(shown, 1)
        for column in ((0, 1) if finer else (0,))
    ]
    y = alt.Scale(domain=[0.4, far + 0.4], reverse=True, nice=False, zero=False)
    across = alt.Scale(domain=[-0.45, 1.45], nice=False, zero=False)
    x = alt.X("x:Q", title=None, scale=across, axis=None)
    ticks = alt.Axis(values=list(range(1, len(shown) + 1)), grid=False, format="d")
    ordered = sorted(shown, key=lambda each: -1.0 if each.grade is None else each.grade, reverse=True)
    kinds = list(dict.fromkeys(map(_grade_text, ordered)))
    last = len(GRADE_TONES) - 1
    tones = [tone(GRADE_TONES[min(at, last)]) for at in range(len(kinds) - 1)] + [tone(GRADE_TONES[last])]
    color = alt.Color("kind:N", title=None, sort=None, scale=alt.Scale(domain=kinds, range=tones))
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=alt.Y("rank:Q", title="rank", scale=y, axis=ticks))
    layers = [
        alt.Chart(alt.Data(values=[each for each in groups if each["tied"]]))
        .mark_rule(strokeWidth=16, color=tone("range"), strokeCap="butt", opacity=0.55)
        .encode(x=x, y=alt.Y("first:Q", title="rank", scale=y, axis=ticks), y2="last:Q", description="told:N"),
        base.mark_line(strokeWidth=1, opacity=0.6).encode(color=color, detail="document:N"),
        base.mark_point(filled=True, size=46, aria=True).encode(color=color, description="told:N"),
        base.transform_filter("datum.x == 0").mark_text(align="right", dx=-14, fontSize=11).encode(text="score:N"),
        base.transform_filter("datum.x == 1").mark_text(align="left", dx=10, fontSize=11).encode(text="score:N"),
        alt.Chart(alt.Data(values=[{"x": at, "name": name} for at, name in enumerate(names[: 1 + finer])]))
        .mark_text(fontSize=11, fontWeight="bold", baseline="bottom")
        .encode(x=x, y=alt.value(-4), text="name:N"),
    ]
    plot = alt.layer(*layers).properties(width=width - 60, height=20 * far)
    return plot.properties(title=title) if title else plot


def _grade_text(document: ExampleDocument) -> str:
    return "not judged" if document.grade is None else f"grade {document.grade:g}"


def layout_plot(names: Sequence[str], width: int, *, title: str = "") -> Chart:
    """The bits of each format, and how many of its values lie between one half and one, where top scores are.

    Args:
        names: names of number formats.
        width: CSS pixels of the whole plot.
        title: above the plot.
    """
    import altair as alt

    rows: list[ChartRow] = []
    ends: list[ChartRow] = []
    for name in names:
        known = find_format(name)
        at = 0
        for part, bits in zip(BITS, (1, known.exponent_bits, known.mantissa_bits), strict=True):
            told = f"{name}: {bits} bits of {part}" if bits > 1 else f"{name}: 1 bit of {part}"
            rows.append({"name": name, "start": at, "end": at + bits, "part": part, "bits": str(bits), "told": told})
            at += bits
        ends.append({"name": name, "at": at, "said": f"{resolution(name, 0.5, 1.0).values:,} values"})
    longest = max(each["at"] for each in ends)
    x = alt.X(
        "start:Q",
        title="bits, and values between 1/2 and 1",
        scale=alt.Scale(domain=[0, longest * 1.3], nice=False),
        axis=alt.Axis(tickCount=5, grid=False, values=list(range(0, longest + 1, 8))),
    )
    y = alt.Y("name:N", sort=None, title=None, scale=alt.Scale(domain=list(names)), axis=alt.Axis(grid=False))
    color = alt.Color(
        "part:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=list(BITS), range=[tone("run-1"), tone("run-2"), tone("run-0")]),
    )
    base = alt.Chart(alt.Data(values=rows)).encode(y=y)
    middle = base.transform_calculate(middle="(datum.start + datum.end) / 2").transform_filter("datum.bits != '1'")
    layers = [
        base.mark_bar(height=14, stroke=tone("ground"), aria=True).encode(
            x=x, x2="end:Q", color=color, description="told:N"
        ),
        middle.mark_text(fontSize=10, color=tone("ground")).encode(x="middle:Q", text="bits:N"),
        alt.Chart(alt.Data(values=ends))
        .mark_text(align="left", dx=6, fontSize=11)
        .encode(y=y, x="at:Q", text="said:N"),
    ]
    plot = alt.layer(*layers).properties(width=width - 110, height=22 * len(names))
    return plot.properties(title=title) if title else plot


def reach(rows: Sequence[GroupSize]) -> tuple[list[int], list[float]]:
    """The share of documents in groups of at least each size.

    >>> from trueval.precision.audit_result import GroupSize
    >>> reach([GroupSize(1, 6), GroupSize(2, 2)])
    ([1, 2], [1.0, 0.4])
    """
    documents = [row.size * row.groups for row in rows]
    total = sum(documents)
    shares = [sum(documents[index:]) / total for index in range(len(documents))]
    return [row.size for row in rows], shares


def _points(name: str, curve: CutoffCurve) -> list[ChartRow]:
    columns = (curve.k, curve.expected, curve.lowest, curve.highest, curve.tie_broken)
    return [
        {"name": name, "k": str(k), "expected": middle, "lowest": low, "highest": high, "tie": _other(plain, middle)}
        for k, middle, low, high, plain in zip(*columns, strict=True)
        if middle == middle  # NaN is not available
    ]


def _other(tie_broken: float, expected: float) -> float | None:
    return tie_broken if abs(tie_broken - expected) > DIFFERS else None
