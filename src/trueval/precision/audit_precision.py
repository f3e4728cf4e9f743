"""The audit of low precision in one call: of models, which run now, or of stored logits."""

from __future__ import annotations

from collections.abc import Collection as Ids
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trueval.errors import PolicyError

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.collection import Collection
    from trueval.measures.grammar import Measures
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.precision.audit_result import Audit
    from trueval.precision.model_passes import Begin
    from trueval.run import Run
    from trueval.threads import Executor


def audit_precision(
    collection: Collection | Path | str,
    models: Sequence[str] | str = (),
    measures: Measures | None = None,
    dtypes: Sequence[str] | None = None,
    *,
    logits: Path | str | None = None,
    scoring: Sequence[str] = ("model", "float32"),
    index_dtypes: Sequence[str] = ("model",),
    similarities: Sequence[str] = (),
    parts: Sequence[str] = (),
    candidates: str | Run | None = None,
    exclude: Ids[str] | Path = (),
    limit: int | None = None,
    preset: str | None = None,
    qrels: Path | str | None = None,
    grades: Mapping[float, float] | None = None,
    folder: Path | None = None,
    begin: Begin | None = None,
    executor: Executor | None = None,
    batch_size: int | None = None,
    max_length: int | None = None,
    device: str | None = None,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> Audit:
    """Audit models in low precision: what ties in each format do, and what float32 scoring repairs.

    Args:
        collection: a Collection with judgments, or its path.
        models: recipes, folders or hub ids; pass these or `logits`.
        measures: as in `evaluate`, like policy and choices.
        dtypes: formats in which models run; bfloat16 and float32 if None, for logits all there are.
        logits: an .npz file with query, doc and an array for each dtype, instead of models.
        scoring: formats of the scores; "model" is the model's own.
        index_dtypes: storage formats of document embeddings.
        similarities: of embedders: "product", "softmax" over each list.
        parts: of a model, run alone in another format in further passes: "head=float32".
        candidates: "judged", "corpus" or a Run; None: the collection's lists, otherwise "judged".
        exclude: ids of queries to leave out, or a file of them.
        preset: "paper" for what is not given of the settings of P-A, Appendix E.
        qrels: file of judgments, or the folder of a golden set, instead of the collection's.
        grades: grade in the judgments → grade to use.
        folder: folder that stores model outputs, from which an interrupted call resumes.
        begin: called with each pass's name; returns a progress callback.
        executor: runs the models elsewhere, as in `retrieve`, and counts standings over a whole corpus there.
        batch_size: texts per forward pass, 32 if None; halved when memory runs out.
        max_length: maximum number of tokens, instead of the recipe's.

    Raises:
        InputError: a file, a model or an output is bad.
        PolicyError: a format or choice is unknown, or there are neither models nor logits, or both.

    >>> audit_precision("collection", "bge-reranker-v2-m3", "nDCG@10").to_dict()  # doctest: +SKIP
    """
    # Late: importing the audits takes as long as starting a command.
    from dataclasses import replace

    from trueval.collection import Collection
    from trueval.precision.audit import DTYPES, audit_models, audit_stored
    from trueval.precision.logits import read_logits
    from trueval.precision.model_passes import read_ids, select_queries
    from trueval.precision.presets import find_preset

    if preset is not None:
        asked = find_preset(preset)
        measures = list(asked.measures) if measures is None else measures
        dtypes = dtypes or (None if logits is not None else asked.dtypes)
        batch_size, max_length = batch_size or asked.batch_size, max_length or asked.max_length
        given = {name: value for name, value in choices.items() if value is not None}
        choices = {**asked.choices, **given} if policy is None else choices  # type: ignore[typeddict-item]
    named = [models] if isinstance(models, str) else list(models)
    if bool(named) == (logits is not None):
        raise PolicyError("Name a model at least, or logits, and not both.")
    found = Collection.of(collection, qrels=qrels)
    if grades is not None:
        found = replace(found, judgments=found.graded.map_grades(grades))
    left_out = read_ids(exclude, found) if isinstance(exclude, Path) else exclude
    file = None if logits is None else Path(logits)
    among = None if file is None else frozenset(read_logits(file).query_ids)
    found = select_queries(found, exclude=left_out, among=among, limit=limit)
    if file is not None:
        return audit_stored(found, file, measures, dtypes, scoring=scoring, grades=grades, policy=policy, **choices)
    passes = {
        "candidates": candidates,
        "scoring": scoring,
        "index_dtypes": index_dtypes,
        "similarities": similarities,
        "parts": parts,
        "folder": folder,
        "begin": begin,
        "executor": executor,
        "batch_size": batch_size,
        "max_length": max_length,
        "device": device,
    }
    return audit_models(found, named, measures, dtypes or DTYPES, passes=passes, policy=policy, **choices)
