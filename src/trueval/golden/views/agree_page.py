"""The page of label agreement: coefficients with intervals, heat maps of grade pairs, biases side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from trueval.golden.views.agree import TITLES, describe_findings, groups, legend, name_pair
from trueval.report.figures import NARROW, Chart, tone
from trueval.report.number_texts import NOT_AVAILABLE, format_difference, format_value
from trueval.report.page_content import Block, Figure, Number, PageColumn, Part, Row, Table, Words, counts, row_of
from trueval.report.plots import TieInterval, dot_plot, shorten_name
from trueval.report.result_directory import Directory, ResultFile, pointer

Entry = Mapping[str, Any]

CELL: Final = 44  # CSS pixels of a row of a heat map
SHOWN: Final = 24  # pairs whose heat maps and biases are drawn
KEY: Final = (("bar", "interval over queries"), ("dot", "the value"))


def build(file: ResultFile, directory: Directory) -> Part:
    """Build the page of one result.

    Args:
        file: the result.
        directory: unused.
    """
    pairs = file.data["pairs"]
    blocks = [_coefficients(file), _tables(file), _biases(file), *_order(file), *_design(file)]
    return Part(
        verdict=_verdict(file, pairs),
        summary=tuple((line,) for line in describe_findings(file.data)),
        blocks=tuple(blocks),
    )


def _verdict(file: ResultFile, pairs: Sequence[Entry]) -> Words:
    over = _over(file)
    of_judges = [at for at, pair in enumerate(pairs) if pair["between"] == "judge and people"]
    values = [(pairs[at][over]["coefficients"]["kappa_quadratic"]["value"], at) for at in of_judges]
    known = [each for each in values if each[0] is not None]
    if not known:
        return ("No coefficient of agreement can be given: see the reasons below.",)
    value, at = max(known)
    where = file.source("pairs", str(at), over, "coefficients", "kappa_quadratic", "value")
    number = Number(format_value(value), value, where)
    if len(of_judges) == 1:
        return (f"{pairs[at]['second']} agrees with people by a quadratic κ of ", number, ".")
    return (f"Of {len(of_judges)} judges {name_pair(pairs[at])} agrees most with people: quadratic κ ", number, ".")


def _coefficients(file: ResultFile) -> Block:
    pairs, over = file.data["pairs"], _over(file)
    dots = [
        TieInterval(name_pair(pair), found["value"], found["low"], found["high"])
        for pair in pairs
        if (found := pair[over]["coefficients"]["kappa_quadratic"])["low"] is not None
    ]
    dots.sort(key=lambda dot: -dot.expected)
    about = "Quadratic κ of each pair with its interval over queries, highest first."
    figures = (Figure("agree-kappa", "Quadratic κ", about, dot_plot(dots), key=KEY),) if dots else ()
    tables = [_table(file, over), *([_table(file, "sample")] if over == "population" else [])]
    return Block("agree-coefficients", "Agreement", figures=figures, tables=(*tables, *_together(file)))


def _over(file: ResultFile) -> str:
    """Which coefficients come first: those over all judged passages where the sample has a design."""
    return "population" if file.data["design"] else "sample"


def _table(file: ResultFile, over: str) -> Table:
    columns = (
        PageColumn("labels"),
        counts("items", "/items"),
        PageColumn("same", "/same", numeric=True, show=format_value),
        *(
            PageColumn(
                title, f"/{over}/coefficients/{name}/value", numeric=True, show=format_value, strong=_strong(name)
            )
            for name, title in TITLES.items()
        ),
        PageColumn("low", f"/{over}/coefficients/kappa_quadratic/low", numeric=True, show=format_value),
        PageColumn("high", f"/{over}/coefficients/kappa_quadratic/high", numeric=True, show=format_value),
        # A bias is that of all judged passages where there is a design, and has its place beside those.
        *(
            (PageColumn("bias", "/bias/all/value", numeric=True, show=format_difference),)
            if over == _over(file)
            else ()
        ),
    )
    pairs = file.data["pairs"]
    rows = tuple(row_of(pointer("pairs", at), columns, pair, name_pair(pair)) for at, pair in enumerate(pairs))
    what = "All judged passages, as the sample estimates them" if over == "population" else "The items of the sample"
    caption = f"{what}; low and high are of quadratic κ." if file.data["design"] else "Low and high: of quadratic κ."
    reasons = {value["reason"] for pair in pairs for value in pair[over]["coefficients"].values() if "reason" in value}
    meant = legend(file.data) if over == _over(file) else ()
    notes = (*meant, *(f"{NOT_AVAILABLE}: {reason}." for reason in sorted(reasons)))
    return Table(f"agree-{over}", (caption,), file.name, columns, rows, notes=notes)


def _strong(name: str) -> Any:
    return lambda _: name == "kappa_quadratic"


def _together(file: ResultFile) -> Iterator[Table]:
    found = file.data["together"]
    if not found:
        return
    names = {name: title for name, title in TITLES.items() if name.startswith("alpha")}
    columns = (
        PageColumn("raters"),
        counts("items", "/items"),
        *(
            PageColumn(title, f"/coefficients/{name}/value", numeric=True, show=format_value)
            for name, title in names.items()
        ),
    )
    rows = tuple(
        row_of(pointer("together", at), columns, each, f"{len(each['raters'])} {each['between']}")
        for at, each in enumerate(found)
    )
    yield Table("agree-together", ("Krippendorff's α of all at once.",), file.name, columns, rows)


def _tables(file: ResultFile) -> Block:
    pairs, over = file.data["pairs"], _over(file)
    figures = [
        Figure(f"agree-table-{at}", shorten_name(name_pair(pair), 44), _describe_pair(pair), heat_map(pair, over))
        for at, pair in enumerate(pairs[:SHOWN])
        if pair["items"]
    ]
    more = f" The first {SHOWN} of {len(pairs)} pairs are drawn." if len(pairs) > SHOWN else ""
    words = (
        "How often each pair of grades was given. A cell is as dark as its share of its row: of what the first graded "
        f"so, where the second put it.{more}"
    )
    return Block("agree-tables", "Grade against grade", words=((words,),), figures=tuple(figures))


def _describe_pair(pair: Entry) -> str:
    return f"How often {pair['first']} (rows) and {pair['second']} (columns) gave each pair of grades."


def heat_map(pair: Entry, over: str = "sample", *, width: int = NARROW) -> Chart:
    """Heat map of grade pairs by two raters: counts, colored by their share of the row.

    Args:
        pair: an entry of "pairs".
        over: "sample" or "population".
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    grades, table = [f"{grade:g}" for grade in pair["grades"]], pair[over]["table"]
    rows = [
        {"first": first, "second": second, "shown": f"{count:,.0f}" if count else "", "share": count / (sum(line) or 1)}
        for first, line in zip(grades, table, strict=True)
        for second, count in zip(grades, line, strict=True)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("second:N", title=shorten_name(pair["second"], 40), sort=grades, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("first:N", title=shorten_name(pair["first"], 24), sort=grades[::-1]),
    )
    # Tones are variables of the page, which no scale of colors can mix.
    depth = alt.FillOpacity("share:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0, 1]))
    cells = base.mark_rect(stroke=tone("line"), fill=tone("range")).encode(fillOpacity=depth)
    text = base.mark_text(color=tone("text")).encode(text="shown:N")
    return alt.layer(cells, text).properties(width=width - 60, height=CELL * len(grades))


def _biases(file: ResultFile) -> Block:
    pairs = file.data["pairs"]
    figures = []
    for at, pair in enumerate(pairs[:SHOWN]):
        dots = [
            TieInterval(_short(name, pair), each["value"], each["low"], each["high"])
            for name, each in groups(pair)
            if each["value"] is not None and each["low"] is not None
        ]
        if dots:
            about = f"Mean grade of {pair['second']} less that of {pair['first']}, over all and by groups."
            figures.append(
                Figure(f"agree-bias-{at}", shorten_name(name_pair(pair), 44), about, dot_plot(dots), key=KEY)
            )
    words = (
        "By how much the second grades higher, in grades. By the grade of the one side a bias falls and by the grade "
        "of the other it rises, even where nobody is biased: who errs is nearer to the middle. Look at all, at slots "
        "and at lengths, and at what both sides show."
    )
    return Block("agree-bias", "Bias", words=((words,),), figures=tuple(figures), tables=tuple(_bias_tables(file)))


def _short(name: str, pair: Entry) -> str:
    """A short group label for plots."""
    for rater, side in ((pair["first"], "first"), (pair["second"], "second")):
        if name.startswith(f"{rater} ") and len(rater) > 14:
            return f"{side}: {name.removeprefix(rater).strip()}"
    return name


def _bias_tables(file: ResultFile) -> Iterator[Table]:
    columns = (
        PageColumn("labels"),
        PageColumn("group"),
        counts("items", "/items"),
        PageColumn("mean", "/value", numeric=True, show=format_difference, strong=lambda _: True),
        PageColumn("low", "/low", numeric=True, show=format_difference),
        PageColumn("high", "/high", numeric=True, show=format_difference),
    )
    rows: list[Row] = []
    for at, pair in enumerate(file.data["pairs"]):
        places = [("all",), *_places(pair["bias"])]
        for place, (name, each) in zip(places, groups(pair), strict=True):
            rows.append(row_of(pointer("pairs", at, "bias", *place), columns, each, name_pair(pair), name))
    yield Table("agree-biases", ("Every mean difference.",), file.name, columns, tuple(rows), folded=True)


def _places(bias: Entry) -> Iterator[tuple[str | int, ...]]:
    for name in ("by_first", "by_second", "by_slot", "by_length"):
        for at in range(len(bias[name])):
            yield name, at


def _order(file: ResultFile) -> Iterator[Block]:
    found = file.data["order"]
    if found is None:
        return
    columns = (
        PageColumn("task"),
        counts("pairs", "/pairs"),
        *(
            PageColumn(title, f"/{name}", numeric=True, show=format_value, strong=lambda _: True)
            for title, name in (("same order", "agree"), ("equal", "equal"), ("other order", "disagree"))
        ),
    )
    row = row_of(pointer("order"), columns, found, "neighbors")
    caption = "What people say of neighbors in the ranked lists."
    table = Table("agree-order", (caption,), file.name, columns, (row,))
    yield Block("agree-orders", "Order of neighbors", tables=(table,))


def _design(file: ResultFile) -> Iterator[Block]:
    design = file.data["design"]
    if not design or not design["strata"]:
        return
    columns = (PageColumn("stratum", "/name"), counts("passages", "/population"), counts("answered", "/answered"))
    rows = tuple(row_of(pointer("design", "strata", at), columns, each) for at, each in enumerate(design["strata"]))
    caption = "Passages of each stratum, and how many of them people graded."
    yield Block("agree-design", "The sample", tables=(Table("agree-strata", (caption,), file.name, columns, rows),))
