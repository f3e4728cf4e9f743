"""Pandas frames; pandas is optional."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trueval.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd


def to_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """Convert to a pandas frame; numbers that are not available are NaN.

    Args:
        frame: polars frame.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("Frames of pandas", package="pandas") from error
    # Column by column, because polars' own to_pandas needs pyarrow as well.
    return pd.DataFrame({each.name: each.to_numpy() if each.dtype.is_numeric() else each.to_list() for each in frame})
