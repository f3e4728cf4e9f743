"""Readers that speak frames only."""

from trueval.files.arrays import read_arrays
from trueval.files.content import Source
from trueval.files.duplicates import half_hashes
from trueval.files.id_notes import id_notes
from trueval.files.peers import read_dict
from trueval.files.ranks import rank_notes
from trueval.files.reading import FORMATS, read_table
from trueval.files.rows import Rows, check_rows
from trueval.files.table import Kind, Stretches, Table
from trueval.files.tables import read_frame

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
