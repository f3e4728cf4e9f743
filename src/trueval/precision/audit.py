"""The precision audit: what each regime's ties do to each measure (P-A, Table 1 and Figures 2, 4, 5)."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from trueval.comparison.resampling.reshuffle import PERSISTENCE
from trueval.errors import InputError, TruevalWarning
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import Measures, evaluate
from trueval.evaluation.label_order import OrderCheck, check_orders, order_notes
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.measures import Measure
from trueval.precision.audit_result import Audit, RegimeAgreement, RegimeResult, ResolvedTies
from trueval.precision.logits_files import read_passes
from trueval.precision.model_passes import run_models
from trueval.precision.regimes import score_regimes, whole_corpus
from trueval.precision.scoring_agreement import ListAgreement, TieResolution, agreement, resolution_of_ties
from trueval.precision.tie_example import TieExample, find_widest, make_example
from trueval.retrieval.exhaustive import SCORINGS, evaluate_corpus
from trueval.run import Run
from trueval.standings.counting import list_documents

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from trueval.collection import Candidates, Collection
    from trueval.policy.policy import Policy
    from trueval.precision.model_passes import Passes
    from trueval.precision.regimes import Regime
    from trueval.threads import Executor


CUTOFFS: Final = (1, 2, 3, 5, 10, 20, 50, 100)  # cutoffs of the curves, which include those of P-A's figures
DTYPES: Final = ("bfloat16", "float32")  # default formats of models
LISTED: Final = 20_000  # maximum size of a corpus for which full lists are analyzed
OVERLAP: Final = (3, 10)  # depth of the overlap for rankings of up to 20 documents, and for longer ones


def audit(
    runs: Mapping[Regime, Run],
    judgments: Judgments,
    measures: Measures | None = None,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    policy: Policy | None = None,
    **choices: object,
) -> Audit:
    """Audit runs of one or more models, each in one or more regimes, over the same candidates.

    Args:
        runs: regime → run.
        cutoffs: cutoffs of the curves; those beyond the longest list are left out.
        policy: as in `evaluate`; P-A uses tie_order="input", empty="skip".
        choices: as in `evaluate`; `seed` is that of permutations too.

    Raises:
        InputError: there is no run.
        PolicyError: a choice is unknown.

    >>> from trueval import Run
    >>> from trueval.precision.regimes import Regime
    >>> runs = {
    ...     Regime("m", "softmax", "bfloat16", format): Run.from_arrays([scores])
    ...     for format, scores in {"bfloat16": [0.5, 0.5], "float32": [0.499, 0.5]}.items()
    ... }
    >>> found = audit(runs, Judgments.from_arrays([[0, 1]]), "RR@10")
    >>> [(result.scores.mean("RR@10").expected, result.scores.mean("RR@10").range) for result in found.results]
    [(0.75, 0.5), (1.0, 0.0)]
    """
    longest = max((int(np.diff(run.offsets).max(initial=1)) for run in runs.values()), default=1)
    shown = [k for k in cutoffs if k <= longest]
    return audit_blocks([runs], judgments, measures, cutoffs=shown, policy=policy, **choices)


def audit_models(
    collection: Collection,
    models: Sequence[str],
    measures: Measures | None = None,
    dtypes: Sequence[str] = DTYPES,
    *,
    policy: Policy | None = None,
    passes: Mapping[str, Any] | None = None,
    **choices: Any,
) -> Audit:
    """Run models in each dtype, score their outputs in each format, and audit the results: `trueval precision audit`.

    Args:
        models: recipes, folders or hub ids.
        dtypes: number formats in which the models run.
        passes: further options of `trueval.precision.model_passes.run_models`: candidates, scoring, index_dtypes,
            similarities, parts, folder, batch_size and so on; its executor also counts the standings of a corpus.

    Raises:
        InputError: a model, a text or an output is bad.
        MissingExtraError: the extra models is not installed.
        PolicyError: a format or choice is unknown.
    """
    # Bad input is refused before hours of passes.
    wanted, chosen = fill_defaults(collection.judgments, measures, policy, choices)
    options = passes or {}
    found = run_models(collection, models, dtypes, **options)
    return audit_passes(found, wanted, policy=chosen, executor=options.get("executor"))


def audit_stored(
    collection: Collection,
    path: Path,
    measures: Measures | None = None,
    dtypes: Sequence[str] | None = None,
    *,
    scoring: Sequence[str] = (),
    grades: Mapping[float, float] | None = None,
    policy: Policy | None = None,
    **choices: Any,
) -> Audit:
    """Score stored logits in each format and audit the results: `trueval precision audit --logits`.

    Args:
        path: an .npz file, see `trueval.precision.logits.read_logits`.
        dtypes: model dtypes to audit; None for all in the file.
        scoring: formats of the scores; by default the model's and float32.
        grades: mapping that was applied to the grades of the judgments; it is applied to those of the file too.

    Raises:
        InputError: the file is bad, its documents are not of the collection, or its grades not those of the judgments.
        PolicyError: a format or choice is unknown, or the file holds no logits of a dtype.
    """
    passes = read_passes(collection, path, dtypes, scoring=scoring, grades=grades)
    return audit_passes(passes, measures, policy=policy, **choices)


def audit_passes(
    passes: Passes,
    measures: Measures | None = None,
    *,
    executor: Executor | None = None,
    policy: Policy | None = None,
    **choices: object,
) -> Audit:
    """Score the outputs of models in every regime, some queries at a time, and audit the results.

    Embeddings are compared with a whole corpus a tile at a time (trueval.retrieval.exhaustive), without lists.
    Statistics that need lists, the share of ties and the agreement with float32, are computed for corpora of up to
    LISTED documents.

    Args:
        passes: outputs of models, or stored ones.
        executor: counts standings over a whole corpus elsewhere, as in `evaluate_corpus`.

    Raises:
        InputError: a score overflows its format, or no query is judged.
        PolicyError: a choice is unknown.
    """
    longest = max(len(each) for each in passes.candidates.lists)
    cutoffs = [k for k in CUTOFFS if k <= longest]
    wanted, chosen = fill_defaults(passes.collection.judgments, measures, policy, choices)
    embedded = passes.candidates.kind == "corpus" and all(each.scoring in SCORINGS for each, _ in passes.outputs)
    if embedded and not (chosen.skip_first or chosen.judged_only):  # these apply to lists only
        return _audit_corpus(passes, wanted, cutoffs, chosen, executor)
    blocks = score_regimes(passes.candidates, passes.outputs)
    found = audit_blocks(blocks, passes.collection.graded, wanted, cutoffs=cutoffs, policy=chosen)
    return replace(found, about=passes.about())


def audit_blocks(
    blocks: Iterable[Mapping[Regime, Run]],
    judgments: Judgments,
    measures: Measures | None = None,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    policy: Policy | None = None,
    **choices: object,
) -> Audit:
    """Audit runs that come some queries at a time; see `audit`.

    Args:
        blocks: runs by regime: the same regimes in every block, and the same queries in all regimes of a block.
        judgments: grades; judged queries in no block are left out.
        cutoffs: cutoffs of the curves.

    Raises:
        InputError: there is no run, or no query of it is judged.
        PolicyError: a choice is unknown.
    """
    wanted, chosen = fill_defaults(judgments, measures, policy, choices)
    everything = _with_curves(wanted, cutoffs)
    gathered: dict[Regime, _RegimeResults] = {}
    order: tuple[OrderCheck, ...] = ()
    notes: tuple[str, ...] = ()
    example: TieExample | None = None
    for runs in (block for block in blocks if block):
        first = next(iter(runs.values()))
        part = _judgments_of(first.query_ids, judgments)
        if not gathered:  # only the orders of the first block are checked, since all lists are built alike
            order = check_orders(first, part, seed=chosen.seed)
            notes = order_notes(replace(first, name="candidates"), part, tie_order=chosen.tie_order)
        for regime, run in runs.items():
            gathered.setdefault(regime, _RegimeResults(regime, run)).add(run, part, everything, chosen)
        _compare(gathered, runs)
        widest = find_widest({regime: gathered[regime].scores[-1] for regime in runs}, wanted[0])
        if widest is not None and (example is None or widest.highest - widest.lowest > example.range):
            example = make_example(widest, runs, part, wanted[0])
    if not gathered:
        raise InputError("There is nothing to audit. Give at least one regime of scoring.")
    results = tuple(found.result() for found in gathered.values())
    said = [note for result in results for note in result.scores.notes]
    return Audit(wanted, results, order, tuple(dict.fromkeys([*notes, *said])), example=example)


def _with_curves(wanted: Sequence[Measure], cutoffs: Sequence[int]) -> tuple[Measure, ...]:
    """Measures plus, for those with a cutoff, the same measure at the cutoffs of the curves, for one evaluation."""
    curves = (measure @ k for measure in wanted if measure.cutoff is not None for k in cutoffs)
    return tuple(dict.fromkeys([*wanted, *curves]))


def _audit_corpus(
    passes: Passes, wanted: tuple[Measure, ...], cutoffs: Sequence[int], chosen: Policy, executor: Executor | None
) -> Audit:
    """Audit embeddings over a whole corpus, without lists."""
    candidates, judgments = passes.candidates, passes.collection.graded
    judgments = _judgments_of(pl.Series(candidates.query_ids), judgments)
    run = _judged_candidates(candidates, judgments)
    scored: dict[Regime, Scores] = {}
    for regime, arrays in passes.outputs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruevalWarning)  # the same lines are in the notes
            source = whole_corpus(regime, arrays, candidates)
            measures = _with_curves(wanted, cutoffs)
            scored[regime] = evaluate_corpus(source, judgments, measures, policy=chosen, executor=executor)
    gathered: dict[Regime, _RegimeResults] = {}
    example: TieExample | None = None
    if len(candidates.doc_ids) <= LISTED:
        widest = find_widest(scored, wanted[0])
        for runs in score_regimes(candidates, passes.outputs):
            _gather_lists(gathered, runs, judgments, chosen)
            if widest is not None and example is None:
                example = make_example(widest, runs, judgments, wanted[0])
    results = []
    for regime, scores in scored.items():
        found = gathered.get(regime)
        sizes = {} if found is None else dict(sorted(found.sizes.items()))
        results.append(RegimeResult(regime, scores, sizes, None if found is None else found.agreement()))
    notes = [*order_notes(run, judgments, tie_order=chosen.tie_order)]
    if not gathered:
        notes.append(
            f"{passes.collection.name}: no lists of {len(candidates.doc_ids):,} documents are made, so how much ties "
            f"in all and the agreement with float32 are not known; they are up to {LISTED:,} documents."
        )
    notes += [note for result in results for note in result.scores.notes]
    order = check_orders(run, judgments, seed=chosen.seed)
    return Audit(wanted, tuple(results), order, tuple(dict.fromkeys(notes)), example=example)


def _judged_candidates(candidates: Candidates, judgments: Judgments) -> Run:
    """The judged documents of each query in corpus order, to check whether that order follows the labels."""
    documents = pl.DataFrame({"doc_id": candidates.doc_ids}).with_row_index("place")
    queries = pl.DataFrame({"query_id": candidates.query_ids}).with_row_index("query")
    frame = judgments.frame.filter(pl.col("grade") >= 0).unique(["query_id", "doc_id"])
    listed = frame.join(documents, on="doc_id").join(queries, on="query_id").sort("query", "place")
    if not len(listed):
        raise InputError(f"{judgments.source}: no judged document is in the corpus. Ids must be the same in both.")
    return Run.from_frame(listed.select("query_id", "doc_id", score=pl.lit(0.0)), name="candidates")


def _gather_lists(
    gathered: dict[Regime, _RegimeResults], runs: Mapping[Regime, Run], judgments: Judgments, chosen: Policy
) -> None:
    """Add the statistics that only lists have: shares of ties, and agreement of each order with float32's."""
    for regime, run in runs.items():
        gathered.setdefault(regime, _RegimeResults(regime, run)).count_ties(run, judgments, chosen)
    _compare(gathered, runs)


class _RegimeResults:
    """Accumulated results of the blocks of one regime."""

    def __init__(self, regime: Regime, run: Run) -> None:
        self.regime = regime
        self.scores: list[Scores] = []
        self.sizes: Counter[int] = Counter()
        self.agreements: list[ListAgreement] = []
        self.resolved = np.zeros(len(TieResolution._fields), dtype=np.int64)
        self.depth = OVERLAP[int(np.diff(run.offsets).max()) > 2 * OVERLAP[1]]
        self.reference: str | None = None
        self.ties_of: str | None = None

    def add(self, run: Run, judgments: Judgments, measures: Sequence[Measure], policy: Policy) -> None:
        """Evaluate one more run."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruevalWarning)  # the same lines are in the notes
            self.scores.append(evaluate(run, judgments, measures, policy=policy))
        self.count_ties(run, judgments, policy)

    def count_ties(self, run: Run, judgments: Judgments, policy: Policy) -> None:
        """Count the tie groups of one more run."""
        # Ties are defined by the policy: `tie_precision` may be coarser than the scoring format.
        sizes, counts = np.unique(list_documents(run, judgments, policy).sizes, return_counts=True)
        self.sizes.update(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))

    def result(self) -> RegimeResult:
        """Return the accumulated results."""
        scores = Scores.join(self.scores)
        return RegimeResult(self.regime, scores, dict(sorted(self.sizes.items())), self.agreement())

    def agreement(self) -> RegimeAgreement | None:
        """Means over the queries; None if there is no reference."""
        if self.reference is None:
            return None
        table = np.array(self.agreements)
        known = ~np.isnan(table[:, 0])  # a list that is a single tie group has no τ-b; the mean is over the others
        return RegimeAgreement(
            self.reference,
            queries=len(table),
            tau_b=float(table[known, 0].mean()) if known.any() else None,
            tau_b_queries=int(known.sum()),
            overlap=float(table[:, 1].mean()),
            overlap_depth=self.depth,
            rbo=float(table[:, 2].mean()),
            rbo_p=PERSISTENCE,
            ties=None if self.ties_of is None else ResolvedTies(self.ties_of, *self.resolved.tolist()),
        )


def _compare(gathered: Mapping[Regime, _RegimeResults], runs: Mapping[Regime, Run]) -> None:
    """Compare every regime with the float32 regime of its model, and its ties with those of low scoring."""
    for regime, run in runs.items():
        reference = next((each for each in runs if each.model == regime.model and each.is_reference), None)
        if reference is None or reference == regime:
            continue
        found = gathered[regime]
        found.reference = reference.label
        # The same outputs scored in the model's own dtype, whose ties this regime may resolve.
        low = regime._replace(scoring_format=regime.model_dtype)
        lists = [_lists(run), _lists(runs[reference]), _lists(runs.get(low, run))]
        found.agreements += [agreement(mine, theirs, found.depth) for mine, theirs, _ in zip(*lists, strict=True)]
        if low in runs and low != regime:
            found.ties_of = low.label
            for fine, theirs, tied in zip(*lists, strict=True):
                found.resolved += resolution_of_ties(tied, fine, theirs)


def _lists(run: Run) -> list[NDArray[np.float64]]:
    return np.split(run.documents["score"].to_numpy(), run.offsets[1:-1])


def _judgments_of(query_ids: pl.Series, judgments: Judgments) -> Judgments:
    """Return the judgments of some queries."""
    frame = judgments.frame.filter(pl.col("query_id").is_in(query_ids.implode()))
    if not len(frame):
        raise InputError(
            f"{judgments.source}: no query of the candidates is judged. Queries look like "
            f"{query_ids.head(3).to_list()} there and {judgments.query_ids.head(3).to_list()} in the judgments."
        )
    return Judgments.from_frame(frame) if len(frame) < len(judgments.frame) else judgments
