"""Batch effects: the same model over the same pairs in batches of several sizes, beside what ties do.

In low precision a matrix product rounds in another order for another batch, so outputs change. The spread of a measure
over batch sizes says how much of a difference between two models that alone could be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trueval.errors import PolicyError
from trueval.evaluation.defaults import fill_defaults
from trueval.numerics import or_null
from trueval.precision.audit import DTYPES, audit_passes
from trueval.precision.batch_result import BatchEffects, BatchMeasure, PassEquality
from trueval.precision.model_passes import Passes, run_models

if TYPE_CHECKING:
    from trueval.collection import Collection
    from trueval.measures.grammar import Measures
    from trueval.policy.policy import Policy
    from trueval.precision.audit_result import Audit


def audit_batches(
    collection: Collection,
    models: Sequence[str],
    sizes: Sequence[int],
    measures: Measures | None = None,
    dtypes: Sequence[str] = DTYPES,
    *,
    policy: Policy | None = None,
    passes: Mapping[str, Any] | None = None,
    **choices: Any,
) -> BatchEffects:
    """Run models in batches of each size, and compare outputs and measures: `trueval precision audit --batch-sizes`.

    Args:
        models: recipes, folders or hub ids.
        sizes: two or more batch sizes; outputs are compared with those of the first.
        measures: as in `evaluate`, like policy and choices.
        dtypes: number formats in which the models run.
        passes: further options of `run_models`, without batch_size.

    Raises:
        InputError: as in `run_models`.
        PolicyError: there are fewer than two sizes, or one is below 1.
    """
    if len(set(sizes)) < 2 or min(sizes, default=0) < 1:
        raise PolicyError(f"Batch sizes must be two or more different numbers of at least 1. Got {list(sizes)}.")
    wanted, chosen = fill_defaults(collection.judgments, measures, policy, choices)
    found: list[tuple[Passes, Audit]] = []
    for size in sizes:
        outputs = run_models(collection, models, dtypes, **{**(passes or {}), "batch_size": size})
        found.append((outputs, audit_passes(outputs, wanted, policy=chosen)))
    rows = []
    for at, first in enumerate(found[0][1].results):
        several = [audited.results[at].scores for _, audited in found]
        for measure in first.scores.measures:
            if measure not in wanted:
                continue  # points of curves
            means = [scores.mean(measure) for scores in several]
            expected = tuple(mean.expected for mean in means)
            rows.append(
                BatchMeasure(
                    first.regime.model,
                    first.regime.model_dtype,
                    first.regime.label,
                    str(measure),
                    expected,
                    or_null(max(expected) - min(expected)),
                    or_null(max(mean.range for mean in means)),
                )
            )
    policy_used = found[0][1].results[0].scores.policy.to_dict()
    equality = tuple(_equality([outputs for outputs, _ in found]))
    return BatchEffects(tuple(sizes), tuple(rows), equality, policy_used)


def _equality(several: Sequence[Passes]) -> list[PassEquality]:
    """How many rows of each pass differ, bit for bit, from those of the first batch size."""
    found: dict[tuple[str, str], PassEquality] = {}
    for at, (regime, arrays) in enumerate(several[0].outputs):
        key = regime.model, regime.model_formats
        if key in found:  # regimes of one pass share its outputs
            continue
        differing = tuple(
            sum(
                not np.array_equal(one, other)
                for name in arrays
                for one, other in zip(arrays[name], passes.outputs[at][1][name], strict=True)
            )
            for passes in several
        )
        found[key] = PassEquality(*key, sum(len(each) for each in arrays.values()), differing)
    return list(found.values())
