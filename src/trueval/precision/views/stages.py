"""The view of a pipeline's audit: where ties arise, what ends them, and Table 1 of P-A for each stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from trueval.precision.stages_result import PipelineAudit, RegimeStage, RerankedPairs, StageMeasure, StageRow
from trueval.report.number_texts import count_phrase
from trueval.report.page_content import Figure
from trueval.report.plots import DIFFERS, DOT_KEY, TieInterval, plot_dots
from trueval.report.units import DIFFERENCE, FRACTION, NAME, PERCENT
from trueval.report.view import Answer, Column, Quantity, Section, Sentence, Sheet, View, choices_section

QUESTION: Final = "Where in this pipeline do number formats make ties, and what ends them?"
HIGH: Final = "float32"
CURES: Final = {"model and scores": "model", "vectors": "vectors, scored again"}
SERVED: Final = ("model", "model and scores", "vectors")
SCORED: Final = ("dense", "rerank")  # stages whose scores a model gives
SEARCHES: Final = ("dense", "sparse")
TITLES: Final = {
    "dense": "Dense search",
    "sparse": "Search of words",
    "fuse": "Fusion",
    "deduplicate": "Deduplication",
    "rerank": "Reranking",
}
MEANINGS: Final = (
    "apart: this stage alone is in the format, every other in float32. model: it runs in the format, and its outputs "
    "are scored in float32; model and scores: scored in the format too; scores: float32 outputs scored in the format, "
    "or finished scores rounded to it; softmax of scores: that of 20 times each score over its list; vectors: "
    "documents stored in it; scored again: those found are scored with the float32 vectors.",
    "head or attention of the model: its last layer, or the softmax of its attention, alone in the format; head or "
    "attention in float32: that alone in float32, the rest of the model in the format.",
    "together: low has models, vectors and their scores in one format; high the same outputs scored in float32; file "
    "is the pipeline as its file says.",
    "tie-broken is the value under one tie order, expected the mean over all of them, range what best and worst order "
    "leave between them, bias tie-broken - expected. end: after the last stage.",
)


class _Line(NamedTuple):
    """A line of a stage's table: a format, or float32, and a measure."""

    axis: str
    format: str
    tied: float
    value: StageMeasure
    end: StageMeasure | None


class _Step(NamedTuple):
    """A stage of a regime, and a measure."""

    step: RegimeStage
    value: StageMeasure


class _CsvLine(NamedTuple):
    """A line of the CSV file."""

    part: str
    stage: str
    axis: str
    format: str
    tied: float
    value: StageMeasure
    end: StageMeasure | None


def view(result: PipelineAudit) -> View:
    """What `trueval precision audit --pipeline` shows.

    Args:
        result: of the command.
    """
    figures = list(_figures(result))
    return View(
        title="Precision of a pipeline",
        answer=_answer(result),
        lead=figures[0] if figures else None,
        sections=[
            Section("Stages together", [ladder_sheet(result.ladder)], figures=figures[1:], open=True, id="ladder"),
            *_apart(result),
            choices_section("audit", dict(_choices(result))),
        ],
        csv=_csv(result),
        findings=list(_findings(result)),
        legend=MEANINGS,
        notes=result.notes,
    )


def _answer(result: PipelineAudit) -> Answer:
    last = result.stages[-1]
    ends = [each for each in result.ladder if each.stage == last]
    value = ends[0].measures[0]
    if value.range is None:
        return Answer(f"{value.measure} is not available: see the notes.", QUESTION)
    queries = count_phrase(value.queries, "query", "queries")
    sure = f"Over all orders of tied documents, on these {queries}; every format is computed from the same outputs."
    change = "Outputs in low precision change with batch and machine, and these values with them."
    sentence, cure = _cause(result)
    return Answer(sentence, QUESTION, sure, change, cure)


def _cause(result: PipelineAudit) -> tuple[Sentence, str]:
    """The sentence that says where ties arise and what ends them, and the next command."""
    last = result.stages[-1]
    base = _step(result, "float32", last)
    own = base.measures[0].range or 0.0
    audit = "trueval precision audit COLLECTION --pipeline FILE"
    worst = max(_of_formats(result), key=lambda row: _range(row.end), default=None)
    lows = [each for each in result.ladder if each.stage == last and each.regime in ("low", "file")]
    together = max(lows, key=lambda step: _range(step.measures))
    most = max(_range(None if worst is None else worst.end), _range(together.measures), own)
    name = base.measures[0].measure
    if most <= DIFFERS:
        return _without_end(result, name), audit
    if 2 * own >= most:
        return _in_float32(result, base), "trueval cuts COLLECTION --pipeline FILE"
    if worst is None or 2 * _range(worst.end) < most:
        high = _step(result, "high", last, together.format)
        return (
            f"Ties of {name} arise together, with all of {together.format or 'the file'} in place: range ",
            Quantity(together.measures[0], "range"),
            *_after_high(high),
        ), audit
    return _apart_sentence(result, worst), "trueval retrieve COLLECTION --pipeline FILE --scoring high"


def _of_formats(result: PipelineAudit) -> list[StageRow]:
    """The rows of formats in which models are served: what they ran in, with their scores, and stored vectors."""
    return [
        row
        for row in result.rows
        if row.axis in SERVED or (row.axis == "scores" and row.stage in SCORED and row.format in result.formats)
    ]


def _without_end(result: PipelineAudit, name: str) -> Sentence:
    """Nothing is left at the end; ties may arise before it."""
    first = max(_of_formats(result), key=lambda row: _range(row.measures), default=None)
    last = result.stages[-1]
    if first is None or _range(first.measures) <= DIFFERS:
        return f"The order of ties does not move {name} at any stage, in any format tried."
    if first.stage == last or first.end is None:
        return (
            f"Ties of {name} arise at {first.stage}, {first.axis} in {first.format}: range ",
            Quantity(first.measures[0], "range"),
            "; no value of the end was computed for it.",
        )
    return (
        f"Ties of {name} arise at {first.stage}, {first.axis} in {first.format}: range ",
        Quantity(first.measures[0], "range"),
        f", ended by {last}: none is left after it.",
    )


def _in_float32(result: PipelineAudit, base: RegimeStage) -> Sentence:
    """Ties that are there in float32 already: a stage makes them of ranks or of equal texts."""
    at = _largest_rise([each for each in result.ladder if each.regime == "float32"])
    others = [row for row in result.rows if row.stage == at.stage and row.axis == "method" and row.end]
    best = min(others, key=lambda row: _range(row.end), default=None)
    words: tuple[str | Quantity, ...] = (
        f"Ties of {base.measures[0].measure} arise at {at.stage}, in float32 already: range ",
        Quantity(base.measures[0], "range"),
        " at the end; ",
    )
    if best is None or best.end is None or 2 * _range(best.end) >= _range(base.measures):
        return (*words, "no format and no other fusion halves it.")
    return (*words, f"ended by {best.format} (range ", Quantity(best.end[0], "range"), ").")


def _largest_rise(steps: Sequence[RegimeStage]) -> RegimeStage:
    """The stage whose range exceeds that of its input most; the input of a search has none."""
    searches = [_range(each.measures) for each in steps if each.stage in SEARCHES]
    before = {"fuse": max(searches, default=0.0)}
    rises = []
    for place, step in enumerate(steps):
        given = 0.0 if step.stage in SEARCHES else before.get(step.stage, _range(steps[place - 1].measures))
        rises.append(_range(step.measures) - given)
    return steps[rises.index(max(rises))]


def _apart_sentence(result: PipelineAudit, worst: StageRow) -> Sentence:
    """A stage whose format alone makes the ties, and what ends them."""
    end = worst.end or worst.measures
    words: tuple[str | Quantity, ...] = (
        f"Ties of {end[0].measure} arise at {worst.stage}, {worst.axis} in {worst.format}: range ",
        Quantity(end[0], "range"),
        " at the end",
    )
    cure = _cure(result, worst)
    if cure is None:
        base = _step(result, "float32", result.stages[-1])
        return (*words, ", ended by float32 there (", Quantity(base.measures[0], "range"), ").")
    told, value = cure
    if 2 * (value.range or 0.0) > (end[0].range or 0.0):
        return (*words, f"; {told} does not end them (", Quantity(value, "range"), ").")
    return (*words, f", ended by {told} (", Quantity(value, "range"), ").")


def _cure(result: PipelineAudit, row: StageRow) -> tuple[str, StageMeasure] | None:
    """Scoring in float32 of the same outputs: its words, and its first measure at the end; None if it is none."""
    axis = CURES.get(row.axis)
    same = (each for each in result.rows if (each.stage, each.axis, each.format) == (row.stage, axis, row.format))
    found = next(same, None)
    if found is None or found.end is None:
        return None
    told = "scoring the same outputs in float32" if axis == "model" else "scoring those found again in float32"
    return told, found.end[0]


def _after_high(high: RegimeStage | None) -> Iterator[str | Quantity]:
    if high is None:
        yield "."
        return
    yield "; scored in float32 it is "
    yield Quantity(high.measures[0], "range")
    yield "."


def _range(measures: Sequence[StageMeasure] | None) -> float:
    return 0.0 if not measures else measures[0].range or 0.0


def _find(result: PipelineAudit, regime: str, stage: str, form: str | None = None) -> RegimeStage | None:
    return next(
        (
            each
            for each in result.ladder
            if (each.regime, each.stage) == (regime, stage) and form in (None, each.format)
        ),
        None,
    )


def _step(result: PipelineAudit, regime: str, stage: str, form: str | None = None) -> RegimeStage:
    return _find(result, regime, stage, form) or result.ladder[0]


def _findings(result: PipelineAudit) -> Iterator[Sentence]:
    """For each stage the format that moves its measure most, what the pipeline of the file has, and the pairs added."""
    for stage in result.stages:
        rows = [row for row in _of_formats(result) if row.stage == stage]
        worst = max(rows, key=lambda row: _range(row.measures), default=None)
        if worst is None or _range(worst.measures) <= DIFFERS:
            continue
        yield (
            f"{stage}: {worst.axis} in {worst.format} alone leave a range of ",
            Quantity(worst.measures[0], "range"),
            f" in {worst.measures[0].measure} after the stage, and ",
            *((Quantity(worst.end[0], "range"), " at the end.") if worst.end else ("an unknown one at the end.",)),
        )
    own = _step(result, "file", result.stages[-1])
    yield (
        f"As the file says, {own.measures[0].measure} is ",
        Quantity(own.measures[0], "expected"),
        ", range ",
        Quantity(own.measures[0], "range"),
        ", bias ",
        Quantity(own.measures[0], "bias", DIFFERENCE),
        ".",
    )


def _figures(result: PipelineAudit) -> Iterator[Figure]:
    """The ladder: ranges of each regime after each stage, a figure for each measure."""
    for at, name in enumerate(result.measures):
        dots = [_dot(step, step.measures[at]) for step in _distinct(_in_stages(result.ladder), at)]
        about = f"{name} after each stage of each regime: expected value, tie range and tie-broken value."
        yield Figure(f"ladder-{at}", name, about, partial(plot_dots, [dot for dot in dots if dot]), key=DOT_KEY)


def _distinct(steps: Sequence[RegimeStage], at: int) -> list[RegimeStage]:
    """The steps whose value no earlier one of the same stage has: a search of words is the same in every regime."""
    first = {(step.stage, step.measures[at]): step for step in reversed(steps)}
    return [step for step in steps if first[step.stage, step.measures[at]] is step]


def _dot(step: RegimeStage, value: StageMeasure) -> TieInterval | None:
    if value.expected is None or value.lowest is None or value.highest is None:
        return None
    return TieInterval(f"{step.stage} {_regime(step)}", value.expected, value.lowest, value.highest, value.tie_broken)


def _regime(step: RegimeStage) -> str:
    """A regime in short."""
    named = {"low": f"{step.format} → {step.format}", "high": f"{step.format} → {HIGH}", "file": "file"}
    return named.get(step.regime, HIGH)


def _in_stages(ladder: Sequence[RegimeStage]) -> list[RegimeStage]:
    """The steps stage by stage, regimes in their order."""
    stages = dict.fromkeys(step.stage for step in ladder)
    return [step for stage in stages for step in ladder if step.stage == stage]


def ladder_sheet(
    ladder: Sequence[RegimeStage], title: str = "Stages together", id: str = "stages-together"
) -> Sheet[_Step]:
    """The stages of a whole pipeline in each regime.

    Args:
        ladder: of an audit.
        title: of the table.
        id: of the table on a page.
    """
    rows = [_Step(step, value) for step in _in_stages(ladder) for value in step.measures]
    columns = [
        Column[_Step]("stage", lambda row: row.step.stage, NAME),
        Column[_Step]("model → scores", lambda row: _regime(row.step), NAME),
        Column[_Step]("tied", lambda row: row.step.tied, PERCENT, leaves=3),
        *([Column[_Step]("measure", lambda row: row.value.measure)] if len(ladder[0].measures) > 1 else []),
        Column[_Step]("tie-broken", lambda row: row.value.tie_broken, FRACTION, leaves=2),
        Column[_Step]("expected", lambda row: row.value.expected, FRACTION, strong=True),
        Column[_Step]("range", lambda row: row.value.range, FRACTION),
        Column[_Step]("bias", lambda row: row.value.bias, DIFFERENCE),
        Column[_Step]("sd", lambda row: row.value.sd, FRACTION, leaves=1),
    ]
    return Sheet(title, rows, columns, id=id)


def _apart(result: PipelineAudit) -> Iterator[Section]:
    """A table in the form of P-A, Table 1, for each stage that has formats."""
    for stage in result.stages:
        rows = [row for row in result.rows if row.stage == stage]
        if not rows:
            continue
        base, end = _step(result, "float32", stage), _step(result, "float32", result.stages[-1])
        lines = [_Line(HIGH, HIGH, base.tied, *pair) for pair in zip(base.measures, end.measures, strict=True)]
        for row in rows:
            ends: Sequence[StageMeasure | None] = row.end or [None] * len(row.measures)
            lines += [_Line(row.axis, row.format, row.tied, *pair) for pair in zip(row.measures, ends, strict=True)]
        title = f"{TITLES[stage]} apart"
        sheet = Sheet(title, lines, list(_line_columns(result)), id=f"stage-{stage}")
        yield Section(title, [sheet], open=stage == result.stages[-1], id=f"apart-{stage}")


def _line_columns(result: PipelineAudit) -> Iterator[Column[_Line]]:
    yield Column("what", lambda row: row.axis, NAME)
    yield Column("format", lambda row: row.format, NAME)
    yield Column("tied", lambda row: row.tied, PERCENT, leaves=3)
    if len(result.measures) > 1:
        yield Column("measure", lambda row: row.value.measure)
    yield Column("tie-broken", lambda row: row.value.tie_broken, FRACTION, leaves=2)
    yield Column("expected", lambda row: row.value.expected, FRACTION, strong=True)
    yield Column("range", lambda row: row.value.range, FRACTION)
    yield Column("bias", lambda row: row.value.bias, DIFFERENCE)
    yield Column("sd", lambda row: row.value.sd, FRACTION, leaves=1)
    yield Column("expected\nat the end", lambda row: None if row.end is None else row.end.expected, FRACTION)
    yield Column("range\nat the end", lambda row: None if row.end is None else row.end.range, FRACTION)


def _choices(result: PipelineAudit) -> Iterator[tuple[str, object]]:
    yield "pipeline", result.pipeline
    yield "collection", f"{result.collection}, {result.documents:,} documents, {result.queries:,} queries"
    for each in result.pairs:
        yield f"pairs in {each.dtype}", _describe_pairs(each)
    for name, values in result.settings.items():
        yield f"[{name}] in float32", ", ".join(f"{key} {each}" for key, each in values.items() if each is not None)
    yield from result.policy.items()


def _describe_pairs(pairs: RerankedPairs) -> str:
    return f"{pairs.needed:,}, and {pairs.added:,} more of stages apart"


def _csv(result: PipelineAudit) -> Sheet[_CsvLine]:
    """A line for each stage, format and measure."""
    lines = [
        _CsvLine("together", each.stage, each.regime, each.format, each.tied, value, None)
        for each in result.ladder
        for value in each.measures
    ]
    for row in result.rows:
        ends: Sequence[StageMeasure | None] = row.end or [None] * len(row.measures)
        lines += [
            _CsvLine("apart", row.stage, row.axis, row.format, row.tied, *pair)
            for pair in zip(row.measures, ends, strict=True)
        ]
    return Sheet("", lines, list(_csv_columns()))


def _csv_columns() -> Iterator[Column[_CsvLine]]:
    for name in ("part", "stage", "axis", "format", "tied"):
        yield Column(name, partial(_field, name))
    for name in ("measure", "tie_broken", "expected", "lowest", "highest", "range", "bias", "sd", "queries"):
        yield Column(name, partial(_value, "value", name))
    for name in ("tie_broken", "expected", "lowest", "highest", "range", "bias", "sd"):
        yield Column(f"end_{name}", partial(_value, "end", name))


def _field(name: str, line: _CsvLine) -> object:
    found: object = getattr(line, name)
    return found


def _value(part: str, name: str, line: _CsvLine) -> object:
    found: object = getattr(getattr(line, part), name, None)
    return found
