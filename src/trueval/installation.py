"""Installation: libraries of each extra, compiled parts, the machine, the cache, plugins."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from trueval.errors import TruevalError
from trueval.files.source.memory_estimate import free_memory
from trueval.files.trec.kernel import scan
from trueval.models.model_location import accelerators, minilm_folder
from trueval.report.provenance import versions
from trueval.retrieval.cache import user_cache
from trueval.standings.kernel import passing

PACKAGE: Final = "trueval"
GROUPS: Final = (
    "trueval.commands",
    "trueval.formats",
    "trueval.kinds",
    "trueval.measures",
    "trueval.readers",
    "trueval.rewriters",
    "trueval.storages",
)
# Extras for developers of trueval itself.
OWN: Final = ("dev", "mutants")


class Library(NamedTuple):
    """A library that an extra needs.

    Attributes:
        name: name on PyPI.
        wanted: required versions, as in pyproject.toml; "" for any.
        found: installed version; None if not installed.
    """

    name: str
    wanted: str
    found: str | None

    @property
    def fits(self) -> bool:
        """Whether a required version is installed."""
        return self.found is not None and SpecifierSet(self.wanted).contains(self.found, prereleases=True)


class Extra(NamedTuple):
    """An extra of pyproject.toml.

    Attributes:
        name: name of the extra.
        libraries: libraries that it needs, including those of extras within it.
    """

    name: str
    libraries: tuple[Library, ...]

    @property
    def lacks(self) -> tuple[Library, ...]:
        """Libraries that are missing or too old."""
        return tuple(each for each in self.libraries if not each.fits)


class Plugin(NamedTuple):
    """An entry point of another package.

    Attributes:
        group: group of its entry point.
        name: name of its entry point.
        package: package that provides it.
        error: why it cannot be loaded; "" where it can.
    """

    group: str
    name: str
    package: str
    error: str


@dataclass(frozen=True)
class Installation:
    """The state of an installation.

    Attributes:
        versions: versions of trueval, Python and the numerical libraries.
        system: name of the system and its architecture.
        processors: number of processors available to this process.
        memory: free memory in bytes.
        accelerators: names of the accelerators that torch sees.
        compiled: purpose of each C kernel → whether it is built; without them everything works, but slower.
        extras: extras of pyproject.toml; empty where trueval is not installed as a package.
        models: names of models that need no hub.
        cache: the user's cache folder, which may not exist yet.
        plugins: entry points of other packages.
        problems: faults, with their remedies; missing extras are not faults.
    """

    versions: dict[str, str]
    system: str
    processors: int
    memory: int
    accelerators: tuple[str, ...]
    compiled: dict[str, bool]
    extras: tuple[Extra, ...]
    models: tuple[str, ...]
    cache: Path
    plugins: tuple[Plugin, ...]
    problems: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """The JSON of `trueval doctor`; it contains the path of the cache, so it is private."""
        extras = [
            {
                "name": each.name,
                "complete": not each.lacks,
                "libraries": [{**library._asdict(), "fits": library.fits} for library in each.libraries],
            }
            for each in self.extras
        ]
        return {
            "kind": "doctor",
            "format": 1,
            "versions": self.versions,
            "system": self.system,
            "processors": self.processors,
            "memory": self.memory,
            "accelerators": list(self.accelerators),
            "compiled": self.compiled,
            "extras": extras,
            "models": list(self.models),
            "cache": str(self.cache),
            "plugins": [each._asdict() for each in self.plugins],
            "problems": list(self.problems),
        }


def read_installation() -> Installation:
    """Inspect the installation without changing it; torch is imported only where there may be an accelerator."""
    problems: list[str] = []
    extras = tuple(_extras())
    old = {each for extra in extras for each in extra.lacks if each.found is not None}
    problems += [
        f'{each.name} {each.found} is installed, and {each.wanted} is needed: pip install "{each.name}{each.wanted}"'
        for each in sorted(old)
    ]
    models = []
    try:
        if minilm_folder() is not None:
            models.append("all-MiniLM-L6-v2")
    except TruevalError as error:
        problems.append(str(error))
    plugins = tuple(_plugins())
    problems += [
        f"{each.group} {each.name} cannot be loaded: {each.error}. Update or uninstall {each.package}."
        for each in plugins
        if each.error
    ]
    if not extras:
        problems.append("trueval is not installed as a package, so its extras are not known: pip install trueval")
    return Installation(
        versions(),
        f"{platform.system()} {platform.machine()}",
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        free_memory(),
        accelerators(),
        {"reading of TREC files": scan.is_compiled, "counting of a whole corpus": passing.is_compiled},
        extras,
        tuple(models),
        _cache(),
        plugins,
        tuple(problems),
    )


def _cache() -> Path:
    try:
        return user_cache()
    except OSError:  # a user without a home
        return Path("~/.cache/trueval")


def _extras() -> Iterator[Extra]:
    try:
        about = metadata.metadata(PACKAGE)
    except metadata.PackageNotFoundError:
        return
    needed = metadata.requires(PACKAGE) or []
    for name in about.get_all("Provides-Extra") or ():
        if name not in OWN:
            libraries = dict.fromkeys(_libraries(needed, name))
            yield Extra(name, tuple(libraries))


def _libraries(needed: Sequence[str], extra: str) -> Iterator[Library]:
    """The libraries of an extra, including those of extras that it names."""
    for each in map(Requirement, needed):
        if each.marker is None or not each.marker.evaluate({"extra": extra}) or each.marker.evaluate({"extra": ""}):
            continue  # needed without the extra too, or not on this Python
        if each.name == PACKAGE:
            for inner in sorted(each.extras):
                yield from _libraries(needed, inner)
        else:
            yield Library(each.name, str(each.specifier), _find_version(each.name))


def _find_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _plugins() -> Iterator[Plugin]:
    """The entry points of other packages, each loaded once as a check."""
    for group in GROUPS:
        for point in metadata.entry_points(group=group):
            package = point.dist.name if point.dist else "?"
            if package == PACKAGE:
                continue
            error = ""
            try:
                point.load()
            except Exception as failure:  # noqa: BLE001 errors of a package on import are reported, not raised
                error = f"{type(failure).__name__}: {failure}"
            yield Plugin(group, point.name, package, error)
