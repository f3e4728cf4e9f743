"""The stages of a pipeline as figures: what each keeps of candidates and relevant documents, and what it is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from trueval.report.figures import NARROW, Chart, tone
from trueval.report.page_content import Figure
from trueval.report.plots import DOT_KEY, TieInterval, dot_plot

Entry = Mapping[str, Any]

HEIGHT: Final = 170  # CSS pixels of a plot
MEASURE: Final = "nDCG@10"
# What becomes of a document, from the bottom of a bar, and its color.
KEPT: Final = ("kept, alone", "kept, tied", "lost")
FOUND: Final = ("kept", "lost")
TONES: Final = {"kept, alone": "expected", "kept, tied": "range", "kept": "good", "lost": "line"}


def figures(result: Entry) -> Iterator[Figure]:
    """The figures of a pipeline, side by side.

    Args:
        result: the JSON of `trueval retrieve`.
    """
    stages = result["stages"]
    ties = ", ".join(f"{stage['name']} {count_tied_candidates(stage):,} of {stage['documents']:,}" for stage in stages)
    yield Figure(
        "stages-candidates",
        "Candidates of each stage",
        f"What each stage keeps of the candidates that go into it, and how many of these tie: {ties}.",
        column_plot(list(_candidates(stages)), KEPT),
    )
    if "judged" not in result:
        return
    told = ", ".join(f"{stage['name']} {stage['relevant']:,}" for stage in stages)
    total = result["judged"]["relevant"]
    yield Figure(
        "stages-relevant",
        "Relevant documents among them",
        f"Of {total:,} relevant documents each stage still has: {told}.",
        column_plot(list(_relevant(stages)), FOUND),
    )
    values = [(stage["name"], stage["measures"][MEASURE]) for stage in stages]
    dots = [
        TieInterval(name, *(value[part] for part in ("expected", "lowest", "highest", "tie_broken")))
        for name, value in values
    ]
    yield Figure(
        "stages-values",
        f"{MEASURE} of each stage",
        f"{MEASURE}, expected value and tie range of the candidates of each stage, in the order of the stages.",
        dot_plot(dots),
        key=DOT_KEY,
    )


def count_tied_candidates(stage: Entry) -> int:
    """Candidates of a stage that tie."""
    return round(float(stage["tied_fraction"]) * int(stage["documents"]))


def column_plot(rows: Sequence[Entry], parts: Sequence[str], *, width: int = NARROW) -> Chart:
    """Stages in a row, each a column of what becomes of the documents.

    Args:
        rows: stage, part and count.
        parts: from the bottom.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    stages = list(dict.fromkeys(row["stage"] for row in rows))
    numbered = [{**row, "place": parts.index(row["part"])} for row in rows]
    scale = alt.Scale(domain=list(parts), range=[tone(TONES[part]) for part in parts])
    labels = alt.Axis(labelAngle=0, labelOverlap=False, labelFontSize=12 if len(stages) < 5 else 10)
    plot = alt.Chart(alt.Data(values=numbered)).mark_bar(stroke=tone("quiet"), strokeWidth=0.5, size=34)
    return plot.encode(
        x=alt.X("stage:N", sort=stages, title=None, axis=labels),
        y=alt.Y("count:Q", title=None, stack="zero", axis=alt.Axis(tickCount=4, format=",d")),
        color=alt.Color("part:N", title=None, scale=scale, legend=alt.Legend(orient="bottom", columns=3)),
        order=alt.Order("place:Q"),
    ).properties(width=width - 60, height=HEIGHT)


def _candidates(stages: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    for stage in stages:
        ties = count_tied_candidates(stage)
        counts = (stage["documents"] - ties, ties, (stage["given"] or stage["documents"]) - stage["documents"])
        yield from _parts(stage, KEPT, counts)


def _relevant(stages: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """Lost to a stage is what it did not keep of what it was given; to a search, what it did not find."""
    for stage in stages:
        yield from _parts(stage, FOUND, (stage["relevant"], stage["relevant_given"] - stage["relevant"]))


def _parts(stage: Entry, parts: Sequence[str], counts: Sequence[int]) -> Iterator[dict[str, Any]]:
    for part, count in zip(parts, counts, strict=True):
        yield {"stage": stage["name"], "part": part, "count": count}
