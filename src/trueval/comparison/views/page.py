"""The page of a comparison: which systems are separated, on which measures, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from trueval.comparison.views import reshuffle
from trueval.comparison.views.corrected_page import corrected_blocks, describe_reversals
from trueval.comparison.views.pairs import close_block
from trueval.report.number_texts import NOT_AVAILABLE, format_value
from trueval.report.page_content import Block, Cell, Figure, Number, PageColumn, Part, Row, Table, Words
from trueval.report.page_footer import choice_block
from trueval.report.plots import dot_of, lead_figure, letters_of
from trueval.report.result_directory import Directory, ResultFile, pointer

MOST = 4  # things of one kind that a sentence names
PAIRS = 2  # pairs that advice names
MOST_LETTERS = 6  # of a run in the matrix; forty runs can be in dozens of groups, which ranks say shorter
SIDE_BY_SIDE = 5  # measures of one matrix, which fit a screen


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for one comparison.

    Args:
        file: the comparison.
        directory: folder that may hold the evaluation of the same runs, whose plot is then shown first.

    Returns:
        Verdict, advice, the matrix of runs and measures, close calls, every pair and the choices behind them.
    """
    blocks = (
        *_matrix_block(file),
        *corrected_blocks(file, values=not _has_evaluation(file.data, directory)),
        close_block(file),
        *reshuffle.block(file),
    )
    verdict, *rest = [*_verdicts(file)] or [()]
    turned = tuple((line,) for line in islice(describe_reversals(file), MOST))
    first = next((board["measure"] for board in file.data["leaderboards"] if board["ranking"]), "")
    otherwise = verdict and any(True for _ in describe_reversals(file, first))
    # A second measure changes a decision where somebody else leads on it.
    leader = _leader(file.data, 0)
    changing = [words for index, words in enumerate(rest, start=1) if _leader(file.data, index) != leader]
    return Part(
        verdict=(*verdict, " People's labels say otherwise.") if otherwise else verdict,
        summary=(*turned, _counts(file), *changing[:MOST]),
        findings=(*(each for each in rest if each not in changing), *changing[MOST:]),
        advice=tuple(_advice(file.data)),
        blocks=blocks,
        closing=(choice_block(file, "comparison"),),
        lead=() if _has_evaluation(file.data, directory) else _lead(file.data),
    )


# ---- sentences ----


def _counts(file: ResultFile) -> Words:
    differences = file.data["differences"]
    counts = {name: sum(each[name] for each in differences) for name in ("separated", "undecidable", "reversed")}
    shown = {name: Number(str(count), count, file.source("differences")) for name, count in counts.items()}
    every = Number(str(len(differences)), len(differences), file.source("differences"))
    words: Words = ("These queries separate ", shown["separated"], " of ", every, " differences between runs")
    words += ("; undecidable under ties: ", shown["undecidable"]) if counts["undecidable"] else ()
    words += ("; reversed by the expectation: ", shown["reversed"]) if counts["reversed"] else ()
    return (*words, ".")


def _verdicts(file: ResultFile) -> Iterator[Words]:
    """One sentence per measure with a value."""
    for index, board in enumerate(file.data["leaderboards"]):
        if board["ranking"]:
            yield (
                _first_group(file, index, board)
                if file.data["baseline"] is None
                else _describe_baseline_differences(file.data, board)
            )


def _leader(data: Mapping[str, Any], index: int) -> str | None:
    boards = [board for board in data["leaderboards"] if board["ranking"]]
    return boards[index]["ranking"][0]["run"] if index < len(boards) else None


def _first_group(file: ResultFile, index: int, board: Mapping[str, Any]) -> Words:
    best = board["ranking"][0]
    firsts = [row["run"] for row in board["ranking"] if row["place"] == 1]
    if len(firsts) > 1:
        return (f"{board['measure']}: {_list(firsts)} share the first place.",)
    source = file.source("leaderboards", index, "ranking", 0, "expected")
    value = best["expected"]
    expected = Number(format_value(value), float("nan") if value is None else value, source)
    lead: Words = (f"{board['measure']}: {best['run']} is first with ", expected)
    others = [
        row["run"] for row in board["ranking"][1:] if {*letters_of(row["groups"])} & {*letters_of(best["groups"])}
    ]
    if not others:
        rest = [row["run"] for row in board["ranking"][1:]]
        return (*lead, f", and these queries separate it from {_list(rest) if len(rest) < 3 else 'every other run'}.")
    return (*lead, f"; these queries do not separate it from {_list(others)}.")


def _describe_baseline_differences(data: Mapping[str, Any], board: Mapping[str, Any]) -> Words:
    """The runs separated from the baseline, better and worse."""
    mine = [each for each in data["differences"] if each["measure"] == board["measure"] and each["separated"]]
    sign = -1 if board["better"] == "lower" else 1
    better = [each["first"] for each in mine if sign * each["expected"] > 0]
    worse = [each["first"] for each in mine if sign * each["expected"] < 0]
    told = [f"{_list(names)} {what}" for names, what in ((better, "better"), (worse, "worse")) if names]
    rest = sum(each["measure"] == board["measure"] for each in data["differences"]) - len(mine)
    open_ones = [f"{rest} not separated from it"] if rest else []
    return (f"{board['measure']}, against {data['baseline']}: {'; '.join([*told, *open_ones])}.",)


def _list(names: Sequence[str]) -> str:
    shown = list(names) if len(names) <= MOST else [*names[: MOST - 1], f"{len(names) - MOST + 1} more runs"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _advice(data: Mapping[str, Any]) -> Iterator[Words]:
    undecidable = [each for each in data["differences"] if each["undecidable"]]
    if undecidable:
        pairs = "; ".join(f"{each['first']} and {each['second']} on {each['measure']}" for each in undecidable[:PAIRS])
        rest = f"; and {len(undecidable) - PAIRS} more" if len(undecidable) > PAIRS else ""
        yield (f"Remove ties before judging these, because ties decide who wins: {pairs}{rest}.",)
    open_pairs = [each for each in data["differences"] if not each["separated"] and not each["undecidable"]]
    if open_pairs:
        yield (
            f"Claim no difference that these queries do not separate, {len(open_pairs)} in the table; more judged "
            "queries would narrow the intervals.",
        )


# ---- the plot of the first screen, where no evaluation draws it ----


def _has_evaluation(data: Mapping[str, Any], directory: Directory) -> bool:
    found = (each.data for each in directory.of("evaluate"))
    return any(
        {*data["runs"]} <= {run["name"] for run in each["runs"]} and each["policy"] == data["choices"]["policy"]
        for each in found
    )


def _lead(data: Mapping[str, Any]) -> tuple[Figure, ...]:
    board = next((board for board in data["leaderboards"] if board["ranking"]), None)
    rows = [] if board is None else [row for row in board["ranking"] if row["expected"] is not None]
    if board is None or not rows:
        return ()
    groups = {row["run"]: row["groups"] for row in rows}
    return (lead_figure("lead-compared", board["measure"], [dot_of(row["run"], row) for row in rows], groups),)


# ---- runs by measures ----


def _matrix_block(file: ResultFile) -> tuple[Block, ...]:
    boards = [(index, board) for index, board in enumerate(file.data["leaderboards"]) if board["ranking"]]
    if not boards:
        return ()
    several = [boards[at : at + SIDE_BY_SIDE] for at in range(0, len(boards), SIDE_BY_SIDE)]
    tables = tuple(_matrix(file, place, part) for place, part in enumerate(several))
    words = ["Expected values, best first by the first measure."]
    if file.data["baseline"] is None:
        words.append(
            "Systems that share a letter are not separated by these queries and their ties; a is the best group. Ranks "
            "are those that a system can have by what is separated."
        )
    return (Block("matrix-block", "Runs by measures", words=((" ".join(words),),), tables=tables, place="decisions"),)


def _matrix(file: ResultFile, place: int, boards: Sequence[tuple[int, Mapping[str, Any]]]) -> Table:
    grouped = file.data["baseline"] is None
    columns = [PageColumn("run")]
    for _, board in boards:
        columns.append(PageColumn(board["measure"], numeric=True, show=format_value))
        columns += (PageColumn("groups"), PageColumn("ranks")) if grouped else ()
    names = [row["run"] for row in boards[0][1]["ranking"]]
    rows = []
    for name in names:
        cells = [Cell(name, name)]
        for index, board in boards:
            at, row = next((at, row) for at, row in enumerate(board["ranking"]) if row["run"] == name)
            where = ("leaderboards", index, "ranking", at)
            best = row["place"] == 1
            cells.append(Cell(format_value(row["expected"]), row["expected"], best, pointer(*where, "expected")))
            if grouped:
                cells.append(Cell(_letters(row["groups"]), row["groups"], source=pointer(*where, "groups")))
                cells.append(Cell(_ranks(row["rank_interval"]), None, source=pointer(*where, "rank_interval")))
        rows.append(Row("", tuple(cells)))
    caption = (", ".join(board["measure"] for _, board in boards) + ".",)
    return Table(f"matrix-{place}", caption, file.name, tuple(columns), tuple(rows))


def _letters(groups: str) -> str:
    """The letters of a run's groups; where there are many, the first ones and their number.

    >>> _letters("abc"), _letters("abcdefghijkl")
    ('abc', 'abc… 12 groups')
    """
    letters = letters_of(groups)
    return groups if len(letters) <= MOST_LETTERS else f"{''.join(letters[:3])}… {len(letters)} groups"


def _ranks(ends: Sequence[int] | None) -> str:
    """The rank interval of a system as text.

    >>> _ranks([1, 3]), _ranks([2, 2])
    ('1–3', '2')
    """
    if ends is None:
        return NOT_AVAILABLE
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"
