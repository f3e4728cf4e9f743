"""Tie propagation: how far the ties of each stage of a pipeline change the contexts at its end.

Every retriever is asked past its depth until the group of equal scores there ends. Then the equal scores of one stage
are reordered, as engines may order them, and all later stages are repeated: fusion, deduplication, reranking, the cut
at k. All orders are tried for a query whose stage has at most `draws` of them, otherwise `draws` random ones. Each pair
is reranked once, whatever the number of orders.

    replaced = mean over queries and orders of the share of the context that the pipeline as it is does not have
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.collection import Collection
from trueval.errors import PolicyError, TruevalWarning
from trueval.evaluation.evaluate import Measures, evaluate
from trueval.evaluation.scores import Scores
from trueval.numerics import or_null
from trueval.policy.conventions import Policy
from trueval.report.provenance import strip_folders
from trueval.retrieval.cuts.call_differences import compare_calls
from trueval.retrieval.cuts.cut_audit import Cuts, count_calls, cut_index
from trueval.retrieval.cuts.cut_values import CutMeasure, choose_cut_measure, score_cuts
from trueval.retrieval.cuts.cutoff import documents_of, find_cuts
from trueval.retrieval.cuts.cuts_result import PipelineTies, StageTies, TieEnds
from trueval.retrieval.cuts.pipeline_tail import Tail, TailLists
from trueval.retrieval.cuts.tie_causes import causes_of
from trueval.retrieval.fusion.tie_orders import TieOrderings
from trueval.retrieval.indexes.repeated_calls import MOST, SearchSession, fetch_past, repeat
from trueval.retrieval.pipeline.config import formats_used
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.stage_keys import DEPTHS
from trueval.retrieval.pipeline.stage_resources import Begin
from trueval.retrieval.pipeline.stage_runner import StageRunner, open_stage_runner
from trueval.run import Run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Stage whose scores the final lists have → name of their ties between different texts.
LAST: Final = {"rerank": "reranker", "fuse": "fusion", "index": "index or format", "sparse": "equal scores"}


def cut_pipeline(
    pipeline: Pipeline,
    collection: Collection,
    k: int,
    *,
    repeats: int = 5,
    most: int = MOST,
    draws: int = 50,
    judgments: object = None,
    measures: Measures | None = None,
    cache: Path | None = None,
    begin: Begin | None = None,
    policy: Policy | None = None,
    **choices: Any,
) -> Cuts:
    """Audit the cut at k of a pipeline over a collection, and how far ties of its stages propagate.

    Args:
        pipeline: stages and their settings; for a single index, the index is asked for k documents.
        k: number of documents in a context.
        repeats: number of calls of each index to compare.
        most: maximum number of documents to fetch per query.
        draws: maximum number of orders of equal scores to send through the pipeline.
        cache: stores embeddings and indexes; None stores nothing.
        policy: as in cut_index; its seed draws the orders.

    Raises:
        InputError: as in Pipeline.retrieve and cut_index.
        PolicyError: k or draws is below 1, or a choice is unknown.
    """
    judged = choose_cut_measure(k, judgments, measures, policy, choices)
    if draws < 1:
        raise PolicyError(f"draws must be an integer >= 1. Got {draws!r}.")
    settings = {name: values for name, values in pipeline.settings.items() if name != "repair"}
    notes = formats_used(settings)
    if "repair" in pipeline.settings:
        notes.append("[repair] is left out: the scores before it are what makes documents tie.")
    with open_stage_runner(collection, settings, cache=cache, begin=begin) as work:
        if _is_one_index(work.settings):
            found = cut_index(
                next(iter(work.opened.values())),
                k,
                repeats=repeats,
                most=most,
                judgments=judged.judgments,
                measures=judged.measures or None,
                texts=collection.documents,
                policy=judged.policy,
                name=pipeline.name,
                about=_about(work),
            )
        else:
            found = _propagate_ties(work, pipeline.name, k, judged, repeats, most, draws)
        return replace(found, notes=(*notes, *found.notes))


def _propagate_ties(
    work: StageRunner,
    name: str,
    k: int,
    judged: CutMeasure,
    repeats: int,
    most: int,
    draws: int,
) -> Cuts:
    """The cut at the end of a pipeline, with the effect of every stage's ties on it."""
    settings, texts, chosen = work.settings, work.collection.documents, judged.policy
    searched, tail = _DeepLists(work, chosen, most=most, repeats=repeats), Tail(work)
    listed_runs = searched.as_listed()
    base = tail.before_reranking(listed_runs)
    varied = _vary_orders(tail, searched, k, chosen, draws)
    pairs = tail.rerank_pairs([base, *(rows for each in varied for rows in each.ends)])
    ordered = tail.order_lists(base, pairs)
    final, unfinished = _final(tail, searched, listed_runs, ordered, name, k)
    cuts = find_cuts(final, k, unfinished, chosen.tie_precision)
    worth = score_cuts(final, cuts, None, judged, k)
    travel = _TieEffects(tail, tail.first(ordered, k), k, worth.scores, judged.judgments)
    stages = [replace(travel.effect(each, pairs), **searched.cuts.get(each.name, {})) for each in varied]
    if pairs is not None:
        stages.insert(-1, travel.effect(_of_last(tail, final, k, chosen, draws), None))
    told = PipelineTies(draws, chosen.seed, tuple(stages), tuple(map(str, judged.measures)))
    last = next(stage for table, stage in LAST.items() if table in settings)
    causes = causes_of(cuts, texts, None, otherwise=last)
    remarks, asked = (*searched.notes, *worth.notes), len(work.collection.queries)
    return Cuts(k, name, asked, final, cuts, None, causes, *worth[:3], _about(work), remarks, told)


def _final(
    tail: Tail, searched: _DeepLists, runs: Mapping[str, Run], ordered: TailLists, name: str, k: int
) -> tuple[Run, NDArray[np.bool_]]:
    """The final lists, past k where there is more, and [query] whether they may continue there.

    Args:
        tail: tail of the pipeline.
        searched: results of its retrievers.
        runs: runs of the retrievers, cut at their depths.
        ordered: final lists of the pipeline.
        name: name of the run.
        k: number of documents in a context.
    """
    settings, run = tail.settings, tail.to_run(ordered, name)
    if not settings.keys() & {"fuse", "deduplicate", "rerank"}:  # the results of one index, rescored
        return run, np.diff(run.offsets) >= min(searched.depths.values())
    if settings.keys() & {"deduplicate", "rerank"} == set() and (tail.depth or 0) >= k:
        run = tail.to_run(tail.to_rows(tail.fuse(runs)), name)  # [fuse] depth cuts at k or above
    return run, np.zeros(len(run.query_ids), dtype=bool)


def _about(work: StageRunner) -> dict[str, Any]:
    """Description of what was searched, for the JSON."""
    return {
        "collection": strip_folders(work.collection.source),
        "documents": len(work.collection.documents),
        **{f"[{table}]": _describe_settings(values) for table, values in work.settings.items()},
    }


class PropagatedOrders(NamedTuple):
    """The results of the tie orders of one stage, or of all.

    Attributes:
        name: name of the stage.
        depth: depth at which it cuts; None for all stages.
        ends: [draw] the lists before reranking, or the final lists for the last stage.
        number: [query of the collection] number of draws with distinct orders; further draws repeat them.
        sampled: number of queries whose orders are sampled.
        cut: [query] number of documents in the group that the stage cuts; None for all stages.
    """

    name: str
    depth: int | None
    ends: list[TailLists]
    number: Ints
    sampled: int
    cut: Ints | None


class _DeepLists:
    """The lists of each retriever past its depth, and how it cuts them.

    Args:
        work: runner of the pipeline, with open indexes.
        policy: policy with the tie precision.
        most: maximum number of documents to fetch.
        repeats: number of calls to compare.
    """

    def __init__(self, work: StageRunner, policy: Policy, *, most: int, repeats: int) -> None:
        self.precision = policy.tie_precision
        self.depths = {name: int(work.settings[DEPTHS[work.searches[name].kind]]["depth"]) for name in work.opened}
        self.runs: dict[str, Run] = {}
        self.cuts: dict[str, dict[str, Any]] = {}  # fields of StageTies
        self.notes: list[str] = []
        for name, each in work.opened.items():
            self._search(name, each, most, repeats)

    def _search(self, name: str, opened: SearchSession, most: int, repeats: int) -> None:
        depth, precision = self.depths[name], self.precision
        found = fetch_past(opened, depth, most=most, precision=precision, name=name)
        cuts = find_cuts(found.run, depth, found.unfinished, precision)
        inside, calls, notes = [cut for cut in cuts if cut.inside], None, list(found.notes)
        if repeats > 1:
            runs, remarks = repeat(opened, found.run, depth, repeats, name)
            calls = compare_calls(runs, found.run.query_ids, depth, precision, deep=found.run, cuts=documents_of(cuts))
            notes += remarks
        self.runs[name] = found.run
        self.notes += [f"{name}: {note}" for note in notes]
        self.cuts[name] = {
            "cut": len(inside),
            "open": sum(cut.open for cut in cuts),
            "largest_group": max((cut.size for cut in inside), default=0),
            "calls": None if calls is None else count_calls(calls, inside),
        }

    def orders(self, name: str, most: int, rng: np.random.Generator) -> TieOrderings:
        """The tie orders of a retriever."""
        return TieOrderings(self.runs[name], self.depths[name], most, self.precision, rng)

    def as_listed(self) -> dict[str, Run]:
        """The lists of every retriever as returned, cut at their depths."""
        nobody = np.random.default_rng(0)
        return {name: self.orders(name, 1, nobody).as_listed() for name in self.runs}


def _vary_orders(tail: Tail, searched: _DeepLists, k: int, policy: Policy, draws: int) -> list[PropagatedOrders]:
    """The results of the tie orders of each stage before the reranker, and of all of them together."""
    found, listed_runs = [], searched.as_listed()
    orders = {}
    for at, name in enumerate(searched.runs):
        orders[name] = searched.orders(name, draws, np.random.default_rng([policy.seed, at]))
        runs = ({**listed_runs, name: orders[name].at(draw)} for draw in range(_draws_needed(orders[name], draws)))
        ends = [tail.before_reranking(each) for each in runs]
        found.append(_outcome(tail, name, searched.depths[name], orders[name], ends, draws))
    for name in tail.rescored_searches:
        rng = np.random.default_rng([policy.seed, len(found)])
        depth = None if tail.settings.keys() & {"fuse", "deduplicate", "rerank"} else k
        scored = TieOrderings(tail.rescore(listed_runs[name], name), depth, draws, policy.tie_precision, rng)
        given = (tail.with_scored(listed_runs, name, scored.at(draw)) for draw in range(_draws_needed(scored, draws)))
        ends = [tail.before_reranking(each) for each in given]
        found.append(_outcome(tail, tail.scoring_name(name), depth, scored, ends, draws))
    if "fuse" in tail.settings:
        rng = np.random.default_rng([policy.seed, len(found)])
        depth = tail.depth if tail.settings.keys() & {"deduplicate", "rerank"} else min(k, tail.depth or k)
        fused = TieOrderings(tail.fuse(listed_runs), depth, draws, policy.tie_precision, rng)
        ends = [tail.deduplicate(fused.at(draw)) for draw in range(_draws_needed(fused, draws))]
        found.append(_outcome(tail, "fuse", depth, fused, ends, draws))
    rng = np.random.default_rng([policy.seed, len(found), draws])
    ends, chosen = [], {name: searched.orders(name, 1, rng) for name in searched.runs}
    for draw in range(draws):
        drawn = {name: each.at(draw) for name, each in chosen.items()}
        for name in tail.rescored_searches:
            anew = TieOrderings(tail.rescore(drawn[name], name), None, 1, policy.tie_precision, rng)
            drawn = tail.with_scored(drawn, name, anew.at(draw))
        run = tail.fuse(drawn)
        if "fuse" in tail.settings:
            run = TieOrderings(run, tail.depth, 1, policy.tie_precision, rng).at(draw)
        ends.append(tail.deduplicate(run))
    number = np.full(len(tail.query_ids), draws)
    moved = np.any([each.number > 1 for each in found], axis=0)
    return [*found, PropagatedOrders("all", None, ends, number, int(moved.sum()), None)]


def _of_last(tail: Tail, final: Run, k: int, policy: Policy, draws: int) -> PropagatedOrders:
    """The results of the reranker's tie orders."""
    orders = TieOrderings(final, k, draws, policy.tie_precision, np.random.default_rng([policy.seed, k]))
    ends = [tail.to_rows(orders.at(draw)) for draw in range(_draws_needed(orders, draws))]
    return _outcome(tail, "rerank", k, orders, ends, draws)


def _draws_needed(orders: TieOrderings, draws: int) -> int:
    """Number of draws that cover every order, or the maximum number."""
    return draws if bool((orders.number == 0).any()) else int(orders.number.max(initial=1))


def _outcome(
    tail: Tail, name: str, depth: int | None, orders: TieOrderings, ends: list[TailLists], draws: int
) -> PropagatedOrders:
    number = np.ones(len(tail.query_ids), dtype=np.int64)
    number[tail.places(orders.run.query_ids)] = np.where(orders.number == 0, draws, orders.number)
    return PropagatedOrders(name, depth, ends, number, int((orders.number == 0).sum()), orders.cut)


class _TieEffects:
    """The effect of tie orders on contexts, relative to those of the pipeline as it is.

    Args:
        tail: tail of the pipeline.
        base: contexts of the pipeline as it is.
        k: number of documents in a context.
        scores: scores of its lists; None without judgments.
        judgments: judgments of these scores.
    """

    def __init__(self, tail: Tail, base: TailLists, k: int, scores: Scores | None, judgments: Any) -> None:
        self.tail, self.base, self.k, self.scores, self.judgments = tail, base, k, scores, judgments
        self.size = np.bincount(base.query, minlength=len(tail.query_ids))

    def effect(self, varied: PropagatedOrders, reranked: TailLists | None) -> StageTies:
        """How many contexts a stage's orders change, by how much, and the effect on quality.

        Args:
            varied: lists under each order.
            reranked: pairs and their scores; None where the lists are already final.
        """
        rng = np.random.default_rng(self.k) if varied.name == "all" else None
        contexts = [self.tail.first(self.tail.order_lists(rows, reranked, rng), self.k) for rows in varied.ends]
        counts = np.arange(len(contexts))[:, None] < varied.number
        lost = np.where(counts, [self.lost_share(context) for context in contexts], 0.0)
        asked = self.size > 0
        replaced = (lost.sum(axis=0) / np.minimum(varied.number, len(contexts)))[asked]
        return StageTies(
            name=varied.name,
            depth=varied.depth,
            cut=None if varied.cut is None else int((varied.cut > 0).sum()),
            open=0,
            largest_group=None if varied.cut is None else int(varied.cut.max(initial=0)),
            calls=None,
            changed=int((lost > 0).any(axis=0).sum()),
            replaced=float(replaced.mean()),
            enumerated=int((varied.number > 1).sum()) - varied.sampled if varied.name != "all" else 0,
            sampled=varied.sampled,
            measures={} if self.scores is None else self.spread(contexts, varied.number, self.scores),
        )

    def lost_share(self, context: TailLists) -> Floats:
        """[query] share of the pipeline's context that another context lacks."""
        pairs = self.tail.pairs
        same = np.isin(pairs(self.base), pairs(context))
        kept = np.bincount(self.base.query[same], minlength=len(self.size))
        lost: Floats = 1.0 - (kept + (self.size == 0)) / np.maximum(self.size, 1)
        return lost

    def spread(self, contexts: Sequence[TailLists], number: Ints, scores: Scores) -> dict[str, TieEnds]:
        """Mean over queries of each query's mean, lowest and highest value over the orders."""
        values = np.array([self.values(context, scores) for context in contexts])
        places = {query: at for at, query in enumerate(self.tail.query_ids.to_list())}
        own = np.array([number[places[query]] if query in places else 1 for query in scores.query_ids])
        beyond = np.arange(len(contexts))[:, None] >= own
        found = {}
        for column, measure in enumerate(scores.measures):
            known = ~np.isnan(values[0, :, column])
            of, hidden = values[:, known, column], beyond[:, known]
            seen = np.ma.masked_array(of, hidden)
            ends = (seen.mean(axis=0), seen.min(axis=0), seen.max(axis=0))
            found[str(measure)] = TieEnds(*(or_null(float(each.mean())) if known.any() else None for each in ends))
        return found

    def values(self, context: TailLists, scores: Scores) -> Floats:
        """[query of the scores, measure] values of a context in its order."""
        ranked = TailLists(context.query, context.document, -context.rank.astype(np.float64))
        policy = replace(scores.policy, tie_precision=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruevalWarning)
            run = self.tail.to_run(ranked, "context")
            return evaluate(run, self.judgments, scores.measures, policy=policy).expected


def _is_one_index(settings: Mapping[str, Any]) -> bool:
    """Whether the pipeline consists of one index only, which is then itself asked for k documents."""
    stages = settings.keys() - {"corpus", "queries", "embed", "pipeline", "generate"}
    return stages == {"sparse"} or (stages == {"index"} and settings["index"]["scoring"] == "index")


def _describe_settings(values: Mapping[str, object]) -> str:
    said = {name: strip_folders(value) if isinstance(value, str) else value for name, value in values.items()}
    return ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)
