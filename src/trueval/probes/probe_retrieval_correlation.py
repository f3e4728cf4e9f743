"""Probe-retrieval correlation: the probes' query changes applied to a collection's queries, searched and evaluated.

Each query is searched in its original and in every changed form. The probe's signals (how far its vector moves, how
much its top results overlap, how close its top two scores are) are compared with the loss of its measure; prediction.py
computes the correlations. No synthetic stimuli are needed: the texts are real.

What applies to what:

    drop       embedders, alone or in a hybrid
    overlap    anything that gives lists; a list with ties overlaps with itself by less than 1
    margin     the first stage: cosines of an embedder, also of a hybrid; of words alone their scores

With a table of authors there are two more signals, for embedders and for queries that name an author whom a relevant
document names too (collection_margins.py): how small the margin of the name is, and how much of it the change removes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.collection import Collection
from trueval.comparison.resampling.reshuffle import DEPTH, reshuffle_after_change
from trueval.comparison.resampling.run_reshuffle import lists_of
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.evaluation.content_hashes import judgments_hash
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import Measures, evaluate
from trueval.evaluation.scores import Scores
from trueval.measures import Measure
from trueval.models.hosted.account import LEDGER, Account
from trueval.models.missing_work import MissingWork
from trueval.policy.policy import Policy
from trueval.probes.collection_margins import Trials, trials_of
from trueval.probes.mentions import Mentions
from trueval.probes.noise import draw_queries, judged_queries
from trueval.probes.noise_settings import NoiseSettings
from trueval.probes.prediction import COLUMNS, MARGIN, Prediction, PredictionChoices, predict
from trueval.probes.prediction_result import JoinedCollection, JoinedCondition, JoinedSystem
from trueval.probes.query_variants import AS_IT_IS, SearchedTexts, name_texts, search, work_of
from trueval.report.number_texts import count_phrase
from trueval.report.provenance import strip_folders
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.retrieval.pipeline.config import Settings
from trueval.retrieval.pipeline.missing_outputs import MissingOutputs
from trueval.retrieval.pipeline.stage_resources import Begin, StageResources, nobody, open_resources
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.run import Run
from trueval.standings.standings import Bools, Floats
from trueval.threads import Executor, as_executor

DROP, OVERLAP = "drop", "overlap"
NAME_MARGIN, NAME_DROP = "name margin", "name drop"
K: Final = 10
PLAIN: Final = "R@10"  # measures of the loss; for a golden set those of evaluate except Harm
OF_RUBRIC: Final = "RA-nWG@10 N-Recall4+@10 nDCG(gain='rubric')@10 P4+@10"


class QueryChange(NamedTuple):
    """A change of a query.

    Attributes:
        change: function from the text of a query to the changed text.
    """

    name: str
    change: Callable[[str], str]
    about: str = ""


class Form(NamedTuple):
    """A pipeline's results for queries in one form.

    Attributes:
        first: run of the first stage.
        run: run of the last stage.
        vectors: [query, dimension] vectors of the queries; None without an embedder.
        values: [query, measure] expected values over tie orders; NaN if not available.
        notes: remarks from the evaluation.
    """

    first: Run
    run: Run
    vectors: Floats | None
    values: Floats
    notes: tuple[str, ...]


def join_probes(
    collection: Collection,
    pipelines: Mapping[str, Settings],
    conditions: Sequence[QueryChange],
    measures: Measures | None = None,
    *,
    mentions: Mentions | None = None,
    queries: int | None = None,
    k: int = K,
    policy: Policy | None = None,
    choices: PredictionChoices | None = None,
    cache: Path | None = None,
    begin: Begin | None = None,
    max_cost: float | None = None,
    executor: Executor | None = None,
) -> Prediction:
    """Correlate probe signals of a collection's queries with their losses.

    Args:
        pipelines: name → settings of a pipeline, as validated by config.py.
        conditions: query changes with distinct names.
        measures: measures of the loss, for which higher values are better; if None, R@10, and for a golden set those of
            `evaluate` except Harm.
        mentions: finder of the names in a table of authors: queries that name none are left out, and name margins
            become signals; None for no table.
        queries: number of judged queries to sample with the seed of `choices`; None for all.
        k: number of top results in the overlap.
        choices: settings of intervals, and the seed.
        cache: keeps embeddings, indexes and candidates; None keeps nothing.
        begin: called with the name of each stage; the returned function is called with the progress of the stage.
        max_cost: spending limit for hosted models, in the currency of their prices; None for no limit.
        executor: runs local models in other processes or on other machines, as in `retrieve`.

    Raises:
        InputError: no query is judged, no judged query names an author of the table, an input is bad, or a model
            cannot be reached.
        PolicyError: there is nothing to do, or lower values of a measure are better.
    """
    chosen, rules = fill_defaults(collection.judgments, measures, policy, plain=PLAIN, rubric=OF_RUBRIC)
    choices = choices or PredictionChoices()
    _check(pipelines, conditions, chosen)
    asked, forms, trials = _prepare_queries(collection, conditions, mentions, queries, choices.seed)
    account = Account(max_cost, None if cache is None else cache / LEDGER)
    with open_resources(cache, account, kept=True, executor=as_executor(executor)) as shared:
        join = _Join(asked, forms, chosen, k, rules, shared, begin or nobody, trials)
        found = predict(pl.concat([join.rows(name, settings) for name, settings in pipelines.items()]), choices)
    return found.with_notes(join.about(collection, conditions), join.notes)


def estimate_join(
    collection: Collection,
    pipelines: Mapping[str, Settings],
    conditions: Sequence[QueryChange],
    *,
    mentions: Mentions | None = None,
    queries: int | None = None,
    seed: int = 0,
    cache: Path | None = None,
) -> list[MissingWork]:
    """Estimate the items of `join_probes` without running it.

    Args:
        mentions: finder of the names in a table of authors.
        queries: number of judged queries to sample.
        cache: cache to search.

    Raises:
        InputError: as in join_probes.
        PolicyError: as in join_probes.
    """
    _check(pipelines, conditions, ())
    asked, forms, trials = _prepare_queries(collection, conditions, mentions, queries, seed)
    ids = _name_texts(asked, forms)
    with open_resources(cache, Account(), kept=True) as shared:
        counts = MissingOutputs(shared.outputs)
        for settings in pipelines.values():
            work = work_of(settings, asked, ids, shared, nobody)
            counts.add(work)
            if "embed" in settings:
                counts.add_texts(work, "queries")
                if trials is not None and trials.places:
                    counts.add_texts(_other_names(asked, trials, settings, shared, nobody), "documents")
        return counts.work()


def _prepare_queries(
    collection: Collection, conditions: Sequence[QueryChange], mentions: Mentions | None, queries: int | None, seed: int
) -> tuple[Collection, dict[str, dict[str, str]], Trials | None]:
    """The sampled queries, their forms, and the names to try."""
    # Drawn as in the noise probe: the same queries for the same seed.
    named = collection if mentions is None else _select_author_queries(collection, mentions)
    asked = draw_queries(named, NoiseSettings("en", queries=queries or max(2, len(collection.queries)), seed=seed))
    forms = {each.name: {query: each.change(text) for query, text in asked.queries.items()} for each in conditions}
    return asked, forms, None if mentions is None else trials_of(asked, mentions, seed)


def _name_texts(asked: Collection, forms: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Distinct text → the query id under which it is searched."""
    texts = [list(each.values()) for each in (asked.queries, *forms.values())]
    return name_texts([AS_IT_IS, *forms], list(asked.queries), texts)


def _other_names(
    asked: Collection, trials: Trials, settings: Settings, shared: StageResources, begin: Begin
) -> StageRunner:
    """The stage runner of a pipeline over documents with other names."""
    # Other documents: apart from models, shared work belongs to the collection's own documents.
    shared = replace(shared, vectors={}, stages={}, hashes={})
    return StageRunner(replace(asked, documents=trials.documents), settings, shared, begin)


def _select_author_queries(collection: Collection, mentions: Mentions) -> Collection:
    """The collection with the judged queries that name an author."""
    judged = judged_queries(collection)
    found = {query: text for query, text in judged.items() if mentions.first(text) is not None}
    told = (
        f"{len(found):,} of {count_phrase(len(judged), 'judged query', 'judged queries')} name an author of the table"
    )
    if len(found) < 2:
        few = ", ".join(author.text for author in mentions.authors[:3])
        raise InputError(
            f"{collection.source}: {told} ({few}, ...). There must be 2 at least. Give the table of the authors that "
            "people ask for here, or leave --table out."
        )
    return replace(collection, queries=found, notes=(*collection.notes, f"{told}; only these can be drawn."))


def _check(pipelines: Mapping[str, Settings], conditions: Sequence[QueryChange], measures: Sequence[Measure]) -> None:
    if not pipelines or not conditions:
        raise PolicyError("A join needs something that searches, and a way to change queries. Name one of each.")
    names = [each.name for each in conditions]
    if len(set(names)) < len(names):
        raise PolicyError(f"Conditions need different names. Got {', '.join(names)}.")
    lower = [str(each) for each in measures if each.better == "lower"]
    if lower:
        raise PolicyError(f"A loss needs a measure of which higher values are better. Got {lower[0]}.")


class _Join:
    """Searches every form of the queries with every pipeline; documents are embedded and indexed once."""

    def __init__(
        self,
        collection: Collection,
        forms: Mapping[str, Mapping[str, str]],
        measures: Sequence[Measure],
        k: int,
        policy: Policy,
        shared: StageResources,
        begin: Begin,
        trials: Trials | None = None,
    ) -> None:
        self.trials = trials
        self.collection, self.forms, self.measures, self.k = collection, forms, tuple(measures), k
        self.policy, self.shared, self.begin = policy, shared, begin
        self.systems: list[JoinedSystem] = []
        # Notes are in results, which do not reveal folders of a machine.
        self.notes: list[str] = [note.replace(f"{collection.source}/", "") for note in collection.notes]

    @property
    def ids(self) -> list[str]:
        """Ids of the queries."""
        return list(self.collection.queries)

    def form(self, found: SearchedTexts, texts: Sequence[str]) -> Form:
        """A pipeline's results for the queries in one form."""
        run = found.run_of(self.ids, texts)
        scores = self._scores(run)
        place = {query: at for at, query in enumerate(scores.query_ids)}
        values: Floats = scores.expected[[place[query] for query in self.ids]]
        return Form(found.first_of(self.ids, texts), run, found.vectors_of(texts), values, tuple(scores.notes))

    def same(self, form: str) -> Bools:
        """[query] whether a form of it equals the original query."""
        return np.array([self.forms[form][query] == text for query, text in self.collection.queries.items()])

    def compute_signals(
        self, name: str, settings: Settings, clean: Form, forms: Mapping[str, Form]
    ) -> dict[str, dict[str, Floats]]:
        """Form → signal → [query] value."""
        gap = gaps(clean.first, self.ids)
        found = {
            form: {OVERLAP: 1 - self.overlap(clean.run, changed.run), MARGIN: -gap} for form, changed in forms.items()
        }
        if clean.vectors is None:
            return found
        vectors = {form: changed.vectors for form, changed in forms.items() if changed.vectors is not None}
        before, *after = self.name_margins(name, settings, [clean.vectors, *vectors.values()])
        for (form, changed), left in zip(vectors.items(), after, strict=True):
            found[form] = {DROP: drops(clean.vectors, changed, self.same(form)), **found[form]}
            if self.trials is not None:
                found[form] |= {NAME_MARGIN: -before, NAME_DROP: before - left}
        return found

    def name_margins(self, name: str, settings: Settings, asked: Sequence[NDArray[np.generic]]) -> list[Floats]:
        """[form][query] Δname of queries in several forms; NaN where undefined.

        Args:
            asked: [form] vectors of the queries.
        """
        if self.trials is None or not self.trials.places:
            return [np.full(len(self.ids), np.nan) for _ in asked]
        other = _other_names(self.collection, self.trials, settings, self.shared, self.begin)
        documents = other.document_vectors(self.begin(f"{name}: other names"))
        return [self.trials.margins(self.ids, each, documents) for each in asked]

    def _scores(self, run: Run) -> Scores:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruevalWarning)  # the same for every form
            return evaluate(run, self.collection.graded, list(self.measures), policy=self.policy)

    def overlap(self, first: Run, second: Run) -> Floats:
        """[query] expected share of common documents in the top k of two runs; 0 where one has no list."""
        sides = lists_of([first, second], self.collection.graded, self.policy, self.ids)
        return reshuffle_after_change(*sides, k=self.k, depth=max(self.k, DEPTH)).overlap

    def rows(self, name: str, settings: Settings) -> pl.DataFrame:
        """The input rows of `predict` for one pipeline."""
        texts = [list(each.values()) for each in (self.collection.queries, *self.forms.values())]
        ids = _name_texts(self.collection, self.forms)
        found = search(settings, self.collection, ids, self.shared, lambda stage: self.begin(f"{name}: {stage}"))
        clean, *others = (self.form(found, each) for each in texts)
        self.notes += [note for note in (*found.notes, *clean.notes) if note not in self.notes]
        forms = dict(zip(self.forms, others, strict=True))
        signals = self.compute_signals(name, settings, clean, forms)
        parts = []
        for form, changed in forms.items():
            # A query that the change leaves unchanged is uninformative: it loses nothing with any system.
            losses = np.where(self.same(form)[:, None], np.nan, clean.values - changed.values)
            told = dict(zip(map(str, self.measures), losses.T, strict=True))
            for (signal, danger), (measure, loss) in product(signals[form].items(), told.items()):
                key = dict(zip(COLUMNS, (name, form, signal, measure), strict=False))
                values = pl.DataFrame({"query_id": self.ids, "danger": danger, "loss": loss})
                parts.append(values.with_columns(**{each: pl.lit(of) for each, of in key.items()}).select(COLUMNS))
        known = (values[~np.isnan(values)] for values in clean.values.T)
        means = {
            str(measure): float(each.mean()) if len(each) else None
            for measure, each in zip(self.measures, known, strict=True)
        }
        names = tuple(signals[next(iter(forms))])
        self.systems.append(JoinedSystem(name, names, found.first_name, means))
        return pl.concat(parts)

    def about(self, collection: Collection, conditions: Sequence[QueryChange]) -> dict[str, Any]:
        """The fields of a `PredictionSummary` that say what was joined."""
        texts = self.collection.queries
        changed = {
            each.name: sum(self.forms[each.name][query] != text for query, text in texts.items()) for each in conditions
        }
        return {
            "collection": JoinedCollection(
                collection.name,
                strip_folders(collection.source),
                len(collection.documents),
                len(texts),
                {"judgments": judgments_hash(self.collection.graded)},
            ),
            "policy": self.policy.to_dict(),
            "measures": tuple(map(str, self.measures)),
            "k": self.k,
            "systems": tuple(self.systems),
            "conditions": tuple(JoinedCondition(each.name, each.about, changed[each.name]) for each in conditions),
        }


def drops(clean: NDArray[np.generic], changed: NDArray[np.generic], same: NDArray[np.bool_]) -> Floats:
    """[query] 1 - cosine of two vectors per query; exactly 0 for an unchanged query, whatever a batch rounds.

    Args:
        clean: [query, dimension] vectors of the original queries.
        changed: [query, dimension] vectors of the changed forms.
        same: [query] whether the two texts are equal.

    >>> drops(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 2.0], [0.6, 0.8]]), np.array([False, False])).round(3)
    array([1. , 0.4])
    """
    one, other = (np.asarray(each, dtype=np.float64) for each in (clean, changed))
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    found: Floats = np.where(same, 0.0, np.maximum(0.0, 1 - np.einsum("qd,qd->q", one, other) / lengths))
    return found


def gaps(run: Run, query_ids: Sequence[str]) -> Floats:
    """[query] score of the first document - score of the next; NaN for a list of fewer than two.

    >>> gaps(Run.from_dict({"q": {"a": 0.5, "b": 0.75}, "r": {"a": 1.0}}), ["q", "r", "s"])
    array([0.25,  nan,  nan])
    """
    lists = rank_lists(run, 2)
    scores, ends = lists.documents["score"].to_numpy(), lists.offsets
    found = {
        query: float(scores[start] - scores[start + 1])
        for query, start, size in zip(lists.query_ids.to_list(), ends, np.diff(ends), strict=False)
        if size > 1
    }
    return np.array([found.get(query, np.nan) for query in query_ids])
