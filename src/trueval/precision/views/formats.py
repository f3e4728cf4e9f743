"""Precision audits as a terminal table, Markdown, LaTeX and CSV."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from trueval.report import formats as text_formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.number_texts import (
    FRACTIONS,
    NOT_AVAILABLE,
    ValueUnit,
    count_phrase,
    format_difference,
    format_value,
    percent,
    unit,
)
from trueval.report.terminal import grid

AGREEMENT = ("tau_b", "overlap", "rbo")
STATISTICS = ("tie_broken", "expected", "range", "bias", "sd")
HEADINGS = {"tie_broken": "tie-broken", "expected": "expected", "range": "range", "bias": "bias", "sd": "sd"}
IDENTITY = ("model", "scoring", "model_dtype", "scoring_format", "index_dtype")
POINTS = ("tie_broken", "expected", "lowest", "highest")  # of a curve
SHORT = {"bfloat16": "BF16", "float16": "FP16", "float32": "FP32", "float64": "FP64"}
SHORT |= {"float8_e4m3fn": "E4M3", "float8_e5m2": "E5M2"}


def formats(regime: Mapping[str, Any]) -> str:
    """The formats of a regime in short: model → scores, and the index where there is one.

    >>> formats({"model_dtype": "bfloat16", "scoring_format": "float32", "index_dtype": None})
    'BF16 → FP32'
    """
    text = f"{SHORT[regime['model_dtype']]} → {SHORT[regime['scoring_format']]}"
    index = regime["index_dtype"]
    return text if index in (None, regime["model_dtype"]) else f"{text}, index {SHORT[index]}"


def formats_by_label(audit: Mapping[str, Any]) -> dict[str, str]:
    """The formats of every label, in the words of the tables.

    >>> regime = {"model_dtype": "bfloat16", "scoring_format": "bfloat16", "index_dtype": None}
    >>> formats_by_label({"regimes": [{"label": "bfloat16_bfloat16", **regime}]})
    {'bfloat16_bfloat16': 'BF16 → BF16'}
    """
    return {regime["label"]: formats(regime) for regime in audit["regimes"]}


def table(audit: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS) -> Group:
    """An audit for a terminal: Table 1 for each measure, ties, agreement, then the findings.

    Args:
        audit: what `Audit.to_dict` returns, the JSON of `trueval precision`.
        scale: scale of the printed values.

    Returns:
        A renderable for a rich console of 80 columns or more.
    """
    parts: list[RenderableType] = []
    for measure in audit["measures"]:
        rows = grid(("model", "model → scores", *HEADINGS.values()), "LLrrrrr")
        for regime in audit["regimes"]:
            rows.add_row(Text(regime["model"]), formats(regime), *statistics(regime["measures"][measure], scale))
        parts += [Text(measure, style="bold"), rows, Text()]
    compared = any(regime["agreement"] for regime in audit["regimes"])
    agreement = ("tau-b", overlap_name(audit), "RBO") if compared else ()
    ties = grid(("model", "model → scores", "tied", "largest", *agreement), "LLrr" + "r" * len(agreement))
    for regime in audit["regimes"]:
        cells = _tie_cells(regime, scale)[: 2 + len(agreement)]
        ties.add_row(Text(regime["model"]), formats(regime), *cells)
    return Group(*parts, ties, Text(), *map(Text, [*sentences(audit), *unit(scale)]))


def statistics(value: Mapping[str, Any], scale: ValueUnit = FRACTIONS) -> tuple[str, ...]:
    """The columns of Table 1, in the order of `STATISTICS`.

    Args:
        value: value of a measure in a regime.
        scale: scale of the printed values.
    """
    return tuple((format_difference if name == "bias" else format_value)(value[name], scale) for name in STATISTICS)


def overlap_name(audit: Mapping[str, Any]) -> str:
    """What the overlap is called: "top" and its depth.

    >>> overlap_name({"regimes": [{"agreement": None}, {"agreement": {"overlap_depth": 3}}]})
    'top 3'
    """
    depths = [regime["agreement"]["overlap_depth"] for regime in audit["regimes"] if regime["agreement"]]
    return f"top {depths[0]}" if depths else "top k"


def sentences(audit: Mapping[str, Any]) -> Iterator[str]:
    """The findings, and what the numbers mean.

    Args:
        audit: the JSON of `trueval precision`.

    Yields:
        Sentences.
    """
    words_of = formats_by_label(audit)
    kinds = {
        "flips": "The expected value reverses the tie-broken order",
        "undecidable": "Ties leave it open which is better",
    }
    for kind, words in kinds.items():
        found = [flip for flip in audit["flips"] if flip["kind"] == kind]
        if found:
            pairs = (f"{f['first']} and {f['second']} on {f['measure']} in {words_of[f['label']]}" for f in found)
            yield f"{words}: {'; '.join(pairs)}."
    yield from resolutions(audit)
    policy = audit["policy"]
    yield f"tie-broken: tie order {policy['tie_order']}; queries without a relevant document: {policy['empty']}."
    if any(regime["agreement"] for regime in audit["regimes"]):
        yield (
            f"tau-b, {overlap_name(audit)} and RBO (p = .9) compare each order with that of the model's float32 run; "
            "tied documents take every order with the same chance, in both rankings independently."
        )


def resolutions(audit: Mapping[str, Any]) -> Iterator[str]:
    """Whether finer scores put spurious ties in the order of the full-precision model.

    Args:
        audit: the JSON of `trueval precision`.

    Yields:
        One sentence for each regime that refines another.
    """
    words_of = formats_by_label(audit)
    for regime in audit["regimes"]:
        ties = (regime["agreement"] or {}).get("ties")
        if not ties or not ties["all_pairs"]:
            continue
        what = f"of {count_phrase(ties['all_pairs'], 'pair that ties', 'pairs that tie')} in {words_of[ties['of']]}"
        line = (
            f"{regime['model']} {formats(regime)}: {what}, it leaves {ties['all_tied']:,} tied. The float32 run orders"
        )
        settled = ties["same"] + ties["opposite"]
        if not ties["pairs"]:
            yield f"{line} none of them."
        elif not settled:
            yield f"{line} {ties['pairs']:,} of them, which all are left tied here."
        else:
            share = percent(ties["same"] / settled)
            rest = f"{ties['tied']:,} are left tied here, and {share} of the others are in that order."
            yield f"{line} {ties['pairs']:,} of them: {rest}"


def to_csv(audit: Mapping[str, Any]) -> str:
    """One line per regime, measure and cutoff of a curve, in full precision.

    Args:
        audit: the JSON of `trueval precision`.
    """
    lines = []
    for regime in audit["regimes"]:
        identity = {name: regime[name] for name in IDENTITY}
        for measure, value in regime["measures"].items():
            lines.append({**identity, "measure": measure, **value})
        for measure, curve in regime["curves"].items():
            for index, k in enumerate(curve["k"]):
                values = {name: curve[name][index] for name in POINTS}
                # Means keep the cutoff in the name; points of a curve have it in a column of their own.
                lines.append({**identity, "measure": measure.rpartition("@")[0], "k": k, **values})
    return text_formats.to_csv((*IDENTITY, "measure", "k", *POINTS, "range", "bias", "sd", "queries"), lines)


def to_markdown(audit: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS) -> str:
    """A table for each measure, one of ties and agreement, and the sentences.

    Args:
        audit: the JSON of `trueval precision`.
        scale: scale of the printed values.

    Returns:
        Pipe tables and a list.
    """
    parts = []
    for measure in audit["measures"]:
        head = ("model", "φ", "model dtype", "scoring", "index", *HEADINGS.values())
        parts.append(f"### {measure}\n\n{pipes(head, _rows(audit, measure, scale), words=5)}\n")
    head = ("model", "model dtype", "scoring", "index", "tied", "largest group", "tau-b", overlap_name(audit), "RBO")
    rows = []
    for regime in audit["regimes"]:
        names = [regime[name] or NOT_AVAILABLE for name in IDENTITY if name != "scoring"]
        rows.append([*names, *_tie_cells(regime, scale)])
    parts.append(f"### Ties, and agreement with the float32 run\n\n{pipes(head, rows, words=4)}\n")
    return "".join([*parts, *(f"- {markdown(line)}\n" for line in [*sentences(audit), *unit(scale)])])


def _rows(audit: Mapping[str, Any], measure: str, scale: ValueUnit) -> Iterator[list[str]]:
    for regime in audit["regimes"]:
        names = [regime[name] or NOT_AVAILABLE for name in IDENTITY]
        yield [*names, *statistics(regime["measures"][measure], scale)]


def _tie_cells(regime: Mapping[str, Any], scale: ValueUnit) -> tuple[str, ...]:
    ties, found = regime["ties"], regime["agreement"] or {}
    # Agreement is a correlation, which has no points.
    agreement = (format_value(found.get(name)) for name in AGREEMENT)
    largest = NOT_AVAILABLE if ties["largest_group"] is None else str(ties["largest_group"])
    return format_value(ties["tied_fraction"], scale), largest, *agreement


def to_latex(audit: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS) -> str:
    """A tabular in the shape of P-A's Table 1; it needs the package booktabs.

    Args:
        audit: the JSON of `trueval precision`.
        scale: scale of the values; `POINTS` for the unit of the paper.

    Returns:
        The environment, names escaped.
    """
    head = ["Model", r"$\phi$", "Model dtype", "Scoring", "Index"]
    head += ["Tie-broken", "Expected", "Range", "Bias", "sd"]
    rows = []
    for measure in audit["measures"]:
        rows += [[latex(measure)], *(list(map(latex, row)) for row in _rows(audit, measure, scale))]
    return tabular(head, rows, "lllllrrrrr", notes=unit(scale))
