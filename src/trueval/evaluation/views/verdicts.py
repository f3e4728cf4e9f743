"""Verdicts of an evaluation in sentences: which run leads, what ties can change, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from trueval.errors import MeasureError
from trueval.evaluation.views.findings import Finding, find
from trueval.report.number_texts import format_difference, format_value, percent
from trueval.report.page_content import Badge, Number, Words
from trueval.report.result_directory import ResultFile

MOST = 4  # things of one kind that the page names one by one
PAIRS = 2  # pairs of runs that advice names
MOVED = 0.00005  # a tie range below it moves no digit that is shown


class Verdicts(NamedTuple):
    """Sentences about an evaluation, by importance.

    Attributes:
        verdict: one sentence; empty where a comparison gives a better one.
        summary: sentences that affect a decision.
        findings: all other sentences.
    """

    verdict: Words
    summary: tuple[Words, ...]
    findings: tuple[Words, ...]


def summary(file: ResultFile, *, told: Set[str] = frozenset()) -> Verdicts:
    """Sentences for a reader in a hurry, and further findings.

    Args:
        file: results of an evaluation.
        told: measures whose leader a comparison on the same page names.

    Returns:
        Sentences whose numbers name their source.
    """
    results = file.data
    runs = results["runs"]
    if not runs:
        return Verdicts(("The file holds no run.",), (), ())
    measures = [measure for measure in runs[0]["measures"] if by_merit(results, measure)]
    rest = [measure for measure in measures if measure not in told]
    say = _lead if len(runs) > 1 else _alone
    verdict = say(file, rest[0]) if rest and not told else ()
    others = rest[0 if told else 1 :]
    # A lead that the order of equal scores decides is news for whoever has to choose; one that it leaves alone is not.
    urgent = [measure for measure in others if len(runs) > 1 and _is_decided_by_ties(results, measure)]
    summary = [say(file, measure) for measure in urgent[:MOST]]
    if len(urgent) > MOST:
        summary.append((f"Ties decide who leads on {len(urgent) - MOST} more measures of the table too.",))
    leaders = {by_merit(results, measure)[0]["name"] for measure in measures}
    several = (_leaders(results, measures),) if len(runs) > 1 and measures else ()
    changing = several if len(leaders) > 1 and not told else ()
    calm = [say(file, measure) for measure in others if measure not in urgent]
    findings = (*(each for each in several if not changing), *calm, *_extremes(file, measures), _describe_ties(file))
    return Verdicts(verdict, (*changing, *summary), findings)


def badges(file: ResultFile) -> Iterator[Badge]:
    """The effect of ties on each run: none, on its values, or on its rank.

    Args:
        file: results of an evaluation.

    Yields:
        One for each run, best first by the first measure; the number is its widest tie range.
    """
    results = file.data
    findings = [each for each in find(results) if each.kind != "inside"]
    first = next(iter(results["runs"][0]["measures"]), None) if results["runs"] else None
    for run in results["runs"] if first is None else by_merit(results, first, missing=True):
        known = {measure: value["range"] for measure, value in run["measures"].items() if value["range"] is not None}
        widest = max(known, key=known.__getitem__, default=None)
        if widest is None or known[widest] < MOVED:
            yield Badge(run["name"], ("no tie risk",), "none")
            continue
        moved = _value(file, run, widest, "range")
        if any(run["name"] in (each.first, each.second) for each in findings):
            yield Badge(run["name"], ("can change rank, ", moved), "much")
        else:
            yield Badge(run["name"], ("moves by ", moved), "some")


def advice(results: Mapping[str, Any], *, compared: bool) -> Iterator[Words]:
    """What to do, most important first.

    Args:
        results: results of an evaluation.
        compared: whether the page holds a comparison too.

    Yields:
        Sentences.
    """
    findings = find(results)
    turned = [each for each in findings if each.kind == "reversed"]
    if turned:
        pairs = "; ".join(f"{each.higher} above {_other(each)} on {each.measure}" for each in turned[:PAIRS])
        yield (
            f"Publish expected values: the tie order {results['policy']['tie_order']} puts {pairs}{_more(turned)}, "
            "the mean over all orders the other way round.",
        )
    overlaps = [each for each in findings if each.kind == "overlap"]
    if overlaps and not compared:  # a comparison weighs them by how likely each order is
        pairs = "; ".join(f"{each.first} and {each.second} on {each.measure}" for each in overlaps[:PAIRS])
        yield (
            f"Do not rank these by these numbers, because the order of equal scores decides: {pairs}{_more(overlaps)}.",
        )
    yield from _remedies(results)
    if not compared and len(results["runs"]) > 1:
        yield (
            "Tie ranges say nothing about chance: whether a difference would hold for other queries is what "
            "trueval compare tells. Give it the same --out, and this page shows both.",
        )


def _more(several: Sequence[object]) -> str:
    return f"; and {len(several) - PAIRS} more" if len(several) > PAIRS else ""


def _other(finding: Finding) -> str:
    return finding.second if finding.higher == finding.first else finding.first


def _is_decided_by_ties(results: Mapping[str, Any], measure: str) -> bool:
    first = [run["name"] for run in by_merit(results, measure)[:2]]
    return any(
        each.kind != "inside" and each.measure == measure and {each.first, each.second} == {*first}
        for each in find(results)
    )


def by_merit(results: Mapping[str, Any], measure: str, *, missing: bool = False) -> list[Mapping[str, Any]]:
    """Runs from best to worst by expected value.

    Args:
        results: results of an evaluation.
        measure: the measure's text form.
        missing: whether to append runs without a value at the end.

    Returns:
        Entries of the runs; equal values keep the order of the results.
    """
    known = [run for run in results["runs"] if run["measures"][measure]["expected"] is not None]
    rest = [run for run in results["runs"] if run["measures"][measure]["expected"] is None]
    lower = lower_is_better(measure)
    ranked = sorted(known, key=lambda run: run["measures"][measure]["expected"] * (1 if lower else -1))
    return ranked + (rest if missing else [])


def lower_is_better(measure: str) -> bool:
    """Whether lower values of a measure are better; False for measures unknown to this version."""
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
    ahead = Number(format_value(gap), gap, f"{a.source} - {b.source}")
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


def _describe_ties(file: ResultFile) -> Words:
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
    moved = any((value["range"] or 0.0) >= MOVED for run in runs for value in run["measures"].values())
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
        yield ("Nothing to do about ties: no order of equal scores changes a digit that is shown.",)
    cut = [run["name"] for run in runs if run["ties"]["cut_queries"]]
    if cut:
        yield (f"Retrieve deeper: lists of {_list(cut)} may end inside a tie group, which hides tied documents.",)
    for run in (each for each in runs if each["missing_queries"]):
        count, policy = len(run["missing_queries"]), results["policy"].get("missing", "worst")
        yield (f"Look at {run['name']}: it lacks {count} judged queries (policy for them: {policy}).",)


def _value(file: ResultFile, run: Mapping[str, Any], measure: str, name: str) -> Number:
    index = next(place for place, each in enumerate(file.data["runs"]) if each is run)
    value = run["measures"][measure][name]
    text = format_difference(value) if name == "bias" else format_value(value)
    return Number(text, value, file.source("runs", index, "measures", measure, name))


def _list(names: Sequence[str]) -> str:
    shown = list(names) if len(names) <= MOST else [*names[: MOST - 1], f"{len(names) - MOST + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
