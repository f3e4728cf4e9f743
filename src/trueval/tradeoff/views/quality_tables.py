"""P-B's tables of quality, 1 to 7 and 17 to 24, for the systems of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from trueval.tradeoff.quality.result_parts import MeasureMean
from trueval.tradeoff.views.paper_cells import Cell, CellValue, MissingTable, PaperTable, of_measure, row_of
from trueval.tradeoff.views.pipelines import DENSE, HYBRID, PipelineTexts, cutoffs, disambiguate_labels, measure_names
from trueval.tradeoff.views.units import value_in

Made = Iterator[PaperTable | MissingTable]

TOP: Final = 5
RERANKED: Final = 'a reranker: [pipeline] methods = ["dense", "dense+rerank"], and [rerank] with its model'
METHODS: Final = ("dense", "sparse", "hybrid", "dense+rerank", "sparse+rerank", "hybrid+rerank")


def of_embedders(pipelines: Sequence[PipelineTexts]) -> Made:
    """Table 1: embedders and dimensions, dense search only."""
    title = "dense search by embedder and dimension"
    dense = [each for each in pipelines if each.method == DENSE]
    exact = [each for each in dense if _is_exact(each)]
    rows = sorted(exact or dense, key=lambda each: (str(each.model), each.dimension or 0))
    if not rows:
        yield MissingTable("Table 1", title, 'add "dense" to methods of [pipeline].')
        return
    where = "exact index" if exact else "as indexed: the sweep has no flat index"
    yield _quality_table("Table 1", f"{title}; {where}", "model", _embedders(rows), rows, ("embed", "retrieve"))


def of_methods(pipelines: Sequence[PipelineTexts]) -> Made:
    """Table 2: methods, all else equal."""
    title = "retrieval methods with a shared budget"
    shared, rows = _select_shared_budget(pipelines)
    if len({each.method for each in rows}) < 2:
        yield MissingTable("Table 2", title, 'add a method: [pipeline] methods = ["dense", "hybrid"], with [sparse].')
        return
    depth = next((each.depth for each in rows if each.reranked), None)
    about = [shared.embedder, shared.setting("index", "spec"), f"reranked to depth {depth}" if depth else None]
    labels = disambiguate_labels([each.method for each in rows], rows)
    told = ", ".join(str(each) for each in about if each)
    yield _quality_table("Table 2", f"{told}: {title}", "method", labels, rows, ("",))


def _select_shared_budget(pipelines: Sequence[PipelineTexts]) -> tuple[PipelineTexts, list[PipelineTexts]]:
    """One system and all of the embedder, dimension and index with the most methods, with sparse-only ones.

    Where there are several reranking depths, the first of the file is used.
    """
    groups: dict[Any, list[PipelineTexts]] = {}
    sparse = [each for each in pipelines if each.model is None and each.dimension is None]
    for each in (each for each in pipelines if each not in sparse):
        groups.setdefault((each.model, each.dimension, each.setting("index", "spec")), []).append(each)
    most = max(groups.values(), key=lambda group: len({each.method for each in group}), default=[])
    depth = next((each.depth for each in [*most, *sparse] if each.reranked), None)
    rows = [each for each in [*most, *sparse] if not each.reranked or each.depth == depth]
    return (most or sparse)[0], sorted(rows, key=lambda each: _place(each.method, METHODS))


def of_ceilings(pipelines: Sequence[PipelineTexts]) -> Made:
    """Tables 3 and 4: the ceiling of the reference pipeline, and its realized share."""
    titles = ("ceiling (PROC) inside the pool", "actual, PROC and %PROC")
    known = [each for each in pipelines if any(each.ceiling(k) for k in each.at)]
    best = _reference(known)
    if best is None:
        for name, title in zip(("Table 3", "Table 4"), titles, strict=True):
            yield MissingTable(
                name, title, "add a measure of evidence as the first of names in [measure], such as RA-nWG@K."
            )
        return
    ks = [k for k in sorted(best.at) if best.ceiling(k)]
    quality = [best.at[k].quality for k in ks]
    about = f"{best.full_name}, pool of {best.system.pool}"
    head = ("measure", *(f"@{k}" for k in ks))
    name = quality[0].replace(f"@{ks[0]}", "")
    ceilings = tuple(CellValue(best.proc(k)) for k in ks)
    yield PaperTable("Table 3", f"{titles[0]}: {about}", head, ((name, *ceilings),))
    rows = tuple((measure, *_utilization(best, k)) for measure, k in zip(quality, ks, strict=True))
    told = ("measure", "actual", "PROC", "%PROC", "mean %PROC", "queries")
    note = "%PROC is the ratio of the two means, as in the paper; mean %PROC the mean of the ratios of queries."
    yield PaperTable("Table 4", f"{titles[1]}: {about}", told, rows, notes=(note,))


def _utilization(pipeline: PipelineTexts, k: int) -> tuple[Cell, ...]:
    configuration, ceiling = pipeline.at[k], pipeline.ceiling(k)
    if ceiling is None:
        return ()
    actual = of_measure(configuration.measures[configuration.quality])._replace(value=ceiling.actual)
    shares = (CellValue(share, "percent") for share in (ceiling.share, ceiling.mean_share))
    return (actual, CellValue(ceiling.proc), *shares, CellValue(ceiling.queries, "count"))


def of_top(pipelines: Sequence[PipelineTexts]) -> Made:
    """Tables 5 and 6: the best configurations at the smallest and largest K, with their ceilings."""
    ranked = [each for each in pipelines if each.reranked and each.method.startswith(DENSE)]
    who = "dense pools that are reranked" if ranked else "all systems"
    ranked = ranked or list(pipelines)
    ks = cutoffs(ranked)
    chosen = (ks[0], ks[-1]) if len(ks) > 1 else ks
    for name, k in zip(("Table 5", "Table 6"), chosen, strict=False):
        yield _top(name, f"top {TOP} of {who}", ranked, pipelines, k)
    if len(chosen) < 2:
        yield MissingTable("Table 6", f"top {TOP} at a deeper K", "add a K to contexts of [generate].")


def _top(
    name: str, title: str, ranked: Sequence[PipelineTexts], pipelines: Sequence[PipelineTexts], k: int
) -> PaperTable:
    known = [each for each in ranked if each.quality(k) is not None]
    best = sorted(known, key=lambda each: -_number(each.quality(k)))[:TOP]
    reference = _reference([each for each in pipelines if each.method.startswith(HYBRID) and each.reranked], k)
    shown = [*best, *([reference] if reference is not None and reference not in best else [])]
    labels = disambiguate_labels([each.full_name for each in shown], shown)
    rows = tuple(
        row_of(
            str(place + 1) if place < len(best) else "–",
            label,
            _quality(each, k),
            CellValue(each.proc(k)),
        )
        for place, (label, each) in enumerate(zip(labels, shown, strict=True))
    )
    measure = shown[0].at[k].quality if shown else f"quality@{k}"
    notes = ("The row without a rank is the best that reranks a hybrid pool, for reference.",) if shown != best else ()
    return PaperTable(
        name, f"{title}, by {measure}", ("rank", "configuration", measure, "ceiling (PROC)"), rows, 2, notes
    )


def of_indexes(pipelines: Sequence[PipelineTexts]) -> Made:
    """Table 7: indexes against exact float32 search, all else equal."""
    title = "approximate and quantized indexes; changes against exact search"
    groups: dict[Any, list[PipelineTexts]] = {}
    for each in (each for each in pipelines if each.method == DENSE):
        others = tuple((key, str(value)) for key, value in each.system.values.items() if key != "index.spec")
        groups.setdefault((each.model, each.dimension, others), []).append(each)
    found = [group for group in groups.values() if len(group) > 1 and any(map(_is_exact, group))]
    if not found:
        yield MissingTable("Table 7", title, 'add exact search and another index: [index] spec = ["flat", "hnsw"].')
    for group in found:
        base = next(each for each in group if _is_exact(each))
        yield _index_change_table(title, base, [each for each in group if each is not base])


def _index_change_table(title: str, base: PipelineTexts, others: Sequence[PipelineTexts]) -> PaperTable:
    names = measure_names([base, *others])
    rows = tuple(
        row_of(
            str(each.setting("index", "spec") or each.system.name),
            CellValue(value_in(each.system.recall) if each is not base else None),
            *(_change_value(each.measures.get(name), base.measures.get(name), each is base) for name in names),
            _slower(each.seconds("retrieve"), base.seconds("retrieve"), each is base),
        )
        for each in (base, *others)
    )
    note = "Changes are shares of the value of exact search, not points."
    return PaperTable(
        "Table 7", f"{base.embedder}: {title}", ("index", "recall", *names, "retrieve ms"), rows, notes=(note,)
    )


def _change_value(entry: MeasureMean | None, base: MeasureMean | None, same: bool) -> CellValue:
    value = of_measure(entry)
    return value if same or base is None else value._replace(change=share_of(value.value, base.expected))


def _slower(seconds: float | None, base: float | None, same: bool) -> CellValue:
    return CellValue(seconds, "ms", change=None if same else share_of(seconds, base))


def share_of(value: float | None, base: float | None) -> float | None:
    """The relative change of a value, such as -0.066; None where a value is unknown, or the base is 0.

    >>> round(share_of(0.594, 0.636), 3)  # P-B, Table 7, hnsw-f32 at 20; printed there as +0.8 %
    -0.066
    """
    return value / base - 1 if value is not None and base else None


def of_depths(pipelines: Sequence[PipelineTexts]) -> Made:
    """Tables 17 to 20: every measure by reranking depth, one table per reranker and depth."""
    title = "measures and latency by depth of the reranker"
    yield from _by_depth("Tables 17-20", title, pipelines, _all_measures, needs=RERANKED)


def of_pool_ceilings(pipelines: Sequence[PipelineTexts]) -> Made:
    """Tables 21 to 24: ceilings of dense pools by depth, independent of the reranker."""
    first: dict[Any, PipelineTexts] = {}
    for each in pipelines:
        if each.method == f"{DENSE}+rerank" and any(each.ceiling(k) for k in each.at):
            first.setdefault((each.embedder, each.setting("index", "spec"), each.depth), each)
    title = "ceilings (PROC) of dense pools by depth"
    needs = RERANKED + ", and RA-nWG@K as the first of names in [measure]"
    yield from _by_depth("Tables 21-24", title, list(first.values()), _ceilings, needs=needs, told=False)


Cells = Callable[[Sequence[PipelineTexts]], tuple[Sequence[str], Callable[[PipelineTexts], Sequence[Cell]]]]


def _all_measures(rows: Sequence[PipelineTexts]) -> tuple[Sequence[str], Callable[[PipelineTexts], Sequence[Cell]]]:
    names = measure_names(rows)
    return (*names, "rerank ms"), lambda each: (
        *(of_measure(each.measures.get(name)) for name in names),
        CellValue(each.seconds("rerank"), "ms"),
    )


def _ceilings(rows: Sequence[PipelineTexts]) -> tuple[Sequence[str], Callable[[PipelineTexts], Sequence[Cell]]]:
    ks = cutoffs(rows)
    names = [next(each.at[k].quality for each in rows if k in each.at) for k in ks]
    return names, lambda each: tuple(CellValue(each.proc(k)) for k in ks)


def _by_depth(
    name: str, title: str, pipelines: Sequence[PipelineTexts], cells: Cells, *, needs: str, told: bool = True
) -> Made:
    reranked = [each for each in pipelines if each.reranked]
    if not reranked:
        yield MissingTable(name, title, f"add {needs}.")
    chosen = {(each.reranker if told else "", each.depth): None for each in reranked}
    for reranker, depth in sorted(chosen, key=lambda pair: (str(pair[0]), pair[1] or 0)):
        rows = [each for each in reranked if each.depth == depth and (not told or each.reranker == reranker)]
        head, of = cells(rows)
        labels = _embedders(rows)
        about = f"{reranker}, depth {depth}" if told else f"pool of {depth}"
        body = tuple((label, *of(each)) for label, each in zip(labels, rows, strict=True))
        yield PaperTable(name, f"{about}: {title}", ("model", *head), body)


def _quality_table(
    name: str, title: str, first: str, labels: Sequence[str], rows: Sequence[PipelineTexts], stages: Sequence[str]
) -> PaperTable:
    """Systems by measures, with the median latency of some stages, or of all for ""."""
    names = measure_names(rows)
    timed = [stage for stage in stages if any(each.seconds(stage) is not None for each in rows)]
    head = (first, *names, *(f"{stage or 'latency'} ms" for stage in timed))
    body = tuple(
        row_of(
            label,
            *(of_measure(each.measures.get(one)) for one in names),
            *(CellValue(each.seconds(s), "ms") for s in timed),
        )
        for label, each in zip(labels, rows, strict=True)
    )
    return PaperTable(name, title, head, body)


def _embedders(rows: Sequence[PipelineTexts]) -> list[str]:
    labels = [each.embedder if each.method.startswith(DENSE) else f"{each.method} {each.embedder}" for each in rows]
    return disambiguate_labels(labels, rows)


def _reference(pipelines: Sequence[PipelineTexts], k: int | None = None) -> PipelineTexts | None:
    """The best system at a K, by default the largest: among hybrid reranked ones, else reranked ones, else all."""
    for wanted in (lambda p: p.reranked and p.method.startswith(HYBRID), lambda p: p.reranked, lambda p: True):
        chosen = [each for each in pipelines if wanted(each) and (k is None or k in each.at)]
        if chosen:
            last = k or cutoffs(chosen)[-1]
            return max(chosen, key=lambda each: _number(each.quality(last)))
    return None


def _quality(pipeline: PipelineTexts, k: int) -> CellValue:
    configuration = pipeline.at[k]
    return of_measure(configuration.measures[configuration.quality])


def _is_exact(pipeline: PipelineTexts) -> bool:
    spec = str(pipeline.setting("index", "spec") or "").replace(" ", "")
    return spec in ("flat", "flat()", "flat(storage='float32')")


def _number(value: float | None) -> float:
    return float("-inf") if value is None else value


def _place(name: str, known: Sequence[str]) -> int:
    return known.index(name) if name in known else len(known)
