"""Answers of hosted models in the store: each call a shard as soon as it is answered, and no text sent twice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.errors import InputError
from trueval.files.texts.sequence import Made
from trueval.models.kept import ABOUT, KEYS, ROWS, Kept, Step, read_shard, write_shard
from trueval.numerics import storage_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

COPIED: Final = 100_000  # rows that are taken from another part at once
NO_BATCH: Final = "0"  # a batch changes nothing of what a service answers


class KeptAnswers(Kept):
    """The folder of one part that a hosted model answers."""

    width: int | None = None  # numbers that are answered for an item, once one is

    def compute(self, model: Any, about: Mapping[str, Any], step: Step | None) -> None:
        """Send what nobody answered yet, keep every answer as it comes, and make rows of all."""
        self._describe(about)
        items = self.part.items
        keys = self._save_keys()
        shards = self._answered()
        done = np.zeros(len(items), dtype=bool)
        for chosen in shards:
            done[chosen] = True
        for places, rows in self._known(keys, about, done):
            self._add(shards, done, places, rows)
        self._tell(step, done)
        same = _Same.of(keys, np.flatnonzero(~done))
        asked = Made(len(same.first), lambda at: items[int(same.first[at])])
        called = Made(len(same.first), lambda at: self.part.called[int(same.first[at])])
        for places, rows in model.answers(self.part.name, asked, called):
            group = [same.places(place) for place in places]
            self._add(shards, done, np.concatenate(group), np.repeat(rows, [len(each) for each in group], axis=0))
            self._tell(step, done)
        self._finish(shards, np.zeros(len(items), dtype=np.int64), {**about, "batch_sizes": []})

    def _tell(self, step: Step | None, done: NDArray[np.bool_]) -> None:
        if step is not None:
            step(self.part.name, int(done.sum()), len(done))

    def _answered(self) -> list[NDArray[np.int64]]:
        """The places of each shard that is there."""
        # By length first: number 100000 comes after 99999, and none may be moved onto one that is still to be moved.
        found = sorted(self.place.glob("shard-*.safetensors"), key=lambda file: (len(file.name), file.name))
        for number, file in enumerate(found):
            file.rename(self._shard(number))  # somebody may have removed a damaged one
        return [_places(read_shard(self._shard(number), self.identity).places) for number in range(len(found))]

    def _add(
        self, shards: list[NDArray[np.int64]], done: NDArray[np.bool_], places: NDArray[np.int64], rows: NDArray[Any]
    ) -> None:
        self._refuse_other_widths(shards, rows.shape[1])
        write_shard(self._shard(len(shards)), rows, {"identity": self.identity, "batch_size": NO_BATCH}, places)
        shards.append(places)
        done[places] = True

    def _refuse_other_widths(self, shards: list[NDArray[np.int64]], width: int) -> None:
        if self.width is None:
            self.width = self._read(0, shards[0]).values.shape[1] if shards else width
        if width != self.width:
            raise InputError(
                f"{self.place}: answers of {self.width} numbers for a text before, and of {width} now. The service "
                "runs another model under this name. Remove the folder, and all is asked again."
            )

    def _known(
        self, keys: NDArray[np.bytes_], about: Mapping[str, Any], done: NDArray[np.bool_]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        """What the same model answered about the same texts for other collections."""
        prefix = self.place.name.removesuffix(self.identity[:12])
        for folder in sorted(self.place.parent.glob(f"{prefix}*")):
            if folder == self.place or done.all() or not _is_of(folder, about):
                continue
            for answered in _kept_rows(folder):
                own, theirs = matches(keys, answered.keys, done)
                for start in range(0, len(own), COPIED):
                    cut = slice(start, start + COPIED)
                    yield own[cut], np.asarray(answered.rows[theirs[cut]])


class _Same(NamedTuple):
    """Items that are the same, of which one is sent.

    Attributes:
        first: [text] the first place of each, in the order of the items.
        order: places, those of the same text one after another.
        begins: [text] where those of each begin in `order`.
        counts: [text] how many there are.
    """

    first: NDArray[np.int64]
    order: NDArray[np.int64]
    begins: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, keys: NDArray[np.bytes_], places: NDArray[np.int64]) -> _Same:
        """Find them among some places."""
        _, first, counts = np.unique(keys[places], return_index=True, return_counts=True)
        by_first = np.argsort(first)
        # A stable sort: those of the same text follow each other in the order of unique, which sorts too.
        order = places[np.argsort(keys[places], kind="stable")]
        begins = np.cumsum(counts) - counts
        return cls(places[first[by_first]], order, begins[by_first], counts[by_first])

    def places(self, text: int) -> NDArray[np.int64]:
        """All places of a text."""
        begin = self.begins[text]
        return self.order[begin : begin + self.counts[text]]


class _Answers(NamedTuple):
    """Rows of another part.

    Attributes:
        keys: [row].
        rows: [row, any].
    """

    keys: NDArray[np.bytes_]
    rows: NDArray[Any]


def matches(
    keys: NDArray[np.bytes_], others: NDArray[np.bytes_], done: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of keys that are not done and are among others, and where each is there.

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


def _is_of(folder: Path, about: Mapping[str, Any]) -> bool:
    """Whether a folder holds answers of the same model for the same part; one that cannot be read holds none."""
    try:
        theirs = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return all(theirs.get(name) == about[name] for name in ("kind", "format", "part", "settings"))


def _kept_rows(folder: Path) -> Iterator[_Answers]:
    """The rows of a part that is complete, or else those of its shards; none where it is damaged."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        keys = np.load(folder / KEYS, allow_pickle=False)
        if (folder / ROWS).is_file():
            rows = np.load(folder / ROWS, mmap_mode="r", allow_pickle=False).view(storage_dtype(about["dtype"]))
            if len(rows) == len(keys):
                yield _Answers(keys, rows)
            return
        for file in sorted(folder.glob("shard-*.safetensors")):
            shard = read_shard(file, about["identity"])
            yield _Answers(keys[_places(shard.places)], shard.values)
    except (OSError, ValueError, KeyError):  # the work goes on without: what cannot be read is asked again
        return


def _places(places: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64) if places is None else places
