"""The page of a golden set: origin of passages, grades, steadiness of the judge, and every label."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from trueval.golden.build.golden_set import LABELS
from trueval.golden.views.audit_block import audit_block
from trueval.golden.views.golden import money, sentences
from trueval.report.figures import NARROW, Chart, tone
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase, format_value, percent
from trueval.report.page_content import Block, Figure, Number, PageColumn, Part, Row, Table, Words, counts, row_of
from trueval.report.plots import TieInterval, dot_plot
from trueval.report.result_directory import Directory, ResultFile, pointer

Entry = Mapping[str, Any]

HEIGHT: Final = 170  # CSS pixels of a plot
MOST: Final = 20_000  # labels on the page; all of them are in the file


def build(file: ResultFile, directory: Directory) -> Part:
    """Build the page of one golden set.

    Args:
        file: the result.
        directory: with the labels beside it.
    """
    data = file.data
    told = list(sentences(data))
    blocks = [Block("golden-stages", "Stages and what they cost", tables=(_stages(file),), facts=tuple(_facts(data)))]
    if "grades" in data:
        audit = audit_block(directory, LABELS)
        blocks = [_pools(file), _judge(file), *audit, *_refinement(file), *blocks, *_labels(file, directory)]
    return Part(verdict=_verdict(file), summary=tuple((line,) for line in told[1:]), blocks=tuple(blocks))


def _verdict(file: ResultFile) -> Words:
    data = file.data
    if "judged" not in data:
        return (f"{data['name']} is built up to {data['stages'][-1]['stage']}; nothing is graded yet.",)
    cost = data["cost"]["cost"]
    paid: Words = () if cost is None else (" for ", Number(money(cost), cost, file.source("cost", "cost")))
    return (
        f"{data['judge']['name']} judged ",
        Number(f"{data['judged']:,}", data["judged"], file.source("judged")),
        f" passages of {count_phrase(data['heterogeneity']['queries'], 'query', 'queries')} in ",
        Number(f"{data['cost']['calls'] or 0:,}", data["cost"]["calls"] or 0, file.source("cost", "calls")),
        " calls",
        *paid,
        ".",
    )


def _pools(file: ResultFile) -> Block:
    data = file.data
    figures = [Figure("golden-grades", "Grades", _describe_grades(data), grades_plot(data["grades"]))]
    columns = (
        PageColumn("found by", "/name"),
        *(counts(title, f"/{name}") for title, name in _SOURCES),
        PageColumn("PROC(RA-nWG)@10", "/ceiling/expected", numeric=True, show=format_value, strong=lambda _: True),
        PageColumn("lowest", "/ceiling/lowest", numeric=True, show=format_value),
        PageColumn("highest", "/ceiling/highest", numeric=True, show=format_value),
    )
    rows = tuple(row_of(pointer("sources", at), columns, each) for at, each in enumerate(data["sources"]))
    caption = "What each search gave to the pools, and what the best ten of it could be worth by these judgments."
    notes = ("What no search found is not judged: a ceiling of 1 says that nothing better was found.",)
    sources = Table("golden-sources", (caption,), file.name, columns, rows, notes=notes)
    return Block("golden-pools", "Pools and grades", figures=tuple(figures), tables=(sources, _by_query(file)))


_SOURCES: Final = (
    ("passages", "passages"),
    ("alone", "alone"),
    ("useful", "useful"),
    ("useful, alone", "useful_alone"),
)


def _describe_grades(data: Entry) -> str:
    return (
        "Passages of each grade: " + ", ".join(f"{grade}: {count:,}" for grade, count in data["grades"].items()) + "."
    )


def grades_plot(grades: Mapping[str, int], *, width: int = NARROW) -> Chart:
    """Number of passages per grade.

    Args:
        grades: number by grade.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    rows = [{"grade": grade, "passages": count} for grade, count in grades.items()]
    plot = alt.Chart(alt.Data(values=rows)).mark_bar(color=tone("expected"), size=34)
    return plot.encode(
        x=alt.X("grade:N", sort=list(grades), title="grade", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("passages:Q", title="passages", axis=alt.Axis(tickCount=4, format=",d")),
    ).properties(width=width - 60, height=HEIGHT)


def _by_query(file: ResultFile) -> Table:
    columns = (
        PageColumn("query", "/query"),
        counts("judged", "/judged"),
        counts("unjudged", "/unjudged"),
        *(counts(f"grade {grade}", f"/grades/{grade}") for grade in "54321"),
    )
    found = file.data["heterogeneity"]["by_query"]
    rows = tuple(row_of(pointer("heterogeneity", "by_query", at), columns, each) for at, each in enumerate(found))
    useful = file.data["heterogeneity"]["useful"]
    caption = "Passages of each query by grade"
    if useful["median"] is not None:
        caption += f"; useful ones (4 and 5): median {useful['median']:g}, mean {useful['mean']:.1f}"
        caption += f", median share of the pool {percent(useful['share'])}"
    return Table("golden-queries", (f"{caption}.",), file.name, columns, rows, folded=True)


def _judge(file: ResultFile) -> Block:
    data = file.data
    figures: list[Figure] = []
    if data["rounds"]:
        each = data["rounds"][0]
        figures.append(
            Figure(
                "golden-rounds",
                "Labels of two rounds",
                f"How often each pair of labels was given in rounds {each['first'] + 1} and {each['second'] + 1}; "
                f"{percent(each['same'])} are the same.",
                rounds_plot(each["table"]),
            )
        )
    slots = [each for each in data["slots"] if each["error"] is not None]
    if slots:
        dots = [_slot(each) for each in slots]
        about = "The mean label of each slot of a call. Passages are shuffled: a slope is a bias of the judge."
        figures.append(Figure("golden-slots", "Labels by slot, ± standard error", about, dot_plot(dots)))
    columns = (
        PageColumn("rounds", ""),
        counts("passages", "/passages"),
        *(
            PageColumn(title, f"/{name}", numeric=True, show=format_value)
            for title, name in (("same", "same"), ("within one", "within_one"), ("difference", "difference"))
        ),
        PageColumn("quadratic kappa", "/kappa", numeric=True, show=format_value),
    )
    rows = tuple(
        row_of(pointer("rounds", at), columns, each, f"{each['first'] + 1} and {each['second'] + 1}")
        for at, each in enumerate(data["rounds"])
    )
    caption = "How far the labels of two rounds agree: other companions, another slot, another call."
    tables = [Table("golden-agreement", (caption,), file.name, columns, rows)] if rows else []
    return Block(
        "golden-judge", "How steady the judge is", figures=tuple(figures), tables=(*tables, *_tabulate_injections(file))
    )


def _slot(each: Entry) -> TieInterval:
    mean, error = each["mean"], each["error"]
    return TieInterval(f"slot {each['slot']}", mean, mean - error, mean + error, mean)


def rounds_plot(table: Sequence[Sequence[int]], *, width: int = NARROW) -> Chart:
    """Number of passages for each pair of labels from two rounds.

    Args:
        table: [first][second] numbers of passages, grades from 1.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    rows = [
        {"first": str(first), "second": str(second), "passages": count, "shown": f"{count:,}" if count else ""}
        for first, line in enumerate(table, start=1)
        for second, count in enumerate(line, start=1)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("second:N", title="second round", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("first:N", title="first round", sort=list("54321")),
    )
    # Tones are variables of the page, which no scale of colors can mix.
    depth = alt.FillOpacity("passages:Q", legend=None, scale=alt.Scale(type="sqrt", range=[0, 1]))
    cells = base.mark_rect(stroke=tone("line"), fill=tone("range")).encode(fillOpacity=depth)
    return alt.layer(cells, base.mark_text(color=tone("text")).encode(text="shown:N")).properties(
        width=width - 60, height=HEIGHT + 30
    )


def _tabulate_injections(file: ResultFile) -> Iterator[Table]:
    found = file.data["speaks_to_judge"]
    if not found:
        return
    columns = (PageColumn("query", "/query"), PageColumn("document", "/document"))
    rows = tuple(row_of(pointer("speaks_to_judge", at), columns, each) for at, each in enumerate(found))
    caption = "Passages that seem to speak to a judge rather than to a reader; they were graded as any other."
    yield Table("golden-speaking", (caption,), file.name, columns, rows)


def _refinement(file: ResultFile) -> Iterator[Block]:
    queries = file.data.get("refinement", {}).get("queries", [])
    if not queries:
        return
    columns = (
        PageColumn("query", "/query"),
        counts("passages", "/passages"),
        counts("calls", "/calls"),
        PageColumn("stopped by", "/stopped"),
        PageColumn("expected overlap", "/overlap", numeric=True, show=format_value, strong=lambda _: True),
        counts("in no order", "/unchecked"),
        counts("tie bands", "/bands"),
        PageColumn("pairs that differ", "/disagreement", numeric=True, show=format_value),
        counts("cycles", "/cycles"),
        counts("against grades", "/inversions"),
    )
    rows = tuple(row_of(pointer("refinement", "queries", at), columns, each) for at, each in enumerate(queries))
    words = (
        "The refinement stops when the best passages are expected to belong to the judge's own best by so much; "
        "simulations show how true such claims are (docs/golden.md). It certifies the judge's order, not the truth."
    )
    table = Table("golden-refined", ("How the refinement of each query ended.",), file.name, columns, rows)
    claimed = [each for each in queries if each["overlap"] is not None]
    about = "Calls of each query, and the expected overlap at which its refinement stopped."
    figures = (Figure("golden-stop", "Where it stopped", about, stop_plot(claimed)),) if claimed else ()
    unknown = tuple((line,) for line in file.data["refinement"].get("cannot_know", ()))
    yield Block("golden-refinement", "The best in order", words=((words,), *unknown), figures=figures, tables=(table,))


def stop_plot(queries: Sequence[Entry], *, width: int = NARROW) -> Chart:
    """Calls and expected overlap of each query.

    Args:
        queries: entries of "refinement".
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    rows = [{name: each[name] for name in ("query", "calls", "overlap", "stopped")} for each in queries]
    plot = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=52, opacity=0.7)
    colors = alt.Scale(domain=["overlap", "budget"], range=[tone("expected"), tone("run-1")])
    return plot.encode(
        x=alt.X("calls:Q", title="calls", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("overlap:Q", title="expected overlap", scale=alt.Scale(zero=False)),
        color=alt.Color("stopped:N", title="stopped by", scale=colors, legend=alt.Legend(orient="bottom")),
        tooltip=["query:N", "calls:Q", "overlap:Q"],
    ).properties(width=width - 60, height=HEIGHT)


def _stages(file: ResultFile) -> Table:
    columns = (
        PageColumn("stage", "/stage"),
        counts("queries", "/queries"),
        counts("passages", "/passages"),
        counts("calls", "/calls"),
        counts("not valid", "/invalid"),
        counts("tokens out", "/tokens_in"),
        counts("tokens back", "/tokens_out"),
        PageColumn("cost", "/cost", numeric=True, show=money, strong=lambda _: True),
        PageColumn("seconds", "/seconds", numeric=True, show=lambda value: f"{value:.3g}"),
        PageColumn("written", "/written"),
    )
    rows = tuple(row_of(pointer("stages", at), columns, each) for at, each in enumerate(file.data["stages"]))
    notes = ("A stage that was interrupted counts all its calls; its seconds are those of its last run.",)
    return Table("golden-costs", ("What each stage took.",), file.name, columns, rows, notes=notes)


def _facts(data: Entry) -> Iterator[tuple[str, Words]]:
    judge = data["judge"]
    told = ", ".join(f"{name} {judge[name]}" for name in ("mode", "batch", "rounds", "aggregate"))
    yield "Judge", (f"{judge['name']}: {told}",)
    for stage in data["stages"]:
        models = ", ".join(f"{name or 'unnamed'} ({count:,} calls)" for name, count in stage.get("models", {}).items())
        if models:
            yield f"Models that answered in {stage['stage']}", (models,)
        asked = stage.get("parameters", {}).get("judge", {})
        if "prompt" in asked:
            yield f"Prompt of {stage['stage']}", (f"{asked['prompt']}, SHA-256 {asked['sha256'][0]}",)
        if stage.get("problems"):
            problems = "; ".join(f"{problem} ({count:,})" for problem, count in stage["problems"].items())
            yield f"Not valid in {stage['stage']}", (problems,)
    collection = data["collection"]
    yield (
        "Corpus",
        (f"{collection['name']}, {collection['documents']:,} documents, SHA-256 {collection['sha256']['documents']}",),
    )
    yield "Seed", (f"{data['seed']}",)


def _labels(file: ResultFile, directory: Directory) -> Iterator[Block]:
    place = directory.path / LABELS
    rows = tuple(_label_rows(place)) if place.is_file() else ()
    if not rows:
        return
    cut = f"; the first {MOST:,} of {file.data['passages']:,}" if file.data["passages"] > len(rows) else ""
    caption = f"Every passage with its labels and the reasons of the judge{cut}."
    notes = (f"The whole of it, with calls, slots and dates, is in {LABELS}; answers word for word are in the ledger.",)
    table = Table("golden-labels", (caption,), LABELS, LABEL_COLUMNS, rows, notes=notes, folded=True)
    yield Block("golden-every-label", "Every label", tables=(table,), place="details")


LABEL_COLUMNS: Final = (
    PageColumn("query", "/query"),
    PageColumn("document", "/document"),
    counts("grade", "/grade"),
    counts("spread", "/spread"),
    counts("rank in the pool", "/rank"),
    PageColumn("labels"),
    PageColumn("reasons"),
    PageColumn("calls"),
)


def _label_rows(place: Path) -> Iterator[Row]:
    with place.open(encoding="utf-8") as lines:
        for at, line in enumerate(lines):
            if at == MOST:
                return
            entry = json.loads(line)
            labels = entry["labels"]
            given = ", ".join(NOT_AVAILABLE if each["grade"] is None else str(each["grade"]) for each in labels)
            reasons = " · ".join(dict.fromkeys(each["reason"] for each in labels if each["reason"]))
            calls = ", ".join(each["call"][:8] for each in labels)
            yield row_of(pointer(at), LABEL_COLUMNS, entry, given, reasons, calls)
