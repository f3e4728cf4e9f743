"""The view of retrieval: which list is best, what each stage keeps and gains, how many of its candidates tie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Final, NamedTuple

from trueval.evaluation.evaluation_result import MeasureMeans
from trueval.report.figures import Chart, tone
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase, format_value, percent
from trueval.report.page_content import Figure
from trueval.report.plots import DOT_KEY, TieInterval, plot_dots
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, NAME, YES_NO, Unit, interval_of, number, unscaled_unit
from trueval.report.view import Answer, Column, Quantity, Section, Sentence, Sheet, View
from trueval.retrieval.pipeline.config import formats_used
from trueval.retrieval.pipeline.retrieve_result import PipelineRun, PipelineStage, Retrieval, StageGain

HEIGHT: Final = 170  # CSS pixels of a plot
# What becomes of a document, from the bottom of a bar, and its color.
KEPT: Final = ("kept, alone", "kept, tied", "lost")
FOUND: Final = ("kept", "lost")
TONES: Final = {"kept, alone": "expected", "kept, tied": "range", "kept": "good", "lost": "line"}
# A stage → how a sentence names what it does.
DEEDS: Final = {
    "fuse": "fusion",
    "rerank": "reranking",
    "deduplicate": "deduplication",
    "boost": "boosting",
    "repair": "the repair",
}
DIFFERS: Final = 1e-12  # sums of the same values in another order differ by less

Words = tuple[str | Quantity, ...]
SIZE: Final = Unit(  # of a difference whose direction is in words
    lambda value, scale: format_value(None if value is None else abs(value), scale),
    "r",
    lambda value: format_value(None if value is None else abs(value)),
)
P: Final = number(".2g")
SECONDS: Final = number(".3g")
KEPT_IN_CACHE: Final = "kept"
COLUMNS: Final = ("name", "queries", "given", "documents", "tied_fraction", "seconds", "made_seconds", "cached")


class _Side(NamedTuple):
    """The stages in float32, or in the dtype of the models."""

    scoring: str
    run: Retrieval | PipelineRun


class _Row(NamedTuple):
    """A stage of a side."""

    scoring: str
    stage: PipelineStage


class _Ends(NamedTuple):
    """The ends of a range."""

    low: float | None
    high: float | None


class _Repaired(NamedTuple):
    """A query, the number of documents surely among its first k, and those that were scored again."""

    query: str
    sure: int
    documents: tuple[str, ...]


REPAIRED: Final[tuple[Column[_Repaired], ...]] = (
    Column("query", lambda row: row.query, NAME),
    Column("sure", lambda row: row.sure, COUNT),
    Column("again", lambda row: len(row.documents), COUNT, strong=True),
    Column("documents", lambda row: " ".join(row.documents), NAME, leaves=1),
)


class _Setting(NamedTuple):
    """A table of the pipeline."""

    table: str
    values: str


def view(result: Retrieval) -> View:
    """What `trueval retrieve` shows.

    Args:
        result: of the command.
    """
    figures = list(_figures(result))
    gains = result.judged.gains if result.judged else ()
    settings: list[Column[_Setting]] = [
        Column("table", lambda row: row.table),
        Column("settings", lambda row: row.values),
    ]
    return View(
        title="Retrieval",
        answer=_answer(result),
        lead=figures[0],
        sections=[
            *([Section("Against the best single list", [_gains(gains)], id="stages-gains")] if gains else []),
            Section("The stages", [_stages(side) for side in _sides(result)], figures=figures[1:], id="pipeline"),
            *_repair_sections(result),
            Section(
                "Settings of the pipeline",
                [Sheet("The settings of each stage", list(_settings(result)), settings, only="page")],
                closing=True,
            ),
        ],
        csv=_csv(result),
        findings=list(findings(result)),
        legend=list(_legend(result)),
    )


def _answer(result: Retrieval) -> Answer:
    """Which list is best, and what the pipeline won or lost against the best single one."""
    question, last = "Which list is best?", result.stages[-1]
    mean = _mean(last)
    if result.judged is None or mean is None:
        found = Quantity(last, "documents", COUNT)
        queries = f" candidates for {count_phrase(last.queries, 'query', 'queries')} of {result.collection.name}"
        return Answer(
            (f"{result.name} found ", found, f"{queries}; without judgments it is not known which list is best."),
            question,
            next="trueval retrieve COLLECTION --pipeline FILE --qrels QRELS --out DIR",
        )
    gains = result.judged.gains
    if not gains:
        sure = _describe_ties(mean)
        sentence: Sentence = (
            f"There is one list, {last.name}: {_measure(result)} is ",
            Quantity(mean, "expected"),
            ".",
        )
        return Answer(sentence, question, sure, next="trueval evaluate QRELS RUN")
    best, end = max(gains, key=lambda gain: gain.difference), gains[-1]
    chosen = best if best.difference > 0 else end
    return Answer(_describe_best(chosen, end), question, _describe_certainty(chosen), **_next(chosen))


def _describe_best(chosen: StageGain, end: StageGain) -> Words:
    deed, over = _deed(chosen.stage), chosen.over
    p: Words = () if chosen.p != chosen.p else (", p ", Quantity(chosen, "p", P))
    if abs(chosen.difference) <= DIFFERS:
        return (f"{deed.capitalize()} changes nothing: {chosen.measure} is that of {over}, the best single list.",)
    if not chosen.separated:
        difference = Quantity(chosen, "difference", DIFFERENCE)
        words: Words = (f"{deed.capitalize()} against {over}, the best single list: ",)
        return (*words, difference, f" {chosen.measure}, {chosen.verdict}", *p, ".")
    size = Quantity(chosen, "difference", SIZE)
    if chosen.difference < 0:
        return (f"{over} is best: {deed} lost ", size, f" of {chosen.measure} to it, {chosen.verdict}", *p, ".")
    words = (
        f"{deed.capitalize()} is best: it gained ",
        size,
        f" of {chosen.measure} over {over}, the best single list, ",
    )
    words = (*words, chosen.verdict, *p)
    if chosen is end:
        return (*words, ".")
    after = "gained only" if end.difference > 0 else "lost"
    return (*words, f"; {_deed(end.stage)}, at the end, {after} ", Quantity(end, "difference", SIZE), ".")


def _describe_certainty(gain: StageGain) -> Words:
    interval = ("Over queries the difference lies in [", Quantity(gain, "low", DIFFERENCE), ", ")
    ties = ("Equal scores can make it ", Quantity(gain, "lowest", DIFFERENCE), " to ")
    known: Words = () if gain.low != gain.low else (*interval, Quantity(gain, "high", DIFFERENCE), "]. ")
    if abs(gain.highest - gain.lowest) <= DIFFERS:
        return (*known, "No tie affects it.")
    return (*known, *ties, Quantity(gain, "highest", DIFFERENCE), ".")


def _next(gain: StageGain) -> dict[str, str]:
    """What would change the answer, and the command for it."""
    if not gain.separated and abs(gain.difference) > DIFFERS:
        more = "More judged queries may decide it; trueval power says how many, of two runs."
        return {"change": more, "next": "trueval evaluate QRELS RUN"}
    if gain.difference > -DIFFERS:
        return {"next": "trueval evaluate QRELS RUN"}
    weights = ", or weigh the lists ([fuse] weights)" if gain.stage == "fuse" else ""
    change = f"Use {gain.over} alone{weights}."
    return {"change": change, "next": "trueval retrieve COLLECTION --pipeline FILE --out DIR"}


def _deed(stage: str) -> str:
    return DEEDS.get(stage, stage)


def _mean(stage: PipelineStage) -> MeasureMeans | None:
    """The mean of the last measure, which stages are compared by."""
    return None if stage.measures is None else stage.measures[list(stage.measures)[-1]]


def _measure(run: Retrieval | PipelineRun) -> str:
    """The name of that measure; empty without judgments."""
    return list(run.stages[-1].measures or [""])[-1]


def _describe_ties(mean: MeasureMeans) -> Words:
    if not mean.range > DIFFERS:
        return ("No tie affects it.",)
    return ("Equal scores can make it ", Quantity(mean, "lowest"), " to ", Quantity(mean, "highest"), ".")


def findings(result: Retrieval) -> Iterator[Sentence]:
    """What else a reader should know: what other stages gained, ties, precision, and the remarks of the stages.

    Args:
        result: of the command.
    """
    for gain in result.judged.gains[:-1] if result.judged else ():
        words = (f"After {_deed(gain.stage)} {gain.measure} differs from that of {gain.over} by ",)
        yield (*words, Quantity(gain, "difference", DIFFERENCE), f": {gain.verdict}.")
    yield from formats_used(result.settings)
    last = result.stages[-1]
    if last.tied_fraction:
        yield (
            f"{percent(last.tied_fraction)} of the candidates tie in the end; trueval evaluate says what their order "
            "can change."
        )
    if result.low is not None:
        yield from _describe_precision(result, result.low)
    kept = sum(stage.cached for stage in result.stages)
    if kept:
        were = count_phrase(kept, "stage was", "stages were")
        yield f"kept: {were} taken from the cache; seconds are those of reading."
    for stage in result.stages:
        yield from (f"{stage.name}: {note}" for note in stage.notes)
    yield from result.judged.notes if result.judged else ()


def _describe_precision(high: Retrieval, low: PipelineRun) -> Iterator[Sentence]:
    """What low precision does to the pipeline, where it was run in both."""
    ties = [[stage.tied_fraction for stage in side.stages] for side in (low, high)]
    apart = [a - b for a, b in zip(*ties, strict=True)]
    most = max(range(len(apart)), key=lambda place: abs(apart[place]))
    if not apart[most]:
        yield f"Scored in the dtype of the models as many candidates tie as in float32, {percent(ties[0][-1])}."
    else:
        yield (
            f"Scored in the dtype of the models {percent(ties[0][-1])} of the candidates tie in the end, in float32 "
            f"{percent(ties[1][-1])}. The two differ most at {high.stages[most].name}: {percent(ties[0][most])} and "
            f"{percent(ties[1][most])}, {100 * apart[most]:+.1f} points."
        )
    means = [_mean(side.stages[-1]) for side in (low, high)]
    if means[0] is not None and means[1] is not None:
        values = [
            (Quantity(each, "expected"), " [", Quantity(each, "lowest"), ", ", Quantity(each, "highest"), "]")
            for each in means
        ]
        yield (f"{_measure(high)} is ", *values[0], " in the dtype of the models and ", *values[1], " in float32.")


def _sides(result: Retrieval) -> list[_Side]:
    if result.low is None:
        return [_Side("", result)]
    return [_Side("float32", result), _Side("the models' dtype", result.low)]


def _gains(gains: Sequence[StageGain]) -> Sheet[StageGain]:
    columns: list[Column[StageGain]] = [
        Column("stage", lambda row: row.stage, NAME),
        Column("over", lambda row: row.over, NAME),
        Column(gains[0].measure, lambda row: row.difference, DIFFERENCE, strong=True),
        Column("interval", lambda row: _Ends(row.low, row.high), interval_of(DIFFERENCE), leaves=1),
        Column(
            "ties", lambda row: _Ends(row.lowest, row.highest), interval_of(DIFFERENCE), 2, ends=("lowest", "highest")
        ),
        Column("p", lambda row: row.p, P),
        Column("verdict", lambda row: row.verdict, unscaled_unit(str, "t")),
    ]
    return Sheet("What each stage gained over the best single list", gains, columns, id="gains")


def _measure_part(part: str, measure: str) -> Callable[[PipelineStage], object]:
    return lambda row: None if row.measures is None else getattr(row.measures[measure], part)


def _count_lost_relevant(stage: PipelineStage) -> int:
    """Relevant documents that a stage did not keep of those it was given; of a search, that it did not find."""
    return (stage.relevant_given or 0) - (stage.relevant or 0)


def _stages(side: _Side) -> Sheet[PipelineStage]:
    measure = _measure(side.run)
    measured: list[Column[PipelineStage]] = [
        Column("relevant", lambda row: row.relevant, COUNT),
        Column("relevant lost", _count_lost_relevant, COUNT, only="page"),
        Column("R", _measure_part("expected", "R"), FRACTION, only="page"),
        Column(measure, _measure_part("expected", measure), FRACTION, strong=True),
        Column("lowest", _measure_part("lowest", measure), FRACTION),
        Column("highest", _measure_part("highest", measure), FRACTION),
    ]
    columns: list[Column[PipelineStage]] = [
        Column("stage", lambda row: row.name, NAME),
        Column("queries", lambda row: row.queries, COUNT),
        Column("candidates", lambda row: row.documents, COUNT),
        Column("lost", lambda row: "" if row.given is None else row.given - row.documents, COUNT),
        Column("tied", lambda row: row.tied_fraction, FRACTION),
        *(measured if side.run.judged else []),
        Column("seconds", lambda row: row.seconds, SECONDS),
        Column("cold", lambda row: row.made_seconds, SECONDS),
        Column("", lambda row: KEPT_IN_CACHE if row.cached else "", only="text"),
        Column("from the cache", lambda row: row.cached, YES_NO, only="page"),
    ]
    of = f", scored in {side.scoring}" if side.scoring else ""
    name = "stages-low" if isinstance(side.run, PipelineRun) else "stages"
    return Sheet(f"What each stage gives to the next one{of}", side.run.stages, columns, id=name)


def _repair_sections(result: Retrieval) -> Iterator[Section]:
    """The documents that a stage [repair] scored again, query by query, for the page."""
    for side in _sides(result):
        repair = side.run.stages[-1].repair
        if repair is not None and repair.documents:
            rows = [_Repaired(query, repair.sure[query], documents) for query, documents in repair.documents.items()]
            of = f", scored in {side.scoring}" if side.scoring else ""
            sheet = Sheet(f"Documents scored again in float32{of}", rows, REPAIRED, only="page", folded=True)
            yield Section(f"Repair{of}", [sheet])


def _csv(result: Retrieval) -> Sheet[_Row]:
    def of(path: str) -> Callable[[_Row], object]:
        read = attrgetter(path)
        return lambda row: read(row.stage)

    def mean(part: str, measure: str) -> Callable[[_Row], object]:
        read = _measure_part(part, measure)
        return lambda row: read(row.stage)

    columns: list[Column[_Row]] = [
        *([Column[_Row]("scoring", lambda row: row.scoring)] if result.low else []),
        *(Column(name, of(name)) for name in COLUMNS),
    ]
    if result.judged:
        columns += [*(Column(name, of(name)) for name in ("relevant_given", "relevant"))]
        columns += [Column("R", mean("expected", "R")), Column(_measure(result), mean("expected", _measure(result)))]
        columns += [Column(end, mean(end, _measure(result))) for end in ("lowest", "highest")]
    rows = [_Row(side.scoring, stage) for side in _sides(result) for stage in side.run.stages]
    return Sheet("", rows, columns)


def _settings(result: Retrieval) -> Iterator[_Setting]:
    for table, values in result.settings.items():
        said = ", ".join(f"{key} {_format_setting(value)}" for key, value in values.items() if value is not None)
        yield _Setting(f"[{table}]", said or NOT_AVAILABLE)


def _format_setting(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " + ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _legend(result: Retrieval) -> Iterator[str]:
    yield (
        "candidates: that a stage gives to the next; lost: of its input; tied: share of candidates with the score of "
        "another; seconds: now; cold: when the candidates were computed."
    )
    if result.judged:
        yield (
            f"relevant: of {result.judged.relevant:,} documents of grade {result.judged.rel:g} or higher; lowest, "
            f"highest: {_measure(result)} over all orders of equal scores."
        )
    if result.judged and result.judged.gains:
        yield (
            "over: the search with the best list of its own; interval: of the difference, over queries, at level 0.95 "
            "for all stages together; p: of the randomization test, adjusted for all stages."
        )


def _figures(result: Retrieval) -> Iterator[Figure]:
    """The worth of each stage, and what becomes of candidates and relevant documents."""
    stages = result.stages
    if result.judged:
        dots = [
            TieInterval(stage.name, mean.expected, mean.lowest, mean.highest, mean.tie_broken)
            for stage in stages
            if (mean := _mean(stage)) is not None
        ]
        title = f"{_measure(result)} of each stage"
        about = f"{title}, expected value and tie range of its candidates, in the order of the stages."
        yield Figure("stages-values", title, about, partial(plot_dots, dots), key=DOT_KEY)
    ties = ", ".join(f"{stage.name} {count_tied_candidates(stage):,} of {stage.documents:,}" for stage in stages)
    yield Figure(
        "stages-candidates",
        "Candidates of each stage",
        f"What each stage keeps of the candidates that go into it, and how many of these tie: {ties}.",
        partial(column_plot, list(_candidates(stages)), KEPT),
    )
    if result.judged:
        told = ", ".join(f"{stage.name} {stage.relevant:,}" for stage in stages)
        yield Figure(
            "stages-relevant",
            "Relevant documents among them",
            f"Of {result.judged.relevant:,} relevant documents each stage still has: {told}.",
            partial(column_plot, list(_relevant(stages)), FOUND),
        )


def count_tied_candidates(stage: PipelineStage) -> int:
    """Candidates of a stage that tie."""
    return round(stage.tied_fraction * stage.documents)


def column_plot(rows: Sequence[Mapping[str, object]], parts: Sequence[str], width: int) -> Chart:
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


def _candidates(stages: Sequence[PipelineStage]) -> Iterator[dict[str, object]]:
    for stage in stages:
        ties, given = count_tied_candidates(stage), stage.given or stage.documents
        yield from _parts(stage, KEPT, (stage.documents - ties, ties, given - stage.documents))


def _relevant(stages: Sequence[PipelineStage]) -> Iterator[dict[str, object]]:
    for stage in stages:
        yield from _parts(stage, FOUND, (stage.relevant or 0, _count_lost_relevant(stage)))


def _parts(stage: PipelineStage, parts: Sequence[str], counts: Sequence[int]) -> Iterator[dict[str, object]]:
    for part, count in zip(parts, counts, strict=True):
        yield {"stage": stage.name, "part": part, "count": count}
