"""The view of a comparison: which run is better, by how much, whether ties decide it, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Final, NamedTuple

from trueval.comparison.choices import BOOTSTRAP
from trueval.comparison.comparison import (
    Comparison,
    Difference,
    Interval,
    Leaderboard,
    RankedSystem,
    flatten,
    identical_note,
)
from trueval.comparison.resampling.run_reshuffle import PairReshuffle, RunReshuffle
from trueval.comparison.verdict import NO_DIFFERENCE, REVERSED, UNDECIDABLE
from trueval.comparison.views.judges import judge_findings, judge_sections
from trueval.comparison.views.pairs import (
    BOUNDED,
    CHANCE,
    MOST_LEADING,
    SPAN,
    ShownPair,
    close_pairs,
    deciding_interval,
    heading,
    is_simultaneous,
    page_sheets,
    pair_figures,
    pairs_of,
    text_sheet,
)
from trueval.evaluation.corrected_values import CorrectedValue
from trueval.evaluation.views.corrections import (
    DIFFERENCES_TITLE,
    LEGEND,
    MEANT,
    TITLE,
    CorrectedRow,
    corrected_figures,
    corrected_sheet,
    csv_columns,
    describe_leader_changes,
    describe_refusals,
    describe_sample,
    describe_sign_changes,
    describe_warnings,
)
from trueval.report.number_texts import count_phrase
from trueval.report.page_content import Figure
from trueval.report.plots import TieInterval, lead_figure, letters_of
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, INTERVAL, MARKS, NAME, interval_of, unscaled_unit
from trueval.report.view import Answer, Column, Mark, Only, Quantity, Section, Sentence, Sheet, View, choices_section

MOST: Final = 4  # things of one kind that a sentence names, and sentences of one kind
MOST_LETTERS: Final = 6  # of a run on the page; forty runs can be in dozens of groups, which ranks say shorter
SHARED: Final = "Runs that share a letter are not separated."
RANKS: Final = "Ranks are those that the separated pairs leave to a run."
SIDE_BY_SIDE: Final = 3  # measures of one matrix: with letters and ranks of each they fit a page of 1,280 pixels
MOST_ROWS: Final = 15  # pairs of lists in texts: those of 6 runs
MOST_OPEN: Final = 100  # pairs of lists on the page that are open from the beginning
# Conventional levels of stars; the first is the level of the comparison itself.
STARS: Final = ((0.001, "***"), (0.01, "**"))
LEAST_P: Final = 0.00005  # below it p is shown as "<.0001"
CORRECTIONS: Final = {"maxt": "MaxT", "holm": "Holm", "benjamini-hochberg": "Benjamini & Hochberg"}


class _Run(NamedTuple):
    """A run with its places by measure.

    Attributes:
        name: of the run.
        systems: measure → its row of the ranking.
        marks: measure → the mark of its pair with the baseline.
    """

    name: str
    systems: Mapping[str, RankedSystem]
    marks: Mapping[str, str]


def view(result: Comparison, *, pairs: str = "") -> View:
    """What `trueval compare` shows.

    Args:
        result: of the command.
        pairs: which pairs texts show: "close" for neighbors in the ranking, "all"; "" for all where they are few.
    """
    boards = [board for board in result.leaderboards if any(row.expected == row.expected for row in board.ranking)]
    shown = [pairs_of(result, board) for board in boards]
    figures = [
        figure
        for at, (board, mine) in enumerate(zip(boards, shown, strict=True))
        for figure in pair_figures(result, board, mine, at)
    ]
    values, differences = _corrected_values(result), _corrected_differences(shown)
    return View(
        title="Comparison",
        answer=_answer(result, boards, shown),
        lead=next(
            (each for board in boards[:1] for each in pair_figures(result, board, shown[0], 0, MOST_LEADING)), None
        ),
        sections=[
            *_matrix(result, boards),
            *_pairs(result, boards, shown, figures, pairs),
            *_reshuffle(result),
            *_corrections(result, values, differences),
            *judge_sections(result.judges),
            choices_section("comparison", result.choices),
        ],
        csv=_csv(result),
        findings=[*judge_findings(result.judges), *_findings(result, boards, shown, values, differences)],
        marks=_marks(result),
        legend=list(_legend(result)),
        notes=result.notes,
    )


# ---- the answer ----


def _answer(
    result: Comparison,
    boards: Sequence[Leaderboard],
    shown: Sequence[Sequence[ShownPair]],
) -> Answer:
    """The first pair of the first measure, and what else is known of its best run."""
    runs, baseline = len(result.runs), result.baseline
    question = "Which run is better?" if runs == 2 else "Which run is best?"
    question = question if baseline is None else f"Is a run better than {baseline}?"
    if not boards or not shown[0]:
        return Answer("No query has a value for all of these runs, so nothing can be compared.", question)
    board, pair = boards[0], shown[0][0]
    found = pair.found
    if (same := identical_note(found.first, found.second)) in result.notes:
        return Answer(same, question, change="Is one of the files another one than you meant?")
    sure: Sentence = (
        *_by_people(found),
        *_rest(result, board, shown[0]),
        *_method(result, board, found),
        *_ties(found),
    )
    change, command = _change(result, board, found)
    return Answer(_decision(result, pair), question, sure, change, command)


def _decision(result: Comparison, pair: ShownPair) -> Sentence:
    """A difference in one sentence: who is better, by how much, and whether queries or ties leave it open."""
    found = pair.found
    turned = found.gain < 0
    better, other = (found.second, found.first) if turned else (found.first, found.second)
    if result.baseline is None and len(result.runs) > 2 and not pair.ranks[0] and pair.ranks[1] == 1:
        other = f"{other}, the next of {len(result.runs)} runs,"
    measure = found.measure + (" (lower is better)" if found.better == "lower" else "")
    lead = Quantity(found, "expected", DIFFERENCE, turned)
    if abs(found.expected) <= NO_DIFFERENCE:
        undecidable = ", and ties decide which is ahead" if found.undecidable else ""
        return f"{found.first} and {found.second} are equal in {measure}{undecidable}."
    decides = Quantity(found, deciding_interval(result), SPAN, turned)
    span: Interval = getattr(found, deciding_interval(result))
    known = (" ", decides) if span.low == span.low else ()
    p: tuple[str | Quantity, ...] = ()
    if found.tests.adjusted == found.tests.adjusted:
        p = (", p = " if found.tests.adjusted >= LEAST_P else ", p ", Quantity(found.tests, "adjusted", CHANCE))
    reverses = ", although its tie-broken value is the lower one" if found.reversed else ""
    if found.separated:
        return (f"{better} is better than {other} in {measure} by ", lead, *known, ", separated", *p, f"{reverses}.")
    if found.undecidable:
        return (
            f"{better} leads {other} in {measure} by ",
            lead,
            ", which lies inside the range of ties ",
            *_tie_range(found),
            f": {'neither ties nor these queries' if span.low <= 0 <= span.high else 'ties'} decide which is better.",
        )
    return (f"Not separated: {better} leads {other} in {measure} by ", lead, *known, *p, f"{reverses}.")


def _by_people(found: Difference) -> Iterator[str | Quantity]:
    """The difference by people's labels."""
    if not isinstance(found.corrected, CorrectedValue):
        return
    row = CorrectedRow("", found.corrected)
    row = row.turn("") if found.gain < 0 else row
    reversed_ = any(True for _ in describe_sign_changes([row], surely=True))
    yield "People's labels say otherwise: corrected by them " if reversed_ else "Corrected by people's labels "
    yield from ("the lead is ", row.quantity("corrected"), " ", row.quantity("corrected", interval=True), ". ")


def _rest(result: Comparison, board: Leaderboard, pairs: Sequence[ShownPair]) -> Iterator[str]:
    """What the queries say of the other runs."""
    if len(board.ranking) < 3:
        return
    if result.baseline is not None:
        yield f"{_separated_from_baseline(result.baseline, pairs)} "
        return
    best = board.ranking[0]
    beside = [row.run for row in board.ranking[1:] if {*letters_of(row.groups)} & {*letters_of(best.groups)}]
    if beside:
        yield f"These queries do not separate {best.run} from {_list(beside)}. "
    else:
        yield f"These queries separate {best.run} from every other run. "


def _separated_from_baseline(baseline: str, pairs: Sequence[ShownPair]) -> str:
    """The runs that are separated from the baseline, better and worse."""
    found = [pair.found for pair in pairs]
    better = [each.first for each in found if each.separated and each.gain > 0]
    worse = [each.first for each in found if each.separated and each.gain < 0]
    rest = len(found) - len(better) - len(worse)
    told = [f"{_list(names)} {what}" for names, what in ((better, "better"), (worse, "worse")) if names]
    return f"Against {baseline}: {'; '.join([*told, *([f'{rest} not separated'] if rest else [])])}."


def _method(result: Comparison, board: Leaderboard, found: Difference) -> Iterator[str]:
    """What the interval and p are of."""
    choices = result.choices
    queries = count_phrase(found.queries, "query", "queries")
    if board.clusters is not None:
        queries += f" in {count_phrase(board.clusters, 'cluster', 'clusters')}"
    alone = choices["family"] == "measure" and sum(each.measure == board.measure for each in result.differences) == 1
    simultaneous = "simultaneous " if is_simultaneous(result, board.measure) else ""
    by = f" by bets ({name})" if (name := choices.get("intervals", BOOTSTRAP)) != BOOTSTRAP else ""
    adjusted = "" if alone else f", {_describe_adjustment(choices)}"
    yield f"{queries}; {result.level:.0%} {simultaneous}interval over queries{by}, "
    yield f"paired {choices['test']} test{adjusted}. "
    if _p_alone(result, found):
        yield f"p is small, but {_interval_beside(choices)} holds 0, so nothing is claimed. "


def _ties(found: Difference) -> Iterator[str | Quantity]:
    """What the orders of ties do to a difference."""
    if not found.highest - found.lowest > NO_DIFFERENCE:
        yield "Ties do not change it."
    elif not found.undecidable:
        yield from ("Over the orders of ties the lead is ", *_tie_range(found), ".")
    elif found.win.value == found.win.value:
        about = "about " if found.win.method in ("normal", "sampled") else ""
        chance = Quantity(found.win, "value", CHANCE)
        yield from (f"{found.first} is ahead with probability {about}", chance, " over the orders of ties.")


def _tie_range(found: Difference) -> tuple[str | Quantity, ...]:
    """The range of a difference over tie orders, from the side of the better run."""
    turned = found.gain < 0
    ends = ("highest", "lowest") if turned else ("lowest", "highest")
    low, high = (Quantity(found, end, DIFFERENCE, turned) for end in ends)
    return ("[", low, ", ", high, "]")


def _change(result: Comparison, board: Leaderboard, found: Difference) -> tuple[Sentence, str]:
    """What would change the answer, and the next command."""
    if found.undecidable:
        return (
            "Scores with more digits, or a second sort key for equal ones, would end the ties; only then can more "
            "queries decide it.",
            "",
        )
    few, units = "", "queries" if board.clusters is None else "clusters"
    if found.concentration is not None:
        few = f"It rests on few of the {units}: {found.concentration.sentence(units)}."
    if result.reshuffle is None:  # values without runs, such as those of answers: no command takes them
        return f"{'' if found.separated else 'More questions would narrow the interval.'} {few}".strip(), ""
    if found.separated:
        return few, "trueval compare QRELS RUN RUN --intervals bounded" if few else ""
    more = "More judged queries would narrow the interval; trueval power says how many."
    return f"{more} {few}".strip(), f'trueval power QRELS RUN RUN -m "{board.measure}"'


# ---- findings ----


def _findings(
    result: Comparison,
    boards: Sequence[Leaderboard],
    shown: Sequence[Sequence[ShownPair]],
    values: Sequence[CorrectedRow],
    differences: Sequence[CorrectedRow],
) -> Iterator[Sentence]:
    if len(result.runs) == 2 and boards and identical_note(*result.runs) in result.notes:
        return
    if len(result.differences) > 1:
        yield _count(result)
    leader = boards[0].ranking[0].run if boards else ""
    others = [(board, pairs) for board, pairs in zip(boards[1:], shown[1:], strict=True) if pairs]
    # A second measure changes a decision where somebody else leads on it.
    others.sort(key=lambda each: each[0].ranking[0].run == leader)
    yield from (_decision(result, pairs[0]) for _, pairs in others[:MOST])
    if result.audit is not None:
        yield f"{MEANT[result.audit.labels]}. {describe_sample(result.audit)}"
        yield from list(describe_leader_changes(values))[:MOST]
        yield from list(describe_sign_changes(differences, surely=True))[:MOST]
        yield from describe_refusals([*values, *differences])
        yield from describe_warnings([*values, *differences])


def _count(result: Comparison) -> str:
    found = result.differences
    separated = sum(each.separated for each in found)
    undecidable = [f"{each.first} and {each.second} on {each.measure}" for each in found if each.undecidable]
    turned = sum(each.reversed for each in found)
    words = f"These queries separate {separated:,} of {len(found):,} differences between runs"
    words += f"; undecidable under ties: {_list(undecidable, 'more pairs')}" if undecidable else ""
    words += f"; reversed by the expectation: {turned:,}" if turned else ""
    return f"{words}."


def _list(names: Sequence[str], rest: str = "more runs") -> str:
    shown = list(names) if len(names) <= MOST else [*names[: MOST - 1], f"{len(names) - MOST + 1} {rest}"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


# ---- runs by measures ----


def _matrix(result: Comparison, boards: Sequence[Leaderboard]) -> Iterator[Section]:
    if not boards:
        return
    grouped = result.baseline is None
    words = "Expected values, best first by the first measure."
    if grouped:
        words += (
            " Systems that share a letter are not separated by these queries and their ties; a is the best group. "
            "Ranks are those that a system can have by what is separated."
        )
    of_run = {
        row.run: {board.measure: each for board in boards for each in board.ranking if each.run == row.run}
        for row in boards[0].ranking
    }
    marks = {(each.first, each.measure): _mark(each, result.level) for each in result.differences if not grouped}
    rows = [
        _Run(name, systems, {measure: marks.get((name, measure), "") for measure in systems})
        for name, systems in of_run.items()
    ]
    sheets = []
    for start in range(0, len(boards), SIDE_BY_SIDE):
        part = boards[start : start + SIDE_BY_SIDE]
        columns: list[Column[_Run]] = [Column("run", lambda row: row.name, NAME)]
        for board in part:
            columns += _of_measure(board, grouped=grouped)
        place = start // SIDE_BY_SIDE
        title = "Runs by measures" if not place else f"Runs by measures, {place + 1}"
        caption = ", ".join(board.measure for board in part) + "."
        only: Only = "" if len(boards) > 1 else "page"
        key = SHARED if grouped else _explain_stars(result)
        sheets.append(Sheet(title, rows, columns, caption=caption, only=only, id=f"matrix-{place}", key=key))
    yield Section("Runs by measures", sheets, words, _values_figure(boards[0]), id="matrix-block")


def _of_measure(board: Leaderboard, *, grouped: bool) -> Iterator[Column[_Run]]:
    """The columns of a measure: values, then letters of groups and ranks, or marks of pairs with the baseline."""
    measure = board.measure
    best = board.ranking[0].expected
    ends = ("best rank", "worst rank")
    ranks: Column[_Run] = Column(
        "ranks", lambda row: row.systems[measure].rank_interval, interval_of(COUNT), only="page", ends=ends
    )
    yield Column(measure, lambda row: row.systems[measure].expected, FRACTION, strong=lambda value: value == best)
    if grouped:
        yield Column("", lambda row: row.systems[measure].groups, only="text")
        yield Column(
            "groups", lambda row: row.systems[measure].groups, unscaled_unit(_shorten_letters, "l"), only="page"
        )
        yield ranks
    else:
        yield Column("", lambda row: row.marks[measure], MARKS)
        if board.ranking[0].rank_interval is not None:
            yield ranks


def _shorten_letters(groups: str) -> str:
    """The letters of a run's groups; where there are many, the first ones and their number.

    >>> _shorten_letters("abc"), _shorten_letters("abcdefghijkl")
    ('abc', 'abc… 12 groups')
    """
    letters = letters_of(groups)
    return groups if len(letters) <= MOST_LETTERS else f"{''.join(letters[:3])}… {len(letters)} groups"


def _mark(row: Difference, level: float) -> str:
    """The mark of a pair with the baseline: stars where it is separated, "?" or "!" where ties speak against it."""
    symbol = {UNDECIDABLE: "?", REVERSED: "!"}.get(row.verdict, "")
    if not row.separated:
        return symbol
    return symbol + next((stars for bar, stars in STARS if row.tests.adjusted < min(bar, 1 - level)), "*")


def _explain_stars(result: Comparison) -> str:
    """The marks of a baseline in a caption."""
    stars = f"* separated from {result.baseline} (** p < .01, *** p < .001)"
    return f"{stars}; ? {UNDECIDABLE}; ! {REVERSED}."


def _marks(result: Comparison) -> list[Mark]:
    choices = result.choices
    return [
        Mark(
            "*",
            f"separated from {result.baseline}: p < {1 - result.level:.2g} by the paired {choices['test']} test, "
            f"{_describe_adjustment(choices)} (** p < .01, *** p < .001), {_interval_beside(choices)} excludes 0, and "
            "ties do not undo it.",
        ),
        Mark("?", f"{UNDECIDABLE}: neither wins in {result.level:.0%} of the tie orders."),
        Mark("!", f"{REVERSED}."),
        Mark(
            BOUNDED,
            "bounded: made from lowest and highest values, as a standard deviation over tie orders is not known or "
            "intervals are by bets. It holds at its level whatever the orders are, chosen ones too, and is wide.",
        ),
    ]


def _values_figure(board: Leaderboard) -> list[Figure]:
    dots = [
        TieInterval(row.run, row.expected, *(row.expected if end != end else end for end in (row.lowest, row.highest)))
        for row in board.ranking
        if row.expected == row.expected
    ]
    groups = {row.run: row.groups for row in board.ranking}
    return [lead_figure("compared-values", board.measure, dots, groups)]


def _ranking(result: Comparison, board: Leaderboard) -> Sheet[RankedSystem]:
    columns: list[Column[RankedSystem]] = [
        Column("#", lambda row: row.place, COUNT),
        Column("run", lambda row: row.run + (" (baseline)" if row.run == result.baseline else ""), NAME),
        Column("expected", lambda row: row.expected, FRACTION),
        Column("lowest, highest", lambda row: row.tie_range, INTERVAL),
    ]
    if any(row.rank_interval is not None for row in board.ranking):
        columns.append(Column("ranks", _write_ranks))
    if result.baseline is None:
        columns.append(Column("groups", lambda row: row.groups))
    key = f"{SHARED} {RANKS}" if result.baseline is None else ""
    return Sheet(heading(board), board.ranking, columns, only="text", key=key)


def _write_ranks(row: RankedSystem) -> str:
    if row.rank_interval is None:
        return ""
    low, high = row.rank_interval
    return str(low) if low == high else f"{low}-{high}"


# ---- pairs ----


def _pairs(
    result: Comparison,
    boards: Sequence[Leaderboard],
    shown: Sequence[Sequence[ShownPair]],
    figures: Sequence[Figure],
    pairs: str,
) -> Iterator[Section]:
    if not boards:
        return
    texts = [
        sheet
        for board, mine in zip(boards, shown, strict=True)
        for sheet in (_ranking(result, board), text_sheet(result, board, mine, pairs))
    ]
    close = [pair for board, mine in zip(boards, shown, strict=True) for pair in close_pairs(result, board, mine)]
    every = [pair for mine in shown for pair in mine]
    words = (
        "A difference is the first run's value less the second's"
        + ("" if result.baseline is not None else ", the better run first")
        + f". The interval is what the queries leave open of all differences together, at level {result.level:g}; p "
        f"is adjusted for the same family ({result.choices['correction']}). The tie range holds every value that the "
        "orders of equal scores allow."
    )
    title = "Close calls" if result.baseline is None else f"Against {result.baseline}"
    drawn = figures if len(close) > MOST_LEADING else figures[1:]  # else the first leads the page
    yield Section(title, [*texts, *page_sheets(result, close, every)], words, drawn, id="differences")


# ---- lists ----


def _reshuffle(result: Comparison) -> Iterator[Section]:
    found = result.reshuffle
    if found is None:
        return
    some = f"{found.queries:,} of " if found.queries < found.of else ""
    title = f"lists: the first {found.k} results, {some}{count_phrase(found.of, 'query', 'queries')}"
    columns: list[Column[PairReshuffle]] = [
        Column("first", lambda row: row.first, NAME),
        Column("second", lambda row: row.second, NAME),
        Column("overlap", lambda row: row.overlap, FRACTION),
        Column("τ", lambda row: row.tau, FRACTION),
        Column("RBO", lambda row: row.rbo, FRACTION),
        Column("queries", lambda row: row.queries, COUNT, only="page"),
    ]
    few = _select_pairs(result, found)
    more = f" (neighbors in the first ranking; JSON has all {len(found.pairs):,} pairs)"
    yield Section(
        "How much the lists differ",
        [
            Sheet(title + (more if len(few) < len(found.pairs) else ""), few, columns, only="text"),
            Sheet(title, found.pairs, columns, folded=len(found.pairs) > MOST_OPEN, only="page", id="reshuffle-table"),
        ],
        f"Two runs can be worth the same and give readers different documents. {_explain_lists(found)}",
        id="reshuffle",
    )


def _explain_lists(found: RunReshuffle) -> str:
    return (
        f"overlap: share of the first {found.k} that both list; τ: Kendall's for lists of different documents, "
        "1 the same list, −1 nothing in common (1 − 2 K^(1/2)/max, Fagin et al. 2003); RBO: rank-biased overlap of the "
        f"first {found.depth}, p = {found.p:g}, extrapolated. All are means over the orders of equal scores."
        f"{_single(found)}"
    )


def _single(found: RunReshuffle) -> str:
    """That RBO of a list of one document knows one rank, where there are such lists."""
    if not found.single:
        return ""
    return (
        f" For {count_phrase(found.single, 'query', 'queries')} a run lists one document: RBO goes by one rank there, "
        "and is 1 where the other list begins with that document and 0 where it lacks it."
    )


def _select_pairs(result: Comparison, found: RunReshuffle) -> Sequence[PairReshuffle]:
    """The pairs that fit a terminal: all, those with a baseline, or neighbors by the first measure."""
    if len(found.pairs) <= MOST_ROWS or result.baseline is not None:
        return found.pairs
    neighbors = {frozenset(pair) for pair in pairwise(row.run for row in result.leaderboards[0].ranking)}
    return [pair for pair in found.pairs if {pair.first, pair.second} in neighbors]


# ---- people's labels ----


def _corrected_values(result: Comparison) -> list[CorrectedRow]:
    """Corrections of every run, by measure, the best by the values compared first."""
    found = [CorrectedRow(run.name, each) for run in result.corrected or () for each in run.corrected]
    places = {
        (board.measure, row.run): (number, place)
        for number, board in enumerate(result.leaderboards)
        for place, row in enumerate(board.ranking)
    }
    return sorted(found, key=lambda each: places[each.measure, each.name])


def _corrected_differences(shown: Sequence[Sequence[ShownPair]]) -> list[CorrectedRow]:
    """Corrections of every pair, in the order and the direction of the pairs."""
    rows = []
    for pair in (pair for mine in shown for pair in mine):
        if pair.found.corrected is not None:
            row = CorrectedRow(f"{pair.shown.first} - {pair.shown.second}", pair.found.corrected)
            rows.append(row.turn(row.name) if pair.turned else row)
    return rows


def _corrections(
    result: Comparison, values: Sequence[CorrectedRow], differences: Sequence[CorrectedRow]
) -> Iterator[Section]:
    if result.audit is None:
        return
    for title, every, prefix in ((TITLE, values, "compared-"), (DIFFERENCES_TITLE, differences, "differences-")):
        of_pairs, rows = prefix == "differences-", [each for each in every if each.value is not None]
        sheet = corrected_sheet(rows, differences=of_pairs, prefix=prefix)
        figures = corrected_figures(rows, differences=of_pairs, prefix=prefix)
        yield Section(title, [sheet], describe_sample(result.audit), figures, id=f"{prefix}corrected-block")


# ---- words ----


def _legend(result: Comparison) -> Iterator[str]:
    choices = result.choices
    yield (
        f"separated: p < {1 - result.level:.2g} by the paired {choices['test']} test, {_describe_adjustment(choices)}, "
        f"{_interval_beside(choices)} excludes 0, and ties do not undo it. {UNDECIDABLE}: neither wins in "
        f"{result.level:.0%} of the tie orders. reversed: {REVERSED}."
    )
    if any(_p_alone(result, each) for each in result.differences):
        yield f"A small p that is not separated: {_interval_beside(choices)} holds 0, so nothing is claimed."
    if result.baseline is None:
        yield f"{SHARED} {RANKS}"
    made = "by bets, valid for any law of the differences"
    if choices.get("intervals", BOOTSTRAP) == BOOTSTRAP:
        made = (
            "it is not cut where the measure ends, so that with few queries it may pass the largest possible difference"
        )
    every = ", of all pairs together" if deciding_interval(result) == "simultaneous_interval" else ", of each pair"
    yield (
        f"interval: {result.level:.0%} of the expected difference over queries{every}, the one that decides; {made}. "
        "JSON, CSV and the page also have the joint one over queries and tie orders (realized). "
        "win: probability over tie orders that the first is better; ~ where normal, not exact. "
        "w/t/l: queries on which the first wins, ties, loses."
    )
    if result.reshuffle is not None:
        yield _explain_lists(result.reshuffle)
    if result.audit is not None:
        yield from LEGEND
    yield _settings(result)


def _settings(result: Comparison) -> str:
    """How a comparison was made."""
    choices = result.choices
    clusters = choices["clusters"]
    parts = [f"missing queries {choices['policy']['missing']}"]
    if clusters is not None:
        parts.append(f"queries of {count_phrase(clusters['count'], 'cluster', 'clusters')} taken together")
    if (name := choices.get("intervals", BOOTSTRAP)) != BOOTSTRAP:
        parts.append(f"{name} intervals by bets")
    return ", ".join([*parts, f"{choices['resamples']:,} resamples", f"seed {choices['seed']}."])


def _describe_adjustment(choices: Mapping[str, object]) -> str:
    """How p is adjusted, in words."""
    family = "the pairs of a measure" if choices["family"] == "measure" else "all pairs and measures"
    return f"adjusted by {CORRECTIONS[str(choices['correction'])]} over {family}"


def _interval_beside(choices: Mapping[str, object]) -> str:
    """The name of the interval of the expected difference that must exclude 0."""
    return "its interval" if choices["correction"] == "benjamini-hochberg" else "the simultaneous interval"


def _p_alone(result: Comparison, row: Difference) -> bool:
    """Whether p is small and the pair is not separated only because of its interval."""
    return row.tests.adjusted < 1 - result.level and not row.separated and not row.undecidable


def _csv(result: Comparison) -> Sheet[int]:
    """Rows are the places of differences, each flattened only when it is written: there may be thousands."""

    @lru_cache(maxsize=1)
    def values(place: int) -> dict[str, object]:
        return dict(flatten(result.differences[place]))

    def read_value(name: str) -> Callable[[int], object]:
        return lambda place: itemgetter(name)(values(place))

    columns: list[Column[int]] = [Column(name, read_value(name)) for name in (values(0) if result.differences else ())]
    if result.audit is not None:
        found = [None if each.corrected is None else CorrectedRow("", each.corrected) for each in result.differences]
        columns += csv_columns(lambda place: found[place])
    return Sheet("", range(len(result.differences)), columns)
