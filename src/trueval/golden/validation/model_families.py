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
        unknown = next((name for name in toml.tables if name not in ("runs", "judges")), None)
        if unknown is not None:
            raise toml.error(f"there is no table [{unknown}]. There are: runs, judges.", unknown)
        for name in ("runs", "judges"):
            if not isinstance(toml.tables.get(name), Mapping):
                raise toml.error(f"[{name}] is missing. [runs] has family = its runs, [judges] judge = its family.")
        found: dict[str, tuple[str, ...]] = {}
        for family, named in toml.tables["runs"].items():
            if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
                raise toml.error(f"{family} must be a list of names of runs. Got {named!r}.", "runs", family)
            _refuse_unknown(toml, named, runs, "run", "runs", family)
            found[family] = tuple(dict.fromkeys(named))
        for judge, family in toml.tables["judges"].items():
            _refuse_unknown(toml, [judge], judges, "judge", "judges", judge)
            if family not in found:
                raise toml.error(
                    f"{family!r} is none of the families of [runs]: {', '.join(found)}.{nearest(str(family), found)}",
                    *("judges", judge),
                )
        return cls(found, dict(toml.tables["judges"]))


def _refuse_unknown(toml: Toml, named: Sequence[str], known: Sequence[str], what: str, *at: str) -> None:
    wrong = next((each for each in named if each not in known), None)
    if wrong is not None:
        raise toml.error(f"there is no {what} {wrong!r}. There are: {', '.join(known)}.{nearest(wrong, known)}", *at)
