"""The view of a golden set: whether it can be used, what its labels are, how steady the judge is, and the cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Final, NamedTuple

from trueval.golden.build.golden_result import (
    AuditedDifference,
    DecidableDifference,
    GoldenPassage,
    GoldenResult,
    GoldenStage,
    PoolSource,
    RefinedQuery,
    RefinementRecord,
    RoundAgreement,
)
from trueval.golden.refine.heterogeneity import Heterogeneity, QueryGrades
from trueval.report.figures import Chart, tone
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase, format_value, percent
from trueval.report.page_content import Figure
from trueval.report.plots import TieInterval, plot_dots
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, INTERVAL, NAME, number, unscaled_unit
from trueval.report.view import Answer, Column, Quantity, Section, Sentence, Sheet, View, columns_of

HEIGHT: Final = 170  # CSS pixels of a plot
GRADES: Final = "54321"
# Share of queries without a useful passage from which on a set is not to be used: there every run has the same value.
MOST_BARREN: Final = 0.5


class _Fact(NamedTuple):
    """What was asked, and of what."""

    what: str
    value: str


def view(result: GoldenResult) -> View:
    """What `trueval golden build` shows.

    Args:
        result: of the command.
    """
    found = result.heterogeneity
    grades, refined = result.grades or {}, result.refinement
    about = f"Passages of each grade: {', '.join(f'{grade}: {count:,}' for grade, count in grades.items())}."
    facts: list[Column[_Fact]] = [Column("choice", lambda row: row.what), Column("value", lambda row: row.value)]
    return View(
        title="Golden set",
        answer=_answer(result),
        lead=Figure("golden-grades", "Grades", about, lambda width: grades_plot(grades, width)) if grades else None,
        sections=[
            Section("Stages and what they cost", [_stages(result)], id="golden-stages"),
            *([] if found is None else [_pools(result, found), _judge(result)]),
            *([] if refined is None or not refined.queries else [_refinement(refined)]),
            Section(
                "How the golden set was made",
                [Sheet("What was asked, and of what", list(_facts(result)), facts, only="page")],
                closing=True,
            ),
        ],
        csv=Sheet("", result.stages, columns_of("stage", *(name for _, name in NUMBERS), "cost", "seconds")),
        findings=list(findings(result)),
        legend=[] if refined is None else refined.cannot_know,
    )


def _answer(result: GoldenResult) -> Answer:
    """Whether the set can be used, and what to do next."""
    question, found = "Can this golden set be used?", result.heterogeneity
    again = "trueval golden build CONFIG.toml --out DIR"
    if found is None:
        built = f"It cannot be used yet: it is built up to {result.stages[-1].stage}, and nothing is graded."
        return Answer(built, question, change="The same command goes on from there.", next=again)
    if not result.judged:
        unlabelled = f"It cannot be used: {result.judge.name} gave no valid label."
        return Answer(unlabelled, question, change="Repair the judge: below is what was wrong.", next=again)
    useful = sum(each.judged > 0 for each in found.by_query) - found.useful.without
    total = Quantity(result.collection, "queries", COUNT)
    barren = result.collection.queries - useful
    without = Quantity(found.useful, "without", COUNT) if barren == found.useful.without else f"{barren:,}"
    audited = None if result.decides is None else result.decides.audited
    sure: Sentence = (*_decides(result.decides), *_after_audit(audited, result))
    if barren > MOST_BARREN * result.collection.queries:
        sentence: Sentence = (
            "It cannot be used: ",
            without,
            " of ",
            total,
            " queries have no useful passage (grade 4 or 5).",
        )
        change = (
            "Where a query has none, every run is worth the same. Search deeper ([pool] depth) or with another index; "
            "leave out queries that the corpus does not answer, or add some that it does."
        )
        return Answer(sentence, question, sure, change, again)
    change = (
        "An audit says how far people agree with the judge, and trueval golden correct corrects measures by what they "
        "say."
    )
    if not barren:
        sentence = ("It can be used: each of ", total, " queries has a useful passage (grade 4 or 5).")
    else:
        sentence = (
            "It can be used: all but ",
            without,
            " of ",
            total,
            " queries have a useful passage (grade 4 or 5).",
        )
    if audited is None:
        return Answer(sentence, question, sure, change, "trueval golden audit DIR --size 200")
    if audited.least is None:
        return Answer(sentence, question, sure, change, "trueval golden audit DIR")
    narrower = "More labels narrow the intervals of corrected values: trueval golden correct says how many."
    return Answer(sentence, question, sure, narrower, "trueval golden correct DIR RUN RUN")


def _decides(found: DecidableDifference | None) -> tuple[str | Quantity, ...]:
    """What differences its queries separate, if its labels are right."""
    if found is None or found.least is None:
        return ()
    return (
        f"Its {found.queries:,} queries separate runs that are ",
        Quantity(found, "least"),
        f" or more apart in {found.measure}, with a chance of {found.power:.0%}, if these differ from query to query "
        f"as its {found.first} and {found.second} search do (",
        Quantity(found, "difference", DIFFERENCE),
        "), and its labels are right. ",
    )


def _after_audit(found: AuditedDifference | None, result: GoldenResult) -> tuple[str | Quantity, ...]:
    """What differences can be told with the errors that people found in the labels."""
    if found is None:
        judge = result.judge.name
        return (f"These are labels of {judge} alone{_steadiness(result)}; only an audit says whether people agree.",)
    if found.least is None:
        return (f"What the errors of its labels leave of that is not known yet: {found.unusable}.",)
    return (
        f"Corrected for the errors that {found.labels:,} labels of people found, it separates runs that are ",
        Quantity(found, "least"),
        f" or more apart in {found.measure} (the two searches: ",
        Quantity(found, "difference", DIFFERENCE),
        ").",
    )


def _steadiness(result: GoldenResult) -> str:
    """How often the judge agrees with itself."""
    if not result.rounds or result.judge.name.startswith("labels:"):  # a file says the same each time
        return ""
    least = min(result.rounds, key=lambda each: each.same)
    return f", which gave the same label again to {percent(least.same)} of {least.passages:,} passages"


def findings(result: GoldenResult) -> Iterator[str]:
    """What else a reader should know, the most important first.

    Args:
        result: of the command.
    """
    found = result.heterogeneity
    if found is None:
        return
    unjudged = f"; {result.unjudged:,} got no valid label and are unjudged" if result.unjudged else ""
    grades = ", ".join(f"{(result.grades or {})[grade]:,} of grade {grade}" for grade in GRADES)
    yield (
        f"{result.judge.name} judged {result.judged:,} of {result.passages:,} passages of "
        f"{count_phrase(found.queries, 'query', 'queries')}{unjudged}: {grades}."
    )
    problems = next((each.problems for each in result.stages if each.stage == "grade"), {})
    if result.unjudged and problems:
        problem, calls = max(problems.items(), key=lambda each: each[1])
        yield (
            f"What was wrong most often with the answers of the judge: {problem} "
            f"({count_phrase(calls, 'call', 'calls')})."
        )
    lost = result.collection.queries - found.queries
    if lost:
        yield f"{count_phrase(lost, 'query', 'queries')} found no passage, and nothing is judged there."
    yield from _useful(found)
    yield from _agreement(result)
    yield from _describe_sources(result.sources or ())
    if result.refinement is not None:
        yield from _describe_refinement(result.refinement)
    if result.speaks_to_judge:
        speaking = count_phrase(len(result.speaks_to_judge), "passage seems", "passages seem")
        yield f"{speaking} to speak to a judge. They were graded as any other; look at them."


def _useful(found: Heterogeneity) -> Iterator[str]:
    useful = found.useful
    if useful.median is None or useful.share is None:  # nothing is judged
        return
    without = f"; {count_phrase(useful.without, 'query has', 'queries have')} none" if useful.without else ""
    yield (
        f"Useful passages (grades 4 and 5) of a query: median {useful.median:g}, mean {useful.mean:.1f}, median share "
        f"of its pool {percent(useful.share)}{without}."
    )


def _agreement(result: GoldenResult) -> Iterator[str]:
    for each in result.rounds or ():
        kappa = "" if each.kappa is None else f", quadratic kappa {format_value(each.kappa)}"
        yield (
            f"Rounds {each.first + 1} and {each.second + 1}: {percent(each.same)} of {each.passages:,} passages have "
            f"the same label, {percent(each.within_one)} at most one grade apart{kappa}."
        )
    for again in (stage.repeated for stage in result.stages if stage.repeated is not None):
        twice = f"Asked the same twice ({again.calls} calls), "
        if again.labels and again.labels_differ is not None:
            yield f"{twice}{percent(again.labels_differ)} of {again.labels:,} labels differ."
        if again.orders and again.orders_differ is not None and again.pairs_differ is not None:
            yield (
                f"{twice}{percent(again.orders_differ)} of {again.orders:,} orders and {percent(again.pairs_differ)} "
                "of their pairs differ."
            )


def _describe_sources(sources: Sequence[PoolSource]) -> Iterator[str]:
    searches = [(each, each.ceiling) for each in sources if each.name != "pool" and each.ceiling is not None]
    for each, ceiling in searches if len(searches) > 1 else ():
        yield (
            f"{each.name} search found {each.useful:,} useful passages, {each.useful_alone:,} of them alone; "
            f"PROC(RA-nWG)@10 of what it found is {format_value(ceiling.expected)}."
        )


def _describe_refinement(refinement: RefinementRecord) -> Iterator[str]:
    queries = refinement.queries
    if not queries:
        return
    calls = fmean(each.calls for each in queries)
    told = f"Refinement: {count_phrase(len(queries), 'query', 'queries')}, {calls:.1f} calls each"
    # Where all passages are returned, the overlap is 1 whatever was answered: that claims nothing.
    claiming = [(each, each.overlap) for each in queries if each.overlap is not None and each.passages > each.top]
    whole = sum(each.passages <= each.top for each in queries)
    if whole:
        told += (
            f"; for {count_phrase(whole, 'query', 'queries')} all passages are returned, and only their order "
            "was asked about"
        )
    if claiming:
        overlaps = [overlap for _, overlap in claiming]
        budget = sum(each.stopped == "budget" for each, _ in claiming)
        told += (
            f"; expected overlap with the judge's own best {fmean(overlaps):.3f} on average and {min(overlaps):.3f} at "
            f"least; {budget} ended at the budget of calls"
        )
    yield f"{told}. It certifies the order of the judge, not the truth."


def money(value: float | None) -> str:
    """A cost with four digits.

    >>> money(0.71234), money(None)
    ('0.7123', '–')
    """
    return NOT_AVAILABLE if value is None else f"{value:.4g}"


MONEY: Final = unscaled_unit(money)
# Numbers of a stage: heading, attribute.
NUMBERS: Final = (
    ("queries", "queries"),
    ("passages", "passages"),
    ("calls", "calls"),
    ("not\nvalid", "invalid"),
    ("tokens out", "tokens_in"),
    ("tokens\nback", "tokens_out"),
)
LEAVES: Final = {"tokens_out": 1, "queries": 2}


def _stages(result: GoldenResult) -> Sheet[GoldenStage]:
    counts = [
        Column[GoldenStage](title, column.value, COUNT, LEAVES.get(name, 0))
        for (title, name), column in zip(NUMBERS, columns_of(*(name for _, name in NUMBERS)), strict=True)
    ]
    columns: list[Column[GoldenStage]] = [
        Column("stage", lambda row: row.stage, NAME),
        *counts,
        Column("cost", lambda row: row.cost, MONEY, strong=True),
        Column("seconds", lambda row: row.seconds, number(".3g")),
        Column("written", lambda row: row.written, only="page"),
    ]
    notes = ["A stage that was interrupted counts all its calls; its seconds are those of its last run."]
    return Sheet("What each stage took", result.stages, columns, notes=notes, id="golden-costs")


def _pools(result: GoldenResult, found: Heterogeneity) -> Section:
    columns: list[Column[PoolSource]] = [
        Column("found by", lambda row: row.name, NAME),
        Column("passages", lambda row: row.passages, COUNT),
        Column("alone", lambda row: row.alone, COUNT),
        Column("useful", lambda row: row.useful, COUNT),
        Column("useful, alone", lambda row: row.useful_alone, COUNT),
        Column(
            "PROC(RA-nWG)@10", lambda row: None if row.ceiling is None else row.ceiling.expected, FRACTION, strong=True
        ),
        Column("ties", lambda row: row.ceiling, INTERVAL, ends=("lowest", "highest")),
    ]
    sources = Sheet(
        "What each search gave to the pools, and what the best ten of it could be worth by these judgments",
        result.sources or (),
        columns,
        notes=["What no search found is not judged: a ceiling of 1 says that nothing better was found."],
        only="page",
        id="golden-sources",
    )
    by_query: list[Column[QueryGrades]] = [
        Column("query", lambda row: row.query, NAME),
        Column("judged", lambda row: row.judged, COUNT),
        Column("unjudged", lambda row: row.unjudged, COUNT),
        *map(_grade, GRADES),
    ]
    title = "Passages of each query by grade"
    queries = Sheet(title, found.by_query, by_query, folded=True, only="page", id="golden-queries")
    return Section("Pools and grades", [sources, queries], id="golden-pools")


def _grade(grade: str) -> Column[QueryGrades]:
    return Column(f"grade {grade}", lambda row: row.grades[grade], COUNT)


def grades_plot(grades: Mapping[str, int], width: int) -> Chart:
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


def _judge(result: GoldenResult) -> Section:
    figures, rounds = list[Figure](), result.rounds or ()
    if rounds:
        table = rounds[0].table
        about = (
            f"How often each pair of labels was given in rounds {rounds[0].first + 1} and {rounds[0].second + 1}; "
            f"{percent(rounds[0].same)} are the same."
        )
        figures.append(Figure("golden-rounds", "Labels of two rounds", about, lambda width: rounds_plot(table, width)))
    dots = [
        TieInterval(f"slot {each.slot}", each.mean, each.mean - each.error, each.mean + each.error)
        for each in result.slots or ()
        if each.error is not None
    ]
    if dots:
        about = "The mean label of each slot of a call. Passages are shuffled: a slope is a bias of the judge."
        title = "Labels by slot, ± standard error"
        figures.append(Figure("golden-slots", title, about, partial(plot_dots, dots)))
    columns: list[Column[RoundAgreement]] = [
        Column("rounds", lambda row: f"{row.first + 1:d} and {row.second + 1:d}", NAME),
        Column("passages", lambda row: row.passages, COUNT),
        Column("same", lambda row: row.same, FRACTION),
        Column("within one", lambda row: row.within_one, FRACTION),
        Column("difference", lambda row: row.difference, FRACTION),
        Column("quadratic kappa", lambda row: row.kappa, FRACTION),
    ]
    agreement = "How far the labels of two rounds agree: other companions, another slot, another call"
    passage: list[Column[GoldenPassage]] = [
        Column("query", lambda row: row.query, NAME),
        Column("document", lambda row: row.document, NAME),
    ]
    speaking = "Passages that seem to speak to a judge rather than to a reader; they were graded as any other"
    return Section(
        "How steady the judge is",
        [
            *([Sheet(agreement, rounds, columns, only="page", id="golden-agreement")] if rounds else []),
            *(
                [Sheet(speaking, result.speaks_to_judge, passage, only="page", id="golden-speaking")]
                if result.speaks_to_judge
                else []
            ),
        ],
        figures=figures,
        id="golden-judge",
    )


def rounds_plot(table: Sequence[Sequence[int]], width: int) -> Chart:
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
        y=alt.Y("first:N", title="first round", sort=list(GRADES)),
    )
    # Tones are variables of the page, which no scale of colors can mix.
    depth = alt.FillOpacity("passages:Q", legend=None, scale=alt.Scale(type="sqrt", range=[0, 1]))
    cells = base.mark_rect(stroke=tone("line"), fill=tone("range")).encode(fillOpacity=depth)
    return alt.layer(cells, base.mark_text(color=tone("text")).encode(text="shown:N")).properties(
        width=width - 60, height=HEIGHT + 30
    )


def _refinement(refinement: RefinementRecord) -> Section:
    columns: list[Column[RefinedQuery]] = [
        Column("query", lambda row: row.query, NAME),
        Column("passages", lambda row: row.passages, COUNT),
        Column("calls", lambda row: row.calls, COUNT),
        Column("stopped by", lambda row: row.stopped),
        Column("expected overlap", lambda row: row.overlap, FRACTION, strong=True),
        Column("in no order", lambda row: row.unchecked, COUNT),
        Column("tie bands", lambda row: row.bands, COUNT),
        Column("pairs that differ", lambda row: row.disagreement, FRACTION),
        Column("cycles", lambda row: row.cycles, COUNT),
        Column("against grades", lambda row: row.inversions, COUNT),
    ]
    words = (
        "The refinement stops when the best passages are expected to belong to the judge's own best by so much; "
        "simulations show how true such claims are (docs/golden.md)."
    )
    title = "How the refinement of each query ended"
    sheet = Sheet(title, refinement.queries, columns, only="page", id="golden-refined")
    claimed = [each for each in refinement.queries if each.overlap is not None]
    about = "Calls of each query, and the expected overlap at which its refinement stopped."
    figures = [Figure("golden-stop", "Where it stopped", about, lambda width: stop_plot(claimed, width))]
    return Section("The best in order", [sheet], words, figures[: bool(claimed)], id="golden-refinement")


def stop_plot(queries: Sequence[RefinedQuery], width: int) -> Chart:
    """Calls and expected overlap of each query.

    Args:
        queries: with an expected overlap.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    rows = [
        {"query": each.query, "calls": each.calls, "overlap": each.overlap, "stopped": each.stopped} for each in queries
    ]
    plot = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=52, opacity=0.7)
    colors = alt.Scale(domain=["overlap", "budget"], range=[tone("expected"), tone("run-1")])
    return plot.encode(
        x=alt.X("calls:Q", title="calls", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("overlap:Q", title="expected overlap", scale=alt.Scale(zero=False)),
        color=alt.Color("stopped:N", title="stopped by", scale=colors, legend=alt.Legend(orient="bottom")),
        tooltip=["query:N", "calls:Q", "overlap:Q"],
    ).properties(width=width - 60, height=HEIGHT)


def _facts(result: GoldenResult) -> Iterator[_Fact]:
    judge, collection = result.judge, result.collection
    settings = f"mode {judge.mode}, batch {judge.batch}, rounds {judge.rounds}, aggregate {judge.aggregate}"
    yield _Fact("judge", f"{judge.name}: {settings}")
    for stage in result.stages:
        if stage.models:
            models = ", ".join(f"{name or 'unnamed'} ({count:,} calls)" for name, count in stage.models.items())
            yield _Fact(f"models that answered in {stage.stage}", models)
        asked = stage.parameters.get("judge", {})
        if "prompt" in asked:
            yield _Fact(f"prompt of {stage.stage}", f"{asked['prompt']}, SHA-256 {asked['sha256'][0]}")
        if stage.problems:
            problems = "; ".join(f"{problem} ({count:,})" for problem, count in stage.problems.items())
            yield _Fact(f"not valid in {stage.stage}", problems)
    texts = f"{collection.name}, {collection.documents:,} documents, SHA-256 {collection.sha256['documents']}"
    yield _Fact("corpus", texts)
    yield _Fact("seed", f"{result.seed}")
