"""Audit of cuts in one call, for a search of a collection or for runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trueval.errors import PolicyError

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.collection import Collection
    from trueval.judgments import JudgmentsLike
    from trueval.measures.grammar import Measures
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.retrieval.cuts.cut_audit import Cuts
    from trueval.retrieval.pipeline.pipeline import Pipeline
    from trueval.retrieval.pipeline.stage_resources import Begin
    from trueval.run import RunLike


def cuts(
    collection: Collection | Path | str | None = None,
    k: int = 10,
    *,
    runs: Sequence[RunLike] | None = None,
    pipeline: Pipeline | Path | str | None = None,
    index: str | None = None,
    model: str | None = None,
    queries: Path | str | None = None,
    repeats: int = 5,
    most: int = 10_000,
    draws: int = 50,
    judgments: JudgmentsLike | None = None,
    measures: Measures | None = None,
    cache: Path | None = None,
    begin: Begin | None = None,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> Cuts:
    """Audit the cut at k: how often it falls inside a tie group, and the effect on quality.

    Args:
        collection: as in `retrieve`, searched past k; with runs, the texts used to find why documents tie.
        k: number of documents in a context.
        runs: instead of a search, a run that goes past k, or several of the same call, as for `Run.of`.
        pipeline: as in `retrieve`.
        index: as in `retrieve`.
        model: as in `retrieve`.
        queries: as in `retrieve`.
        repeats: number of calls for k documents to compare.
        most: maximum number of documents to fetch per query.
        draws: maximum number of orders of equal scores to send through a pipeline.
        judgments: as in `Judgments.of`; None for those of the searched collection.
        measures: as in `evaluate`, at k; None: recall, nDCG and, for grades of the rubric, RA-nWG.
        cache: as in `retrieve`.
        begin: as in `retrieve`.
        policy: as in `evaluate`.
        choices: as in `evaluate`.

    Raises:
        InputError: something cannot be read, or no list goes past k.
        PolicyError: k is below 1, a choice is unknown, or what is named does not go together.

    >>> cuts(runs=[{"q": {"a": 3.0, "b": 2.0, "c": 2.0}}], k=2).inside[0].documents
    ('b', 'c')
    """
    # Late: importing indexes takes as long as starting a command.
    from trueval.collection import Collection
    from trueval.report.provenance import strip_folders
    from trueval.retrieval.cuts.cut_audit import cut_runs
    from trueval.retrieval.cuts.tie_propagation import cut_pipeline
    from trueval.retrieval.pipeline.pipeline import Pipeline

    if runs is None:
        chosen = Pipeline.of(pipeline, index=index, model=model)
        found = chosen.read_collection(collection, queries=queries)
        own = found.judgments
        judged = judgments if judgments is not None or own is None or not own.frame.height else own
        return cut_pipeline(
            chosen,
            found,
            k,
            repeats=repeats,
            most=most,
            draws=draws,
            judgments=judged,
            measures=measures,
            cache=cache,
            begin=begin,
            policy=policy,
            **choices,
        )
    if pipeline is not None or index is not None:
        raise PolicyError("Name runs, or what searches a collection, and not both.")
    if collection is not None and not isinstance(collection, Collection):
        collection = Collection.read(str(collection))
    texts = None if collection is None else collection.documents
    files = [strip_folders(str(run)) for run in runs if isinstance(run, str | Path)]
    about = {"runs": ", ".join(files)} if len(files) == len(runs) else None
    return cut_runs(runs, k, judgments=judgments, measures=measures, texts=texts, policy=policy, about=about, **choices)
