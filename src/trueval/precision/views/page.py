"""The page of a precision audit: Table 1, curves with tie ranges, tie groups, agreement with float32, passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trueval.precision.views.figures import curve_plot
from trueval.precision.views.formats import IDENTITY, STATISTICS, formats, overlap_name, resolutions
from trueval.report.number_texts import NOT_AVAILABLE, format_value, make_formatter, percent
from trueval.report.page_content import (
    Block,
    Figure,
    Number,
    PageColumn,
    Part,
    Table,
    Words,
    counts,
    row_of,
    rows_of,
    statistic,
)
from trueval.report.plots import DOT_KEY, dot_of, dot_plot
from trueval.report.result_directory import Directory, ResultFile, pointer
from trueval.report.tie_sizes import tie_figure, tie_histogram

MEANINGS = (
    "A regime is a model, the format it ran in, the format its scores were computed in and, for embedders, the format "
    "of the stored document embeddings. Scores of every format come from the same outputs of one forward pass. "
    "Tie-broken is the value under one tie order, expected the mean over all of them, range what best and worst "
    "order leave between them."
)


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for one audit.

    Args:
        file: the audit.
        directory: not needed; an audit needs no other file.

    Returns:
        Summary, advice, values, curves, ties and the choices behind them.
    """
    several = len(_models(file.data)) > 1
    blocks = [_value_block(file, several), _curve_block(file), _tie_block(file, several)]
    shown = tuple(block for block in blocks if block is not None)
    return Part(tuple(_summary(file)), tuple(_advice(file.data)), shown, (_choice_block(file),))


def _models(audit: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(regime["model"] for regime in audit["regimes"]))


def _name(regime: Mapping[str, Any], several: bool) -> str:
    return f"{regime['model']} {formats(regime)}" if several else formats(regime)


def _summary(file: ResultFile) -> Iterator[Words]:
    """The widest range of every regime in which the model is narrower than float32, repaired ones beside it."""
    regimes = file.data["regimes"]
    for index, regime in enumerate(regimes):
        widest = max(regime["measures"], key=lambda name: regime["measures"][name]["range"] or 0.0, default=None)
        if widest is None or regime["model_dtype"] == "float32":
            continue
        value = regime["measures"][widest]
        span = Number(
            format_value(value["range"]), value["range"], file.source("regimes", index, "measures", widest, "range")
        )
        tied = regime["ties"]["tied_fraction"]
        moves = f"{regime['model']}, {formats(regime)}: the order of ties moves {widest} by "
        yield (moves, span, " at most" + ("." if tied is None else f"; {percent(tied)} of the documents are tied."))
    for sentence in resolutions(file.data):
        yield (sentence,)


def _advice(audit: Mapping[str, Any]) -> Iterator[Words]:
    for low, high in _repairs(audit):
        before, after = (max((v["range"] or 0.0) for v in each["measures"].values()) for each in (low, high))
        if before > 2 * after:
            yield (
                f"Score {low['model']} in float32: its {low['model_dtype']} outputs stay as they are, and the widest "
                f"range falls from {format_value(before)} to {format_value(after)}.",
            )
    words = {"flips": "Do not rank these by the tie-broken value", "undecidable": "Remove ties before ranking these"}
    for kind, text in words.items():
        flips = [each for each in audit["flips"] if each["kind"] == kind]
        pairs = [f"{each['first']} and {each['second']} ({each['measure']}, {each['label']})" for each in flips]
        if pairs:
            yield (f"{text}: {'; '.join(pairs)}.",)
    for note in audit["notes"]:
        yield (note[0].upper() + note[1:],)


def _repairs(audit: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Pairs of regimes that differ in the scoring format alone: the model's own, and float32."""
    own = {}
    for regime in audit["regimes"]:
        key = (regime["model"], regime["model_dtype"], regime["index_dtype"])
        if regime["scoring_format"] == regime["model_dtype"]:
            own[key] = regime
        elif regime["scoring_format"] == "float32" and key in own:
            yield own[key], regime


def _value_block(file: ResultFile, several: bool) -> Block:
    figures = []
    for index, measure in enumerate(file.data["measures"]):
        regimes = [regime for regime in file.data["regimes"] if regime["measures"][measure]["expected"] is not None]
        if not regimes:
            continue
        dots = [dot_of(_name(regime, several), regime["measures"][measure]) for regime in regimes]
        description = f"{measure}: expected value, tie range and tie-broken value in each regime."
        figures.append(Figure(f"precision-{index}", measure, description, dot_plot(dots), key=DOT_KEY))
    tables = (_value_table(file),)
    return Block("precision", "Precision", words=((MEANINGS,),), figures=tuple(figures), tables=tables)


def _value_table(file: ResultFile) -> Table:
    titles = {"model_dtype": "model dtype", "scoring_format": "scoring", "index_dtype": "index", "scoring": "φ"}
    columns = (
        PageColumn("measure"),
        *(PageColumn(titles.get(name, name)) for name in IDENTITY),
        *map(statistic, STATISTICS),
        PageColumn("queries", "/queries", numeric=True),
    )
    rows = []
    for measure in file.data["measures"]:
        for index, regime in enumerate(file.data["regimes"]):
            names = (regime[name] or NOT_AVAILABLE for name in IDENTITY)
            source = pointer("regimes", index, "measures", measure)
            rows.append(row_of(source, columns, regime["measures"][measure], measure, *names))
    return Table("precision-table", ("Each measure in each regime.",), file.name, columns, tuple(rows))


def _curve_block(file: ResultFile) -> Block | None:
    figures = []
    for number, model in enumerate(_models(file.data)):
        regimes = [regime for regime in file.data["regimes"] if regime["model"] == model]
        for index, measure in enumerate(regimes[0]["curves"]):
            if len(regimes[0]["curves"][measure]["k"]) < 2:
                continue
            title = f"{model}: {measure.rpartition('@')[0]}@k"
            shown = "expected values as lines, bands from lowest to highest, tie-broken as hollow ticks"
            text, name = f"{title} in each regime: {shown}.", f"curve-{number}-{index}"
            figures.append(Figure(name, title, text, curve_plot(regimes, measure)))
    words = (("Wide bands are uncertainty that the order of ties alone decides.",),)
    return Block("curves", "Over cutoffs", words=words, figures=tuple(figures)) if figures else None


def _tie_block(file: ResultFile, several: bool) -> Block:
    regimes = file.data["regimes"]
    histograms = {}
    for regime in regimes:
        counts = regime["ties"]["group_sizes"]
        sizes = np.repeat([each["size"] for each in counts], [each["groups"] for each in counts])
        histograms[_name(regime, several)] = tie_histogram(sizes)
    text = "Share of the candidates that are in tie groups of each size, in each regime."
    figure = tie_figure("precision-groups", text, histograms)
    figures = () if figure is None else (figure,)
    words = (
        "τ-b, the expected overlap of the top documents, and RBO (p = .9) compare the order of each regime with that "
        "of the float32 run of the same model. Tied documents take every order with the same chance, in both rankings "
        "independently. Of the pairs that tie in low precision, some tie in the float32 run too; the others are put "
        "in its order, against it, or left tied.",
    )
    table = _agreement_table(file, several)
    return Block("precision-ties", "Ties, and agreement with float32", (words,), figures, (table,))


def _agreement_table(file: ResultFile, several: bool) -> Table:
    # The float32 run itself has no agreement, and only a regime that refines another resolves its ties.
    share = make_formatter(".4f")
    agreement = {"tau_b": "τ-b", "overlap": overlap_name(file.data), "rbo": "RBO"}
    columns = (
        PageColumn("regime"),
        PageColumn("tied", "/ties/tied_fraction", numeric=True, show=format_value),
        counts("largest group", "/ties/largest_group"),
        *(PageColumn(title, f"/agreement/{name}", numeric=True, show=share) for name, title in agreement.items()),
        *(counts(title, f"/agreement/ties/{name}") for name, title in RESOLVED.items()),
    )
    rows = rows_of(file, columns, "regimes", told=lambda regime: _name(regime, several))
    return Table("precision-agreement", ("Ties and agreement of each regime.",), file.name, columns, rows)


RESOLVED = {
    "all_pairs": "pairs tied before",
    "all_tied": "still tied",
    "pairs": "ordered in float32",
    "same": "in that order",
    "opposite": "against it",
    "tied": "left tied",
}


def _choice_block(file: ResultFile) -> Block:
    audit, policy = file.data, file.data["policy"]
    facts: list[tuple[str, Words]] = [("tie order", (f"{policy['tie_order']}, for the tie-broken value",))]
    facts.append(("queries without a relevant document", (policy["empty"],)))
    if "collection" in audit:
        collection, chosen = audit["collection"], audit["candidates"]
        facts.append(("collection", (f"{collection['name']}, {collection['documents']:,} documents",)))
        facts.append(("candidates", (f"{chosen['kind']}: {chosen['pairs']:,} pairs of {chosen['queries']:,} queries",)))
    for found in audit.get("passes", ()):
        names = ("recipe", "device", "batch_size", "max_length", "path")
        settings = [f"{name.replace('_', ' ')} {found[name]}" for name in names if found.get(name) is not None]
        settings += [f"{name} {version}" for name, version in found.get("versions", {}).items()]
        facts.append((f"{found['model']}, {found['dtype']}", (", ".join(settings),)))
    facts += [(f"order of {check['order']}", (_order(check),)) for check in audit["order"]]
    return Block("precision-choices", "Precision: choices and passes", facts=tuple(facts))


def _order(check: Mapping[str, Any]) -> str:
    where = "of equal score " if check["among"] == "ties" else ""
    says = "follows the grades" if check["follows"] else "does not follow the grades"
    pairs = f"{check['pairs']:,} pairs {where}(p = {check['p']:.2g})"
    return f"{says}: the higher grade first in {check['share']:.1%} of {pairs}"
