"""What an evaluation says in plain sentences: who leads, what ties can change, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from trueval.errors import MeasureError
from trueval.evaluation.views.findings import find
from trueval.report.content import Number, Words
from trueval.report.directory import ResultFile
from trueval.report.text import fixed, percent, signed

MOST = 8  # measures that the summary speaks of one by one


def summary(file: ResultFile, *, told: Set[str] = frozenset()) -> Iterator[Words]:
    """The sentences that a hurried reader reads, most important first.

    Args:
        file: results of an evaluation.
        told: measures whose leader a comparison on the same page names.

    Yields:
        Sentences whose numbers name their source.
    """
    results = file.data
    runs = results["runs"]
    if not runs:
        yield ("The file holds no run.",)
        return
    measures = [measure for measure in runs[0]["measures"] if by_merit(results, measure)]
    if len(runs) > 1:
        yield _leaders(results, measures)
    rest = [measure for measure in measures if measure not in told]
    for measure in rest[:MOST]:
        yield (_lead if len(runs) > 1 else _alone)(file, measure)
    if len(rest) > MOST:
        yield (f"{len(rest) - MOST} more measures are in the table.",)
    yield from _extremes(file, measures)
    yield _tied(file)


def advice(results: Mapping[str, Any], *, compared: bool) -> Iterator[Words]:
    """What to do about it, most important first.

    Args:
        results: of an evaluation.
        compared: whether the page holds a comparison too.

    Yields:
        Sentences.
    """
    findings = find(results)
    for finding in (each for each in findings if each.kind == "reversed"):
        other = finding.second if finding.higher == finding.first else finding.first
        yield (
            f"Publish expected values: the tie order {results['policy']['tie_order']} gives {finding.higher} a higher "
            f"{finding.measure} than {other}, the mean over all orders a lower one.",
        )
    overlaps = [each for each in findings if each.kind == "overlap"]
    if overlaps:
        pairs = "; ".join(f"{each.first} and {each.second} on {each.measure}" for each in overlaps[:MOST])
        rest = f"; and {len(overlaps) - MOST} more pairs in the table" if len(overlaps) > MOST else ""
        yield (f"Do not rank these by these numbers, because the order of equal scores decides: {pairs}{rest}.",)
    yield from _remedies(results)
    if not compared and len(results["runs"]) > 1:
        yield (
            "Tie ranges say nothing about chance: whether a difference would hold for other queries is what "
            "trueval compare tells. Give it the same --out, and this page shows both.",
        )


def by_merit(results: Mapping[str, Any], measure: str, *, missing: bool = False) -> list[Mapping[str, Any]]:
    """Runs from best to worst by expected value.

    Args:
        results: of an evaluation.
        measure: its text form.
        missing: whether runs without a value come too, at the end.

    Returns:
        Entries of the runs; equal values keep the order of the results.
    """
    known = [run for run in results["runs"] if run["measures"][measure]["expected"] is not None]
    rest = [run for run in results["runs"] if run["measures"][measure]["expected"] is None]
    lower = lower_is_better(measure)
    ranked = sorted(known, key=lambda run: run["measures"][measure]["expected"] * (1 if lower else -1))
    return ranked + (rest if missing else [])


def lower_is_better(measure: str) -> bool:
    """Whether a small value of a measure is good; False for measures that this version does not know."""
    from trueval.measures import parse

    try:
        return parse(measure).better == "lower"
    except MeasureError:
        return False


def _leaders(results: Mapping[str, Any], measures: Sequence[str]) -> Words:
    wins: dict[tuple[str, ...], list[str]] = {}
    for measure in measures:
        ranked = by_merit(results, measure)
        best = ranked[0]["measures"][measure]["expected"]
        names = tuple(run["name"] for run in ranked if run["measures"][measure]["expected"] == best)
        wins.setdefault(names, []).append(measure)
    parts = [
        f"{_list(names)} {'has' if len(names) == 1 else 'share'} the best expected value on {_list(won)}"
        for names, won in sorted(wins.items(), key=lambda item: -len(item[1]))
    ]
    return (f"Of {len(results['runs'])} runs, {'; '.join(parts)}.",)


def _lead(file: ResultFile, measure: str) -> Words:
    ranked = by_merit(file.data, measure)
    if len(ranked) == 1:  # the others have no value of this measure
        return _alone(file, measure)
    first, second = ranked[:2]
    a, b = _value(file, first, measure, "expected"), _value(file, second, measure, "expected")
    gap = abs(a.value - b.value)
    ahead = Number(fixed(gap), gap, f"{a.source} - {b.source}")
    names = (first["name"], second["name"])
    if gap == 0:
        return (f"{measure}: {names[0]} and {names[1]} share the best expected value, ", a, ".")
    # A pair can be both reversed and overlapping; the sentence says what weighs more.
    mine = [each for each in find(file.data) if each.measure == measure and {each.first, each.second} == {*names}]
    kinds = {each.kind for each in mine}
    if "reversed" in kinds:
        order = file.data["policy"]["tie_order"]
        what = f"In the tie order {order} {names[1]} would lead: the order of equal scores decides this."
    elif "overlap" in kinds:
        what = "That lead lies inside the tie ranges: the order of equal scores decides this."
    elif "inside" in kinds:
        what = "Ties move one of them by more than this lead, though no order of equal scores reverses it."
    else:
        what = "No order of equal scores changes that."
    return (f"{measure}: {names[0]} leads with ", a, ", ", ahead, f" ahead of {names[1]}. {what}")


def _alone(file: ResultFile, measure: str) -> Words:
    run = by_merit(file.data, measure)[0]
    expected, lowest, highest = (_value(file, run, measure, name) for name in ("expected", "lowest", "highest"))
    words: Words = (f"{measure}: {run['name']} has the expected value ", expected)
    if run["measures"][measure]["range"] == 0:
        return (*words, "; no order of equal scores changes that.")
    return (*words, "; the order of equal scores can make it anything from ", lowest, " to ", highest, ".")


def _extremes(file: ResultFile, measures: Sequence[str]) -> Iterator[Words]:
    """The widest range and the largest bias."""
    cells = [(run, measure) for run in file.data["runs"] for measure in measures]
    ranges = [cell for cell in cells if cell[0]["measures"][cell[1]]["range"]]
    if not ranges:
        yield ("No order of ties changes any of these means.",)
        return
    run, measure = max(ranges, key=lambda cell: cell[0]["measures"][cell[1]]["range"])
    widest = _value(file, run, measure, "range")
    words: Words = ("The widest tie range is ", widest, f", {measure} of {run['name']}")
    biased = [cell for cell in cells if cell[0]["measures"][cell[1]]["bias"]]
    if not biased:
        yield (*words, ".")
        return
    run, measure = max(biased, key=lambda cell: abs(cell[0]["measures"][cell[1]]["bias"]))
    bias = _value(file, run, measure, "bias")
    order = file.data["policy"]["tie_order"]
    yield (*words, "; the largest bias is ", bias, f", {measure} of {run['name']} in the tie order {order}.")


def _tied(file: ResultFile) -> Words:
    runs = file.data["runs"]
    shares = [run["ties"]["tied_fraction"] for run in runs]
    ends = sorted({shares.index(min(shares)), shares.index(max(shares))}, key=shares.__getitem__)
    numbers = [Number(percent(shares[i]), shares[i], file.source("runs", i, "ties", "tied_fraction")) for i in ends]
    between: Words = (numbers[0],) if len(numbers) == 1 else ("Between ", numbers[0], " and ", numbers[1])
    largest = max(range(len(runs)), key=lambda index: runs[index]["ties"]["largest_group"])
    size = runs[largest]["ties"]["largest_group"]
    if size < 2:
        return ("No two documents of a query share a score.",)
    source = file.source("runs", largest, "ties", "largest_group")
    verb = " of the listed documents share their score with another; the largest group holds "
    return (*between, verb, Number(str(size), size, source), f" documents, in {runs[largest]['name']}.")


def _remedies(results: Mapping[str, Any]) -> Iterator[Words]:
    runs, precision = results["runs"], results["policy"].get("tie_precision")
    moved = any(value["range"] for run in runs for value in run["measures"].values())
    if moved and precision is not None:
        yield (
            f"Scores were compared after rounding to {precision}. Keep them in float32 and evaluate without "
            "--tie-precision to see which ties the rounding made.",
        )
    elif moved:
        yield (
            "Give every value with its tie range. Where the scores are yours, compute and store them in float32 with "
            "all digits, so that fewer of them are equal.",
        )
    else:
        yield ("Nothing to do about ties: no order of equal scores changes a mean.",)
    cut = [run["name"] for run in runs if run["ties"]["cut_queries"]]
    if cut:
        yield (f"Retrieve deeper: lists of {_list(cut)} may end inside a tie group, which hides tied documents.",)
    for run in (each for each in runs if each["missing_queries"]):
        count, policy = len(run["missing_queries"]), results["policy"].get("missing", "worst")
        yield (f"Look at {run['name']}: it lacks {count} judged queries (policy for them: {policy}).",)


def _value(file: ResultFile, run: Mapping[str, Any], measure: str, name: str) -> Number:
    index = next(place for place, each in enumerate(file.data["runs"]) if each is run)
    value = run["measures"][measure][name]
    text = signed(value) if name == "bias" else fixed(value)
    return Number(text, value, file.source("runs", index, "measures", measure, name))


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
