"""Errors for results that a page cannot show, with the file and the value at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from trueval.errors import InputError, TruevalError
from trueval.report.result_directory import Directory, ResultFile, pointer

T = TypeVar("T")


class UnreadableError(InputError):
    """A result that no page can show: a fault of trueval if the file is unchanged."""


def read_by(build: Callable[[ResultFile, Directory], T], file: ResultFile, directory: Directory) -> T:
    """Build the part of a file whose values may be invalid.

    Args:
        build: function that reads the file, and possibly others of the directory.
        file: file of the directory.
        directory: directory of the results.

    Raises:
        UnreadableError: the values are invalid; it names the file and the value read last.
    """
    try:
        return build(file, directory)
    except (TruevalError, OSError):
        raise
    except Exception as error:
        raise _refusal(build, file, directory, error) from error


@contextmanager
def explain_drawing_errors(directory: Directory) -> Iterator[None]:
    """Report results that were read but cannot be drawn, such as text in place of a number.

    Args:
        directory: results drawn inside the block.

    Raises:
        UnreadableError: the block failed.
    """
    try:
        yield
    except (TruevalError, OSError):
        raise
    except Exception as error:
        raise UnreadableError(
            f"{directory.path}: its values cannot be drawn ({_describe_error(error)}). Write the results again "
            "with --out."
        ) from error


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _refusal(build: Callable[..., object], file: ResultFile, directory: Directory, error: Exception) -> UnreadableError:
    """The error, after reading again with tracking of all reads, which is too slow for every page."""
    last = [(file.name, "")]
    noted = {each.name: each._replace(data=_track_reads(each.data, (), each.name, last)) for each in directory.files}
    again = Directory(directory.path, tuple(noted.values()), directory.others)
    try:
        build(noted.get(file.name, file), again)
    except Exception:  # noqa: BLE001  the same one, or what it led to: only the place is wanted
        name, at = last[0]
    else:
        name, at = file.name, ""
    return UnreadableError(
        f"{directory.path / name}: the values are not those of a result of kind {file.kind}, at or near "
        f"{name}#{at} ({_describe_error(error)}). Write the file again with --out.",
        source=str(directory.path / name),
    )


def _track_reads(value: object, keys: tuple[str | int, ...], name: str, last: list[tuple[str, str]]) -> Any:
    """A copy of JSON data that records where it was read last."""
    if isinstance(value, Mapping):
        return _NotedDict(
            {key: _track_reads(each, (*keys, key), name, last) for key, each in value.items()}, keys, name, last
        )
    if isinstance(value, list):
        return _NotedList(
            [_track_reads(each, (*keys, at), name, last) for at, each in enumerate(value)], keys, name, last
        )
    return value


class _NotedDict(dict[str, Any]):
    def __init__(self, held: Mapping[str, object], keys: tuple[str | int, ...], name: str, last: list[Any]) -> None:
        super().__init__(held)
        self._note: Callable[..., None] = lambda *key: last.__setitem__(0, (name, pointer(*keys, *key)))

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return super().__getitem__(key)

    def get(self, key: str, default: object = None) -> Any:
        self._note(key)
        return super().get(key, default)

    def values(self) -> Any:
        return [self[key] for key in self]

    def items(self) -> Any:
        return [(key, self[key]) for key in self]


class _NotedList(list[Any]):
    def __init__(self, held: list[Any], keys: tuple[str | int, ...], name: str, last: list[Any]) -> None:
        super().__init__(held)
        self._note: Callable[..., None] = lambda *key: last.__setitem__(0, (name, pointer(*keys, *key)))

    def __getitem__(self, at: Any) -> Any:
        self._note(*([at] if isinstance(at, int) else []))
        return super().__getitem__(at)

    def __iter__(self) -> Iterator[Any]:
        for at in range(len(self)):
            yield self[at]
