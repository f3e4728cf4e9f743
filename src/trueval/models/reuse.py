"""Outputs by item: what a model returned for a text or a pair is taken wherever the same one is asked for again.

`model_outputs` keeps a pass as a whole, so that low-precision outputs come of the batches that they always came of. A
sweep asks for many passes that overlap: the pairs of one reranker over many pools. Here only items that no pass of the
same model has seen go through it, in a part of their own. A batch can change the last bit of a low-precision output, so
what was computed first is what stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueval.files.texts.sequence import Made
from trueval.files.whole import write_whole
from trueval.models.answers import item_keys, matches
from trueval.models.kept import ABOUT, KEYS, LENGTHS, ROWS, Found, Kept, Part, Step, save_array
from trueval.models.outputs import Outputs, joined_outputs, part_outputs, parts_of, prefix_of, settings_of
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
    found = {part.name: _reused(model, part, settings, folder, step) for part in parts}
    return joined_outputs(settings, found)


def _reused(model: Any, part: Part, settings: Mapping[str, Any], folder: Path | None, step: Step | None) -> Found:
    # A service's answers are kept by item already, and lists of rows of different lengths are never joined here.
    if folder is None or not len(part.items) or hasattr(model, "answers") or getattr(model, "scoring", "") == "maxsim":
        return part_outputs(model, part, settings, folder=folder, step=step)
    keys = item_keys(part.items)
    _, first = np.unique(keys, return_index=True)
    done = np.zeros(len(keys), dtype=bool)
    taken = []
    for known in _complete(folder, settings, part.name):
        own, theirs = matches(keys, known.keys, done)
        done[own] = True
        taken.append((own, np.asarray(known.rows[theirs])))
    rest = np.sort(first[~done[first]])
    computed = _computed(model, part, rest, settings, folder, step)
    if computed is not None:
        own, theirs = matches(keys, keys[rest], done)
        taken.append((own, np.asarray(computed.rows[theirs])))
    rows = np.empty((len(keys), *taken[0][1].shape[1:]), dtype=taken[0][1].dtype)
    for own, values in taken:
        rows[own] = values
    return Found(rows, part.texts(), () if computed is None else computed.batch_sizes)


def missing_items(settings: Mapping[str, Any], part: Part, folder: Path) -> NDArray[np.int64]:
    """Places of the items of a part that no complete pass of the same model has seen; of equal ones the first.

    Args:
        settings: of the model, what `settings_of` gave.
        part: what would go in.
        folder: the store.
    """
    keys = item_keys(part.items)
    _, first = np.unique(keys, return_index=True)
    done = np.zeros(len(keys), dtype=bool)
    for known in _complete(folder, settings, part.name):
        done[matches(keys, known.keys, done)[0]] = True
    places: NDArray[np.int64] = np.sort(first[~done[first]])
    return places


def _computed(
    model: Any, part: Part, rest: NDArray[np.int64], settings: Mapping[str, Any], folder: Path, step: Step | None
) -> Found | None:
    """What the model returns for some of the items; None if there are none."""
    if not len(rest):
        if step is not None:
            step(part.name, len(part.items), len(part.items))
        return None
    items = Made(len(rest), lambda at: part.items[int(rest[at])])
    called = Made(len(rest), lambda at: part.called[int(rest[at])])
    own = part._replace(items=items, called=called)
    return part_outputs(model, own, settings, folder=folder, step=step, kind=KeptByItem)


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
    wanted = json.loads(json.dumps(dict(settings)))
    for place in sorted(folder.glob(f"{prefix_of(settings, part)}*")):
        if not (place / ROWS).is_file() or (place / LENGTHS).exists():
            continue
        try:
            about = json.loads((place / ABOUT).read_text(encoding="utf-8"))
            keys = np.load(place / KEYS, allow_pickle=False)
            rows = np.load(place / ROWS, mmap_mode="r", allow_pickle=False).view(storage_dtype(about["dtype"]))
        except (OSError, ValueError, KeyError):  # computed again
            continue
        if about.get("settings") == wanted and about.get("part") == part and len(keys) == len(rows):
            yield _Known(keys, rows)
