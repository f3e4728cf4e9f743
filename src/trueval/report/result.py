"""Results: the common base of all results that a kind can show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueval.report.kinds import Kind


class ReprByKind:
    """Shows a result in a console and in a notebook as its `Kind` does, so that no result imports its views.

    A dataclass that stands on it needs `repr=False`.
    """

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the result, with its "kind"."""
        raise NotImplementedError

    def shown(self) -> dict[str, Any]:
        """The JSON that the kind shows."""
        return self.to_dict()

    def __repr__(self) -> str:
        result = self.shown()
        kind = _kind(result)
        if kind is None:  # run from a folder, without the metadata that names the kinds
            return f"<{type(self).__name__}: install trueval to see its tables; to_dict() has its values>"
        return kind.in_console(result)

    def _repr_html_(self) -> str | None:
        """The tables for a notebook; None where the kind has none, and the notebook shows the text."""
        result = self.shown()
        kind = _kind(result)
        return None if kind is None or kind.notebook is None else kind.notebook(result)


def _kind(result: dict[str, Any]) -> Kind | None:
    from trueval.report.kinds import find  # late: most results are never shown

    return find(str(result["kind"]))
