"""Model families: which runs come from the model family of which judge, as the user declares.

[runs]
openai = ["rankgpt", "rag-4o"]      # family = its runs

[judges]
umbrela = "openai"                  # judge = its family
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueval.errors import nearest
from trueval.files.toml import Toml
from trueval.files.toml_tables import Table, key, read_tables


class FamiliesFile(Table):
    """Model families."""

    runs: dict[str, list[str]] = key(..., "family = its runs")
    judges: dict[str, str] = key(..., "judge = its family")


@dataclass(frozen=True)
class Families:
    """Which runs are related to which judge.

    Attributes:
        runs: family → names of its runs.
        judges: name of a judge → its family.
    """

    runs: Mapping[str, tuple[str, ...]]
    judges: Mapping[str, str]

    def kin(self, judge: str) -> tuple[str, ...]:
        """The runs of the judge's family; empty without one."""
        return self.runs.get(self.judges.get(judge, ""), ())

    @classmethod
    def read(cls, path: Path, runs: Sequence[str], judges: Sequence[str]) -> Families:
        """Read a families file.

        Args:
            runs: names of the existing runs.
            judges: names of the existing judges.

        Raises:
            InputError: it is not such a file, or names a run or a judge that is not there; with the line.
        """
        toml = Toml.read(path, "a TOML file with tables [runs] and [judges]")
        written = read_tables(FamiliesFile, toml.tables, toml.place)
        for family, named in written.runs.items():
            _refuse_unknown(toml, named, runs, "run", "runs", family)
        for judge, family in written.judges.items():
            _refuse_unknown(toml, [judge], judges, "judge", "judges", judge)
            _refuse_unknown(toml, [family], list(written.runs), "family", "judges", judge)
        return cls({family: tuple(dict.fromkeys(named)) for family, named in written.runs.items()}, written.judges)


def _refuse_unknown(toml: Toml, named: Sequence[str], known: Sequence[str], what: str, *at: str) -> None:
    wrong = next((each for each in named if each not in known), None)
    if wrong is not None:
        there = f"There are: {', '.join(known)}.{nearest(wrong, known)}"
        raise toml.place(*at).error(f"there is no {what} {wrong!r}. {there}")
