"""The page of a comparison: verdicts, leaderboards, differences with their intervals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trueval.comparison.views.formats import BOUNDED, BOUNDED_LEGEND
from trueval.report.content import Block, Column, Figure, Number, Part, Table, Words, row_of, rows_height, statistic
from trueval.report.directory import Directory, ResultFile, pointer
from trueval.report.text import fixed, signed

MOST_PAIRS = 40  # differences drawn in one plot; more cannot be read
MOST = 8  # measures that the summary speaks of one by one


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for one comparison.

    Args:
        file: the comparison.
        directory: not needed; a comparison needs no other file.

    Returns:
        Summary, advice, leaderboards, differences and the choices behind them.
    """
    blocks = (_leaderboard_block(file), _difference_block(file))
    return Part(tuple(_summary(file)), tuple(_advice(file.data)), blocks, (_choice_block(file),))


def _summary(file: ResultFile) -> Iterator[Words]:
    differences = file.data["differences"]
    counts = {name: sum(each[name] for each in differences) for name in ("separated", "undecidable", "reversed")}
    shown = {name: Number(str(count), count, file.source("differences")) for name, count in counts.items()}
    every = Number(str(len(differences)), len(differences), file.source("differences"))
    words: Words = ("These queries separate ", shown["separated"], " of ", every, " differences between runs")
    words += ("; undecidable under ties: ", shown["undecidable"]) if counts["undecidable"] else ()
    words += ("; reversed by the expectation: ", shown["reversed"]) if counts["reversed"] else ()
    yield (*words, ".")
    for index, board in list(enumerate(file.data["leaderboards"]))[:MOST]:
        if file.data["baseline"] is None and board["ranking"]:
            yield _first_group(file, index, board)


def _first_group(file: ResultFile, index: int, board: Mapping[str, Any]) -> Words:
    best = board["ranking"][0]
    firsts = [row["run"] for row in board["ranking"] if row["place"] == 1]
    if len(firsts) > 1:
        return (f"{board['measure']}: {', '.join(firsts)} share the first place.",)
    source = file.source("leaderboards", index, "ranking", 0, "expected")
    value = best["expected"]
    expected = Number(fixed(value), float("nan") if value is None else value, source)
    lead: Words = (f"{board['measure']}: {best['run']} is first with ", expected)
    others = [row["run"] for row in board["ranking"][1:] if _letters(row["groups"]) & _letters(best["groups"])]
    if not others:
        return (*lead, ", and these queries separate it from every other run.")
    return (*lead, f"; these queries do not separate it from {', '.join(others)}.")


def _letters(groups: str) -> frozenset[str]:
    """The letters of a group text.

    >>> sorted(_letters("aba1"))
    ['a', 'a1', 'b']
    """
    return frozenset(re.findall(r"[a-z]\d*", groups))


def _advice(data: Mapping[str, Any]) -> Iterator[Words]:
    undecidable = [each for each in data["differences"] if each["undecidable"]]
    if undecidable:
        pairs = "; ".join(f"{each['first']} and {each['second']} on {each['measure']}" for each in undecidable[:MOST])
        rest = f"; and {len(undecidable) - MOST} more" if len(undecidable) > MOST else ""
        yield (f"Remove ties before judging these, because ties decide who wins: {pairs}{rest}.",)
    open_pairs = [each for each in data["differences"] if not each["separated"] and not each["undecidable"]]
    if open_pairs:
        yield (
            f"Claim no difference that these queries do not separate, {len(open_pairs)} in the table; more judged "
            "queries would narrow the intervals.",
        )


def _leaderboard_block(file: ResultFile) -> Block:
    columns = (
        Column("measure"),
        Column("place", "/place", numeric=True),
        Column("run", "/run"),
        *map(statistic, ("expected", "lowest", "highest")),
        Column("groups", "/groups"),
    )
    rows = tuple(
        row_of(pointer("leaderboards", index, "ranking", place), columns, row, board["measure"])
        for index, board in enumerate(file.data["leaderboards"])
        for place, row in enumerate(board["ranking"])
    )
    words = ("Runs that share a letter are not separated by these queries and their ties.",)
    table = Table("leaderboards", ("Runs from best to worst by each measure.",), file.name, columns, rows)
    return Block("leaderboards-block", "Leaderboards", words=(words,), tables=(table,))


def _difference_block(file: ResultFile) -> Block:
    level = file.data["choices"]["level"]
    words = (
        "A difference is the first run's value less the second's. Its tie range holds every value that the orders of "
        f"equal scores allow; the interval is what the queries leave open, at level {level:g}, the joint interval what "
        "the queries and the orders of equal scores in both runs leave open. p is of the "
        f"{file.data['choices']['test']} test, adjusted by Holm; win is the probability over tie orders that the "
        "first run is the better one.",
    )
    figures, table = tuple(_figures(file.data, level)), _difference_table(file)
    return Block("differences", "Differences", words=(words,), figures=figures, tables=(table,))


def _figures(data: Mapping[str, Any], level: float) -> Iterator[Figure]:
    for index, measure in enumerate(dict.fromkeys(each["measure"] for each in data["differences"])):
        mine = [each for each in data["differences"] if each["measure"] == measure and each["expected"] is not None]
        if not mine:
            continue
        shown = sorted(mine, key=lambda each: -abs(each["expected"]))[:MOST_PAIRS]
        drawn = {
            "names": [[each["first"], each["second"]] for each in shown],
            "told": [f"expected {signed(each['expected'])}; {each['verdict']}" for each in shown],
            "expected": [each["expected"] for each in shown],
            "ties": [[each["lowest"], each["highest"]] for each in shown],
            "interval": [each["expected_interval"] for each in shown],
            "interval_name": f"{100 * level:g}% interval over queries",
        }
        largest = f"{measure}: the {len(shown)} largest of {len(mine)} differences"
        title = measure if len(shown) == len(mine) else largest
        description = f"Differences of expected {measure} with their tie ranges and intervals over queries."
        height = rows_height(len(shown))
        yield Figure(f"differences-{index}", title, description, "differences", drawn, height, wide=True)


def _difference_table(file: ResultFile) -> Table:
    differences = file.data["differences"]
    # Most comparisons hold exact intervals only, and have no column for what is not.
    bounded = any(each["realized_bounded"] for each in differences)
    columns = (
        *(Column(name, f"/{name}") for name in ("measure", "first", "second")),
        Column("difference", "/expected", numeric=True, show=signed, strong=lambda _: True),
        Column("verdict", "/verdict"),
        Column("p", "/tests/adjusted", numeric=True, show=fixed),
        Column("interval from", "/expected_interval/0", numeric=True, show=signed),
        Column("to", "/expected_interval/1", numeric=True, show=signed),
        Column("joint interval from", "/realized_interval/0", numeric=True, show=signed),
        Column("to", "/realized_interval/1", numeric=True, show=signed),
        *((Column("bounded"),) if bounded else ()),
        *(Column(name, f"/{name}", numeric=True, show=signed) for name in ("lowest", "highest")),
        Column("tie-broken", "/tie_broken", numeric=True, show=signed),
        Column("win", "/win/value", numeric=True, show=fixed),
        *(Column(name, f"/{name}", numeric=True) for name in ("wins", "ties", "losses")),
    )
    rows = tuple(
        row_of(pointer("differences", index), columns, each, BOUNDED if each["realized_bounded"] else "")
        for index, each in enumerate(differences)
    )
    notes = (*((BOUNDED_LEGEND,) if bounded else ()), *file.data["notes"])
    return Table("difference-table", ("Every difference.",), file.name, columns, rows, notes)


def _choice_block(file: ResultFile) -> Block:
    # The policy is that of the evaluation, whose page shows it.
    choices = {name: value for name, value in file.data["choices"].items() if name != "policy"}
    columns = (Column("choice"), Column("value"))
    rows = []
    for name, value in choices.items():
        text = f"{value:g}" if isinstance(value, float) else str(value)
        rows.append(row_of(pointer("choices", name), columns, choices, name.replace("_", " "), text))
    table = Table("comparison-choices", ("The choices behind the comparison.",), file.name, columns, tuple(rows))
    return Block("comparison-conventions", "Conventions of the comparison", tables=(table,))
