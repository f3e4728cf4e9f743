"""Digests of cached files: whether an entry is intact, and has the content that it claims to have.

    digests.json     {"of": key, "files": {name: digest}, "digest": of all this}

Digests are XXH3 of 128 bits: they detect accidents, such as disk or copy errors, but not manipulation. An entry is
checked when a process first reads it, and again if its files have changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from trueval.files.atomic_files import write_whole

DIGESTS: Final = "digests.json"
PIECE: Final = 1 << 20
_sound: set[tuple[Any, ...]] = set()  # folders, with their files, that were checked


def digest(path: Path) -> str:
    """The digest of a file."""
    from xxhash import xxh3_128

    found, piece = xxh3_128(), bytearray(PIECE)
    with path.open("rb", buffering=0) as file:
        while read := file.readinto(piece):
            found.update(memoryview(piece)[:read])
    return str(found.hexdigest())


def digest_of(*parts: Any) -> str:
    """The digest of bytes, arrays and texts in order."""
    from xxhash import xxh3_128

    found = xxh3_128()
    for part in parts:
        found.update(part)
    return str(found.hexdigest())


def with_digest(about: Mapping[str, object]) -> dict[str, object]:
    """A JSON value with its own digest added."""
    return {**about, "digest": _of_json(about)}


def is_sound(about: object) -> bool:
    """Whether a JSON value matches the digest added by `with_digest`.

    >>> is_sound(with_digest({"of": "a"})), is_sound({**with_digest({"of": "a"}), "of": "b"})
    (True, False)
    """
    if not isinstance(about, dict):
        return False
    return about.get("digest") == _of_json({name: value for name, value in about.items() if name != "digest"})


def seal(folder: Path, of: str, *, written: Mapping[str, Path] | None = None) -> None:
    """Write the digests of the files in a folder; subfolders are not included.

    Args:
        of: key of their content.
        written: name → path of the file that will get this name; by default all files in the folder.
    """
    files = {each.name: each for each in sorted(folder.iterdir()) if each.is_file()} if written is None else written
    found = {name: digest(path) for name, path in files.items() if name != DIGESTS}
    text = json.dumps(with_digest({"of": of, "files": found}), indent=1) + "\n"
    write_whole(folder / DIGESTS, lambda path: path.write_text(text, encoding="utf-8"))


def damage(folder: Path, of: str | None = None) -> str | None:
    """The damage in the files of a sealed folder; None where they match what was written.

    Args:
        of: required key of the content; None for any.

    Raises:
        PermissionError: it cannot be read.
    """
    try:
        about = json.loads((folder / DIGESTS).read_text(encoding="utf-8"))
    except PermissionError:
        raise
    except (OSError, ValueError):
        return f"{DIGESTS} is gone or damaged"
    if not is_sound(about):
        return f"{DIGESTS} is damaged"
    if of not in (None, about["of"]):
        return "it is another entry"
    return next((told for name, wanted in about["files"].items() if (told := file_damage(folder / name, wanted))), None)


def touch_entry(path: Path) -> None:
    """Record that an entry was used now, where it is writable."""
    with suppress(OSError):
        os.utime(path)


def forget() -> None:
    """Check every entry again when it is next read."""
    _sound.clear()


def file_damage(path: Path, wanted: str) -> str | None:
    """The damage of a file; None where its digest matches."""
    try:
        held = path.stat()
        mark = (str(path), wanted, held.st_ino, held.st_size, held.st_mtime_ns)
        if mark not in _sound:
            if digest(path) != wanted:
                return f"{path.name} is not what was written"
            _sound.add(mark)
    except FileNotFoundError:
        return f"{path.name} is gone"
    return None


def _of_json(about: Mapping[str, object]) -> str:
    return digest_of(json.dumps(about, sort_keys=True).encode())
