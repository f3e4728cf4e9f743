"""Batch effects: the same model over the same pairs in other batches, beside what ties do.

In low precision a matrix product rounds in another order for another batch, padding or number of threads, so outputs
change. The spread of a measure over these passes says how much of a difference between two models they alone could be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.errors import PolicyError
from trueval.evaluation.defaults import fill_defaults
from trueval.models.batches import BatchVariant
from trueval.models.model_location import need
from trueval.numerics import or_null
from trueval.precision.audit import DTYPES, audit_passes
from trueval.precision.batch_result import BatchEffects, BatchMeasure, PassEquality
from trueval.precision.model_passes import Passes, run_models

if TYPE_CHECKING:
    from trueval.collection import Collection
    from trueval.measures.grammar import Measures
    from trueval.policy.policy import Policy
    from trueval.precision.audit_result import Audit


PADDINGS: Final = ("left", "right", "max")
SIDES: Final = ("padding=left", "padding=right")


class PassVariant(NamedTuple):
    """A pass over the same texts.

    Attributes:
        size: texts or pairs in a batch.
        batches: how they are put into batches and padded.
        threads: of torch; None for as many as it has.
        device: of torch; None for that of the other passes.
    """

    size: int
    batches: BatchVariant = BatchVariant()
    threads: int | None = None
    device: str | None = None

    @classmethod
    def parse(cls, text: str, size: int) -> PassVariant:
        """A pass from its text.

        Args:
            text: such as "seed=1".
            size: texts or pairs in a batch.

        Raises:
            PolicyError: it is none.

        >>> PassVariant.parse("padding=left", 8)
        PassVariant(size=8, batches=BatchVariant(seed=None, side='left', whole=False), threads=None, device=None)
        """
        name, _, value = text.partition("=")
        if name == "padding" and value in PADDINGS:
            return cls(size, BatchVariant(whole=True) if value == "max" else BatchVariant(side=value))
        if name in ("seed", "threads") and value.isdecimal() and (name == "seed" or int(value) > 0):
            return cls(size, BatchVariant(seed=int(value))) if name == "seed" else cls(size, threads=int(value))
        if name == "device" and value:
            return cls(size, device=value)
        raise PolicyError(
            "A pass must be seed=N, threads=N of at least 1, device=NAME, or padding=left, padding=right or "
            f"padding=max. Got {text!r}."
        )

    def options(self) -> dict[str, Any]:
        """Options of `load_model` for the pass."""
        device = {} if self.device is None else {"device": self.device}
        return {"batch_size": self.size, "variant": self.batches if self.batches.to_dict() else None, **device}


def read_passes(sizes: Sequence[int], variants: Sequence[str] = ()) -> list[PassVariant]:
    """The passes of batch sizes, and of variants in batches of the first size.

    Args:
        sizes: batch sizes.
        variants: as in `audit_batches`.

    Raises:
        PolicyError: there are fewer than two passes, a size is below 1, or a variant is unknown.
    """
    if len({*sizes, *variants}) < 2 or min(sizes, default=0) < 1:
        raise PolicyError(f"Batch sizes must be two or more different numbers of at least 1. Got {list(sizes)}.")
    return [
        *(PassVariant(size) for size in sizes),
        *(PassVariant.parse(each, sizes[0]) for each in dict.fromkeys(variants)),
    ]


@contextmanager
def in_threads_of_torch(count: int | None) -> Iterator[None]:
    """Let torch use so many threads, and as many as before after it; None leaves it alone."""
    if count is None:
        yield
        return
    torch = need("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def audit_batches(
    collection: Collection,
    models: Sequence[str],
    sizes: Sequence[int],
    measures: Measures | None = None,
    dtypes: Sequence[str] = DTYPES,
    *,
    variants: Sequence[str] = (),
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
        variants: further passes in batches of the first size: "seed=N" draws the batches at random, "padding=left",
            "padding=right" and "padding=max" pad otherwise, "threads=N" uses so many processors, and "device=NAME"
            another device of torch.
        passes: further options of `run_models`, without batch_size.

    Raises:
        InputError: as in `run_models`.
        PolicyError: there are fewer than two passes, a size is below 1, or a variant is unknown.
    """
    several = read_passes(sizes, variants)
    wanted, chosen = fill_defaults(collection.judgments, measures, policy, choices)
    found: list[tuple[Passes, Audit]] = []
    for each in several:
        with in_threads_of_torch(each.threads):
            outputs = run_models(collection, models, dtypes, **{**(passes or {}), **each.options()})
        found.append((outputs, audit_passes(outputs, wanted, policy=chosen)))
    rows = []
    for at, first in enumerate(found[0][1].results):
        scored = [audited.results[at].scores for _, audited in found]
        for measure in first.scores.measures:
            if measure not in wanted:
                continue  # points of curves
            means = [scores.mean(measure) for scores in scored]
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
    effects = BatchEffects(tuple(sizes), tuple(rows), equality, policy_used, variants=tuple(dict.fromkeys(variants)))
    return replace(effects, notes=tuple(_notes(effects)))


def _notes(effects: BatchEffects) -> Iterator[str]:
    """What moves more than rounding."""
    for at, name in enumerate(effects.names):
        moved = [each.model for each in effects.passes if name in SIDES and each.differing[at]]
        if moved:
            yield (
                f"{name} changes outputs of {', '.join(dict.fromkeys(moved))}. A model that counts positions from the "
                "start of a row, as BERT does, gets other positions by it, which is no rounding: leave it out to see "
                "what rounding does."
            )


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
