"""The view of a precision audit: what low precision did to the first measure, and what scoring in float32 repairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from trueval.evaluation.label_order import LEAST_CHANCE
from trueval.numerics import formats as number_formats
from trueval.precision.audit_result import (
    LabelOrder,
    PrecisionAudit,
    RegimeAgreement,
    RegimeEntry,
    RegimeMean,
    ResolvedTies,
)
from trueval.precision.views.figures import curve_plot, groups_plot, layout_plot, reach_plot
from trueval.report.figures import PAPER, Chart, panels
from trueval.report.formats import distinct
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase, percent
from trueval.report.page_content import Figure
from trueval.report.plots import DIFFERS, DOT_KEY, TieInterval, plot_dots
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, NAME, PERCENT, number, unscaled_unit
from trueval.report.view import (
    Answer,
    Column,
    PaperFigure,
    Quantity,
    Section,
    Sentence,
    Sheet,
    View,
    choices_section,
    columns_of,
)

SHORT: Final = {"bfloat16": "BF16", "float16": "FP16", "float32": "FP32", "float64": "FP64"} | {
    "float8_e4m3fn": "E4M3",
    "float8_e5m2": "E5M2",
}
SETTINGS: Final = ("recipe", "device", "batch_size", "max_length", "path")  # of a pass
REFERENCE: Final = "float32"
MEANINGS: Final = (
    "A regime is a model, the format it ran in, the format its scores were computed in and, for embedders, the format "
    "of the stored document embeddings. Scores of every format come from the same outputs of one forward pass. "
    "Tie-broken is the value under one tie order, expected the mean over all of them, range what best and worst "
    "order leave between them."
)
AGREEMENT: Final = (
    "τ-b, the expected overlap of the top documents, and RBO (p = .9) compare the order of each regime with that of "
    "the float32 run of the same model. Tied documents take every order with the same chance, in both rankings "
    "independently. Of the pairs that tie in low precision, some tie in the float32 run too; the others are put in its "
    "order, against it, or left tied."
)
BANDS: Final = "Wide bands are uncertainty that the order of ties alone decides."
SAME_OUTPUTS: Final = (
    "Outputs of models in low precision change with batch size and machine, and these values with them."
)
NEXT: Final = "trueval retrieve --pipeline pipeline.toml --scoring high"
SHARE: Final = number(".4f")  # correlations have no points
FORMAT: Final = unscaled_unit(lambda name: name or NOT_AVAILABLE, "L")


class _ValueRow(NamedTuple):
    """A measure in a regime."""

    measure: str
    regime: RegimeEntry
    value: RegimeMean


class _CsvRow(NamedTuple):
    """A line of the CSV file: a mean, or a point of a curve."""

    regime: RegimeEntry
    measure: str
    k: int | None = None
    tie_broken: float | None = None
    expected: float | None = None
    lowest: float | None = None
    highest: float | None = None
    range: float | None = None
    bias: float | None = None
    sd: float | None = None
    queries: int | None = None


class _Repair(NamedTuple):
    """A regime that scores in the format of its model, and the one that scores the same outputs in float32."""

    low: RegimeEntry
    high: RegimeEntry | None


def view(result: PrecisionAudit) -> View:
    """What `trueval precision` shows.

    Args:
        result: of the command.
    """
    figures = list(_value_figures(result))
    return View(
        title="Precision",
        answer=_answer(result),
        lead=figures[0] if figures else None,
        sections=[
            _values(result, figures[1:]),
            *_example(result),
            *_curves(result),
            _ties(result),
            _layouts(result),
            _choices(result),
        ],
        csv=_csv(result),
        findings=list(_findings(result)),
        legend=list(_legend(result)),
        notes=result.notes,
        paper=list(_paper(result)),
    )


def formats(regime: RegimeEntry) -> str:
    """The formats of a regime in short: model → scores, and a part of the model and the index where they differ."""
    own, _, form = regime.part.partition("=")
    part = f" ({own} {_short(form)})" if own else ""
    text = f"{_short(regime.model_dtype)}{part} → {_short(regime.scoring_format)}"
    index = regime.index_dtype
    return text if index in (None, regime.model_dtype) else f"{text}, index {_short(str(index))}"


def _short(name: str) -> str:
    """The short name of a format; one of another package has its own."""
    return SHORT.get(name, name)


def _names(result: PrecisionAudit) -> list[str]:
    """The names of the regimes: the model only where there are several."""
    several = len(_models(result)) > 1
    return [f"{each.model} {formats(each)}" if several else formats(each) for each in result.regimes]


def _models(result: PrecisionAudit) -> list[str]:
    return list(dict.fromkeys(each.model for each in result.regimes))


def _answer(result: PrecisionAudit) -> Answer:
    """The model and format whose first measure ties move most, and what is left of that scored in float32."""
    question = "What do number formats do to the result?"
    worst = _worst(result)
    if worst is None:
        return Answer("No model ran and scored below float32: this audit has no low precision.", question)
    measure = result.measures[0]
    value = worst.low.measures[measure]
    if value.range is None:
        return Answer(f"{measure} is not available in any regime: see the notes.", question)
    queries = count_phrase(value.queries, "query", "queries")
    sure = f"{'Exact' if value.exact else 'Bounds'} over all orders of tied documents, on these {queries}."
    repaired = worst.high is not None and (worst.high.measures[measure].range or 0.0) < value.range
    return Answer(_describe_range(measure, worst), question, sure, SAME_OUTPUTS, NEXT if repaired else "")


def _worst(result: PrecisionAudit) -> _Repair | None:
    """The model and format whose first measure ties move most; None where all of them ran in float32."""
    measure = result.measures[0]
    return max(_repairs(result), key=lambda each: each.low.measures[measure].range or 0.0, default=None)


def _describe_range(measure: str, repair: _Repair) -> Sentence:
    """What ties do to a measure in low precision, and what scoring in float32 leaves of it."""
    before = repair.low.measures[measure]
    where = f"{repair.low.model}, {formats(repair.low)}"
    if (before.range or 0.0) <= DIFFERS:
        return f"{where}: the order of ties does not move {measure}, so there is nothing to repair."
    moved: tuple[str | Quantity, ...] = (
        f"{where}: the order of ties moves {measure} by ",
        Quantity(before, "range"),
        ", between ",
        Quantity(before, "lowest"),
        " and ",
        Quantity(before, "highest"),
    )
    if repair.high is None:
        return (*moved, "; scores in float32 were not asked for.")
    after = repair.high.measures[measure]
    left, whole = after.range or 0.0, before.range or 0.0
    if left <= DIFFERS:
        return (*moved, ". Scoring the same outputs in float32 repairs it: no range is left.")
    verdict = (
        "repairs most of it" if 2 * left < whole else "repairs part of it" if left < whole else "does not repair it"
    )
    return (*moved, f". Scoring the same outputs in float32 {verdict}: ", Quantity(after, "range"), " is left.")


def _repairs(result: PrecisionAudit) -> list[_Repair]:
    """The regimes whose model ran below float32 and scored in its own format, each with its float32 scoring."""

    def key(regime: RegimeEntry) -> tuple[str, str, str, str | None]:
        return regime.model, regime.model_dtype, regime.part, regime.index_dtype

    high = {key(each): each for each in result.regimes if each.scoring_format == REFERENCE}
    low = [each for each in result.regimes if each.scoring_format == each.model_dtype != REFERENCE]
    return [_Repair(each, high.get(key(each))) for each in low]


def _findings(result: PrecisionAudit) -> Iterator[Sentence]:
    """Pairs of models that ties decide, what float32 changes, and what it makes of spurious ties."""
    formats_of = {each.label: formats(each) for each in result.regimes}
    for kind, words in (
        ("flips", "Do not rank these by the tie-broken value, the expected value reverses their order"),
        ("undecidable", "Ties leave it open which of these is better"),
    ):
        found = [flip for flip in result.flips if flip.kind == kind]
        if found:
            pairs = (f"{each.first} and {each.second} on {each.measure} in {formats_of[each.label]}" for each in found)
            yield f"{words}: {'; '.join(pairs)}."
    worst = _worst(result)
    if worst is not None:
        yield from _describe_low(result, worst)
        yield from () if worst.high is None else _describe_resolution(worst.high, formats_of)
    yield from (_describe_range(result.measures[0], each) for each in _repairs(result) if each != worst)


def _describe_low(result: PrecisionAudit, repair: _Repair) -> Iterator[Sentence]:
    """The expected values and the share of ties in each scoring, and the other measure that ties move most."""
    measure, (low, high) = result.measures[0], repair
    reference = _reference(result, low)
    means: list[str | Quantity] = [f"Its expected {measure} is ", Quantity(low.measures[measure], "expected")]
    tied: list[str | Quantity] = ["Of its documents ", Quantity(low.ties, "tied_fraction", PERCENT), " are tied"]
    if high is not None:
        means += ["; scored in float32 it is ", Quantity(high.measures[measure], "expected")]
        tied += ["; scored in float32, ", Quantity(high.ties, "tied_fraction", PERCENT)]
    if reference is not None:
        means += ["; that of the float32 run is ", Quantity(reference.measures[measure], "expected")]
        tied += ["; of the float32 run's, ", Quantity(reference.ties, "tied_fraction", PERCENT)]
    yield (*means, ".")
    if low.ties.tied_fraction is not None:
        yield (*tied, ".")
    others = [(low.measures[name].range or 0.0, name) for name in result.measures[1:]]
    moved, name = max(others, default=(0.0, ""))
    if moved > DIFFERS:
        yield (f"Of the other measures ties move {name} most, by ", Quantity(low.measures[name], "range"), ".")


def _reference(result: PrecisionAudit, regime: RegimeEntry) -> RegimeEntry | None:
    """The float32 run of the same model; None without one."""
    label = None if regime.agreement is None else regime.agreement.reference
    return next((each for each in result.regimes if (each.model, each.label) == (regime.model, label)), None)


def _describe_resolution(regime: RegimeEntry, formats_of: dict[str, str]) -> Iterator[str]:
    """Whether finer scores put spurious ties in the order of the full-precision model."""
    ties = None if regime.agreement is None else regime.agreement.ties
    if ties is None or not ties.all_pairs:
        return
    what = f"of {count_phrase(ties.all_pairs, 'pair that ties', 'pairs that tie')} in {formats_of[ties.of]}"
    line = f"{regime.model} {formats(regime)}: {what}, it leaves {ties.all_tied:,} tied. The float32 run orders"
    settled = ties.same + ties.opposite
    if not ties.pairs:
        yield f"{line} none of them."
    elif not settled:
        yield f"{line} {ties.pairs:,} of them, all of which are left tied here."
    else:
        share = percent(ties.same / settled)
        left = "is" if ties.tied == 1 else "are"
        rest = f"{ties.tied:,} {left} left tied here, and {share} of the others are in that order."
        yield f"{line} {ties.pairs:,} of them: {rest}"


def _legend(result: PrecisionAudit) -> Iterator[str]:
    yield MEANINGS
    policy = result.policy
    yield f"tie-broken: tie order {policy['tie_order']}; queries without a relevant document: {policy['empty']}."
    if any(each.agreement for each in result.regimes):
        yield AGREEMENT


STATISTICS: Final[tuple[Column[_ValueRow], ...]] = (
    Column("tie-broken", lambda row: row.value.tie_broken, FRACTION),
    Column("expected", lambda row: row.value.expected, FRACTION, strong=True),
    Column("range", lambda row: row.value.range, FRACTION),
    Column("bias", lambda row: row.value.bias, DIFFERENCE),
    Column("sd", lambda row: row.value.sd, FRACTION),
)
IN_TEXT: Final[tuple[Column[_ValueRow], ...]] = (
    Column("model", lambda row: row.regime.model, NAME),
    Column("model → scores", lambda row: formats(row.regime), NAME),
    *STATISTICS,
)
ON_PAGE: Final[tuple[Column[_ValueRow], ...]] = (
    Column("measure", lambda row: row.measure),
    Column("model", lambda row: row.regime.model),
    Column("φ", lambda row: row.regime.scoring),
    Column("model dtype", lambda row: "+".join(filter(None, (row.regime.model_dtype, row.regime.part)))),
    Column("scoring", lambda row: row.regime.scoring_format),
    Column("index", lambda row: row.regime.index_dtype, FORMAT),
    *STATISTICS,
    Column("queries", lambda row: row.value.queries, COUNT),
)


def _values(result: PrecisionAudit, figures: Sequence[Figure]) -> Section:
    """Table 1 of P-A: a sheet for each measure in texts, one of all on the page."""
    rows = {name: [_ValueRow(name, each, each.measures[name]) for each in result.regimes] for name in result.measures}
    sheets = [Sheet(name, found, IN_TEXT, only="text") for name, found in rows.items()]
    everything = [row for found in rows.values() for row in found]
    page = Sheet("Each measure in each regime", everything, ON_PAGE, only="page", id="precision-table")
    return Section("Values in each regime", [*sheets, page], figures=figures, id="precision")


def _value_figures(result: PrecisionAudit) -> Iterator[Figure]:
    names = _names(result)
    for at, measure in enumerate(result.measures):
        values = [each.measures[measure] for each in result.regimes]
        dots = [
            _dot(name, value, value.expected)
            for name, value in zip(names, values, strict=True)
            if value.expected is not None
        ]
        if dots:
            about = f"{measure}: expected value, tie range and tie-broken value in each regime."
            yield Figure(f"precision-{at}", measure, about, partial(plot_dots, dots), key=DOT_KEY)


def _dot(name: str, value: RegimeMean, expected: float) -> TieInterval:
    low, high = (expected if end is None else end for end in (value.lowest, value.highest))
    return TieInterval(name, expected, low, high, value.tie_broken)


def _curves(result: PrecisionAudit) -> Iterator[Section]:
    figures = []
    for place, model in enumerate(_models(result)):
        regimes = [each for each in result.regimes if each.model == model]
        for index, measure in enumerate(_measures_with_curves(regimes)):
            title = f"{model}: {measure.rpartition('@')[0]}@k"
            shown = "expected values as lines, bands from lowest to highest, tie-broken as hollow ticks"
            plot = partial(curve_plot, _by_name(regimes), measure)
            figures.append(Figure(f"curve-{place}-{index}", title, f"{title} in each regime: {shown}.", plot))
    if figures:
        yield Section("Over cutoffs", words=BANDS, figures=figures, id="curves")


def _measures_with_curves(regimes: Sequence[RegimeEntry]) -> list[str]:
    """The measures that are known at several cutoffs."""
    return [measure for measure, curve in regimes[0].curves.items() if len(curve.k) > 1]


def _by_name(regimes: Sequence[RegimeEntry]) -> dict[str, RegimeEntry]:
    """The regimes of one model by their formats."""
    return dict(zip(distinct(map(formats, regimes)), regimes, strict=True))


def _example(result: PrecisionAudit) -> Iterator[Section]:
    """The query that ties move most, as P-A, Figure 1, on the scores of the audit."""
    example = result.example
    if example is None:
        return
    low = next(each for each in result.regimes if (each.model, each.label) == (example.model, example.label))
    name = f"{low.model}, {formats(low)}"
    title = f"Query {example.query}: ties that decide"
    told = f"The first {len(example.documents)} of {example.count} documents of query {example.query} by {name}"
    names = (formats(low), f"{_short(low.model_dtype)} → {_short(REFERENCE)}")
    figure = Figure("precision-example", title, f"{told}, tied ones joined.", partial(groups_plot, example, names))
    values = f"{FRACTION.plain(example.lowest)} to {FRACTION.plain(example.highest)}"
    words = (
        f"{told}, with what float32 makes of the same outputs. Bars join equal scores, whose order puts "
        f"{example.measure} of this query anywhere from {values}."
    )
    yield Section("The query that ties move most", words=words, figures=[figure], id="example")


def _layouts(result: PrecisionAudit) -> Section:
    """The bits of the formats that the audit has, widest first."""
    used = {name for each in result.regimes for name in (each.model_dtype, each.scoring_format, each.index_dtype)}
    names = [name for name in number_formats() if name in used]
    about = "Bits of sign, exponent and mantissa in each format, and how many of its values lie between 1/2 and 1."
    figure = Figure("precision-formats", "Bits of each format", about, partial(layout_plot, names))
    words = "Where a format has fewer values than a list has documents, documents tie."
    return Section("Formats", words=words, figures=[figure], id="formats")


def _ties(result: PrecisionAudit) -> Section:
    about = "For each size of tie group, the share of documents in groups of that size or larger, in each regime."
    figures = [
        Figure(f"precision-groups-{place}", f"{model}: sizes of tie groups", about, plot)
        for place, (model, plot) in enumerate(_reach_plots(result).items())
    ]
    sheet = Sheet(
        "Ties, and agreement with the float32 run",
        result.regimes,
        list(_tie_columns(result)),
        caption="Ties and agreement of each regime.",
        id="precision-agreement",
    )
    return Section("Ties, and agreement with float32", [sheet], figures=figures, id="precision-ties")


def _reach_plots(result: PrecisionAudit) -> dict[str, partial[Chart]]:
    """The plot of tie groups of each model that has any."""
    of_models = {model: [each for each in result.regimes if each.model == model] for model in _models(result)}
    return {
        model: partial(reach_plot, _by_name(regimes))
        for model, regimes in of_models.items()
        if all(each.ties.group_sizes for each in regimes) and any(each.ties.tied_fraction for each in regimes)
    }


def _tie_columns(result: PrecisionAudit) -> Iterator[Column[RegimeEntry]]:
    yield Column("model", lambda row: row.model, NAME)
    yield Column("model → scores", formats, NAME)
    yield Column("tied", lambda row: row.ties.tied_fraction, FRACTION)
    yield Column("largest", lambda row: row.ties.largest_group, COUNT)
    # The float32 run itself has no agreement, and only a regime that refines another resolves its ties.
    depths = [each.agreement.overlap_depth for each in result.regimes if each.agreement is not None]
    if not depths:
        return

    def agreement(title: str, value: Callable[[RegimeAgreement], float | None]) -> Column[RegimeEntry]:
        return Column(title, lambda row: None if row.agreement is None else value(row.agreement), SHARE)

    def count_column(title: str, value: Callable[[ResolvedTies], int]) -> Column[RegimeEntry]:
        def count(row: RegimeEntry) -> int | None:
            ties = None if row.agreement is None else row.agreement.ties
            return None if ties is None else value(ties)

        return Column(title, count, COUNT, only="page")

    yield agreement("τ-b", lambda each: each.tau_b)
    yield agreement(f"top {depths[0]}", lambda each: each.overlap)
    yield agreement("RBO", lambda each: each.rbo)
    yield count_column("pairs tied before", lambda each: each.all_pairs)
    yield count_column("still tied", lambda each: each.all_tied)
    yield count_column("ordered in float32", lambda each: each.pairs)
    yield count_column("in that order", lambda each: each.same)
    yield count_column("against it", lambda each: each.opposite)
    yield count_column("left tied", lambda each: each.tied)


def _choices(result: PrecisionAudit) -> Section:
    policy = result.policy
    facts = {
        "tie order": f"{policy['tie_order']}, for the tie-broken value",
        "queries without a relevant document": policy["empty"],
    }
    if result.collection is not None:
        facts["collection"] = f"{result.collection.name}, {result.collection.documents:,} documents"
    if result.candidates is not None:
        chosen = result.candidates
        facts["candidates"] = f"{chosen.kind}: {chosen.pairs:,} pairs of {chosen.queries:,} queries"
    for each in result.passes or ():
        settings = [f"{name.replace('_', ' ')} {each[name]}" for name in SETTINGS if each.get(name) is not None]
        settings += [f"{name} {version}" for name, version in each.get("versions", {}).items()]
        own = "".join(f", {name} {form}" for name, form in each.get("parts", {}).items())
        facts[f"{each['model']}, {each['dtype']}{own}"] = ", ".join(settings)
    facts |= {f"order of {check.order}": _describe_order(check) for check in result.order}
    return choices_section("precision audit", facts)


def _describe_order(check: LabelOrder) -> str:
    where = "of equal score " if check.among == "ties" else ""
    verdict = "follows the grades" if check.follows else "does not follow the grades"
    chance = f"p = {check.p:.2g}" if check.p >= LEAST_CHANCE else f"p < {LEAST_CHANCE:g}"
    pairs = f"{check.pairs:,} pairs {where}({chance})"
    return f"{verdict}: the higher grade first in {check.share:.1%} of {pairs}"


def _csv(result: PrecisionAudit) -> Sheet[_CsvRow]:
    """One line per regime, measure and cutoff of a curve."""
    rows = [row for regime in result.regimes for row in _csv_rows(regime)]
    identity = ["model", "scoring", "model_dtype", "scoring_format", "index_dtype"]
    identity += ["part"] if any(each.part for each in result.regimes) else []
    names = [field for field in _CsvRow._fields if field != "regime"]
    return Sheet("", rows, columns_of(*(f"regime.{name}" for name in identity), *names))


def _csv_rows(regime: RegimeEntry) -> Iterator[_CsvRow]:
    for measure, mean in regime.measures.items():
        values = {name: getattr(mean, name) for name in _CsvRow._fields[3:]}
        yield _CsvRow(regime, measure, **values)
    for measure, curve in regime.curves.items():
        # Means keep the cutoff in the name; points of a curve have it in a column of their own.
        for point in zip(curve.k, curve.tie_broken, curve.expected, curve.lowest, curve.highest, strict=True):
            yield _CsvRow(regime, measure.rpartition("@")[0], *point)


def _paper(result: PrecisionAudit) -> Iterator[PaperFigure]:
    """The curves of every model, and the tie groups of all."""
    models, reach = _models(result), _reach_plots(result)
    for place, model in enumerate(models, start=1):
        regimes = [each for each in result.regimes if each.model == model]
        suffix = f"-{place}" if len(models) > 1 else ""
        if _measures_with_curves(regimes):
            yield PaperFigure(f"precision-curves{suffix}", partial(_paper_curves, model, regimes))
        if model in reach:
            yield PaperFigure(f"precision-ties{suffix}", partial(reach[model], PAPER, title=model))


def _paper_curves(model: str, regimes: Sequence[RegimeEntry]) -> Chart:
    named = _by_name(regimes)
    titles = {measure: f"{model}: {measure.rpartition('@')[0]}@k" for measure in _measures_with_curves(regimes)}
    return panels([curve_plot(named, each, title=title, width=PAPER // 2 - 24) for each, title in titles.items()])
