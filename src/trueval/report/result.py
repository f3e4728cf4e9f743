"""Results: dataclasses that show themselves as their kind does, and that are their own JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Self

from trueval.report.json_fields import decode, encode
from trueval.version import __version__

if TYPE_CHECKING:
    from trueval.report.kinds import Kind


class ReprByKind:
    """Shows a result in a console and in a notebook as its `Kind` does, so that no result imports its views.

    A dataclass that stands on it needs `repr=False`.
    """

    def to_dict(self) -> dict[str, object]:
        """The JSON of the result, with its "kind"."""
        raise NotImplementedError

    def console_json(self) -> dict[str, object]:
        """The JSON that the kind shows."""
        return self.to_dict()

    def __repr__(self) -> str:
        result = self.console_json()
        kind = _kind(result)
        if kind is None:  # run from a folder, without the metadata that names the kinds
            return f"<{type(self).__name__}: install trueval to see its tables; to_dict() has its values>"
        return kind.in_console(result)

    def _repr_html_(self) -> str | None:
        """The tables for a notebook; None where the kind has none, and the notebook shows the text."""
        result = self.console_json()
        kind = _kind(result)
        return None if kind is None or kind.notebook is None else kind.notebook(result)


class Result(ReprByKind):
    """A result of a kind: a frozen dataclass whose fields are the keys of its JSON, behind kind, format and version.

    Fields are texts, numbers, True and False, None, dataclasses of such fields, tuples and mappings of them by names.

    Attributes:
        KIND: its "kind".
        FORMAT: its "format", which grows when a reader of the old form would misread the new one.
    """

    KIND: ClassVar[str]
    FORMAT: ClassVar[int]

    def to_dict(self) -> dict[str, object]:
        """The JSON of the result; NaN is null."""
        return {"kind": self.KIND, "format": self.FORMAT, "trueval": __version__, **encode(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, object], source: str = "") -> Self:
        """Read a result from its JSON; keys that it does not know are passed over.

        Args:
            data: what `to_dict` returned.
            source: the file that it came from, for errors.

        Raises:
            InputError: a value is missing or of another type; it is named by file and JSON pointer.
        """
        return decode(cls, data, cls.KIND, source)


class ResultHolder(ReprByKind):
    """What computes a result: it shows itself as the result does, and has its JSON."""

    def result(self) -> Result:
        """The result."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, object]:
        """The JSON of the result."""
        return self.result().to_dict()


def _kind(result: Mapping[str, object]) -> Kind | None:
    from trueval.report.kinds import find  # late: most results are never shown

    return find(str(result["kind"]))
