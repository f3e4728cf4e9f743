"""P-B's tables of cost and latency: prices of §3.2.1, 8, 9 and 14 to 16, for the systems of a sweep."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from trueval.tradeoff.quality.efficiency import efficiency
from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views.paper_cells import CellValue, MissingTable, PaperTable, of_measure, row_of
from trueval.tradeoff.views.pipelines import PipelineTexts, cost_of, cutoffs, disambiguate_labels
from trueval.tradeoff.views.quality_tables import RERANKED, TOP

Made = Iterator[PaperTable | MissingTable]

EFFICIENT: Final = ("N-Recall4+", "RA-nWG")  # at a shallow and a deep K
PRICED: Final = 'add a price: [prices] rerank = "rerank-2.5", a name of the price book.'
TIMED: Final = "add [latency] with queries above 0."


def of_prices(sweep: SweepResult, pipelines: Sequence[PipelineTexts]) -> Made:
    """The two tables of §3.2.1: cost of reranking and of generator input per 1,000 queries."""
    told = sweep.prices
    currency, day = ("", "no date") if told is None else (told.currency or "", told.date or "no date")
    of = f"1,000 queries, {currency}, prices of {day}"
    yield _reranking_table(pipelines, f"cost of reranking {of}")
    yield _generation(pipelines, f"cost of input of the generator for {of}", told.generator if told else None)


def _reranking_table(pipelines: Sequence[PipelineTexts], title: str) -> PaperTable | MissingTable:
    priced = [each for each in pipelines if each.reranked and _part(each, "rerank") is not None]
    if not priced:
        return MissingTable("Prices of reranking", "cost by depth", PRICED if _some(pipelines) else f"add {RERANKED}.")
    rerankers = list(dict.fromkeys(str(each.reranker) for each in priced))
    rows = []
    for depth in sorted({each.depth or 0 for each in priced}):
        here = [each for each in priced if each.depth == depth]
        costs = [[_part(each, "rerank") for each in here if each.reranker == one] for one in rerankers]
        tokens = _mean([each.candidate_tokens for each in here])
        rows.append(
            row_of(str(depth), CellValue(tokens, "tokens"), *(CellValue(_mean(cost), "money") for cost in costs))
        )
    return PaperTable("Prices of reranking", title, ("depth", "tokens a candidate", *rerankers), tuple(rows))


def _generation(pipelines: Sequence[PipelineTexts], title: str, generator: str | None) -> PaperTable | MissingTable:
    name, rows = "Prices of generation", []
    for k in cutoffs(pipelines):
        here = [each.at[k] for each in pipelines if k in each.at]
        tokens = _mean([each.prompt_tokens for each in here])
        cost = _mean([cost_of(each, "generator") for each in here])
        if cost is not None:
            total = None if tokens is None else 1000 * tokens
            rows.append((str(k), CellValue(total, "count"), CellValue(cost, "money")))
    if not rows:
        cure = 'name a generator: [prices] generator = "gpt-5", a name of the price book.'
        return MissingTable(name, "cost of input of the generator by K", cure)
    head = ("contexts a query (K)", "input tokens", generator or "generator")
    return PaperTable(name, title, head, tuple(rows), notes=("Input alone: what a generator writes costs more.",))


def of_tokens(pipelines: Sequence[PipelineTexts]) -> Made:
    """Table 14: mean tokens of a candidate by depth, and their variation between systems."""
    title = "mean tokens of a candidate, query and document together"
    groups: dict[tuple[str, int], list[float]] = {}
    for each in pipelines:
        tokens = each.candidate_tokens
        if each.reranked and tokens is not None:
            groups.setdefault((str(each.reranker), each.depth or 0), []).append(tokens)
    if not groups:
        yield MissingTable("Table 14", title, f"add {RERANKED}.")
        return
    rows = tuple(
        (
            reranker,
            str(depth),
            CellValue(statistics.fmean(tokens), "tokens"),
            CellValue(statistics.stdev(tokens) if len(tokens) > 1 else None, "tokens"),
            CellValue(len(tokens), "count"),
        )
        for (reranker, depth), tokens in sorted(groups.items())
    )
    yield PaperTable("Table 14", title, ("reranker", "depth", "mean tokens", "sd over systems", "systems"), rows, 2)


def of_latency(pipelines: Sequence[PipelineTexts]) -> Made:
    """Tables 15 and 16: median latency by depth, one table per reranker; further ones are also called Table 16."""
    title = "median latency of the reranker by depth, ms"
    timed = [each for each in pipelines if each.reranked and each.seconds("rerank") is not None]
    rerankers = list(dict.fromkeys(str(each.reranker) for each in timed))
    if not rerankers:
        yield MissingTable("Table 15", title, TIMED if _some(pipelines) else f"add {RERANKED}.")
    for place, reranker in enumerate(rerankers):
        yield _latency(f"Table {min(15 + place, 16)}", f"{reranker}: {title}", timed, reranker)
    if len(rerankers) < 2:
        yield MissingTable("Table 16", title, "add a second model to [rerank].")


def _latency(name: str, title: str, timed: Sequence[PipelineTexts], reranker: str) -> PaperTable:
    here = [each for each in timed if each.reranker == reranker]
    depths = sorted({each.depth or 0 for each in here})
    # Systems that differ in the depth alone are one row.
    rows: dict[tuple[tuple[str, str], ...], dict[int, PipelineTexts]] = {}
    for each in here:
        others = {"method": each.method, **each.system.values}
        key = tuple(sorted((name, str(value)) for name, value in others.items() if name != "rerank.depth"))
        rows.setdefault(key, {})[each.depth or 0] = each
    first = [next(iter(by.values())) for by in rows.values()]
    labels = disambiguate_labels([f"{each.embedder}" for each in first], first)
    cells = (tuple(_times(by.get(depth)) for depth in depths) for by in rows.values())
    body = tuple(row_of(label, *times) for label, times in zip(labels, cells, strict=True))
    return PaperTable(name, title, ("model", *(f"depth {depth}" for depth in depths)), body)


def _times(pipeline: PipelineTexts | None) -> CellValue:
    stages = () if pipeline is None else pipeline.system.stages
    told = next((stage.p50 for stage in stages if stage.name == "rerank"), None)
    return CellValue(None, "ms") if told is None else CellValue(told.value, "ms", low=told.low, high=told.high)


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


def _best(name: str, rule: str, known: Sequence[PipelineTexts], key: Callable[[PipelineTexts], Any]) -> list[Scenario]:
    return [Scenario(name, rule, max(known, key=key))] if known else []


def _same_but_depth(one: PipelineTexts, other: PipelineTexts) -> bool:
    keys = (one.system.values.keys() | other.system.values.keys()) - {"rerank.depth"}
    same = all(one.system.values.get(key) == other.system.values.get(key) for key in keys)
    return same and (one.method, one.embedder, one.reranker) == (other.method, other.embedder, other.reranker)


def of_scenarios(sweep: SweepResult, pipelines: Sequence[PipelineTexts]) -> Made:
    """Table 8: scenarios with cost before generation, latency, and quality at a small and a large K."""
    title, found = "scenarios", scenarios(pipelines)
    if not found:
        yield MissingTable("Table 8", title, "add configurations that can be measured.")
        return
    ks = cutoffs(pipelines)
    shallow = list(dict.fromkeys(name for each in pipelines if ks[0] in each.at for name in each.at[ks[0]].measures))
    deep = [each.at[ks[-1]].quality for each in pipelines if ks[-1] in each.at][:1] if len(ks) > 1 else []
    names = [*shallow, *(name for name in deep if name not in shallow)]
    rows = tuple(
        row_of(
            name,
            pipeline.embedder,
            str(pipeline.reranker or "–"),
            CellValue(pipeline.depth, "count"),
            CellValue(_retrieval(pipeline), "money"),
            CellValue(pipeline.seconds(), "ms"),
            *(of_measure(pipeline.measures.get(one)) for one in names),
        )
        for name, _, pipeline in found
    )
    cost = f"cost, {(sweep.prices and sweep.prices.currency) or 'of 1,000 queries'}"
    head = ("scenario", "model", "reranker", "depth", cost, "latency ms", *names)
    notes = tuple(f"{name}: {rule} ({pipeline.system.name})." for name, rule, pipeline in found)
    told = "costs of 1,000 queries before generation"
    yield PaperTable("Table 8", f"{title}; {told}", head, rows, 3, notes)


def of_efficiency(pipelines: Sequence[PipelineTexts]) -> Made:
    """Table 9: mean of four measures divided by latency, best first, for the systems that rerank, if any."""
    title = f"best efficiency, performance over latency; top {TOP}"
    pipelines = [each for each in pipelines if each.reranked] or pipelines
    ks = cutoffs(pipelines)
    names = [f"{name}@{k}" for k in dict.fromkeys([*ks[:1], *ks[-1:]]) for name in EFFICIENT]
    able = [each for each in pipelines if all(_of(each, name) is not None for name in names)] if len(ks) > 1 else []
    if not able:
        cure = 'add names = ["RA-nWG@K", "N-Recall4+@K"] to [measure], and two K to contexts of [generate].'
        yield MissingTable("Table 9", title, cure)
        return
    timed = [each for each in able if each.seconds()]
    if not timed:
        yield MissingTable("Table 9", title, TIMED)
        return
    values = {each: [_of(each, name) or 0.0 for name in names] for each in timed}
    best = sorted(timed, key=lambda each: -efficiency(values[each], each.seconds() or 1.0))[:TOP]
    labels = disambiguate_labels([each.full_name for each in best], best)
    rows = tuple(
        (
            str(place),
            label,
            CellValue(efficiency(values[each], each.seconds() or 1.0), "ratio"),
            CellValue(statistics.fmean(values[each])),
            CellValue(each.seconds(), "ms"),
        )
        for place, (label, each) in enumerate(zip(labels, best, strict=True), start=1)
    )
    note = f"Performance is the mean of {', '.join(names)}. For screening only: it favors small depths (P-B §5.4)."
    head = ("rank", "configuration", "efficiency", "mean performance", "latency ms")
    yield PaperTable("Table 9", title, head, rows, 2, (note,))


def _of(pipeline: PipelineTexts, name: str) -> float | None:
    found = pipeline.measures.get(name)
    return None if found is None else found.expected


def _some(pipelines: Sequence[PipelineTexts]) -> bool:
    return any(each.reranked for each in pipelines)


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
