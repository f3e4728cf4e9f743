"""Reports of golden sets: terminal table, Markdown, LaTeX, CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from rich.console import Group
from rich.text import Text

from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.number_texts import FRACTIONS, NOT_AVAILABLE, ValueUnit, count_phrase, format_value, percent
from trueval.report.terminal import grid

Entry = Mapping[str, Any]

HEAD: Final = ("stage", "queries", "passages", "calls", "not\nvalid", "tokens out", "tokens\nback", "cost", "seconds")
WORDS: Final = tuple(title.replace("\n", " ") for title in HEAD)
COLUMNS: Final = ("stage", "queries", "passages", "calls", "invalid", "tokens_in", "tokens_out", "cost", "seconds")


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """The terminal report: the stages, then the quality of the judge.

    Args:
        result: the JSON of `trueval golden build`.
        scale: of shares.
    """
    shown = grid(HEAD, "L" + "r" * (len(HEAD) - 1), spare=("tokens\nback", "queries"))
    for stage in result["stages"]:
        shown.add_row(*stage_cells(stage))
    return Group(shown, *map(Text, sentences(result)))


def stage_cells(stage: Entry) -> list[str]:
    """Table cells of a stage.

    Args:
        stage: an entry of "stages".
    """
    numbers = [_number(stage.get(name)) for name in COLUMNS[1:7]]
    return [stage["stage"], *numbers, money(stage.get("cost")), f"{stage['seconds']:.3g}"]


def money(value: float | None) -> str:
    """A cost with four digits.

    >>> money(0.71234), money(None)
    ('0.7123', '–')
    """
    return NOT_AVAILABLE if value is None else f"{value:.4g}"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def sentences(result: Entry) -> Iterator[str]:
    """The findings on a golden set as sentences, the most important first.

    Args:
        result: the JSON of `trueval golden build`.
    """
    if "grades" not in result:
        yield f"Nothing is graded yet: it was built up to {result['stages'][-1]['stage']}."
        return
    unjudged = f"; {result['unjudged']:,} got no valid label and are unjudged" if result["unjudged"] else ""
    grades = ", ".join(f"{result['grades'][grade]:,} of grade {grade}" for grade in "54321")
    yield (
        f"{result['judge']['name']} judged {result['judged']:,} of {result['passages']:,} passages of "
        f"{count_phrase(result['heterogeneity']['queries'], 'query', 'queries')}{unjudged}: {grades}."
    )
    yield from _describe_unjudged(result)
    lost = result["collection"]["queries"] - result["heterogeneity"]["queries"]
    if lost:
        yield f"{count_phrase(lost, 'query', 'queries')} found no passage, and nothing is judged there."
    yield from _useful(result["heterogeneity"])
    yield from _agreement(result)
    yield from _sources(result["sources"])
    yield from _describe_refinement(result)
    if result["speaks_to_judge"]:
        yield (
            f"{count_phrase(len(result['speaks_to_judge']), 'passage seems', 'passages seem')} to speak to a "
            "judge. They "
            "were graded as any other; look at them."
        )


def _describe_unjudged(result: Entry) -> Iterator[str]:
    """Why answers were invalid, where passages lack a label for it."""
    problems = next((each.get("problems") for each in result["stages"] if each["stage"] == "grade"), None)
    if result["unjudged"] and problems:
        problem, calls = max(problems.items(), key=lambda each: each[1])
        yield (
            f"What was wrong most often with the answers of the judge: {problem} "
            f"({count_phrase(calls, 'call', 'calls')})."
        )


def _useful(found: Entry) -> Iterator[str]:
    useful = found["useful"]
    if useful["median"] is None:  # nothing is judged
        return
    without = f"; {count_phrase(useful['without'], 'query has', 'queries have')} none" if useful["without"] else ""
    yield (
        f"Useful passages (grades 4 and 5) of a query: median {useful['median']:g}, mean {useful['mean']:.1f}, median "
        f"share of its pool {percent(useful['share'])}{without}."
    )


def _agreement(result: Entry) -> Iterator[str]:
    for each in result["rounds"]:
        kappa = "" if each["kappa"] is None else f", quadratic kappa {format_value(each['kappa'])}"
        yield (
            f"Rounds {each['first'] + 1} and {each['second'] + 1}: {percent(each['same'])} of {each['passages']:,} "
            f"passages have the same label, {percent(each['within_one'])} at most one grade apart{kappa}."
        )
    for stage in result["stages"]:
        again = stage.get("repeated")
        if again and again["labels"]:
            yield (
                f"Asked the same twice ({again['calls']} calls), {percent(again['labels_differ'])} of "
                f"{again['labels']:,} labels differ."
            )
        if again and again["orders"]:
            yield (
                f"Asked the same twice ({again['calls']} calls), {percent(again['orders_differ'])} of "
                f"{again['orders']:,} orders and {percent(again['pairs_differ'])} of their pairs differ."
            )


def _sources(sources: Sequence[Entry]) -> Iterator[str]:
    searches = [each for each in sources if each["name"] != "pool" and each["ceiling"] is not None]
    for each in searches if len(searches) > 1 else ():
        yield (
            f"{each['name']} search found {each['useful']:,} useful passages, {each['useful_alone']:,} of them alone; "
            f"PROC(RA-nWG)@10 of what it found is {format_value(each['ceiling']['expected'])}."
        )


def _describe_refinement(result: Entry) -> Iterator[str]:
    queries = result.get("refinement", {}).get("queries", [])
    if not queries:
        return
    calls = [each["calls"] for each in queries]
    told = f"Refinement: {count_phrase(len(queries), 'query', 'queries')}, {np.mean(calls):.1f} calls each"
    # Where all passages are returned, the overlap is 1 whatever was answered: that claims nothing.
    claiming = [each for each in queries if each["overlap"] is not None and each["passages"] > each.get("top", 0)]
    claimed = [each["overlap"] for each in claiming]
    whole = sum(each["passages"] <= each.get("top", 0) for each in queries)
    if whole:
        told += (
            f"; of {count_phrase(whole, 'query', 'queries')} all passages are returned, and the order alone "
            "was asked about"
        )
    if claimed:
        budget = sum(each["stopped"] == "budget" for each in claiming)
        told += (
            f"; expected overlap with the judge's own best {np.mean(claimed):.3f} on average and {min(claimed):.3f} at "
            f"least; {budget} ended at the budget of calls"
        )
    yield f"{told}. It certifies the order of the judge, not the truth."
    yield from result["refinement"].get("cannot_know", ())


def to_csv(result: Entry) -> str:
    """One line per stage, in full precision.

    Args:
        result: the JSON of `trueval golden build`.
    """
    return formats.to_csv(COLUMNS, [{name: stage.get(name) for name in COLUMNS} for stage in result["stages"]])


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The stages as a Markdown table, and the sentences.

    Args:
        result: the JSON of `trueval golden build`.
        scale: of shares.
    """
    rows = pipes(WORDS, [stage_cells(stage) for stage in result["stages"]], words=1)
    return rows + "".join(f"\n{markdown(line)}\n" for line in sentences(result))


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The stages as a tabular; it needs the package booktabs.

    Args:
        result: the JSON of `trueval golden build`.
        scale: of shares.
    """
    rows = [[*map(latex, stage_cells(stage))] for stage in result["stages"]]
    return tabular([*map(latex, WORDS)], rows, "l" + "r" * (len(WORDS) - 1), notes=sentences(result))
