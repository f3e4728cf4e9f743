"""Known outputs: a model's cached outputs from earlier runs, by item; damaged ones are skipped with a warning."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueval.errors import InputError, TruevalWarning
from trueval.files.digests import DIGESTS, damage, touch_entry
from trueval.models.output_part import ABOUT, FORMAT_VERSION, KEYS, KIND, LENGTHS, ROWS, read_shard
from trueval.numerics import storage_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray


class KnownOutputs(NamedTuple):
    """Cached rows of another part.

    Attributes:
        keys: [item] hashes of the items.
        rows: [item, any], or one [token, dimension] array per item.
    """

    keys: NDArray[np.bytes_]
    rows: Any
    seconds: float


def read_known_outputs(
    folder: Path, settings: Mapping[str, object], part: str, *, stopped: bool = True
) -> Iterator[KnownOutputs]:
    """Read cached outputs of the same model: complete runs first, then interrupted ones.

    Args:
        settings: settings of the model from `settings_of`.
        stopped: whether to include rows of interrupted runs.
    """
    for place, about in _passes(folder, settings, part):
        if (place / ROWS).is_file() and (found := _complete(place, about)) is not None:
            yield found
    if not stopped:
        return
    for place, about in _passes(folder, settings, part):
        if not (place / ROWS).is_file():
            yield from _read_stopped_pass(place, about)


def matches(
    keys: NDArray[np.bytes_], others: NDArray[np.bytes_], done: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of missing keys that occur among others, and their indices there.

    >>> own, theirs = matches(np.array([b"a", b"b", b"c"]), np.array([b"c", b"a"]), np.array([True, False, False]))
    >>> own.tolist(), theirs.tolist()
    ([2], [0])
    """
    wanted = np.flatnonzero(~done)
    order = np.argsort(others)
    at = np.searchsorted(others, keys[wanted], sorter=order)
    theirs = order[np.minimum(at, len(others) - 1)] if len(others) else np.zeros(0, dtype=np.int64)
    found = others[theirs] == keys[wanted] if len(others) else np.zeros(len(wanted), dtype=bool)
    return wanted[found], theirs[found] if len(others) else theirs


def prefix_of(settings: Mapping[str, object], part: str) -> str:
    """Prefix of cache folders with outputs of one model for one part."""
    name = re.sub(r"[^\w.-]+", "-", str(settings["model"]))  # hub ids and services contain / and :
    return f"{name}-{settings['dtype']}-{part}-"


def drop_model_path(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings without the path of a model whose contents are hashed: a copy elsewhere gives the same outputs."""
    return {name: value for name, value in settings.items() if name != "path" or settings.get("weights") is None}


def _passes(folder: Path, settings: Mapping[str, object], part: str) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """Cache folders of the same model with their manifests."""
    wanted = {
        "kind": KIND,
        "format": FORMAT_VERSION,
        "part": part,
        "settings": json.loads(json.dumps(drop_model_path(settings))),
    }
    for place in sorted(folder.glob(f"{prefix_of(settings, part)}*")):
        try:
            about = json.loads((place / ABOUT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(about, dict) and all(about.get(name) == value for name, value in wanted.items()):
            yield place, about


def _complete(place: Path, about: Mapping[str, Any]) -> KnownOutputs | None:
    """The rows of a complete run; None, with a warning, where damaged."""
    try:
        wrong = damage(place, str(about.get("identity")))
        if wrong is None:
            touch_entry(place / DIGESTS)
            rows: Any = np.load(place / ROWS, mmap_mode="r", allow_pickle=False).view(storage_dtype(about["dtype"]))
            if (place / LENGTHS).exists():
                rows = np.split(rows, np.cumsum(np.load(place / LENGTHS, allow_pickle=False))[:-1])
            return KnownOutputs(np.load(place / KEYS, allow_pickle=False), rows, float(about["seconds"]))
    except (OSError, ValueError, KeyError) as error:  # removed in the meantime, or unreadable
        wrong = str(error)
    warnings.warn(
        f"{place}: damaged outputs ({wrong}), which are not taken. Remove the folder.", TruevalWarning, stacklevel=2
    )
    return None


def _read_stopped_pass(place: Path, about: Mapping[str, object]) -> Iterator[KnownOutputs]:
    """The rows of an interrupted run, shard by shard."""
    for file in sorted(place.glob("shard-*.safetensors")):
        try:
            shard = read_shard(file, str(about.get("identity")))
        except OSError:  # it was continued in the meantime
            continue
        except InputError as error:
            warnings.warn(f"{error} It is not taken.", TruevalWarning, stacklevel=2)
            continue
        ragged = shard.lengths.any()
        rows = np.split(shard.values, np.cumsum(shard.lengths)[:-1]) if ragged else shard.values
        yield KnownOutputs(shard.keys, rows, shard.seconds)
