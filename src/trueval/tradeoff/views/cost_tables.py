"""P-B's tables of cost and latency: prices of §3.2.1, 8, 9 and 14 to 16, for the systems of a sweep."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from trueval.report.units import COUNT, TEXT, number
from trueval.tradeoff.quality.efficiency import efficiency
from trueval.tradeoff.runner.sweep_result import PriceSummary
from trueval.tradeoff.views.paper_cells import CellValue, PaperColumn, PaperTable, TableSource, of_measure, table_of
from trueval.tradeoff.views.pipelines import PipelineTexts, cost_of, cutoffs, disambiguate_labels
from trueval.tradeoff.views.quality_tables import RERANKED, TOP, labels, latency, words
from trueval.tradeoff.views.units import MILLISECONDS, MONEY

EFFICIENT: Final = ("N-Recall4+", "RA-nWG")  # at a shallow and a deep K
TIMED: Final = "add [latency] with queries above 0."
MEAN_TOKENS: Final = "mean tokens of a candidate, query and document together"
MOST_EFFICIENT: Final = f"best efficiency, performance over latency; top {TOP}"
MEDIANS: Final = "median latency of the reranker by depth, ms"
TOKEN_COUNT: Final = number(",.1f")
RATIO: Final = number(".3f")


def price_sources(prices: PriceSummary | None) -> tuple[TableSource, TableSource]:
    """The two tables of §3.2.1: cost of reranking and of generator input per 1,000 queries.

    Args:
        prices: of the sweep.
    """
    currency, day = ("", "no date") if prices is None else (prices.currency or "", prices.date or "no date")
    of = f"1,000 queries, {currency}, prices of {day}"
    generator = (prices and prices.generator) or "generator"
    return (
        TableSource(
            "Prices of reranking",
            "cost by depth",
            partial(_reranking_prices, f"cost of reranking {of}"),
            partial(_needs, 'add a price: [prices] rerank = "rerank-2.5", a name of the price book.'),
        ),
        TableSource(
            "Prices of generation",
            "cost of input of the generator by K",
            partial(_generation_prices, f"cost of input of the generator for {of}", generator),
            'name a generator: [prices] generator = "gpt-5", a name of the price book.',
        ),
    )


def _needs(cure: str, pipelines: Sequence[PipelineTexts]) -> str:
    """What to add: a reranker, or else the cure."""
    return cure if any(each.reranked for each in pipelines) else f"add {RERANKED}."


def _reranking_prices(title: str, pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    priced = [each for each in pipelines if each.reranked and _part(each, "rerank") is not None]

    def cost(reranker: str) -> PaperColumn[list[PipelineTexts]]:
        return PaperColumn(
            reranker, lambda rows: _mean([_part(each, "rerank") for each in rows if each.reranker == reranker]), MONEY
        )

    columns: list[PaperColumn[list[PipelineTexts]]] = [
        PaperColumn("depth", lambda rows: str(rows[0].depth or 0), TEXT),
        PaperColumn("tokens a candidate", lambda rows: _mean([each.candidate_tokens for each in rows]), TOKEN_COUNT),
        *map(cost, dict.fromkeys(str(each.reranker) for each in priced)),
    ]
    depths = sorted({each.depth or 0 for each in priced})
    if priced:
        yield table_of(title, [[each for each in priced if each.depth == depth] for depth in depths], columns)


def _generation_prices(title: str, generator: str, pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    def cost(k: int) -> float | None:
        return _mean([cost_of(each.at[k], "generator") for each in pipelines if k in each.at])

    def tokens(k: int) -> float | None:
        mean = _mean([each.at[k].prompt_tokens for each in pipelines if k in each.at])
        return None if mean is None else 1000 * mean

    rows = [k for k in cutoffs(pipelines) if cost(k) is not None]
    columns: list[PaperColumn[int]] = [
        PaperColumn("contexts a query (K)", str, TEXT),
        PaperColumn("input tokens", tokens, COUNT),
        PaperColumn(generator, cost, MONEY),
    ]
    if rows:
        yield table_of(title, rows, columns, ["Input alone: what a generator writes costs more."])


class _Tokens(NamedTuple):
    """Mean tokens of a candidate, by system."""

    reranker: str
    depth: int
    tokens: list[float]


def _candidate_tokens(pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    """Table 14: mean tokens of a candidate by depth, and their variation between systems."""
    groups: dict[tuple[str, int], list[float]] = {}
    for each in pipelines:
        tokens = each.candidate_tokens
        if each.reranked and tokens is not None:
            groups.setdefault((str(each.reranker), each.depth or 0), []).append(tokens)
    columns: list[PaperColumn[_Tokens]] = [
        PaperColumn("reranker", lambda row: row.reranker, TEXT),
        PaperColumn("depth", lambda row: str(row.depth), TEXT),
        PaperColumn("mean tokens", lambda row: statistics.fmean(row.tokens), TOKEN_COUNT),
        PaperColumn(
            "sd over systems",
            lambda row: statistics.stdev(row.tokens) if len(row.tokens) > 1 else None,
            TOKEN_COUNT,
        ),
        PaperColumn("systems", lambda row: len(row.tokens), COUNT),
    ]
    if groups:
        yield table_of(MEAN_TOKENS, [_Tokens(*key, tokens) for key, tokens in sorted(groups.items())], columns)


def _latency_by_depth(first: bool, pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    """Tables 15 and 16: median latency by depth, one table per reranker; all but the first are called Table 16."""
    timed = [each for each in pipelines if each.reranked and each.seconds("rerank") is not None]
    rerankers = list(dict.fromkeys(str(each.reranker) for each in timed))
    for reranker in rerankers[:1] if first else rerankers[1:]:
        yield _medians(reranker, [each for each in timed if each.reranker == reranker])


def _medians(reranker: str, timed: Sequence[PipelineTexts]) -> PaperTable:
    # Systems that differ in the depth alone are one row.
    rows: dict[tuple[tuple[str, str], ...], dict[int, PipelineTexts]] = {}
    for each in timed:
        others = {"method": each.method, **each.system.values}
        key = tuple(sorted((name, str(value)) for name, value in others.items() if name != "rerank.depth"))
        rows.setdefault(key, {})[each.depth or 0] = each
    first = [next(iter(by.values())) for by in rows.values()]
    names = dict(zip(rows, disambiguate_labels([each.embedder for each in first], first), strict=True))

    def median(depth: int) -> PaperColumn[tuple[tuple[str, str], ...]]:
        return PaperColumn(f"depth {depth}", lambda key: _rerank_time(rows[key].get(depth)), MILLISECONDS)

    depths = sorted({each.depth or 0 for each in timed})
    columns = [PaperColumn("model", names.__getitem__, TEXT), *map(median, depths)]
    return table_of(f"{reranker}: {MEDIANS}", rows, columns)


def _rerank_time(pipeline: PipelineTexts | None) -> CellValue | None:
    stages = () if pipeline is None else pipeline.system.stages
    told = next((stage.p50 for stage in stages if stage.name == "rerank"), None)
    return None if told is None else CellValue(told.value, low=told.low, high=told.high)


class Scenario(NamedTuple):
    """A system that represents a way to choose.

    Attributes:
        name: of the scenario.
        rule: by which it was chosen, in words.
        pipeline: the system.
    """

    name: str
    rule: str
    pipeline: PipelineTexts


def scenarios(pipelines: Sequence[PipelineTexts], baseline: str | None = None) -> list[Scenario]:
    """The scenarios of P-B's Table 8, each selected by a stated rule among the systems that rerank, if any.

    Args:
        pipelines: in the order of the file.
        baseline: name of the system that is the baseline; the first of the file by default.
    """
    deep = cutoffs(pipelines)[-1:]
    known = [each for each in pipelines if deep and each.quality(deep[0]) is not None]
    known = [each for each in known if each.reranked] or known
    if not known:
        return []
    base = next((each for each in known if each.system.name == baseline), known[0])

    def good(each: PipelineTexts) -> float:
        return each.quality(deep[0]) or 0.0

    priced = [each for each in known if _retrieval(each) is not None]
    small = min((each.dimension or float("inf") for each in known), default=0)
    deepest = max(each.depth or 0 for each in known)
    twins = [each for each in known if each.depth == deepest and _same_but_depth(each, base)]
    found = [
        Scenario("baseline", f"{baseline or 'the first of the file'}", base),
        *_best("cost saver", "least cost, of equal ones the best", priced, lambda e: (-(_retrieval(e) or 0), good(e))),
        *_best("quality push", f"best quality at {deep[0]}", known, good),
        *_best(
            "efficient small-dim",
            f"smallest dimension, of these the best at {deep[0]}",
            [each for each in known if each.dimension == small],
            good,
        ),
        *_best(
            "high-K check",
            "deepest reranking, as the baseline else",
            twins or [each for each in known if each.depth == deepest],
            good,
        ),
    ]
    return found if deepest else found[:-1]


def _best(
    name: str, rule: str, known: Sequence[PipelineTexts], key: Callable[[PipelineTexts], float | tuple[float, float]]
) -> list[Scenario]:
    return [Scenario(name, rule, max(known, key=key))] if known else []


def _same_but_depth(one: PipelineTexts, other: PipelineTexts) -> bool:
    keys = (one.system.values.keys() | other.system.values.keys()) - {"rerank.depth"}
    same = all(one.system.values.get(key) == other.system.values.get(key) for key in keys)
    return same and (one.method, one.embedder, one.reranker) == (other.method, other.embedder, other.reranker)


def scenario_source(prices: PriceSummary | None) -> TableSource:
    """Table 8.

    Args:
        prices: of the sweep.
    """
    cost = f"cost, {(prices and prices.currency) or 'of 1,000 queries'}"
    return TableSource("Table 8", "scenarios", partial(_scenarios, cost), "add configurations that can be measured.")


def _scenarios(cost: str, pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    """Table 8: scenarios with cost before generation, latency, and quality at a small and a large K."""
    found = scenarios(pipelines)
    if not found:
        return
    ks = cutoffs(pipelines)
    shallow = list(dict.fromkeys(name for each in pipelines if ks[0] in each.at for name in each.at[ks[0]].measures))
    deep = [each.at[ks[-1]].quality for each in pipelines if ks[-1] in each.at][:1] if len(ks) > 1 else []

    def measure(name: str) -> PaperColumn[Scenario]:
        return PaperColumn(name, lambda row: of_measure(row.pipeline.measures.get(name)))

    columns: list[PaperColumn[Scenario]] = [
        PaperColumn("scenario", lambda row: row.name, TEXT),
        PaperColumn("model", lambda row: row.pipeline.embedder, TEXT),
        PaperColumn("reranker", lambda row: str(row.pipeline.reranker or "–"), TEXT),
        PaperColumn("depth", lambda row: row.pipeline.depth, COUNT),
        PaperColumn(cost, lambda row: _retrieval(row.pipeline), MONEY),
        PaperColumn("latency ms", lambda row: row.pipeline.seconds(), MILLISECONDS),
        *map(measure, [*shallow, *(name for name in deep if name not in shallow)]),
    ]
    notes = [f"{name}: {rule} ({pipeline.system.name})." for name, rule, pipeline in found]
    yield table_of("scenarios; costs of 1,000 queries before generation", found, columns, notes)


def _most_efficient(pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    """Table 9: mean of four measures divided by latency, best first, for the systems that rerank, if any."""
    able, names = _with_efficiency(pipelines)
    timed = [each for each in able if each.seconds()]
    values = {each: [_of(each, name) or 0.0 for name in names] for each in timed}

    def ratio(pipeline: PipelineTexts) -> float:
        return efficiency(values[pipeline], pipeline.seconds() or 1.0)

    best = sorted(timed, key=lambda each: -ratio(each))[:TOP]
    columns = [
        words("rank", {each: str(place) for place, each in enumerate(best, start=1)}),
        words("configuration", labels([each.full_name for each in best], best)),
        PaperColumn("efficiency", ratio, RATIO),
        PaperColumn("mean performance", lambda each: statistics.fmean(values[each])),
        latency("latency ms"),
    ]
    note = f"Performance is the mean of {', '.join(names)}. For screening only: it favors small depths (P-B §5.4)."
    if best:
        yield table_of(MOST_EFFICIENT, best, columns, [note])


def _with_efficiency(pipelines: Sequence[PipelineTexts]) -> tuple[list[PipelineTexts], list[str]]:
    """The systems that have the measures of Table 9, and these measures."""
    pipelines = [each for each in pipelines if each.reranked] or pipelines
    ks = cutoffs(pipelines)
    names = [f"{name}@{k}" for k in dict.fromkeys([*ks[:1], *ks[-1:]]) for name in EFFICIENT]
    able = [each for each in pipelines if all(_of(each, name) is not None for name in names)] if len(ks) > 1 else []
    return able, names


def _needs_for_efficiency(pipelines: Sequence[PipelineTexts]) -> str:
    if _with_efficiency(pipelines)[0]:
        return TIMED
    return 'add names = ["RA-nWG@K", "N-Recall4+@K"] to [measure], and two K to contexts of [generate].'


EFFICIENCY: Final = TableSource("Table 9", MOST_EFFICIENT, _most_efficient, _needs_for_efficiency)
TOKENS: Final = TableSource("Table 14", MEAN_TOKENS, _candidate_tokens, f"add {RERANKED}.")
LATENCIES: Final = (
    TableSource("Table 15", MEDIANS, partial(_latency_by_depth, True), partial(_needs, TIMED)),
    TableSource("Table 16", MEDIANS, partial(_latency_by_depth, False), "add a second model to [rerank]."),
)


def _of(pipeline: PipelineTexts, name: str) -> float | None:
    found = pipeline.measures.get(name)
    return None if found is None else found.expected


def _part(pipeline: PipelineTexts, part: str) -> float | None:
    """The cost of a component that does not depend on K."""
    costs = (cost_of(each, part) for each in pipeline.at.values())
    return next((cost for cost in costs if cost is not None), None)


def _retrieval(pipeline: PipelineTexts) -> float | None:
    rerank, embed = _part(pipeline, "rerank"), _part(pipeline, "embed")
    return None if rerank is None or embed is None else rerank + embed


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
