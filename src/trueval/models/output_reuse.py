"""Output reuse: a model's cached output for a text or pair is reused wherever the same item occurs.

float32 outputs are reused by item: when a document changes, only that document is recomputed. The batch of a text
affects the last bits of its output; in bfloat16 and float16 it affects them so much that other documents tie. There a
run is kept whole (`model_outputs`), unless the user accepts outputs of other batches: `reuse="text"`.

A sweep has many overlapping runs, the pairs of one reranker over many pools, and reuses outputs by item in every dtype:
only items new to the model are computed, in a part of their own. The output computed first is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.errors import TruevalWarning
from trueval.files.texts.lazy_list import LazyList
from trueval.models.known_outputs import KnownOutputs, matches, read_known_outputs
from trueval.models.output_part import ABOUT, OutputPart, PartOutputs, Step, item_keys
from trueval.models.outputs import Outputs, join_outputs, part_outputs, parts_of, place_of, settings_of
from trueval.threads import Executor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.collection import Candidates, Collection

# Which outputs are reused: those of the same run, and in float32 those of the same text; or always those of the same
# text.
PASS, TEXT = "pass", "text"
BY_TEXT: Final = ("float32",)  # dtypes


def part_by(
    model: object,
    part: OutputPart,
    reuse: str,
    folder: Path | None,
    step: Step | None = None,
    executor: Executor | None = None,
) -> PartOutputs:
    """The outputs of one part: by item where `reuse` or the model's dtype allow it, else for the whole part.

    Args:
        part: input of the model.
        reuse: "pass" or "text".
        folder: folder of the store; None stores nothing.
        executor: computes the shards, as in model_outputs.

    Raises:
        InputError: as in part_outputs.
        MissingExtraError: as in part_outputs.
    """
    settings = settings_of(model)
    if is_by_text(model, reuse):
        return reuse_part(model, part, settings, folder, step, executor)
    if folder is not None:
        _tell_price(model, part, settings, folder)
    return part_outputs(model, part, settings, folder=folder, step=step, executor=executor)


def outputs_by(
    reuse: str,
    model: object,
    collection: Collection,
    candidates: Candidates,
    *,
    folder: Path | None,
    step: Step | None,
    executor: Executor | None = None,
) -> Outputs:
    """Run a model over candidates as `part_by` runs it over one part; otherwise as `model_outputs`."""
    parts = parts_of(model, collection, candidates)
    found = {part.name: part_by(model, part, reuse, folder, step, executor) for part in parts}
    return join_outputs(settings_of(model), found)


def is_by_text(model: Any, reuse: str) -> bool:
    """Whether outputs of a model are reused by item."""
    exact = getattr(model, "dtype", "") in BY_TEXT and not getattr(model, "parts", None)
    return hasattr(model, "answers") or exact or reuse == TEXT


def _tell_price(model: Any, part: OutputPart, settings: Mapping[str, object], folder: Path) -> None:
    """Warn of the extra cost of a whole run where most items are cached from another run."""
    if (place_of(settings, part.name, part.texts(), folder).place / ABOUT).is_file():
        return
    new, count = len(find_missing_items(settings, part, folder)), len(set(item_keys(part.items).tolist()))
    if 2 * new <= count:
        verb = "is" if new == 1 else "are"
        warnings.warn(
            f"{new:,} of {count:,} {part.name} {verb} new to {model.name} in {model.dtype}, whose outputs depend on "
            f'their batch: all {count:,} go through it. With --reuse text, or reuse = "text" in the file, the new ones '
            "do, and outputs may differ in their last bits from those of a whole pass.",
            TruevalWarning,
            stacklevel=3,
        )


def reuse_outputs(
    model: object,
    collection: Collection,
    candidates: Candidates,
    *,
    folder: Path | None = None,
    step: Step | None = None,
    executor: Executor | None = None,
) -> Outputs:
    """Run a model over the items that are not cached; otherwise as `model_outputs`.

    Args:
        collection: collection with the texts.
        candidates: documents to score.
        folder: folder of the store; None stores nothing, so that nothing is reused.

    Raises:
        InputError: as in model_outputs.
        MissingExtraError: as in model_outputs.
    """
    settings = settings_of(model)
    parts = parts_of(model, collection, candidates)
    found = {part.name: reuse_part(model, part, settings, folder, step, executor) for part in parts}
    return join_outputs(settings, found)


def reuse_part(
    model: object,
    part: OutputPart,
    settings: Mapping[str, object],
    folder: Path | None,
    step: Step | None = None,
    executor: Executor | None = None,
) -> PartOutputs:
    """Run a model over the items of one part that it has not seen yet; otherwise as `part_outputs`.

    Args:
        part: input of the model.
        folder: folder of the store; None stores nothing.

    Raises:
        InputError: as in part_outputs.
        MissingExtraError: as in part_outputs.
    """
    # Responses of a service are already stored by item.
    whole = folder is None or not len(part.items) or hasattr(model, "answers")
    if folder is None or whole or place_of(settings, part.name, part.texts(), folder).complete:
        return part_outputs(model, part, settings, folder=folder, step=step, executor=executor)
    keys = item_keys(part.items)
    taken = list(_match_known_outputs(keys, read_known_outputs(folder, settings, part.name, stopped=False)))
    own = _part_of(part, _find_missing(keys, taken))
    if len(own.items) and not (place_of(settings, own.name, own.texts(), folder).place / ABOUT).is_file():
        # No run of exactly these items exists, so rows of interrupted runs of others are reused too.
        taken = list(_match_known_outputs(keys, read_known_outputs(folder, settings, part.name)))
        own = _part_of(part, _find_missing(keys, taken))
    if len(own.items) == len(part.items):  # all are new: their rows stay a memory map
        return part_outputs(model, part, settings, folder=folder, step=step, executor=executor)
    sizes: tuple[int, ...] = ()
    if len(own.items):
        computed = part_outputs(model, own, settings, folder=folder, step=step, executor=executor)
        taken += _match_known_outputs(keys, [KnownOutputs(item_keys(own.items), computed.rows, computed.earlier)])
        sizes = computed.batch_sizes
    elif step is not None:
        step(part.name, len(part.items), len(part.items))
    return PartOutputs(_join_rows(taken, len(keys)), part.texts(), sizes, sum(each.seconds for each in taken))


def _join_rows(taken: Sequence[_ReusedRows], count: int) -> Any:
    """Rows of several runs, each in its place: one array, or a list of arrays for late interaction."""
    first = taken[0].rows
    if isinstance(first, list):
        found: list[Any] = [None] * count
        for each in taken:
            for place, theirs in zip(each.places.tolist(), each.theirs.tolist(), strict=True):
                found[place] = each.rows[theirs]
        return found
    rows = np.empty((count, *first.shape[1:]), dtype=first.dtype)
    for each in taken:
        rows[each.places] = each.rows[each.theirs]
    return rows


def find_missing_items(settings: Mapping[str, object], part: OutputPart, folder: Path) -> NDArray[np.int64]:
    """Places of items that no complete run of the same model has seen; the first of equal ones.

    Args:
        settings: settings of the model from `settings_of`.
        part: input of the model.
    """
    keys = item_keys(part.items)
    return _find_missing(keys, list(_match_known_outputs(keys, read_known_outputs(folder, settings, part.name))))


def find_items_to_compute(model: object, part: OutputPart, reuse: str, folder: Path) -> NDArray[np.int64]:
    """Places of the items of a part that a model would have to process, where its run is not complete.

    Args:
        part: input of the model.
    """
    settings = settings_of(model)
    if is_by_text(model, reuse):
        return find_missing_items(settings, part, folder)
    _tell_price(model, part, settings, folder)
    return np.arange(len(part.items))


class _ReusedRows(NamedTuple):
    """Cached rows of another part for some items.

    Attributes:
        places: [item] index in the requested part.
        theirs: [item] index in the other part.
        rows: rows of the other part; a list of arrays for late interaction.
        seconds: time that these took, split equally among items.
    """

    places: NDArray[np.int64]
    theirs: NDArray[np.int64]
    rows: Any
    seconds: float


def _match_known_outputs(keys: NDArray[np.bytes_], known: Iterable[KnownOutputs]) -> Iterator[_ReusedRows]:
    """Cached outputs of items, each from the first source that has it."""
    done = np.zeros(len(keys), dtype=bool)
    for each in known:
        own, theirs = matches(keys, each.keys, done)
        done[own] = True
        share = len(np.unique(theirs)) / max(len(each.keys), 1)
        yield _ReusedRows(own, theirs, each.rows, each.seconds * share)


def _find_missing(keys: NDArray[np.bytes_], taken: Sequence[_ReusedRows]) -> NDArray[np.int64]:
    """Places of items without a cached output; the first of equal ones."""
    done = np.zeros(len(keys), dtype=bool)
    for each in taken:
        done[each.places] = True
    _, first = np.unique(keys, return_index=True)
    places: NDArray[np.int64] = np.sort(first[~done[first]])
    return places


def _part_of(part: OutputPart, places: NDArray[np.int64]) -> OutputPart:
    """The part restricted to some items."""
    items = LazyList(len(places), lambda at: part.items[int(places[at])])
    called = LazyList(len(places), lambda at: part.called[int(places[at])])
    return part._replace(items=items, called=called)
