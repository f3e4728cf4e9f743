"""Readers of runs and judgments: files, frames, dicts and arrays in, checked tables of polars out.

reading tells the format and calls its reader: trec/ (text without a header line), tabular/ (named columns), json/; what
is not a file goes to memory/. source/ gives all of them bytes and lines. They make a Table (frame) with canonical names
and types (columns), which rows groups by query and checks/ looks at. Nothing here knows Run, Judgments or a policy.
"""

from trueval.files.checks.duplicates import half_hashes
from trueval.files.checks.ids import id_notes
from trueval.files.checks.rank_order import rank_notes
from trueval.files.display_names import NamedFile, name_files, path_of
from trueval.files.format_detection import FORMATS, read_table
from trueval.files.frame import Kind, RowTable, Stretches
from trueval.files.memory.peers import read_dict
from trueval.files.memory.score_lists import read_arrays
from trueval.files.python_inputs import NamedRows, read_input
from trueval.files.row_checks import CheckedRows, check_rows
from trueval.files.source.source_bytes import Source, SourceBytes
from trueval.files.tabular.delimited_text import canonical_table
from trueval.files.tabular.typed_tables import read_frame

__all__ = [
    "FORMATS",
    "CheckedRows",
    "Kind",
    "NamedFile",
    "NamedRows",
    "RowTable",
    "Source",
    "SourceBytes",
    "Stretches",
    "canonical_table",
    "check_rows",
    "half_hashes",
    "id_notes",
    "name_files",
    "path_of",
    "rank_notes",
    "read_arrays",
    "read_dict",
    "read_frame",
    "read_input",
    "read_table",
]
