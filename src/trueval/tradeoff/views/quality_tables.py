"""P-B's tables of quality, 1 to 7 and 17 to 24, for the systems of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from trueval.report.units import COUNT, TEXT, number
from trueval.tradeoff.quality.result_parts import MeasureMean, PoolCeiling
from trueval.tradeoff.views.paper_cells import CellValue, PaperColumn, PaperTable, TableSource, of_measure, table_of
from trueval.tradeoff.views.pipelines import DENSE, HYBRID, PipelineTexts, cutoffs, disambiguate_labels, measure_names
from trueval.tradeoff.views.units import MILLISECONDS, value_in

SystemColumn = PaperColumn[PipelineTexts]

TOP: Final = 5
RERANKED: Final = 'a reranker: [pipeline] methods = ["dense", "dense+rerank"], and [rerank] with its model'
EVIDENCE: Final = "add a measure of evidence as the first of names in [measure], such as RA-nWG@K."
METHODS: Final = ("dense", "sparse", "hybrid", "dense+rerank", "sparse+rerank", "hybrid+rerank")
PERCENT: Final = number(".1%")
DENSE_SEARCH: Final = "dense search by embedder and dimension"
SHARED_BUDGET: Final = "retrieval methods with a shared budget"
CEILINGS: Final = ("ceiling (PROC) inside the pool", "actual, PROC and %PROC")
INDEXES: Final = "approximate and quantized indexes; changes against exact search"
DEPTHS: Final = "measures and latency by depth of the reranker"
POOLS: Final = "ceilings (PROC) of dense pools by depth"


def words(title: str, texts: Mapping[PipelineTexts, str]) -> SystemColumn:
    """A column of words.

    Args:
        title: heading.
        texts: of each system.
    """
    return PaperColumn(title, texts.__getitem__, TEXT)


def measures(names: Iterable[str]) -> list[SystemColumn]:
    """A column for each measure, with intervals and tie ranges.

    Args:
        names: with cutoffs.
    """
    return [PaperColumn(name, partial(_measure, name)) for name in names]


def _measure(name: str, pipeline: PipelineTexts) -> CellValue:
    return of_measure(pipeline.measures.get(name))


def latency(title: str, stage: str = "") -> SystemColumn:
    """The median latency of a stage, or of all.

    Args:
        title: heading.
        stage: its name; "" for all.
    """
    return PaperColumn(title, lambda each: each.seconds(stage), MILLISECONDS)


def labels(texts: Sequence[str], rows: Sequence[PipelineTexts]) -> dict[PipelineTexts, str]:
    """A label for each system, with what tells equal ones apart.

    Args:
        texts: the labels.
        rows: the systems.
    """
    return dict(zip(rows, disambiguate_labels(texts, rows), strict=True))


def _by_embedder(pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    """Table 1: embedders and dimensions, dense search only."""
    dense = [each for each in pipelines if each.method == DENSE]
    exact = [each for each in dense if _is_exact(each)]
    rows = sorted(exact or dense, key=lambda each: (str(each.model), each.dimension or 0))
    if rows:
        where = "exact index" if exact else "as indexed: the sweep has no flat index"
        columns = [words("model", _embedders(rows)), *_quality(rows, ("embed", "retrieve"))]
        yield table_of(f"{DENSE_SEARCH}; {where}", rows, columns)


def _by_method(pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    """Table 2: methods, all else equal."""
    shared, rows = _select_shared_budget(pipelines)
    if len({each.method for each in rows}) > 1:
        depth = next((each.depth for each in rows if each.reranked), None)
        about = [shared.embedder, shared.setting("index", "spec"), f"reranked to depth {depth}" if depth else None]
        told = ", ".join(str(each) for each in about if each)
        columns = [words("method", labels([each.method for each in rows], rows)), *_quality(rows, ("",))]
        yield table_of(f"{told}: {SHARED_BUDGET}", rows, columns)


def _select_shared_budget(pipelines: Sequence[PipelineTexts]) -> tuple[PipelineTexts, list[PipelineTexts]]:
    """One system and all of the embedder, dimension and index with the most methods, with sparse-only ones.

    Where there are several reranking depths, the first of the file is used.
    """
    groups: dict[Hashable, list[PipelineTexts]] = {}
    sparse = [each for each in pipelines if each.model is None and each.dimension is None]
    for each in (each for each in pipelines if each not in sparse):
        groups.setdefault((each.model, each.dimension, each.setting("index", "spec")), []).append(each)
    most = max(groups.values(), key=lambda group: len({each.method for each in group}), default=[])
    depth = next((each.depth for each in [*most, *sparse] if each.reranked), None)
    rows = [each for each in [*most, *sparse] if not each.reranked or each.depth == depth]
    return (most or sparse)[0], sorted(rows, key=lambda each: _place(each.method, METHODS))


def _ceilings_of_reference(pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    """Table 3: the ceiling of the reference pipeline."""
    best, ks, about = _reference_with_ceiling(pipelines)
    if best is not None:
        measure = best.at[ks[0]].quality.replace(f"@{ks[0]}", "")
        name = [words("measure", {best: measure})]
        yield table_of(f"{CEILINGS[0]}: {about}", [best], [*name, *(_proc(f"@{k}", k) for k in ks)])


def _shares_of_ceilings(pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    """Table 4: the realized share of the ceiling."""
    best, ks, about = _reference_with_ceiling(pipelines)
    if best is None:
        return
    found = [(k, ceiling) for k in ks if (ceiling := best.ceiling(k)) is not None]
    columns: list[PaperColumn[tuple[int, PoolCeiling]]] = [
        PaperColumn("measure", lambda row: best.at[row[0]].quality, TEXT),
        PaperColumn("actual", lambda row: _quality_at(best, row[0])._replace(value=row[1].actual)),
        PaperColumn("PROC", lambda row: row[1].proc),
        PaperColumn("%PROC", lambda row: row[1].share, PERCENT),
        PaperColumn("mean %PROC", lambda row: row[1].mean_share, PERCENT),
        PaperColumn("queries", lambda row: row[1].queries, COUNT),
    ]
    note = "%PROC is the ratio of the two means, as in the paper; mean %PROC the mean of the ratios of queries."
    yield table_of(f"{CEILINGS[1]}: {about}", found, columns, [note])


def _reference_with_ceiling(pipelines: Sequence[PipelineTexts]) -> tuple[PipelineTexts | None, list[int], str]:
    """The reference among systems with a ceiling, the cutoffs at which it has one, and its name."""
    best = _reference([each for each in pipelines if any(each.ceiling(k) for k in each.at)])
    if best is None:
        return None, [], ""
    return best, [k for k in sorted(best.at) if best.ceiling(k)], f"{best.full_name}, pool of {best.system.pool}"


def _proc(title: str, k: int) -> SystemColumn:
    return PaperColumn(title, lambda each: each.proc(k))


def _best_at(place: int, pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    """Tables 5 and 6: the best configurations at the smallest and largest K, with their ceilings."""
    ranked = [each for each in pipelines if each.reranked and each.method.startswith(DENSE)]
    who = "dense pools that are reranked" if ranked else "all systems"
    ranked = ranked or list(pipelines)
    ks = cutoffs(ranked)
    if place == 0 or len(ks) > 1:
        yield _top(f"top {TOP} of {who}", ranked, pipelines, ks[-place])


def _top(title: str, ranked: Sequence[PipelineTexts], pipelines: Sequence[PipelineTexts], k: int) -> PaperTable:
    known = [each for each in ranked if each.quality(k) is not None]
    best = sorted(known, key=lambda each: -_number(each.quality(k)))[:TOP]
    reference = _reference([each for each in pipelines if each.method.startswith(HYBRID) and each.reranked], k)
    shown = [*best, *([reference] if reference is not None and reference not in best else [])]
    measure = shown[0].at[k].quality if shown else f"quality@{k}"
    columns = [
        words("rank", {each: str(place + 1) if place < len(best) else "–" for place, each in enumerate(shown)}),
        words("configuration", labels([each.full_name for each in shown], shown)),
        SystemColumn(measure, lambda each: _quality_at(each, k)),
        _proc("ceiling (PROC)", k),
    ]
    notes = ["The row without a rank is the best that reranks a hybrid pool, for reference."] if shown != best else []
    return table_of(f"{title}, by {measure}", shown, columns, notes)


def _by_index(pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    """Table 7: indexes against exact float32 search, all else equal."""
    groups: dict[Hashable, list[PipelineTexts]] = {}
    for each in (each for each in pipelines if each.method == DENSE):
        others = tuple((key, str(value)) for key, value in each.system.values.items() if key != "index.spec")
        groups.setdefault((each.model, each.dimension, others), []).append(each)
    for group in groups.values():
        base = next((each for each in group if _is_exact(each)), None)
        if base is not None and len(group) > 1:
            yield _index_changes(base, [base, *(each for each in group if each is not base)])


def _index_changes(base: PipelineTexts, rows: Sequence[PipelineTexts]) -> PaperTable:
    names = measure_names(rows)

    def change(name: str) -> Callable[[PipelineTexts], CellValue]:
        return lambda each: _change_value(each.measures.get(name), base.measures.get(name), each is base)

    columns = [
        words("index", {each: str(each.setting("index", "spec") or each.system.name) for each in rows}),
        SystemColumn("recall", lambda each: value_in(each.system.recall) if each is not base else None),
        *(SystemColumn(name, change(name)) for name in names),
        SystemColumn("retrieve ms", lambda each: _slower(each, base), MILLISECONDS),
    ]
    note = "Changes are shares of the value of exact search, not points."
    return table_of(f"{base.embedder}: {INDEXES}", rows, columns, [note])


def _change_value(entry: MeasureMean | None, base: MeasureMean | None, same: bool) -> CellValue:
    value = of_measure(entry)
    return value if same or base is None else value._replace(change=share_of(value.value, base.expected))


def _slower(pipeline: PipelineTexts, base: PipelineTexts) -> CellValue:
    seconds = pipeline.seconds("retrieve")
    return CellValue(seconds, change=None if pipeline is base else share_of(seconds, base.seconds("retrieve")))


def share_of(value: float | None, base: float | None) -> float | None:
    """The relative change of a value, such as -0.066; None where a value is unknown, or the base is 0.

    >>> round(share_of(0.594, 0.636), 3)  # P-B, Table 7, hnsw-f32 at 20; printed there as +0.8 %
    -0.066
    """
    return value / base - 1 if value is not None and base else None


def _by_depth(pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    """Tables 17 to 20: every measure by reranking depth, one table per reranker and depth."""
    reranked = [each for each in pipelines if each.reranked]
    for reranker, depth in sorted({(str(each.reranker), each.depth or 0) for each in reranked}):
        rows = [each for each in reranked if (str(each.reranker), each.depth or 0) == (reranker, depth)]
        columns = [*measures(measure_names(rows)), latency("rerank ms", "rerank")]
        title = f"{reranker}, depth {depth}: {DEPTHS}"
        yield table_of(title, rows, [words("model", _embedders(rows)), *columns])


def _pool_ceilings(pipelines: Sequence[PipelineTexts]) -> Iterator[PaperTable]:
    """Tables 21 to 24: ceilings of dense pools by depth, independent of the reranker."""
    first: dict[Hashable, PipelineTexts] = {}
    for each in pipelines:
        if each.method == f"{DENSE}+rerank" and any(each.ceiling(k) for k in each.at):
            first.setdefault((each.embedder, each.setting("index", "spec"), each.depth), each)
    for depth in sorted({each.depth or 0 for each in first.values()}):
        rows = [each for each in first.values() if (each.depth or 0) == depth]
        columns = [_proc(next(each.at[k].quality for each in rows if k in each.at), k) for k in cutoffs(rows)]
        yield table_of(f"pool of {depth}: {POOLS}", rows, [words("model", _embedders(rows)), *columns])


QUALITY: Final = (
    TableSource("Table 1", DENSE_SEARCH, _by_embedder, 'add "dense" to methods of [pipeline].'),
    TableSource(
        "Table 2",
        SHARED_BUDGET,
        _by_method,
        'add a method: [pipeline] methods = ["dense", "hybrid"], with [sparse].',
    ),
    TableSource("Table 3", CEILINGS[0], _ceilings_of_reference, EVIDENCE),
    TableSource("Table 4", CEILINGS[1], _shares_of_ceilings, EVIDENCE),
    TableSource("Table 5", f"top {TOP}", partial(_best_at, 0), "add configurations that can be measured."),
    TableSource("Table 6", f"top {TOP} at a deeper K", partial(_best_at, 1), "add a K to contexts of [generate]."),
    TableSource("Table 7", INDEXES, _by_index, 'add exact search and another index: [index] spec = ["flat", "hnsw"].'),
)
BY_DEPTH: Final = (
    TableSource("Tables 17-20", DEPTHS, _by_depth, f"add {RERANKED}."),
    TableSource(
        "Tables 21-24", POOLS, _pool_ceilings, f"add {RERANKED}, and RA-nWG@K as the first of names in [measure]."
    ),
)


def _quality(rows: Sequence[PipelineTexts], stages: Sequence[str]) -> list[SystemColumn]:
    """Every measure, and the median latency of those stages that were timed, or of all for ""."""
    timed = [stage for stage in stages if any(each.seconds(stage) is not None for each in rows)]
    return [*measures(measure_names(rows)), *(latency(f"{stage or 'latency'} ms", stage) for stage in timed)]


def _embedders(rows: Sequence[PipelineTexts]) -> dict[PipelineTexts, str]:
    names = [each.embedder if each.method.startswith(DENSE) else f"{each.method} {each.embedder}" for each in rows]
    return labels(names, rows)


def _reference(pipelines: Sequence[PipelineTexts], k: int | None = None) -> PipelineTexts | None:
    """The best system at a K, by default the largest: among hybrid reranked ones, else reranked ones, else all."""
    for wanted in (lambda p: p.reranked and p.method.startswith(HYBRID), lambda p: p.reranked, lambda p: True):
        chosen = [each for each in pipelines if wanted(each) and (k is None or k in each.at)]
        if chosen:
            last = k or cutoffs(chosen)[-1]
            return max(chosen, key=lambda each: _number(each.quality(last)))
    return None


def _quality_at(pipeline: PipelineTexts, k: int) -> CellValue:
    configuration = pipeline.at[k]
    return of_measure(configuration.measures[configuration.quality])


def _is_exact(pipeline: PipelineTexts) -> bool:
    spec = str(pipeline.setting("index", "spec") or "").replace(" ", "")
    return spec in ("flat", "flat()", "flat(storage='float32')")


def _number(value: float | None) -> float:
    return float("-inf") if value is None else value


def _place(name: str, known: Sequence[str]) -> int:
    return known.index(name) if name in known else len(known)
