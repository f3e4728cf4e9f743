"""Tiles of scores in torch: products of tensors on their device, and what standings ask of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.numerics import FORMATS, find_format, round_to
from trueval.retrieval.tiles.numpy_tiles import SLACK

Ints = NDArray[np.int64]

WIDTH: Final = 65536  # columns of a tile of torch: documents, or tokens of documents


class TensorProducts:
    """Products of tensors of torch, on a device; arrays are moved there tile by tile.

    Args:
        dtype: that products are computed in.
        storage: format that documents are rounded to before; None for as they are.
        device: None for where the tensors are.
    """

    width: ClassVar[int] = WIDTH

    def __init__(self, dtype: str, storage: str | None, device: str | None) -> None:
        import torch

        self.torch, self.dtype, self.storage, self.device = torch, dtype, storage, device
        self.wide = getattr(torch, dtype)

    def matrix(self, rows: Any, height: int, *, stored: bool = False) -> Any:
        """Vectors in the format of the products, padded with rows of zeros."""
        rows = self.tensor(rows)
        if stored and self.storage is not None:
            rows = self.round(rows if rows.dtype == self.torch.float64 else rows.to(self.wide), self.storage)
        matrix = self.torch.zeros((height, rows.shape[1]), dtype=self.wide, device=rows.device)
        matrix[: len(rows)] = rows
        return matrix

    def tensor(self, rows: Any) -> Any:
        """A tensor on the device, of an array too; ml_dtypes' bfloat16 is seen as integers on the way."""
        if isinstance(rows, np.ndarray):
            rows = np.array(rows)  # a memory map of a file that must not be written to
            if rows.dtype.name == "bfloat16":
                rows = self.torch.from_numpy(rows.view(np.int16)).view(self.torch.bfloat16)
            else:
                rows = self.torch.from_numpy(rows)
        return rows.detach() if self.device is None else rows.detach().to(self.device)

    def stack(self, texts: Sequence[object], each: int | None = None) -> Any:
        """The tokens of some texts one after another, those of every text padded with zeros to as many."""
        tensors = [self.tensor(text) for text in texts]
        if each is None:
            return self.torch.cat(tensors)
        return self.torch.cat([self.torch.nn.functional.pad(one, (0, 0, 0, each - len(one))) for one in tensors])

    def length(self, matrix: Any) -> float:
        """A length that no vector exceeds, that of all as one; NaN or infinite if one is not finite."""
        return SLACK * float(matrix.square().sum().sqrt())

    def product(self, queries: Any, documents: Any, scratch: None) -> Any:
        """[query, document] products."""
        return queries @ documents.T

    def best(self, products: Any, starts: Ints, each: int, form: str) -> Any:
        """[query, document] sums over the tokens of a query of its best product with a token of the document."""
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        index = self.torch.from_numpy(owner).to(products.device).expand(len(products), -1)
        empty = self.torch.zeros((len(products), len(starts) - 1), dtype=products.dtype, device=products.device)
        best = empty.scatter_reduce(1, index, products, "amax", include_self=False)
        return self.round(best, form).reshape(-1, each, best.shape[1]).sum(1)

    def round(self, values: Any, form: str) -> Any:
        """Values rounded to a format.

        Raises:
            InputError: one overflows.
        """
        if form in ("float32", "float64"):
            return values
        if values.dtype == self.torch.float64 or form not in FORMATS:
            # Of float64 torch rounds by way of float32, so twice; formats of other packages it does not have.
            return self.torch.from_numpy(round_to(values.cpu().numpy(), form)).to(values)
        rounded = values.to(getattr(self.torch, form)).to(values.dtype)
        # torch may put what is too large for float8_e4m3fn, which has no infinity, at its largest number.
        beyond = values.abs() > find_format(form).reach
        lost = (beyond | ~self.torch.isfinite(rounded)) & self.torch.isfinite(values)
        if lost.any():
            raise InputError(f"The value {values[lost][0].item()!r} overflows {form}. Use a wider format.")
        return rounded

    def pick(self, scores: Any, rows: Ints, columns: Ints) -> NDArray[Any]:
        """Scores by row and column, in NumPy."""
        where = [self.torch.from_numpy(each).to(scores.device) for each in (rows, columns)]
        found: NDArray[Any] = scores[where[0], where[1]].cpu().numpy()
        return found

    def scratch(self, height: int, width: int) -> None:
        """Torch keeps its own memory."""

    def tiles(self, scores: Any, first: int, bound: float, scratch: None) -> Iterator[TensorTile]:
        """One tile, whole."""
        yield TensorTile(self, scores, slice(0, len(scores)), first, bound)

    def workers(self) -> int:
        """One: torch has threads of its own, or a device."""
        return 1

    def alone(self) -> AbstractContextManager[None]:
        """Nothing to be set."""
        return nullcontext()


@dataclass(frozen=True, eq=False)
class TensorTile:
    """Scores of some queries and adjacent documents, where torch computed them
    (trueval.standings.corpus.corpus_scorer.Tile).

    Attributes:
        on: torch.
        scores: [row, column].
        queries: of the rows.
        first: place of the first document.
        bound: what no score exceeds.
    """

    on: TensorProducts
    scores: Any
    queries: slice
    first: int
    bound: float
    quick: ClassVar[bool] = False  # torch sorts

    @property
    def columns(self) -> int:
        """Documents."""
        return int(self.scores.shape[1])

    def at_least(self, rows: Ints, bounds: NDArray[np.generic], *, beyond: bool = False) -> Any:
        """Tell which scores of some rows are at least a bound of the row, or with `beyond` above it."""
        scores, bound = self._of(rows), self._there(bounds)[:, None]
        return scores > bound if beyond else scores >= bound

    def counts(self, mask: Any) -> Ints:
        """[row] how many scores a mask has chosen."""
        counts: Ints = mask.sum(1).cpu().numpy()
        return counts

    def places(self, mask: Any, counts: Ints) -> tuple[Ints, Ints]:
        """Row, as an index into the mask, and column of each score that a mask has chosen."""
        row, column = mask.nonzero(as_tuple=True)
        return row.cpu().numpy(), column.cpu().numpy()

    def at(self, rows: Ints, columns: Ints) -> NDArray[Any]:
        """Scores by row and column, in NumPy."""
        return self.on.pick(self.scores, rows, columns)

    def count_passing(self, rows: Ints, low: NDArray[np.generic], high: NDArray[np.generic]) -> tuple[Ints, Ints]:
        """[row, bound] how many scores of a row are at least its lower bounds, and above its upper ones."""
        ascending = self._of(rows).sort(dim=1).values
        search = self.on.torch.searchsorted
        below = search(ascending, self._there(low), right=False).cpu().numpy()
        up_to = search(ascending, self._there(high), right=True).cpu().numpy()
        return self.columns - below, self.columns - up_to

    def extent(self) -> tuple[float, float]:
        """The lowest and the highest score; NaN if one is not a number."""
        return float(self.scores.min()), float(self.scores.max())

    def _there(self, values: NDArray[np.generic]) -> Any:
        """An array where the scores are."""
        return self.on.torch.from_numpy(np.ascontiguousarray(values)).to(self.scores.device)

    def _of(self, rows: Ints) -> Any:
        """The scores of some rows."""
        return self.scores if len(rows) == len(self.scores) else self.scores[self._there(rows)]
