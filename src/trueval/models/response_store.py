"""Response store: each call of a hosted model becomes a shard at once, and no text is sent twice."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.errors import InputError, TruevalWarning
from trueval.files.texts.lazy_list import LazyList
from trueval.models.known_outputs import matches, read_known_outputs
from trueval.models.output_part import OutputCache, Step, item_keys, read_shard, write_shard

if TYPE_CHECKING:
    from numpy.typing import NDArray

COPIED: Final = 100_000  # rows copied at once from another part
NO_BATCH: Final = "0"  # the batch does not affect a service's outputs


class ResponseStore(OutputCache):
    """The cache folder of one part of a hosted model."""

    width: int | None = None  # numbers per item, known after the first response

    def compute(self, model: Any, about: Mapping[str, Any], step: Step | None) -> None:
        """Send uncached items, store every response as it arrives, and join all into rows."""
        self.describe(about)
        items = self.part.items
        keys = item_keys(items)
        shards, before = self._stored_shards()
        done = np.zeros(len(items), dtype=bool)
        for chosen in shards:
            done[chosen] = True
        for places, rows in self._reusable_outputs(keys, about, done):
            self._add(shards, done, places, rows, keys, 0.0)
        self._tell(step, done)
        same = _Same.of(keys, np.flatnonzero(~done))
        asked = LazyList(len(same.first), lambda at: items[int(same.first[at])])
        called = LazyList(len(same.first), lambda at: self.part.called[int(same.first[at])])
        began = time.perf_counter()
        for places, rows in model.answers(self.part.name, asked, called):
            group = [same.places(place) for place in places]
            answered = np.repeat(rows, [len(each) for each in group], axis=0)
            self._add(shards, done, np.concatenate(group), answered, keys, time.perf_counter() - began)
            began = time.perf_counter()
            self._tell(step, done)
        self._finish(
            shards,
            np.zeros(len(items), dtype=np.int64),
            keys,
            {**about, "batch_sizes": [], "seconds": self.now + before},
        )

    def _tell(self, step: Step | None, done: NDArray[np.bool_]) -> None:
        if step is not None:
            step(self.part.name, int(done.sum()), len(done))

    def _stored_shards(self) -> tuple[list[NDArray[np.int64]], float]:
        """Item places of each stored shard, and the total seconds they took."""
        # By length first, so that 100000 comes after 99999: no file may be moved onto one that is still to be moved.
        found = sorted(self.place.glob("shard-*.safetensors"), key=lambda file: (len(file.name), file.name))
        places: list[NDArray[np.int64]] = []
        seconds = 0.0
        for file in found:
            try:
                shard = read_shard(file, self.identity)
            except InputError as error:
                warnings.warn(f"{error} It is made again: its texts are sent once more.", TruevalWarning, stacklevel=2)
                file.unlink()
                continue
            file.rename(self.shard_file(len(places)))
            places.append(shard.places)
            seconds += shard.seconds
        return places, seconds

    def _add(
        self,
        shards: list[NDArray[np.int64]],
        done: NDArray[np.bool_],
        places: NDArray[np.int64],
        rows: NDArray[np.generic],
        keys: NDArray[np.bytes_],
        seconds: float,
    ) -> None:
        self._refuse_other_widths(shards, rows.shape[1])
        self.now += seconds
        about = {"identity": self.identity, "batch_size": NO_BATCH, "seconds": repr(seconds)}
        write_shard(self.shard_file(len(shards)), rows, about, places, keys[places])
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

    def _reusable_outputs(
        self, keys: NDArray[np.bytes_], about: Mapping[str, Any], done: NDArray[np.bool_]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        """Cached outputs of the same model for the same texts in other collections."""
        for answered in read_known_outputs(self.place.parent, about["settings"], about["part"]):
            own, theirs = matches(keys, answered.keys, done)
            for start in range(0, len(own), COPIED):
                cut = slice(start, start + COPIED)
                yield own[cut], np.asarray(answered.rows[theirs[cut]])


class _Same(NamedTuple):
    """Groups of equal items, of which one is sent.

    Attributes:
        first: [text] index of its first item, in the order of the items.
        order: indices of the items, grouped by text.
        begins: [text] start of its group in `order`.
        counts: [text] size of its group.
    """

    first: NDArray[np.int64]
    order: NDArray[np.int64]
    begins: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, keys: NDArray[np.bytes_], places: NDArray[np.int64]) -> _Same:
        """Find equal items among some places."""
        _, first, counts = np.unique(keys[places], return_index=True, return_counts=True)
        by_first = np.argsort(first)
        # A stable sort: items of the same text are adjacent, in the order of np.unique, which sorts too.
        order = places[np.argsort(keys[places], kind="stable")]
        begins = np.cumsum(counts) - counts
        return cls(places[first[by_first]], order, begins[by_first], counts[by_first])

    def places(self, text: int) -> NDArray[np.int64]:
        """All places of a text."""
        begin = self.begins[text]
        return self.order[begin : begin + self.counts[text]]
