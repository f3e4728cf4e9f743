"""Where a collection keeps its texts: one file, or a folder of parts."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from trueval.errors import Place
from trueval.files.source.source_bytes import explain_read_errors
from trueval.printable import encodable

PACKED: Final = ("", ".gz", ".zst")
LINES: Final = tuple(f"{form}{packed}" for form in (".jsonl", ".ndjson", ".json") for packed in PACKED)
PARQUET: Final = ".parquet"
# Suffixes of the files of a collection; .json is for parts only, as Spark names them.
FORMS: Final = (*(form for form in LINES if not form.startswith(".json") or form.startswith(".jsonl")), PARQUET)
HIDDEN: Final = (".", "_")  # .part-0.jsonl.crc, _SUCCESS: files that Hadoop and Spark write next to their parts
SHOWN: Final = 3


class TextFiles(NamedTuple):
    """The files with texts.

    Attributes:
        paths: paths sorted by name.
        others: names of files next to them that are not read.
    """

    paths: tuple[Path, ...]
    others: tuple[str, ...] = ()

    @property
    def display_name(self) -> str:
        """What messages call them: the one file, or the folder of several."""
        return encodable(str(self.paths[0] if len(self.paths) == 1 else self.paths[0].parent))

    @property
    def note(self) -> str | None:
        """What to say of files that are not read; None without any."""
        if not self.others:
            return None
        shown = ", ".join(self.others[:SHOWN])
        folder = encodable(str(self.paths[0].parent))
        return f"{folder}: {len(self.others)} files are no texts and are not read, such as {shown}."


def find_parts(folder: Path, name: str) -> TextFiles:
    """The files of the texts that a collection calls by a name, "corpus" or "queries".

    Args:
        folder: folder of the collection.
        name: name of a file without its suffix, or of a folder of parts.

    Returns:
        corpus.jsonl if no form exists: its reader reports that it is missing.

    Raises:
        InputError: there are several, or the folder has no parts or such of two kinds.
    """
    there = [path for path in (folder / name, *(folder / f"{name}{form}" for form in FORMS)) if path.exists()]
    if len(there) > 1:
        raise Place(encodable(str(folder))).error(
            f"{' and '.join(path.name for path in there)} are there. There must be one of them. Move the others away."
        )
    # Spark and Dask name a folder of parts corpus.parquet.
    return parts_of(there[0] if there else folder / f"{name}.jsonl")


def parts_of(place: Path) -> TextFiles:
    """The files of texts that a path means: itself, or its parts where it is a folder.

    Raises:
        InputError: a folder cannot be read, has no parts, or such of two kinds.
    """
    if not place.is_dir():
        return TextFiles((place,))
    said = Place(encodable(str(place)))
    with explain_read_errors(said):
        inside = sorted(
            (path for path in place.iterdir() if not path.name.startswith(HIDDEN)), key=lambda path: path.name
        )
    paths = tuple(path for path in inside if path.name.endswith((*LINES, PARQUET)))
    if not paths:
        raise said.error(
            "no texts. A folder of parts must hold .jsonl (.gz, .zst) or .parquet files. "
            "Documents such as .md and .pdf are cut first: trueval chunk."
        )
    kinds = {path.suffix == PARQUET for path in paths}
    if len(kinds) > 1:
        raise said.error("it holds lines and parquet. All parts must be of one kind. Move the others away.")
    return TextFiles(paths, tuple(encodable(path.name) for path in inside if path not in set(paths)))
