"""Live retrieval in one call: a run of what a retriever answers, and what it leaves to chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueval.errors import InputError, PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from trueval.collection import Collection
    from trueval.evaluation.scores import Scores
    from trueval.judgments import JudgmentsLike
    from trueval.measures.grammar import Measures
    from trueval.models.hosted.retries import Retries
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.retrieval.cuts.call_differences import Calls
    from trueval.retrieval.cuts.cut_values import CutMeasure, CutValues
    from trueval.retrieval.cuts.cutoff import CutoffGroup
    from trueval.retrieval.live.live_calls import LiveCalls
    from trueval.retrieval.live.live_ledger import LiveAnswer
    from trueval.retrieval.live.live_result import (
        LiveChanges,
        LiveLists,
        LiveMeasure,
        LiveQuery,
        LiveResult,
        LiveTiming,
    )
    from trueval.run import Run


MOST_EXACT = 2**53  # a larger integer may equal another one as float64


@dataclass(frozen=True, eq=False)
class LiveRetrieval:
    """What a live retriever answered.

    Attributes:
        runs: a run for each call; the first is what `evaluate` and `compare` take.
        result: how it went, and what calls differ in.
    """

    runs: tuple[Run, ...]
    result: LiveResult

    @property
    def run(self) -> Run:
        """The run of the first call."""
        return self.runs[0]

    def to_dict(self) -> dict[str, object]:
        """The JSON of `trueval retrieve --live`."""
        return self.result.to_dict()

    def __repr__(self) -> str:
        return repr(self.result)

    def _repr_html_(self) -> str | None:
        return self.result._repr_html_()


def retrieve_live(
    retriever: object,
    queries: Collection | Mapping[str, str] | Path | str,
    k: int = 100,
    *,
    repeats: int = 1,
    judgments: JudgmentsLike | None = None,
    measures: Measures | None = None,
    name: str | None = None,
    at_once: int | None = None,
    timeout: float | None = None,
    retries: Retries | None = None,
    ledger: Path | str | None = None,
    done: Callable[[str, int, int], object] | None = None,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> LiveRetrieval:
    """Ask a retriever every query, and measure what it answers and leaves to chance.

    Args:
        retriever: a function of a text and perhaps k; a retriever of LangChain, LlamaIndex or Haystack; a URL with
            {text} and {k}; a command that prints JSON; "module:name"; the TOML file of an engine, or its table.
        queries: texts by id, a Collection, or the place of one, which needs no corpus.
        k: documents to ask for.
        repeats: calls for each query; two or more show what differs between them.
        judgments: as in `evaluate`; None for those of the collection.
        measures: as in `cuts`.
        name: name of the run; the retriever's if None.
        at_once: calls at once; None for 8 to a URL, 1 to others.
        timeout: seconds for an answer of a URL or a command; None for 60.
        retries: how patiently a call is made again; None for six attempts.
        ledger: file of every answer, read first where it is there; the caller removes it.
        done: called with "answers", their number, and how many there will be.
        policy: as in `evaluate`.
        choices: as in `evaluate`.

    Raises:
        InputError: a query gets no answer, or one that cannot be read.
        PolicyError: the retriever is none, or a choice is unknown.

    >>> retrieve_live(lambda text: {"d1": 2.0, "d2": 2.0}, {"q1": "a question"}).run.frame.rows()
    [('q1', 'd1', 2.0), ('q1', 'd2', 2.0)]
    """
    from trueval.collection import Collection
    from trueval.models.hosted.retries import Retries
    from trueval.retrieval.cuts.cut_values import choose_cut_measure
    from trueval.retrieval.live.live_calls import ask_live
    from trueval.retrieval.live.live_ledger import LiveLedger
    from trueval.retrieval.live.live_spec import open_live

    counts: dict[str, object] = {"k": k, "repeats": repeats, "at_once": 1 if at_once is None else at_once}
    for option, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise PolicyError(f"{option} must be an integer >= 1. Got {value!r}.")
    given = queries if isinstance(queries, Collection | Mapping) else Collection.read(str(queries), needs_corpus=False)
    collection = given if isinstance(given, Collection) else Collection("queries", "queries", {}, given)
    if not collection.queries:
        raise InputError("There is no query to ask. Give texts by id, or a collection.")
    known = collection.judgments if judgments is None else judgments
    choose = partial(choose_cut_measure, judgments=known, measures=measures, policy=policy, choices=dict(choices))
    judged = choose(k)
    source = open_live(retriever, timeout)
    label, threads = name or source.retriever.name, at_once or source.retriever.at_once
    total = repeats * len(collection.queries)
    with LiveLedger(None if ledger is None else Path(ledger), source.retriever.key, k) as kept:
        calls = ask_live(
            source,
            collection.queries,
            k,
            kept,
            repeats=repeats,
            at_once=threads,
            retries=Retries() if retries is None else retries,
            done=None if done is None else lambda count: done("answers", count, total),
        )
    runs = tuple(_run(list(collection.queries), answers, label) for answers in calls.answers)
    takes_k = source.retriever.takes_k
    cut = _end_of_lists(runs, k, takes_k=takes_k)
    result = _result(runs, calls, cut, threads, collection, judged if cut == k else choose(cut), takes_k=takes_k)
    if cut == k:
        return LiveRetrieval(runs, result)
    note = (
        f"{label} lists at most {cut} of the {k} documents that were asked for, so it cuts its lists itself, and "
        f"measures are of {cut} documents."
    )
    return LiveRetrieval(runs, replace(result, notes=(note, *result.notes)))


def _end_of_lists(runs: Sequence[Run], k: int, *, takes_k: bool) -> int:
    """Where lists end: at k, or before it where the engine ends them itself.

    It does where it cannot be told k, or where its calls list different documents though none lists k of them. Groups
    of equal scores are cut there, and not at k.
    """
    import numpy as np

    longest = max(int(np.diff(run.offsets).max()) for run in runs)
    if longest >= k or not takes_k:
        return min(longest, k)
    listed = [set(run.frame.select("query_id", "doc_id").rows()) for run in runs]
    return k if all(each == listed[0] for each in listed) else longest


def _result(
    runs: Sequence[Run],
    calls: LiveCalls,
    k: int,
    at_once: int,
    collection: Collection,
    judged: CutMeasure,
    *,
    takes_k: bool,
) -> LiveResult:
    """What the runs of the calls say."""
    from trueval.retrieval.cuts.call_differences import compare_calls
    from trueval.retrieval.cuts.cut_values import score_cuts
    from trueval.retrieval.cuts.cutoff import find_cuts
    from trueval.retrieval.indexes.repeated_calls import combine_calls, may_go_on
    from trueval.retrieval.live.live_result import LiveResult

    together, notes = combine_calls(runs, k) if len(runs) > 1 else (runs[0], [])
    precision = judged.policy.tie_precision
    groups = find_cuts(together, k, may_go_on(runs, together, k, precision), precision)
    compared = compare_calls(runs, together.query_ids, k, precision)
    values = score_cuts(together, groups, compared, judged, k)
    if values.scores is not None and compared is None:
        values = values._replace(realized=(_evaluate_listed(runs[0], judged),))
    changes = None if compared is None else _changes(compared, groups)
    asked = len(collection.queries)
    lists = _lists(runs[0], asked, k, groups, collection.documents)
    remarks = [*runs[0].notes, *notes, *_remarks(runs[0], k, lists, calls, changes, takes_k=takes_k), *values.notes]
    return LiveResult(
        runs[0].name,
        asked,
        k,
        len(runs),
        at_once,
        _timing(calls),
        lists,
        changes,
        _measures(values),
        () if compared is None else _cases(together, compared, groups),
        None if values.scores is None else values.scores.policy.to_dict(),
        tuple(dict.fromkeys(remarks)),
    )


def _run(query_ids: Sequence[str], answers: Sequence[LiveAnswer], name: str) -> Run:
    """The run of one call.

    Raises:
        InputError: no query found anything, or documents have neither ids nor a common form.
    """
    from trueval.run import Run

    if not any(answer.documents for answer in answers):
        raise InputError(f"{name}: none of {len(answers)} queries found a document. Is the index filled?")
    if (plainly := plain_run(query_ids, [answer.documents for answer in answers], name)) is not None:
        return plainly
    rows = [{"query": query, "documents": answer.documents} for query, answer in zip(query_ids, answers, strict=True)]
    try:
        run = Run.of_engine(rows, name=name)
    except InputError as error:
        raise InputError(str(error).replace("rows: ", f"{name}, answer in ", 1)) from None
    return replace(run, source=name, notes=tuple(note.replace("rows: ", f"{name}: ", 1) for note in run.notes))


def plain_run(query_ids: Sequence[str], lists: Sequence[Sequence[Any]], name: str) -> Run | None:
    """The run of documents that have an id and a score alone, as most engines list them.

    It is that of `Run.of_engine`, in a twentieth of the time; None where rows of a log say more, or say what
    is wrong.
    """
    import numpy as np
    import polars as pl

    from trueval.files.frame import all_rise, empty_note
    from trueval.run import Run

    documents = [document for each in lists for document in each]
    if not all(type(document) is dict and document.keys() == {"id", "score"} for document in documents):
        return None
    ids, scores = [document["id"] for document in documents], [document["score"] for document in documents]
    if set(map(type, ids)) != {str} or not set(map(type, scores)) <= {float, int}:
        return None
    if not all(-MOST_EXACT < score < MOST_EXACT for score in scores):  # also none is NaN
        return None
    sizes = [len(each) for each in lists]
    queries = pl.Series("query_id", query_ids, pl.String).gather(np.repeat(np.arange(len(sizes)), sizes))
    values = np.array(scores, dtype=np.float64)
    if all_rise(values, np.cumsum([0, *sizes])):
        return None
    try:
        run = Run.from_frame(pl.DataFrame({"query_id": queries, "doc_id": ids, "score": values}), name=name)
    except InputError:
        return None
    empty = tuple(query for query, size in zip(query_ids, sizes, strict=True) if not size)
    own = (note.replace(f"{run.source}: ", f"{name}: ", 1) for note in run.notes)
    return replace(run, source=name, notes=(*empty_note(name, empty), *own), empty=empty)


def _evaluate_listed(run: Run, judged: CutMeasure) -> Scores:
    """The scores of a run with ties in the order listed."""
    import warnings

    from trueval.errors import TruevalWarning
    from trueval.evaluation.evaluate import evaluate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # `score_cuts` has the same in its notes
        return evaluate(run, judged.judgments or {}, judged.measures, policy=judged.policy, tie_order="input")


def _measures(values: CutValues) -> dict[str, LiveMeasure]:
    from trueval.retrieval.live.live_result import LiveMeasure

    if values.scores is None:
        return {}
    return {
        name: LiveMeasure(
            mean.expected, mean.lowest, mean.highest, tuple(each.mean(name).tie_broken for each in values.realized)
        )
        for name, mean in values.scores.means().items()
    }


def _changes(compared: Calls, groups: Sequence[CutoffGroup]) -> LiveChanges:
    from trueval.retrieval.live.live_result import LiveChanges

    otherwise = compared.otherwise > 0
    return LiveChanges(
        int(((compared.by_ties > 0) & ~otherwise).sum()),
        int(otherwise.sum()),
        int((compared.reordered > 0).sum()),
        int((compared.rescored > 0).sum()),
        compared.largest_change if math.isfinite(compared.largest_change) else None,
        sum(each.inside for each in groups),
    )


def _cases(run: Run, compared: Calls, groups: Sequence[CutoffGroup]) -> tuple[LiveQuery, ...]:
    from trueval.retrieval.live.live_result import LiveQuery

    at_cutoff = {each.place: each for each in groups}
    found = []
    for place, query in enumerate(run.query_ids.to_list()):
        by_ties, otherwise, group = int(compared.by_ties[place]), int(compared.otherwise[place]), at_cutoff.get(place)
        if by_ties or otherwise or (group is not None and group.inside):
            sizes = (0, 0) if group is None else (group.size, group.slots)
            found.append(LiveQuery(query, int(compared.contexts[place]), by_ties, otherwise, *sizes))
    return tuple(found)


def _lists(run: Run, asked: int, k: int, groups: Sequence[CutoffGroup], corpus: Mapping[str, str]) -> LiveLists:
    import numpy as np

    from trueval.retrieval.fusion.ranked_lists import rank_lists
    from trueval.retrieval.live.live_result import LiveLists

    documents = run.documents["doc_id"]
    unknown = None if not corpus else sum(each not in corpus for each in documents.unique().to_list())
    return LiveLists(
        len(documents),
        asked - len(run.query_ids),
        int((np.diff(run.offsets) < k).sum()),
        rank_lists(run).ties.fraction,
        sum(each.open and each.size > 1 for each in groups),
        unknown,
    )


def _timing(calls: LiveCalls) -> LiveTiming:
    import numpy as np

    from trueval.retrieval.live.live_result import LiveTiming

    seconds = [answer.seconds for answers in calls.answers for answer in answers]
    p50, p95 = np.percentile(seconds, (50, 95), method="inverted_cdf").tolist()
    return LiveTiming(p50, p95, calls.retried, calls.resumed)


def _remarks(
    run: Run, k: int, lists: LiveLists, calls: LiveCalls, changes: LiveChanges | None, *, takes_k: bool
) -> list[str]:
    """What a reader must know beside the notes of readers."""
    notes = []
    if calls.resumed:
        number = sum(map(len, calls.answers))
        notes.append(
            f"{calls.resumed} of {number} answers are of an interrupted job that began {calls.began}. If the engine "
            "has changed since, remove the ledger and ask again."
        )
    if not takes_k:
        notes.append(f"{run.name} cannot be told how many documents to list. Set its number where it is made.")
    if lists.unknown:
        notes.append(
            f"{lists.unknown} documents of the answers are not in the corpus of the collection. Are ids those of "
            "passages, or of another version?"
        )
    if _has_places_alone(run):
        notes.append(
            f"{run.name} gives no scores: documents count by their places, and no tie can be seen. Give (id, score), "
            "or the path of the score."
        )
    if (query := _out_of_order(run)) is not None:
        notes.append(
            f"{run.name}: scores do not fall with the list of query {query!r}, and scores decide. Name the score that "
            "the engine sorts by, or write -score where it is a distance."
        )
    if changes is not None and changes.otherwise:
        notes.append(
            f"Calls differ beyond equal scores in {changes.otherwise} queries; there the range of ties is of documents "
            "of several calls."
        )
    return notes


def _out_of_order(run: Run) -> str | None:
    """The first query whose scores rise somewhere in its list; None if the readers remarked it, or none does."""
    import numpy as np

    scores = run.documents["score"].to_numpy()
    rises = np.flatnonzero(np.diff(scores) > 0) + 1
    inside = rises[~np.isin(rises, run.offsets)]
    if not len(inside) or any("scores rise down every list" in note for note in run.notes):
        return None
    return str(run.query_ids[int(run.offsets.searchsorted(inside[0], side="right")) - 1])


def _has_places_alone(run: Run) -> bool:
    """Whether scores are minus the places, which documents without a score get."""
    import numpy as np

    sizes = np.diff(run.offsets)
    places = np.arange(1, len(run.documents) + 1) - run.offsets[:-1].repeat(sizes)
    return bool((run.documents["score"].to_numpy() == -places).all())
