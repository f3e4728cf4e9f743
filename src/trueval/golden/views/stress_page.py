"""The page of judges under stress: κ and τ, false and missed differences, systems under all judges, families."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trueval.golden.views.stress import describe_findings, format_lift, legend
from trueval.report.figures import NARROW, Chart, axis_domain, tone
from trueval.report.number_texts import format_difference, format_value
from trueval.report.page_content import Block, Figure, Number, PageColumn, Part, Table, Words, counts, row_of
from trueval.report.plots import TieInterval, dot_plot, row_height
from trueval.report.result_directory import Directory, ResultFile, pointer

Entry = Mapping[str, Any]

HEIGHT: Final = 230  # CSS pixels of a plot
NAMED: Final = 8  # judges up to which the plot names each of them
OF_SYSTEMS: Final = (("bar", "range over judges"), ("dot", "by people"))
OF_TAU: Final = (("bar", "interval over queries"), ("dot", "τ"))


def build(file: ResultFile, directory: Directory) -> Part:
    """Build the page of one result.

    Args:
        file: the result.
        directory: unused.
    """
    blocks = [block for at in range(len(file.data["measures"])) for block in _blocks(file, at)]
    return Part(
        verdict=_verdict(file), summary=tuple((line,) for line in describe_findings(file.data)), blocks=tuple(blocks)
    )


def _verdict(file: ResultFile) -> Words:
    measure = file.data["measures"][0]
    known = [
        (each["tau"]["value"], at) for at, each in enumerate(measure["judges"]) if each["tau"]["value"] is not None
    ]
    if not known:
        return (f"{measure['measure']}: nothing can be said of the order of the systems.",)
    value, at = max(known)
    judge = measure["judges"][at]
    tau = Number(format_value(value), value, file.source("measures", "0", "judges", str(at), "tau", "value"))
    kappa = file.data["labels"][at]["coefficients"]["kappa_quadratic"]["value"]
    words: Words = (f"{judge['judge']} ranks systems most like people: τ ", tau, f" on {measure['measure']}")
    if kappa is not None:
        where = file.source("labels", str(at), "coefficients", "kappa_quadratic", "value")
        words = (*words, ", with a quadratic κ of its labels of ", Number(format_value(kappa), kappa, where))
    return (*words, ".")


def _blocks(file: ResultFile, at: int) -> Iterator[Block]:
    measure = file.data["measures"][at]
    name = measure["measure"]
    figures = [*_taus(file, at), *_hidden(file, at)]
    tables = (_judges(file, at), _differences(file, at), _labels(file, at))
    yield Block(f"stress-judges-{at}", f"{name}: judges against people", figures=tuple(figures), tables=tables)
    dots = [
        TieInterval(each["run"], each["mean"], each["least_mean"], each["greatest_mean"]) for each in measure["systems"]
    ]
    about = f"{name} of each run by people, and its range over judges, best by people first."
    plot = dot_plot(dots, row=row_height(len(dots)))
    figure = Figure(f"stress-systems-plot-{at}", "Systems", about, plot, key=OF_SYSTEMS)
    title, listed = f"{name}: systems under all judges", (_systems(file, at), _pairs(file, at))
    yield Block(f"stress-systems-{at}", title, figures=(figure,), tables=listed)
    if measure["families"]:
        words = (
            "A judge may like what a model of its own family wrote or ranked. lift: mean ranks that such runs are "
            "higher under the judge than under people; by others: the same runs under judges of other families. Ranks "
            "saturate; what a judge adds is in the measure: the value of such runs under the judge less that under "
            "people, beyond the same of all other runs."
        )
        title = f"{name}: runs of the judge's own family"
        yield Block(f"stress-families-{at}", title, words=((words,),), tables=(_families(file, at),))


def _taus(file: ResultFile, at: int) -> Iterator[Figure]:
    dots = [
        TieInterval(each["judge"], each["tau"]["value"], each["tau"]["low"], each["tau"]["high"])
        for each in file.data["measures"][at]["judges"]
        if each["tau"]["low"] is not None
    ]
    if dots:
        dots.sort(key=lambda dot: -dot.expected)
        about = "Kendall's τ of the systems by each judge and by people, with its interval over queries."
        plot = dot_plot(dots, row=row_height(len(dots)))
        yield Figure(f"stress-tau-{at}", "τ of the systems", about, plot, key=OF_TAU)


def _hidden(file: ResultFile, at: int) -> Iterator[Figure]:
    points = [
        {"judge": judge["judge"], "kappa": kappa, "tau": judge["tau"]["value"]}
        for labels, judge in zip(file.data["labels"], file.data["measures"][at]["judges"], strict=True)
        if (kappa := labels["coefficients"]["kappa_quadratic"]["value"]) is not None
        and judge["tau"]["value"] is not None
    ]
    if len(points) > 1:
        about = "Agreement of labels (quadratic κ) against agreement of rankings (τ), a point for each judge."
        yield Figure(f"stress-kappa-{at}", "Labels and rankings", about, kappa_plot(points))


def kappa_plot(points: list[dict[str, Any]], *, width: int = NARROW) -> Chart:
    """κ of labels against τ of systems.

    Args:
        points: judge, kappa and tau of each.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    x = alt.Scale(domain=axis_domain([each["kappa"] for each in points]), nice=False, zero=False)
    y = alt.Scale(domain=axis_domain([each["tau"] for each in points]), nice=False, zero=False)
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("kappa:Q", title="quadratic κ of the labels", scale=x, axis=alt.Axis(tickCount=4)),
        y=alt.Y("tau:Q", title="τ of the systems", scale=y, axis=alt.Axis(tickCount=4)),
        tooltip=["judge:N", "kappa:Q", "tau:Q"],
    )
    layers = [base.mark_point(filled=True, size=60, color=tone("expected"), opacity=0.75)]
    if len(points) <= NAMED:
        layers.append(base.mark_text(align="left", dx=7, dy=-6, color=tone("quiet"), limit=110).encode(text="judge:N"))
    return alt.layer(*layers).properties(width=width - 60, height=HEIGHT)


def _judges(file: ResultFile, at: int) -> Table:
    columns = (
        PageColumn("judge", "/judge"),
        _value("τ", "/tau/value", strong=True),
        _value("low", "/tau/low"),
        _value("high", "/tau/high"),
        _value("τ top", "/tau_top/value"),
    )
    measure = file.data["measures"][at]
    rows = tuple(
        row_of(pointer("measures", at, "judges", place), columns, each) for place, each in enumerate(measure["judges"])
    )
    caption = "How the systems are ranked by each judge and by people."
    return Table(f"stress-tau-table-{at}", (caption,), file.name, columns, rows, notes=tuple(legend(file.data)))


def _differences(file: ResultFile, at: int) -> Table:
    columns = (
        PageColumn("judge", "/judge"),
        _value("false rate", "/all/false_rate", strong=True),
        _value("missed rate", "/all/missed_rate", strong=True),
        counts("false", "/all/false"),
        counts("missed", "/all/missed"),
        counts("reversed", "/all/reversed"),
        counts("same", "/all/same"),
        counts("separated", "/separated"),
        _value("false rate, top", "/best/false_rate"),
        _value("missed rate, top", "/best/missed_rate"),
    )
    measure = file.data["measures"][at]
    rows = tuple(
        row_of(pointer("measures", at, "judges", place), columns, each) for place, each in enumerate(measure["judges"])
    )
    caption = f"People separate {measure['separated']} of {measure['spread']['pairs']} pairs of systems."
    return Table(f"stress-judge-table-{at}", (caption,), file.name, columns, rows)


def _labels(file: ResultFile, at: int) -> Table:
    names = {
        "kappa": "κ",
        "kappa_quadratic": "κ quadratic",
        "alpha_ordinal": "α ordinal",
        "alpha_interval": "α interval",
    }
    columns = (
        PageColumn("judge", "/judge"),
        counts("items", "/items"),
        *(_value(title, f"/coefficients/{name}/value") for name, title in names.items()),
    )
    rows = tuple(row_of(pointer("labels", place), columns, each) for place, each in enumerate(file.data["labels"]))
    hidden = file.data["measures"][at]["kappa_and_tau"]["kappa_quadratic"]
    note = () if hidden is None else (f"Over judges, quadratic κ and τ are correlated by τ-b {format_value(hidden)}.",)
    return Table(
        f"stress-label-table-{at}", ("Agreement of labels with people.",), file.name, columns, rows, notes=note
    )


def _systems(file: ResultFile, at: int) -> Table:
    columns = (
        PageColumn("run", "/run"),
        _value("by people", "/mean", strong=True),
        _value("least", "/least_mean"),
        _value("greatest", "/greatest_mean"),
        _rank("rank by people", "/rank"),
        _rank("best rank", "/best_rank"),
        _rank("worst rank", "/worst_rank"),
    )
    found = file.data["measures"][at]["systems"]
    rows = tuple(row_of(pointer("measures", at, "systems", place), columns, each) for place, each in enumerate(found))
    return Table(f"stress-system-table-{at}", ("Means and ranks over judges.",), file.name, columns, rows)


def _pairs(file: ResultFile, at: int) -> Table:
    columns = (
        PageColumn("first", "/first"),
        PageColumn("second", "/second"),
        PageColumn("people say", "/people"),
        counts("first", "/judges/first"),
        counts("second", "/judges/second"),
        counts("none", "/judges/none"),
        counts("with people", "/with_people"),
    )
    found = file.data["measures"][at]["pairs"]
    rows = tuple(row_of(pointer("measures", at, "pairs", place), columns, each) for place, each in enumerate(found))
    caption = "Every pair: which system people find better, and how many judges say first, second or none."
    return Table(f"stress-pairs-{at}", (caption,), file.name, columns, rows, folded=True)


def _families(file: ResultFile, at: int) -> Table:
    columns = (
        PageColumn("judge", "/judge"),
        PageColumn("family", "/family"),
        counts("runs", "/runs"),
        _lift("lift", "/lift/own/value"),
        _lift("by others", "/lift/others/value"),
        _lift("extra", "/lift/extra/value", strong=True),
        _lift("low", "/lift/extra/low"),
        _lift("high", "/lift/extra/high"),
        _signed_column("adds", "/lift_in_measure/own/value"),
        _signed_column("others add", "/lift_in_measure/others/value"),
        _signed_column("adds more", "/lift_in_measure/extra/value", strong=True),
        _signed_column("least", "/lift_in_measure/extra/low"),
        _signed_column("most", "/lift_in_measure/extra/high"),
        _value("τ", "/tau/value"),
        _value("τ without them", "/tau_without/value"),
        _value("false rate without", "/without/false_rate"),
        _value("missed rate without", "/without/missed_rate"),
    )
    found = file.data["measures"][at]["families"]
    rows = tuple(row_of(pointer("measures", at, "families", place), columns, each) for place, each in enumerate(found))
    return Table(f"stress-family-table-{at}", ("Lifts, in ranks and in the measure.",), file.name, columns, rows)


def _value(title: str, field: str, *, strong: bool = False) -> PageColumn:
    return PageColumn(title, field, numeric=True, show=format_value, strong=lambda _: strong)


def _rank(title: str, field: str) -> PageColumn:
    return PageColumn(title, field, numeric=True, show=lambda value: f"{value:g}")


def _lift(title: str, field: str, *, strong: bool = False) -> PageColumn:
    return PageColumn(title, field, numeric=True, show=format_lift, strong=lambda _: strong)


def _signed_column(title: str, field: str, *, strong: bool = False) -> PageColumn:
    return PageColumn(title, field, numeric=True, show=format_difference, strong=lambda _: strong)
