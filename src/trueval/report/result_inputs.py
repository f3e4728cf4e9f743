"""Results that are inputs of other commands."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TypeVar

from trueval.errors import Place
from trueval.files.source.source_bytes import read_bytes
from trueval.report.kinds import read_json
from trueval.report.result import Result

AnyResult = TypeVar("AnyResult", bound=Result)


def read_result(place: str | PathLike[str], name: str, wanted: type[AnyResult], command: str) -> AnyResult:
    """Read a result that another command wrote.

    Args:
        place: its JSON file, or the folder that --out named.
        name: name of the file in such a folder.
        wanted: type of the result.
        command: what writes it, for errors.

    Raises:
        InputError: there is none.
    """
    path = Path(place)
    path = path / name if path.is_dir() else path
    data = read_json(path, read_bytes(str(path)))
    if not isinstance(data, dict) or data.get("kind") != wanted.KIND:
        raise Place(str(path)).error(f"no result of {command}. Name its folder of --out, or its JSON file.")
    return wanted.from_dict(data, str(path))
