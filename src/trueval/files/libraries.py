"""Sources that libraries of data sets hold, by names that stand where a path may be.

ir_datasets:NAME               such as ir_datasets:beir/scifact/test
hf:DATASET[/CONFIG][@SPLIT]    of the Hugging Face hub, such as owner/name; or a folder that datasets.save_to_disk wrote

Either library is imported when such a name is read. What it has kept is read without a network; what it has not is
fetched by it, or refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from trueval.errors import InputError, Place, PolicyError
from trueval.files.frame import Kind, RowTable
from trueval.files.tabular.delimited_text import canonical_table
from trueval.printable import encodable

# Prefix of a name, and the library that knows it.
LIBRARIES: Final = {"ir_datasets": "ir_datasets", "hf": "datasets"}
SAVED: Final = ("state.json", "dataset_dict.json")  # what datasets.save_to_disk writes
# A split is taken without being named where it is the only one, or has one of these names.
SPLITS: Final = ("test", "validation", "dev")


class LibraryName(NamedTuple):
    """A name of a library's data.

    Attributes:
        kind: its prefix.
        name: what stands behind it.
    """

    kind: str
    name: str

    def __str__(self) -> str:
        """The name with its prefix."""
        return encodable(f"{self.kind}:{self.name}")


def library_name(source: object) -> LibraryName | None:
    """The name of a library's data that a source is; None for any other source, and for a file that is called so.

    >>> library_name("ir_datasets:beir/scifact/test").name, library_name("runs/bm25.trec")
    ('beir/scifact/test', None)
    """
    if not isinstance(source, str | PathLike):
        return None
    kind, _, name = str(fspath(source)).partition(":")
    if kind not in LIBRARIES or not name or Path(source).exists():
        return None
    return LibraryName(kind, name)


@contextmanager
def open_library(kind: str, name: str) -> Iterator[Any]:
    """Import a library of data sets, and explain what it cannot load.

    Raises:
        InputError: it is not installed, or cannot load the data.
    """
    package = LIBRARIES.get(kind, kind)
    try:
        module = import_module(package)
    except ImportError as error:
        raise InputError(
            f'Names that begin with "{kind}:" need the package {package}, which is not installed. '
            f"Install {package} with pip, or give a file or a folder."
        ) from error
    try:
        yield module
    except InputError:
        raise
    except Exception as error:  # each library, and its download client, has its own errors
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{kind}:{name} cannot be loaded: {reason} It must be a name that {package} knows, with what is asked for, "
            "reachable from here or already downloaded. Correct the name, or give a file or a folder.",
            source=f"{kind}:{name}",
        ) from error


def read_library(name: LibraryName, kind: Kind, format: str | None, facets: bool) -> RowTable:
    """Read a run or judgments from a library.

    Args:
        name: name of the data.
        kind: kind of rows that it must have.
        format: None; other formats are those of files.
        facets: whether to keep the facets of diversity judgments.

    Raises:
        InputError: the library is not installed, the data cannot be loaded, or are not of this kind.
        PolicyError: a format is named.
    """
    if format is not None:
        raise PolicyError(f"{name} has no format, which files have. Got {format!r}. Leave it out.")
    with open_library(name.kind, name.name) as library:
        if name.kind == "hf":
            frame = pl.DataFrame(load_dataset(library, name.name).with_format("arrow")[:])
        else:
            frame = _ir_rows(library.load(name.name), name, kind)
    if not frame.width or not len(frame):
        raise Place(str(name)).error(f"no rows. It must have {'the lists of a run' if kind == 'run' else 'judgments'}.")
    return canonical_table(frame, kind, str(name), facets)


def load_dataset(library: Any, name: str, config: str | None = None) -> Any:
    """One split of a data set of the hub, or of a folder that was saved.

    Args:
        library: the module datasets.
        name: DATASET[/CONFIG][@SPLIT].
        config: a configuration, or a folder below the folder, besides that of the name; None for none.

    Raises:
        InputError: it has several splits, and none is named.
    """
    path, _, split = name.partition("@")
    folder = Path(path) / config if config else Path(path)
    if any((folder / each).is_file() for each in SAVED):
        found = library.load_from_disk(str(folder))
    elif Path(path).is_dir():
        found = library.load_dataset(path, config)
    else:
        owner, *rest = path.split("/")
        repository, own = "/".join([owner, *rest[:1]]), "/".join(rest[1:])
        found = library.load_dataset(repository, config or own or None)
    if not isinstance(found, dict):
        return found
    chosen = split or next(iter(found) if len(found) == 1 else (each for each in SPLITS if each in found), "")
    if chosen not in found:
        label = Place(encodable(f"hf:{path}"))
        raise label.error(f"the splits are {', '.join(found)}. Name one of them, hf:{path}@SPLIT.")
    return found[chosen]


def dataset_configs(library: Any, name: str) -> list[str]:
    """The configurations of a data set of the hub, or the folders in a folder."""
    folder = Path(name)
    if folder.is_dir():
        return sorted(each.name for each in folder.iterdir() if each.is_dir())
    return list(library.get_dataset_config_names(name))


def _ir_rows(data: Any, name: LibraryName, kind: Kind) -> pl.DataFrame:
    """The judgments of ir_datasets, or the run that it has for reranking."""
    has, rows = (data.has_scoreddocs, "scoreddocs_iter") if kind == "run" else (data.has_qrels, "qrels_iter")
    if not has():
        what = "scored documents" if kind == "run" else "judgments"
        raise Place(str(name)).error(f"there are no {what}. Name one of its data sets that has some, or give a file.")
    found = list(getattr(data, rows)())
    fields = ("query_id", "doc_id", "score") if kind == "run" else ("query_id", "doc_id", "relevance")
    named = {field: [getattr(row, field) for row in found] for field in fields}
    facet = next((each for each in ("subtopic_id", "iteration") if found and hasattr(found[0], each)), None)
    if kind != "run" and facet is not None:
        named["facet"] = [str(getattr(row, facet)) for row in found]
    return pl.DataFrame(named)
