"""Tuning a graph index: the smallest efSearch within a tolerated loss against exact search (P-B section 5.3).

    loss of recall = 1 - recall        loss of a measure = (mean of flat - mean of the graph) / mean of flat

Both are measured against flat in float32, and the chosen efSearch must be within the limit for recall and for every
measure. By default the upper end of the loss's interval must be within the limit, not only the loss itself: over few
queries, a graph may lose nothing by chance. The mean of flat is treated as known: if it is off by 2 %, a loss of 2 %
moves by 0.04 %.

More effort does not always help: a search that visits more nodes may end elsewhere. So an efSearch suffices only if
every greater one tried does too; doubling continues one step past the first that does, and then the gap below is
bisected until its ends are within a tenth. The graph is built once: efSearch is a search parameter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple, cast, get_args

import numpy as np

from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.evaluation.evaluate import Measures
from trueval.judgments import Judgments
from trueval.models.hosted.account import LEDGER, Account
from trueval.numerics import or_null
from trueval.policy.policy import Policy
from trueval.retrieval.indexes.index import LocalIndex, read_spec
from trueval.retrieval.indexes.repeated_calls import SearchSession
from trueval.retrieval.pipeline.config import BOTH, HIGH, STAGES, Settings, set_scoring, with_search
from trueval.retrieval.pipeline.stage_resources import Begin, nobody, open_resources
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.run import Run
from trueval.tradeoff.diagnosis.loss_decomposition import (
    BELOW,
    EXACT,
    SearchMethod,
    cut,
    recall,
    rung_settings,
    rungs,
    search_rung,
)
from trueval.tradeoff.quality.changes import Bootstrap, MeanEstimate
from trueval.tradeoff.quality.query_scores import QualityMeasures, QueryScores

By = Literal["bound", "value"]

WITHIN: Final = 0.02
RECALL: Final = "recall"
# The largest efSearch tried, as a multiple of the depth; a graph that needs more is hardly faster than flat.
MOST: Final = 32
# Relative width of the gap below the smallest sufficient efSearch at which bisection stops.
CLOSE: Final = 1.1
# Number of queries timed, one at a time.
TIMED: Final = 100


class Loss(NamedTuple):
    """Relative loss of a search against exact search.

    Attributes:
        value: loss; negative for a gain.
        low: lower end of its interval; NaN below two queries.
        high: upper end of its interval.
    """

    value: float
    low: float
    high: float

    def within(self, most: float, by: By) -> bool:
        """Whether the loss is within a limit; False where unknown."""
        return bool((self.high if by == "bound" else self.value) <= most)

    def to_dict(self) -> dict[str, float | None]:
        """The JSON form in result files."""
        return {name: or_null(value) for name, value in self._asdict().items()}


class TriedSetting(NamedTuple):
    """One value of efSearch with its results.

    Attributes:
        ef_search: number of candidates that the search keeps.
        recall: share of the exact list that is found.
        measures: measure → mean.
        losses: recall and measure → loss against exact search.
        seconds: median seconds per query, one at a time.
    """

    ef_search: int
    recall: MeanEstimate
    measures: Mapping[str, MeanEstimate]
    losses: Mapping[str, Loss]
    seconds: float


@dataclass(frozen=True, eq=False)
class TuningResult:
    """The smallest sufficient efSearch, and all values tried.

    Attributes:
        depth: number of documents per list.
        within: maximum loss.
        by: "bound" or "value": whether the upper bound of the loss or the loss itself must be within the limit.
        least: recall and measure → smallest sufficient efSearch; None where none is.
        tried: results by increasing efSearch.
        exact: mean quality of exact search.
        exact_seconds: median seconds per query of exact search, one at a time.
        storage: recall and measure → loss from the storage format alone, with every vector scored; empty for float32.
    """

    spec: str
    depth: int
    quality: str
    within: float
    by: By
    least: Mapping[str, int | None]
    tried: tuple[TriedSetting, ...]
    exact: MeanEstimate
    exact_seconds: float
    storage: Mapping[str, Loss]

    @property
    def ef_search(self) -> int | None:
        """The smallest efSearch sufficient for recall and every measure; None if none is."""
        found = [each for each in self.least.values() if each is not None]
        return max(found) if len(found) == len(self.least) else None

    @property
    def advice(self) -> str:
        """What to change where no efSearch suffices; empty otherwise."""
        lacking = [name for name, least in self.least.items() if least is None]
        if not lacking:
            return ""
        name = lacking[0]
        best = min(self.tried, key=lambda each: each.losses[name].high)
        lost = best.losses[name]
        told = (
            f"No efSearch up to {self.tried[-1].ef_search} keeps the loss of {name} within {self.within:g}: the best, "
            f"{best.ef_search}, loses {lost.value:.4f}, {lost.high:.4f} at most."
        )
        if name in self.storage and not self.storage[name].within(self.within, self.by):
            alone = self.storage[name].value
            return f"{told} The storage alone loses {alone:.4f}, which no search mends: store float32."
        if lost.value <= self.within:
            return f"{told} The loss itself is within: judge more queries, or tune by its value."
        return f"{told} Build the graph anew with a greater M or efConstruction."

    def to_dict(self) -> dict[str, object]:
        """An entry of `tuned` in sweep.json."""
        return {
            "spec": self.spec,
            "depth": self.depth,
            "quality": self.quality,
            "within": self.within,
            "by": self.by,
            "efSearch": self.ef_search,
            "least": dict(self.least),
            "exact": {"quality": self.exact.to_dict(), "seconds": self.exact_seconds},
            "storage": {name: loss.to_dict() for name, loss in self.storage.items()},
            "tried": [
                {
                    "efSearch": each.ef_search,
                    "recall": each.recall.to_dict(),
                    "quality": each.measures[self.quality].to_dict(),
                    "measures": {name: found.to_dict() for name, found in each.measures.items()},
                    "loss": {name: loss.to_dict() for name, loss in each.losses.items()},
                    "suffices": all(loss.within(self.within, self.by) for loss in each.losses.values()),
                    "seconds": each.seconds,
                }
                for each in self.tried
            ],
            "advice": self.advice or None,
        }


def tune(
    collection: Collection,
    settings: Settings,
    judgments: Judgments,
    measures: Measures,
    *,
    values: Sequence[int] | None = None,
    within: float = WITHIN,
    by: By = "bound",
    policy: Policy | None = None,
    unjudged: float | None = None,
    cache: Path | None = None,
    begin: Begin | None = None,
    bootstrap: Bootstrap | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> TuningResult:
    """Find the smallest efSearch of a graph index within a tolerated loss against exact search.

    Args:
        settings: settings of a pipeline whose [index] is hnsw; later stages are ignored.
        measures: measures of the graph's lists; the first is the quality.
        values: values of efSearch to try. By default they start at the depth, below which none differs, are doubled
            until two in a row suffice, and the gap below is bisected.
        within: maximum relative loss against exact search, such as 0.02.
        by: "bound" if the upper end of the loss's interval must be within the limit; "value" for the loss itself.
        unjudged: grade of unjudged documents; None for none.
        clock: clock in seconds, for query times.

    Raises:
        InputError: as in Pipeline.retrieve, or exact search has 0 of a measure.
        PolicyError: the index is no hnsw, or an argument is out of range.
    """
    spec = settings.get("index", {}).get("spec", "")
    _check(spec, values, within, by)
    scoring = settings.get("pipeline", {}).get("scoring", STAGES)
    settings = set_scoring(settings, HIGH if scoring == BOTH else scoring)
    judged = QualityMeasures.of(collection, judgments, measures, policy, unjudged)
    account = Account(ledger=None if cache is None else cache / LEDGER)
    with open_resources(cache, account, kept=True) as shared:

        def work(of: Settings) -> StageRunner:
            return StageRunner(collection, of, shared, begin or nobody)

        trial = _Trial.of(work, settings, judged, bootstrap or Bootstrap(), clock)
        stored = [each for each in trial.others if each.spec not in ("flat", spec)]
        storage = trial.losses(search_rung(work, settings, stored[0]).run) if stored else {}
        tried = trial.try_values(values) if values is not None else trial.search(within, by)
        return TuningResult(
            trial.index.spec,
            trial.depth,
            trial.worth.quality,
            within,
            by,
            {name: least_sufficient(tried, name, within, by) for name in tried[0].losses},
            tried,
            trial.bootstrap.mean(trial.worth.values[trial.worth.quality]),
            trial.seconds_of(trial.flat),
            storage,
        )


def least_sufficient(tried: Sequence[TriedSetting], name: str, within: float, by: By) -> int | None:
    """The smallest efSearch such that it and all larger tried values suffice; None if the largest does not.

    Args:
        tried: results by increasing efSearch.
        name: "recall", or a measure.
        within: maximum loss.
    """
    least = None
    for each in reversed(tried):
        if not each.losses[name].within(within, by):
            break
        least = each.ef_search
    return least


@dataclass(frozen=True, eq=False)
class _Trial:
    """A graph index, searched with several values of efSearch.

    Attributes:
        graph: the graph index with its vectors and those of the queries.
        flat: the exact index, opened the same way.
        others: search methods after the exact one.
        exact: run of exact search, some documents deeper than the depth.
        worth: per-query values of exact search at the depth.
        judged: evaluates runs.
        clock: clock in seconds.
        known: what was tried.
    """

    work: StageRunner
    graph: SearchSession
    flat: SearchSession
    others: Sequence[SearchMethod]
    exact: Run
    worth: QueryScores
    depth: int
    judged: QualityMeasures
    bootstrap: Bootstrap
    clock: Callable[[], float]
    known: dict[int, TriedSetting] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        work: Callable[[Settings], StageRunner],
        settings: Settings,
        judged: QualityMeasures,
        bootstrap: Bootstrap,
        clock: Callable[[], float],
    ) -> _Trial:
        """Build or load both indexes, and run the exact search.

        Raises:
            InputError: exact search has 0 of a measure.
        """
        _, *others = rungs(settings, len(work(settings).collection.documents))
        # The graph's own vectors, since no search effort recovers truncated dimensions.
        first = SearchMethod(EXACT, "flat", settings["embed"]["dimension"], "index")
        depth, built = settings["index"]["depth"], work(with_search(settings, settings["index"]))
        whole = work(rung_settings(settings, first, BELOW))
        exact = whole.dense(whole.begin("exact"))
        built.dense(built.begin("dense"))
        worth = judged.score_run(cut(exact, depth))
        for name, values in worth.values.items():
            if not abs(float(np.nanmean(values))) > 0:
                raise InputError(f"{name} of exact search is 0, so no share of it can be lost. Choose another measure.")
        sides = built.opened["dense"], whole.opened["dense"]
        return cls(built, *sides, others, exact, worth, depth, judged, bootstrap, clock)

    @property
    def index(self) -> LocalIndex:
        """The graph index."""
        return cast(LocalIndex, self.graph.index)

    def try_values(self, values: Sequence[int]) -> tuple[TriedSetting, ...]:
        """Try the given values, each raised to at least the depth."""
        return tuple(self.at(value) for value in sorted({max(value, self.depth) for value in values}))

    def search(self, within: float, by: By) -> tuple[TriedSetting, ...]:
        """Double efSearch, starting at the depth, until two in a row suffice; then bisect the gap below."""

        def suffices(value: int) -> bool:
            return all(loss.within(within, by) for loss in self.at(value).losses.values())

        most = max(min(MOST * self.depth, self.index.documents), self.depth)
        value, fine = self.depth, [suffices(self.depth)]
        while value < most and fine[-2:] != [True, True]:
            value = min(2 * value, most)
            fine.append(suffices(value))
        enough = [each for each, good in zip(sorted(self.known), fine, strict=True) if good]
        lacking = [each for each, good in zip(sorted(self.known), fine, strict=True) if not good]
        if fine[-1] and lacking:
            low, high = lacking[-1], next(each for each in enough if each > lacking[-1])
            while high > CLOSE * low and high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if suffices(middle) else (middle, high)
        return tuple(self.known[each] for each in sorted(self.known))

    def at(self, value: int) -> TriedSetting:
        """Search with one efSearch, memoized."""
        if value not in self.known:
            index = self.index.with_search(efSearch=value)
            hits = self.work.rescore(index.search(self.graph.queries, self.depth), self.graph)
            run = hits.to_run(self.graph.query_ids, self.graph.doc_ids, f"efSearch={value}")
            here = self.judged.score_run(run)
            means = {name: self.bootstrap.mean(values) for name, values in here.values.items()}
            found = self.bootstrap.mean(recall(run, self.exact, self.depth))
            seconds = self.seconds_of(replace(self.graph, index=index))
            self.known[value] = TriedSetting(value, found, means, self.losses(run), seconds)
        return self.known[value]

    def losses(self, run: Run) -> dict[str, Loss]:
        """Losses of a run against exact search: in recall, and in each measure."""
        missed = self.bootstrap.mean(1 - recall(run, self.exact, self.depth))
        found = {RECALL: Loss(*missed[:3])}
        here = self.judged.score_run(run)
        for name, values in here.values.items():
            sign = -1 if name in here.lower else 1
            change = self.bootstrap.change(sign * self.worth.values[name], sign * values)
            whole = abs(float(np.nanmean(self.worth.values[name])))
            found[name] = Loss(*(end / whole for end in change[:3]))
        return found

    def seconds_of(self, opened: SearchSession) -> float:
        """Median latency in seconds of one query at a time."""
        taken = []
        for place in range(min(len(opened.query_ids), TIMED)):
            query, began = opened.select(np.array([place])), self.clock()
            opened.index.search(query, self.depth)
            taken.append(self.clock() - began)
        return float(np.median(taken))


def _check(spec: str, values: Sequence[int] | None, within: float, by: str) -> None:
    kind = read_spec(spec)[0].name if spec else "none"
    if kind != "hnsw":
        raise PolicyError(f"efSearch is a parameter of hnsw. Got index {spec or 'none'}; use hnsw, such as hnsw(M=32).")
    if values is not None and (not values or min(values) < 1):
        raise PolicyError(f"Values of efSearch must be integers >= 1, one at least. Got {list(values)}.")
    if not 0 <= within < 1:
        raise PolicyError(
            f"within must be the share of exact search that may be lost, from 0 to below 1. Got {within!r}."
        )
    if by not in get_args(By):
        raise PolicyError(f"by must be 'bound' or 'value'. Got {by!r}.")
