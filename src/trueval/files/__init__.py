"""Readers that speak frames only."""

from trueval.files.checks.duplicates import half_hashes
from trueval.files.checks.ids import id_notes
from trueval.files.checks.rank_order import rank_notes
from trueval.files.frame import Kind, Stretches, Table
from trueval.files.memory.arrays import read_arrays
from trueval.files.memory.peers import read_dict
from trueval.files.reading import FORMATS, read_table
from trueval.files.rows import Rows, check_rows
from trueval.files.source.content import Source
from trueval.files.tabular.typed import read_frame

__all__ = [
    "FORMATS",
    "Kind",
    "Rows",
    "Source",
    "Stretches",
    "Table",
    "check_rows",
    "half_hashes",
    "id_notes",
    "rank_notes",
    "read_arrays",
    "read_dict",
    "read_frame",
    "read_table",
]
