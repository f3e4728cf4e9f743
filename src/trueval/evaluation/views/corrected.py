"""Views of corrected values alongside the judge's and people's, for runs and differences.

Results include them where there was an audit: `runs[i]["corrected"]`, a list of one entry per measure, and "audit", a
summary of the audit. docs/design/audit.md defines the terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trueval.evaluation.views.verdicts import lower_is_better
from trueval.report.formats import latex, pipes, tabular
from trueval.report.number_texts import (
    FRACTIONS,
    NOT_AVAILABLE,
    Show,
    ValueUnit,
    count_phrase,
    format_difference,
    format_value,
    interval,
)

if TYPE_CHECKING:
    from trueval.report.terminal import TerminalGrid

Entry = Mapping[str, Any]

TITLE: Final = "Corrected by people's labels"
VALUES: Final = ("judge", "corrected", "corrected_low", "corrected_high", "people", "people_low", "people_high")
# Columns of CSV: those of an entry, flat.
CSV: Final = (*VALUES, "people_queries", "people_labels", "refused")
# What `--labels` means, where it is not the judge's alone.
MEANT: Final[Mapping[str, str]] = {
    "judge": "Values above are by the judge's labels",
    "corrected": "Values above are by the judge's labels, and gates look at the corrected ones",
    "people": "Values above are by people's labels alone, of the queries that they graded as a whole",
    "people-first": "Values above are by people's labels where there are some and the judge's elsewhere",
}
MOST: Final = 4  # names that a sentence lists


class CorrectedEntry(NamedTuple):
    """A correction with the run or pair it belongs to.

    Attributes:
        name: name of the run, or the names of two with a minus between.
        entry: the correction as shown.
        source: its path in the JSON.
        turned: whether a difference is shown in the reverse direction of the JSON.
    """

    name: str
    entry: Entry
    source: tuple[str | int, ...]
    turned: bool = False

    @property
    def measure(self) -> str:
        """The measure's text form."""
        return str(self.entry["measure"])

    @property
    def refused(self) -> str:
        """Why there is no number, without the name of the measure; empty where there is one."""
        return str(self.entry.get("refused", "")).removeprefix(f"{self.measure}: ")


def of_runs(results: Mapping[str, Any]) -> list[CorrectedEntry]:
    """Corrections of every run, run by run.

    Args:
        results: the JSON of `trueval evaluate`.
    """
    return [
        CorrectedEntry(run["name"], _with_judge(entry, run, results), ("runs", at, "corrected", place))
        for at, run in enumerate(results["runs"])
        for place, entry in enumerate(run.get("corrected", ()))
    ]


def _with_judge(entry: Entry, run: Mapping[str, Any], results: Mapping[str, Any]) -> Entry:
    """A refused correction with the judge's value filled in, where the values of the results are the judge's."""
    if "refused" not in entry or results.get("audit", {}).get("labels") not in ("judge", "corrected"):
        return entry
    value = run.get("measures", {}).get(entry["measure"], {}).get("expected")
    return {**entry, "judge": {"estimate": value}}


def reverse_entry(entry: Entry) -> Entry:
    """The correction of a difference in the reverse direction: second - first.

    >>> part = {"estimate": 0.5, "low": 0.25, "high": 0.75}
    >>> reverse_entry({"judge": {"estimate": 0.0}, "corrected": part, "people": part})["corrected"]
    {'estimate': -0.5, 'low': -0.75, 'high': -0.25}
    """
    if "refused" in entry:
        return entry

    def less(part: Entry) -> Entry:
        ends = {"low": _minus(part["high"]), "high": _minus(part["low"])} if "low" in part else {}
        return {**part, "estimate": _minus(part["estimate"]), **ends}

    return {**entry, **{name: less(entry[name]) for name in ("judge", "corrected", "people")}}


def _minus(value: float | None) -> float | None:
    return -value if value else value  # no minus zero


def by_measure(told: Iterable[CorrectedEntry]) -> list[tuple[str, list[CorrectedEntry]]]:
    """Corrections grouped by measure, in order of first appearance."""
    found: dict[str, list[CorrectedEntry]] = {}
    for each in told:
        found.setdefault(each.measure, []).append(each)
    return list(found.items())


def headings(told: Sequence[CorrectedEntry]) -> tuple[str, ...]:
    """Column headings for judge, correction and people."""
    level = f"{told[0].entry['level']:.0%}" if told else "95%"
    return ("judge", "corrected", f"{level} interval", "people", f"{level} of people", "labels")


def table(told: Sequence[CorrectedEntry], scale: ValueUnit = FRACTIONS, show: Show = format_value) -> TerminalGrid:
    """A table with one row per run or pair, grouped by measure.

    Args:
        told: corrections.
        scale: scale of the printed values.
        show: formats a value.
    """
    from rich.text import Text

    from trueval.report.terminal import grid

    head = headings(told)
    rows = grid(("", *head), "Lrrrrrr", (head[-2], head[-1]))
    for measure, mine in by_measure(told):
        rows.add_row(Text(measure, style="bold"))
        for each in mine:
            judge, *rest = _cells(each, scale, show)
            value = Text(rest[0], style="dim" if each.refused else "bold")
            rows.add_row(Text(f" {each.name}"), judge, value, *rest[1:])
    return rows


def markdown(
    told: Sequence[CorrectedEntry], scale: ValueUnit, head: Sequence[str] = ("run",), show: Show = format_value
) -> str:
    """The corrections as a Markdown table.

    Args:
        told: corrections.
        scale: scale of the printed values.
        head: heading of the first column.
        show: formats a value.
    """
    rows = ([each.name, each.measure, *_cells(each, scale, show)] for each in told)
    return pipes((*head, "measure", *headings(told)), rows, words=2)


def rows_of(told: Sequence[CorrectedEntry], show: Show = format_value) -> tuple[tuple[str, ...], list[list[str]]]:
    """Headings after the first column's, and the cells of each row.

    Args:
        told: corrections.
        show: formats a value.
    """
    cells = [[each.name, each.measure, *_cells(each, FRACTIONS, show)] for each in told]
    return ("measure", *headings(told)), cells


def tabular_of(
    told: Sequence[CorrectedEntry],
    scale: ValueUnit,
    head: str = "run",
    show: Show = format_value,
    notes: Iterable[str] = (),
) -> str:
    """The corrections as a LaTeX tabular, which needs the package booktabs.

    Args:
        told: corrections.
        scale: scale of the printed values.
        head: heading of the first column.
        show: formats a value.
        notes: comments above the table.
    """
    rows = ([latex(cell) for cell in (each.name, each.measure, *_cells(each, scale, show))] for each in told)
    titles = (head, "measure", *(latex(title) for title in headings(told)))
    return tabular(titles, rows, "ll" + "r" * 6, notes=notes)


def flat(entry: Entry | None) -> dict[str, Any]:
    """A correction as columns of CSV; empty where there is none.

    >>> flat({"measure": "RR", "refused": "why"})
    {'refused': 'why'}
    """
    if entry is None or "refused" in entry:
        return {} if entry is None else {"refused": entry["refused"]}
    ends = {f"{name}_{end}": entry[name].get(end) for name in ("corrected", "people") for end in ("low", "high")}
    values = {name: entry[name]["estimate"] for name in ("judge", "corrected", "people")}
    return {**values, **ends, "people_queries": entry["queries"], "people_labels": entry["labels"]}


def lines(results: Mapping[str, Any], told: Sequence[CorrectedEntry]) -> Iterator[str]:
    """Notes to the numbers: what they estimate, what is refused, and warnings.

    Args:
        results: results with "audit".
        told: their corrections.
    """
    yield f"{MEANT[results['audit']['labels']]}. {sample_sentence(results['audit'])}"
    yield from refusals(told)
    yield from warnings(told)


def sample_sentence(audit: Mapping[str, Any]) -> str:
    """One sentence on what corrected values are and which sample they use.

    Args:
        audit: of the results.
    """
    unit = "queries" if audit["design"] == "queries" else "passages"
    part = audit["sampled"]
    skipped = f", {count_phrase(audit['skipped'], 'answer', 'answers')} skipped" if audit["skipped"] else ""
    return (
        "Corrected: the judge's value, moved by what people say of a probability sample: "
        f"{part:,} of {audit['population']:,} {unit} graded by people ({audit['people_labels']:,} labels{skipped}; "
        f"design {audit['design']}). {audit['level']:.0%} intervals for {audit['target']}."
    )


def refusals(told: Sequence[CorrectedEntry]) -> Iterator[str]:
    """One line per reason why there is no estimate.

    Args:
        told: corrections.
    """
    reasons: dict[str, dict[str, None]] = {}
    for each in told:
        if each.refused:
            reasons.setdefault(each.refused, {})[each.measure] = None
    for reason, measures in reasons.items():
        yield f"{_list(list(measures))}: not corrected: {reason}"


def warnings(told: Sequence[CorrectedEntry]) -> Iterator[str]:
    """One line per distinct warning, with the corrections it concerns.

    Args:
        told: corrections.
    """
    about: dict[str, dict[str, None]] = {}
    for each in told:
        for warning in each.entry.get("warnings", ()):
            about.setdefault(warning, {})[each.measure] = None
    measures = {each.measure for each in told if not each.refused}
    for warning, named in about.items():
        where = "" if set(named) == measures else f"{_list(list(named))}: "
        yield f"{where}{warning[:1].upper() if not where else warning[:1]}{warning[1:]}"


def describe_leader_changes(told: Sequence[CorrectedEntry]) -> Iterator[str]:
    """One sentence per measure whose best run by corrected values is not the judge's.

    Args:
        told: corrections of runs.
    """
    for measure, mine in by_measure(told):
        known = [each for each in mine if not each.refused and each.entry["corrected"]["estimate"] is not None]
        if len(known) < 2:
            continue
        judged, corrected = (_best(known, part, measure) for part in ("judge", "corrected"))
        if judged.name != corrected.name:
            left = "" if _apart(judged, corrected) else "; the corrected intervals of the two overlap"
            best = f"{measure}: by the judge's labels {judged.name} is best"
            yield f"{best}, by the corrected values {corrected.name}{left}."


def best_first(told: Sequence[CorrectedEntry]) -> list[CorrectedEntry]:
    """Corrections of runs by measure, the best corrected value first and refused ones last.

    Args:
        told: corrections of runs.
    """

    def place(each: CorrectedEntry) -> tuple[bool, float]:
        value = None if each.refused else each.entry["corrected"]["estimate"]
        sign = 1 if lower_is_better(each.measure) else -1
        return value is None, sign * (value or 0.0)

    return [each for _, mine in by_measure(told) for each in sorted(mine, key=place)]


def _apart(one: CorrectedEntry, other: CorrectedEntry) -> bool:
    """Whether the corrected intervals of two runs are disjoint."""
    (low, high), (least, most) = [
        [each.entry["corrected"].get(end) for end in ("low", "high")] for each in (one, other)
    ]
    return None not in (low, high, least, most) and (high < least or most < low)


def _best(told: Sequence[CorrectedEntry], part: str, measure: str) -> CorrectedEntry:
    """The run with the best value, the first among equals."""
    sign = -1 if lower_is_better(measure) else 1
    return max(told, key=lambda each: sign * float(each.entry[part]["estimate"]))


def describe_sign_changes(told: Sequence[CorrectedEntry], *, surely: bool = False) -> Iterator[str]:
    """One sentence per difference whose sign the correction reverses.

    Args:
        told: corrections of differences.
        surely: whether to require that the whole interval has the opposite sign.
    """
    for each in told:
        if each.refused or each.entry["judge"]["estimate"] is None or each.entry["corrected"]["estimate"] is None:
            continue
        judge, value = (each.entry[name]["estimate"] for name in ("judge", "corrected"))
        end = each.entry["corrected"]["low" if value > 0 else "high"]
        if judge * value < 0 and not (surely and (end is None or end * value <= 0)):
            yield (
                f"{each.measure}, {each.name}: {format_difference(judge)} by the judge's labels, "
                f"{format_difference(value)} corrected by "
                f"people's {span(each.entry['corrected'], FRACTIONS, format_difference)}."
            )


def span(part: Entry, scale: ValueUnit, show: Show) -> str:
    """An interval in brackets, "–" where an end is missing."""
    return interval(part.get("low"), part.get("high"), scale, show)


def _cells(told: CorrectedEntry, scale: ValueUnit, show: Show) -> list[str]:
    """Judge, corrected, its interval, people, their interval, labels; or the note that it is refused."""
    entry = told.entry
    if told.refused:
        judge = entry.get("judge", {}).get("estimate")
        return [show(judge, scale), "refused", *[NOT_AVAILABLE] * 4]
    values = {name: show(entry[name]["estimate"], scale) for name in ("judge", "corrected", "people")}
    spans = {name: span(entry[name], scale, show) for name in ("corrected", "people")}
    return [
        values["judge"],
        values["corrected"],
        spans["corrected"],
        values["people"],
        spans["people"],
        f"{entry['labels']:,}",
    ]


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= MOST else f"{', '.join(names[:MOST])} and {len(names) - MOST} more"
