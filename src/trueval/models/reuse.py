"""Outputs by item: what a model returned for a text or a pair is taken wherever the same one is asked for again.

`model_outputs` keeps a pass as a whole, so that low-precision outputs come of the batches that they always came of. A
sweep asks for many passes that overlap: the pairs of one reranker over many pools. Here only items that no pass of the
same model has seen go through it, in a part of their own. A batch can change the last bit of a low-precision output, so
what was computed first is what stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueval.errors import InputError
from trueval.files.texts.sequence import Made
from trueval.files.whole import write_whole
from trueval.models.answers import item_keys, matches
from trueval.models.kept import ABOUT, KEYS, LENGTHS, ROWS, Found, Kept, Part, Step, read_shard, save_array
from trueval.models.outputs import Outputs, joined_outputs, part_outputs, parts_of, place_of, prefix_of, settings_of
from trueval.numerics import storage_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.collection import Candidates, Collection


class KeptByItem(Kept):
    """The folder of one part, which also says of which item each row is."""

    def compute(self, model: Any, about: Mapping[str, Any], step: Step | None) -> None:
        """Compute the shards that are not there yet, and make rows of all."""
        keys = item_keys(self.part.items)
        write_whole(self.place / KEYS, lambda path: save_array(path, keys))
        super().compute(model, about, step)

    def places(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the items of a shard are, so that it serves others also where its pass was stopped."""
        return chosen


def reused_outputs(
    model: Any, collection: Collection, candidates: Candidates, *, folder: Path | None = None, step: Step | None = None
) -> Outputs:
    """Run a model over the items that it has not seen yet; otherwise as `model_outputs`.

    Args:
        model: as in model_outputs.
        collection: with the texts.
        candidates: what to score.
        folder: the store; None keeps nothing, so that nothing is known.
        step: as in model_outputs.

    Raises:
        InputError: as in model_outputs.
        MissingExtraError: as in model_outputs.
    """
    settings = settings_of(model)
    parts = parts_of(model, collection, candidates)
    found = {part.name: reused_part(model, part, settings, folder, step) for part in parts}
    return joined_outputs(settings, found)


def reused_part(
    model: Any, part: Part, settings: Mapping[str, Any], folder: Path | None, step: Step | None = None
) -> Found:
    """Run a model over the items of one part that it has not seen yet; otherwise as `part_outputs`.

    Args:
        model: as in part_outputs.
        part: what goes in.
        settings: what `settings_of` gave.
        folder: the store; None keeps nothing.
        step: as in part_outputs.

    Raises:
        InputError: as in part_outputs.
        MissingExtraError: as in part_outputs.
    """
    # A service's answers are kept by item already, and lists of rows of different lengths are never joined here.
    if folder is None or not len(part.items) or hasattr(model, "answers") or getattr(model, "scoring", "") == "maxsim":
        return part_outputs(model, part, settings, folder=folder, step=step)
    keys = item_keys(part.items)
    taken = list(_matched(keys, _complete(folder, settings, part.name)))
    own = _part_of(part, _missing(keys, taken))
    if len(own.items) and not (place_of(settings, own.name, own.texts(), folder).place / ABOUT).is_file():
        # No pass of just these was begun: what a stopped pass of others has is taken too.
        taken = list(_matched(keys, [*_complete(folder, settings, part.name), *_stopped(folder, settings, part.name)]))
        own = _part_of(part, _missing(keys, taken))
    sizes: tuple[int, ...] = ()
    if len(own.items):
        computed = part_outputs(model, own, settings, folder=folder, step=step, kind=KeptByItem)
        taken += _matched(keys, [_Known(item_keys(own.items), computed.rows)])
        sizes = computed.batch_sizes
    elif step is not None:
        step(part.name, len(part.items), len(part.items))
    rows = np.empty((len(keys), *taken[0].rows.shape[1:]), dtype=taken[0].rows.dtype)
    for each in taken:
        rows[each.places] = each.rows
    return Found(rows, part.texts(), sizes)


def missing_items(settings: Mapping[str, Any], part: Part, folder: Path) -> NDArray[np.int64]:
    """Places of the items of a part that no complete pass of the same model has seen; of equal ones the first.

    Args:
        settings: of the model, what `settings_of` gave.
        part: what would go in.
        folder: the store.
    """
    keys = item_keys(part.items)
    return _missing(
        keys, list(_matched(keys, [*_complete(folder, settings, part.name), *_stopped(folder, settings, part.name)]))
    )


class _Taken(NamedTuple):
    """Rows for some items.

    Attributes:
        places: of the items.
        rows: [item, any].
    """

    places: NDArray[np.int64]
    rows: NDArray[Any]


def _matched(keys: NDArray[np.bytes_], known: Iterable[_Known]) -> Iterator[_Taken]:
    """What is known of items, each from the first that knows it."""
    done = np.zeros(len(keys), dtype=bool)
    for each in known:
        own, theirs = matches(keys, each.keys, done)
        done[own] = True
        yield _Taken(own, np.asarray(each.rows[theirs]))


def _missing(keys: NDArray[np.bytes_], taken: Sequence[_Taken]) -> NDArray[np.int64]:
    """Places of items that nobody knows; of equal ones the first."""
    done = np.zeros(len(keys), dtype=bool)
    for each in taken:
        done[each.places] = True
    _, first = np.unique(keys, return_index=True)
    places: NDArray[np.int64] = np.sort(first[~done[first]])
    return places


def _part_of(part: Part, places: NDArray[np.int64]) -> Part:
    """Some of the items."""
    items = Made(len(places), lambda at: part.items[int(places[at])])
    called = Made(len(places), lambda at: part.called[int(places[at])])
    return part._replace(items=items, called=called)


class _Known(NamedTuple):
    """Rows of another part.

    Attributes:
        keys: [row].
        rows: [row, any].
    """

    keys: NDArray[np.bytes_]
    rows: NDArray[Any]


def _complete(folder: Path, settings: Mapping[str, Any], part: str) -> Iterator[_Known]:
    """What complete passes of the same model returned, item by item; one that cannot be read is passed over."""
    for place, about, keys in _passes(folder, settings, part):
        if not (place / ROWS).is_file() or (place / LENGTHS).exists():
            continue
        try:
            rows = np.load(place / ROWS, mmap_mode="r", allow_pickle=False).view(storage_dtype(about["dtype"]))
        except (OSError, ValueError, KeyError):  # computed again
            continue
        if len(keys) == len(rows):
            yield _Known(keys, rows)


def _stopped(folder: Path, settings: Mapping[str, Any], part: str) -> Iterator[_Known]:
    """What passes of the same model returned that were stopped, shard by shard."""
    for place, about, keys in _passes(folder, settings, part):
        if (place / ROWS).is_file():
            continue
        for file in sorted(place.glob("shard-*.safetensors")):
            try:
                shard = read_shard(file, str(about.get("identity")))
                if shard.places is not None and not shard.lengths.any():
                    yield _Known(keys[shard.places], shard.values)
            except (OSError, InputError, IndexError):  # it went on meanwhile, or is damaged
                continue


def _passes(
    folder: Path, settings: Mapping[str, Any], part: str
) -> Iterator[tuple[Path, Mapping[str, Any], NDArray[np.bytes_]]]:
    """Folders of passes of the same model that say of which item each row is."""
    wanted = json.loads(json.dumps(dict(settings)))
    for place in sorted(folder.glob(f"{prefix_of(settings, part)}*")):
        try:
            about = json.loads((place / ABOUT).read_text(encoding="utf-8"))
            keys = np.load(place / KEYS, allow_pickle=False)
        except (OSError, ValueError):
            continue
        if about.get("settings") == wanted and about.get("part") == part:
            yield place, about, keys
