"""Precision audits as people and papers read them: a terminal table, Markdown, LaTeX, CSV, JSON. Values in percent."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trueval.evaluation.views.formats import LATEX_SPECIALS
from trueval.report.text import NOT_AVAILABLE, percent

AGREEMENT = ("tau_b", "overlap", "rbo")
STATISTICS = ("oblivious", "expected", "range", "bias", "sd")
HEADINGS = {"oblivious": "M_obl", "expected": "E[M]", "range": "range", "bias": "bias", "sd": "sd"}
IDENTITY = ("model", "scoring", "model_dtype", "scoring_format", "index_dtype")
SHORT = {"bfloat16": "BF16", "float16": "FP16", "float32": "FP32", "float64": "FP64"}
SHORT |= {"float8_e4m3fn": "E4M3", "float8_e5m2": "E5M2"}


def points(value: float | None) -> str:
    """A value of 0 to 1 in percent, with two decimals, as P-A's Table 1.

    >>> points(0.80523), points(0.0), points(0.00001), points(-0.00001), points(None)
    ('80.52', '0.00', '<.01', '>-.01', '–')
    """
    if value is None:
        return NOT_AVAILABLE
    if 0 < abs(value) < 0.00005:
        return "<.01" if value > 0 else ">-.01"
    return f"{100 * value + 0:.2f}"  # + 0 turns -0.0 into 0.0


def formats(regime: Mapping[str, Any]) -> str:
    """The formats of a regime in short: model → scores, and the index where there is one.

    >>> formats({"model_dtype": "bfloat16", "scoring_format": "float32", "index_dtype": None})
    'BF16 → FP32'
    """
    text = f"{SHORT[regime['model_dtype']]} → {SHORT[regime['scoring_format']]}"
    index = regime["index_dtype"]
    return text if index in (None, regime["model_dtype"]) else f"{text}, index {SHORT[index]}"


def named_formats(audit: Mapping[str, Any]) -> dict[str, str]:
    """The formats of every label, in the words of the tables.

    >>> regime = {"model_dtype": "bfloat16", "scoring_format": "bfloat16", "index_dtype": None}
    >>> named_formats({"regimes": [{"label": "bfloat16_bfloat16", **regime}]})
    {'bfloat16_bfloat16': 'BF16 → BF16'}
    """
    return {regime["label"]: formats(regime) for regime in audit["regimes"]}


def table(audit: Mapping[str, Any]) -> Group:
    """What a person reads of an audit: Table 1 for each measure, ties, agreement, then what stands out.

    Args:
        audit: what `Audit.to_dict` returns, the JSON of `trueval precision`.

    Returns:
        A renderable for a rich console of 80 columns or more.
    """
    parts: list[RenderableType] = []
    for measure in audit["measures"]:
        parts += [Text(f"{measure}, percent", style="bold"), _values(audit, measure), Text()]
    parts += [_ties(audit), Text()]
    return Group(*parts, *map(Text, sentences(audit)))


def _values(audit: Mapping[str, Any], measure: str) -> Table:
    rows = [
        [regime["model"], formats(regime), *(points(regime["measures"][measure][name]) for name in STATISTICS)]
        for regime in audit["regimes"]
    ]
    return _grid(("model", "model → scores"), tuple(HEADINGS.values()), rows)


def _ties(audit: Mapping[str, Any]) -> Table:
    compared = any(regime["agreement"] for regime in audit["regimes"])
    rows = []
    for regime in audit["regimes"]:
        ties, found = regime["ties"], regime["agreement"] or {}
        row = [regime["model"], formats(regime), percent(ties["tied_fraction"]), str(ties["largest_group"])]
        rows.append(row + [_decimal(found.get(name)) for name in AGREEMENT] * compared)
    columns = ["tied", "largest", *(["tau-b", overlap_name(audit), "RBO"] * compared)]
    return _grid(("model", "model → scores"), columns, rows)


def _grid(names: Sequence[str], numbers: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for name in names:
        grid.add_column(Text(name), overflow="fold")
    for name in numbers:
        grid.add_column(Text(name), justify="right", no_wrap=True)
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


def overlap_name(audit: Mapping[str, Any]) -> str:
    """What the overlap is called: "top" and its depth.

    >>> overlap_name({"regimes": [{"agreement": None}, {"agreement": {"overlap_depth": 3}}]})
    'top 3'
    """
    depths = [regime["agreement"]["overlap_depth"] for regime in audit["regimes"] if regime["agreement"]]
    return f"top {depths[0]}" if depths else "top k"


def _decimal(value: float | None) -> str:
    return NOT_AVAILABLE if value is None else f"{value:.4f}"


def sentences(audit: Mapping[str, Any]) -> Iterator[str]:
    """What stands out, and what the numbers mean.

    Args:
        audit: the JSON of `trueval precision`.

    Yields:
        Sentences.
    """
    words_of = named_formats(audit)
    kinds = {
        "flips": "The expected value reverses the oblivious order",
        "undecidable": "Ties leave it open which is better",
    }
    for kind, words in kinds.items():
        found = [flip for flip in audit["flips"] if flip["kind"] == kind]
        if found:
            named = "; ".join(
                f"{f['first']} and {f['second']} on {f['measure']} in {words_of[f['label']]}" for f in found
            )
            yield f"{words}: {named}."
    yield from resolutions(audit)
    policy = audit["policy"]
    yield f"M_obl: tie order {policy['tie_order']}; queries without a relevant document: {policy['empty']}."
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
    words_of = named_formats(audit)
    for regime in audit["regimes"]:
        ties = (regime["agreement"] or {}).get("ties")
        if not ties or not ties["pairs"]:
            continue
        settled = ties["same"] + ties["opposite"]
        share = percent(ties["same"] / settled) if settled else NOT_AVAILABLE
        yield (
            f"{regime['model']} {formats(regime)}: of {ties['pairs']:,} pairs that tie in {words_of[ties['of']]}, "
            f"it leaves {ties['tied']:,} tied and puts {share} of the others in the order of the float32 run."
        )


def to_json(audit: Mapping[str, Any]) -> str:
    """The audit as it is: full precision, on the scale of the measures; null where a number is not available.

    Args:
        audit: what `Audit.to_dict` returns.
    """
    return json.dumps(audit, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def to_csv(audit: Mapping[str, Any]) -> str:
    """One line for each regime, measure and cutoff of a curve, full precision, on the scale of the measures.

    Args:
        audit: the JSON of `trueval precision`.
    """
    text = io.StringIO()
    columns = (
        *IDENTITY,
        "measure",
        "k",
        "oblivious",
        "expected",
        "lowest",
        "highest",
        "range",
        "bias",
        "sd",
        "queries",
    )
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for regime in audit["regimes"]:
        identity = {name: regime[name] for name in IDENTITY}
        for measure, value in regime["measures"].items():
            writer.writerow({**identity, "measure": measure, **value})
        for measure, curve in regime["curves"].items():
            for index, k in enumerate(curve["k"]):
                values = {name: curve[name][index] for name in ("oblivious", "expected", "lowest", "highest")}
                writer.writerow({**identity, "measure": measure.rpartition("@")[0], "k": k, **values})
    return text.getvalue()


def to_markdown(audit: Mapping[str, Any]) -> str:
    """A table for each measure, one of ties and agreement, and the sentences.

    Args:
        audit: the JSON of `trueval precision`.

    Returns:
        Pipe tables, values in percent.
    """
    lines = []
    for measure in audit["measures"]:
        head = ("model", "φ", "model dtype", "scoring", "index", *HEADINGS.values())
        lines += [f"### {measure}, percent", "", *_pipes(head, 5, _rows(audit, measure)), ""]
    head = ("model", "model dtype", "scoring", "index", "tied", "largest group", "tau-b", overlap_name(audit), "RBO")
    lines += ["### Ties, and agreement with the float32 run", "", *_pipes(head, 4, _tie_rows(audit)), ""]
    return "\n".join([*lines, *(f"- {line}" for line in sentences(audit))]) + "\n"


def _rows(audit: Mapping[str, Any], measure: str) -> Iterator[list[str]]:
    for regime in audit["regimes"]:
        names = [regime[name] or NOT_AVAILABLE for name in IDENTITY]
        yield [*names, *(points(regime["measures"][measure][name]) for name in STATISTICS)]


def _tie_rows(audit: Mapping[str, Any]) -> Iterator[list[str]]:
    for regime in audit["regimes"]:
        found = regime["agreement"] or {}
        names = [regime[name] or NOT_AVAILABLE for name in IDENTITY if name != "scoring"]
        ties = [percent(regime["ties"]["tied_fraction"]), str(regime["ties"]["largest_group"])]
        yield [*names, *ties, *(_decimal(found.get(name)) for name in AGREEMENT)]


def _pipes(head: Sequence[str], words: int, rows: Iterator[list[str]]) -> list[str]:
    rule = "|---" * words + "|---:" * (len(head) - words) + "|"
    body = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", rule, *body]


def to_latex(audit: Mapping[str, Any]) -> str:
    """A tabular in the shape of P-A's Table 1; it needs the package booktabs.

    Args:
        audit: the JSON of `trueval precision`.

    Returns:
        The environment; values in percent, names escaped.
    """
    head = ["Model", r"$\phi$", "Model dtype", "Scoring", "Index"]
    head += [r"$M_{\mathrm{obl}}$", r"$\mathbb{E}[M]$", "Range", "Bias", "sd"]
    lines = [f"\\begin{{tabular}}{{lllllrrrrr}}\n\\toprule\n{' & '.join(head)} \\\\"]
    for measure in audit["measures"]:
        lines.append(f"\\midrule\n\\multicolumn{{10}}{{c}}{{{measure.translate(LATEX_SPECIALS)}}} \\\\\n\\midrule")
        lines += [f"{' & '.join(cell.translate(LATEX_SPECIALS) for cell in row)} \\\\" for row in _rows(audit, measure)]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


WRITERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
}
