"""Generations: the files that one command wrote into a result directory, known to belong together by their digests.

Each JSON file of a generation ends with the same stamp:

    "generation": {"id": ID, "files": {NAME: DIGEST, ...}}

A digest is the SHA-256 of a file, of a JSON file of its bytes before the line of the stamp; the id is the SHA-256 of
the files and their digests, so equal results have equal ids. A directory may hold several generations, as of
`trueval evaluate` and `trueval compare`. What is made of them, the page and the figures, is a generation too, whose
stamp is in report.json: it goes when any result changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeAlias

from trueval.errors import InputError
from trueval.report.atomic_folders import alone, replace_together, sha256

KEY: Final = "generation"
# File with the stamp of page and figures, and of the results that they show.
REPORT: Final = "report.json"
REPORT_KIND: Final = "report"
# 1: the first.
REPORT_FORMAT: Final = 1
_BEFORE: Final = f'\n "{KEY}": '.encode()
_MARK: Final = _BEFORE + b'{"id": "'

Content: TypeAlias = "str | Callable[[Path], object]"
# Takes the JSON files of the directory as they will be, and the folder to write to; returns the names of its files.
Derive: TypeAlias = "Callable[[Mapping[str, bytes], Path], Iterable[str]]"


def write_generation(folder: Path, files: Mapping[str, Content], derive: Derive | None = None) -> None:
    """Write results into a directory, all or none, replacing older results of the same command.

    Files of other commands and of the user stay. The previous page and figures are removed, since they show replaced
    results.

    Args:
        folder: created if absent.
        files: name → text, or function that writes the file to a path; with at least one JSON object, or empty for a
            page of the existing files.
        derive: function that builds page and figures of all future files of the directory; None for neither.

    Raises:
        InputError: a folder has the name of a file.
        OSError: the directory cannot be written.
    """

    def make(stage: Path) -> dict[str, str]:
        gone = _of_generations(folder, (*files, REPORT))
        for name, content in files.items():
            _put(stage / name, content)
        _stamp(stage, files)
        if derive is not None:
            results = {name: data for name, data in json_files(folder).items() if name not in gone}
            results |= json_files(stage)
            if derived := list(derive(results, stage)):
                of = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(results.items())}
                (stage / REPORT).write_bytes(_report(of))
                kept = _still_true(folder / REPORT, of)
                _stamp(stage, [*derived, REPORT], kept)
                gone = {name: digest for name, digest in gone.items() if name not in kept}
        return {name: digest for name, digest in gone.items() if not (stage / name).exists()}

    replace_together(folder, make)


@contextmanager
def generations(folder: Path, *names: str) -> Iterator[dict[str, bytes]]:
    """Read the JSON files of a directory, which must belong together; the directory is locked inside the block.

    Args:
        folder: existing folder. Files without stamps, by hand or by an older version, are read unchecked.
        names: names of the wanted files; all but report.json if empty.

    Yields:
        Name → bytes of the existing files.

    Raises:
        InputError: a file was changed after it was written, or belongs to another generation than a file beside it.
    """
    with alone(folder):
        found = json_files(folder, *names)
        if not names:
            found.pop(REPORT, None)
        check_together(found, folder)
        yield found


def check_together(results: Mapping[str, bytes], folder: Path, *new: Path) -> None:
    """Refuse JSON files that were not written together with the files in their stamps.

    Args:
        results: name → bytes.
        folder: folder of the other files.
        new: folder to search first.

    Raises:
        InputError: as in `generations`.
    """
    places = (*new, folder)
    wrong = dict.fromkeys(line for name, data in results.items() for line in _find_differences(places, name, data))
    if wrong:
        raise InputError(
            f"{folder}: its files do not belong together. {' '.join(wrong)} Write the results again with --out, or put "
            "back the files that were written together."
        )


def stamp_of(data: bytes) -> dict[str, Any] | None:
    """The stamp of a JSON file; None if it has none.

    Args:
        data: its bytes.

    Raises:
        InputError: the stamp was changed.
    """
    at = data.rfind(_MARK)
    if at < 0:
        return None
    try:
        stamp = json.loads(data[at + len(_BEFORE) :].rpartition(b"}")[0])
        names = all(isinstance(each, str) for pair in stamp["files"].items() for each in pair)
        whole = names and all(map(_is_inside, stamp["files"])) and data[at:] == _encode_stamp(stamp["files"])
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise InputError("the stamp at its end was changed, which says what files belong together.")
    return dict(stamp)


def ids_of(results: Iterable[Mapping[str, object]]) -> list[str]:
    """The distinct generation ids of some results; results without a stamp are ignored.

    Args:
        results: JSON of the results.
    """
    stamps = (result.get(KEY) for result in results)
    return list(dict.fromkeys(str(stamp["id"]) for stamp in stamps if isinstance(stamp, dict) and "id" in stamp))


def json_files(folder: Path, *names: str) -> dict[str, bytes]:
    """The JSON files of a folder by name: all, or those with some names."""
    paths = (folder / name for name in names) if names else sorted(folder.glob("*.json"))
    return {path.name: path.read_bytes() for path in paths if path.is_file()}


def _find_differences(places: Sequence[Path], name: str, data: bytes) -> Iterator[str]:
    """Differences between a stamp and the files that it names; missing files do not count."""
    try:
        stamp = stamp_of(data)
    except InputError as error:
        yield f"{name}: {error}"
        return
    for other, digest in ({} if stamp is None else stamp["files"]).items():
        path = next((place / other for place in places if (place / other).is_file()), None)
        if path is not None and _digest(path) != digest:
            changed = "was changed after it was written."
            yield f"{other} {changed if other == name else f'is not the one that {name} was written with.'}"


def _of_generations(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """All files of the generations of some files, with the digests of whole files."""
    found = json_files(folder, *(name for name in names if name.endswith(".json")))
    listed = {other: digest for data in found.values() for other, digest in _stamp_files(data).items()}
    listed |= dict.fromkeys(found, "")
    # A stamp has not the digest of a whole JSON file, as it is in it.
    there = {name: folder / name for name in listed if name.endswith(".json")}
    return listed | {name: sha256(path) if path.is_file() else "" for name, path in there.items()}


def _stamp(stage: Path, names: Iterable[str], kept: Mapping[str, str] | None = None) -> None:
    """Add the stamp to each unstamped JSON object among some written files."""
    objects, files = [], dict(kept or {})
    for path in (stage / name for name in names):
        data = path.read_bytes() if path.suffix == ".json" else b""
        if data.startswith(b"{"):
            path.write_bytes(_open(data))
            objects.append(path)
        files[path.relative_to(stage).as_posix()] = sha256(path)
    for path in objects:
        with path.open("ab") as file:
            file.write(_encode_stamp(files))


def _open(data: bytes) -> bytes:
    """The JSON object before its stamp."""
    begin = data.rstrip()[:-1].rstrip()
    return begin if begin.endswith(b"{") else begin + b","


def _encode_stamp(files: Mapping[str, str]) -> bytes:
    """A stamp as a file ends with it."""
    files = dict(sorted(files.items()))
    listed = json.dumps(files, ensure_ascii=False, separators=(", ", ": "))
    return _MARK + f'{generation_id(files)}", "files": {listed}}}\n}}\n'.encode()


def generation_id(files: Mapping[str, str]) -> str:
    """The id of a generation.

    Args:
        files: name → digest.

    >>> generation_id({"b.json": "2", "a.json": "1"}) == generation_id({"a.json": "1", "b.json": "2"})
    True
    """
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def _digest(path: Path) -> str:
    if path.suffix != ".json":
        return sha256(path)
    data = path.read_bytes()
    at = data.rfind(_MARK)
    return hashlib.sha256(data if at < 0 else data[:at]).hexdigest()


def _stamp_files(data: bytes) -> Mapping[str, str]:
    """The files in the stamp of a JSON file; none if it is unreadable."""
    try:
        stamp = stamp_of(data)
    except InputError:
        stamp = None
    return {} if stamp is None else stamp["files"]


def _still_true(report: Path, of: Mapping[str, str]) -> dict[str, str]:
    """The files of an older report of the same results that stay valid, such as figures."""
    data = report.read_bytes() if report.is_file() else b""
    same = data[: data.rfind(_MARK)] == _open(_report(of))
    return {name: digest for name, digest in _stamp_files(data).items() if same and name != REPORT}


def _report(of: Mapping[str, str]) -> bytes:
    held = {"kind": REPORT_KIND, "format": REPORT_FORMAT, "of": of}
    return json.dumps(held, indent=1, ensure_ascii=False).encode()


def _put(path: Path, content: Content) -> None:
    if isinstance(content, str):
        # Halves of surrogates, from file names that are not UTF-8, are written as JSON writes them.
        path.write_bytes(content.encode("utf-8", errors="backslashreplace"))
    else:
        content(path)


def _is_inside(name: str) -> bool:
    """Whether a name is that of a path inside the directory."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name and ":" not in name
