"""Grids: the systems of a sweep file whose values may be lists.

A method uses only the tables of its own stages, so that values irrelevant to it do not create duplicate systems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from trueval.files.toml import Where
from trueval.retrieval.pipeline.config import BOTH, Settings, settings_of_tables
from trueval.retrieval.pipeline.pipeline_tables import KEYS
from trueval.retrieval.pipeline.rewriting import AS_IS, MODEL_FORMS, forms_of, is_written_before
from trueval.tradeoff.config.answers_plan import AnsweringGenerator

METHOD, REWRITE, K = "method", "queries.rewrite", "K"
STAGES_BY_METHOD: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "dense": ("embed", "index"),
        "sparse": ("sparse",),
        "hybrid": ("embed", "index", "sparse", "fuse"),
    }
)
RERANK: Final = "+rerank"
# Where a generator runs.
PLACES: Final = ("generate.base_url", "generate.device", "generate.dtype")
METHODS: Final = tuple(f"{name}{end}" for end in ("", RERANK) for name in STAGES_BY_METHOD)


@dataclass(frozen=True, eq=False)
class System:
    """One pipeline with a single value per key; it gives one run.

    Attributes:
        name: short name, unique in the plan.
        method: dense, sparse or hybrid, with +rerank if it has a reranker.
        rewrite: how its queries are written, as in rewriting.py: in one form, or in several.
        settings: stage → its settings, every key.
        contexts: numbers of contexts K to evaluate.
        values: axis → its value; None if the system has no such key.
        generators: who answers from its first K documents; empty where nobody does.
    """

    name: str
    method: str
    rewrite: str
    settings: Settings
    contexts: tuple[int, ...]
    values: Mapping[str, Any]
    generators: tuple[AnsweringGenerator, ...] = ()

    @property
    def reranks(self) -> bool:
        """Whether a reranker scores its candidates."""
        return self.method.endswith(RERANK)

    @property
    def is_written_by_model(self) -> bool:
        """Whether a language model writes a form of its queries."""
        return bool(set(MODEL_FORMS) & set(forms_of(self.rewrite)))

    @property
    def pool(self) -> int:
        """Maximum number of candidates per query in its run.

        >>> tables = {"sparse": {"depth": 80}, "rerank": {"model": "m", "depth": 50}}
        >>> System("s", "sparse+rerank", "as is", settings_of_tables(tables, "here"), (10,), {}).pool
        50
        """
        found = sum(self.settings[name]["depth"] for name in ("index", "sparse") if name in self.settings)
        found *= len(forms_of(self.rewrite))
        later = [self.settings[name]["depth"] for name in ("fuse", "rerank") if name in self.settings]
        return min(int(depth) for depth in (found, *later))


class Reason(NamedTuple):
    """Why a configuration or analysis is missing.

    Attributes:
        name: name of a configuration or system.
        reason: one line.
        key: key of the system if it has one, else empty.
    """

    name: str
    reason: str
    key: str = ""


class GridAxis(NamedTuple):
    """A key whose values differ between systems.

    Attributes:
        key: table and key, such as `embed.dimension`; or method, queries.rewrite, K.
        values: in the order of the systems.
    """

    key: str
    values: tuple[Any, ...]


class TableChoice(NamedTuple):
    """Tables that expand to systems: those of the file, or of one [[configuration]].

    Attributes:
        name: name of the configuration; empty for the file itself.
        tables: tables of a pipeline, whose values may be lists.
        methods: methods of the file; empty for all stages that have a table.
        rewrites: ways to write the queries.
        contexts: numbers of contexts.
        place: function from table and key to their place in the file, for errors.
        generators: values of [generate] of each generator.
        judge: who writes the queries in the forms of a model.
    """

    name: str
    tables: Mapping[str, Any]
    methods: tuple[str, ...]
    rewrites: tuple[str, ...]
    contexts: tuple[int, ...]
    place: Where
    generators: tuple[Mapping[str, Any], ...] = ()
    judge: str | None = None


def systems_of(choices: Sequence[TableChoice], source: str) -> tuple[System, ...]:
    """The systems of a file, without duplicates, named by what differs.

    Args:
        choices: tables of the file and of its configurations.
        source: display name in errors.

    Raises:
        InputError: a method lacks a table, or values are incompatible.
    """
    found = [(choice.name, system) for choice in choices for system in _expand_choice(choice, source)]
    axes = axes_of([system for _, system in found])
    values = [_values(system) for _, system in found]
    named = [
        replace(
            system,
            name=name,
            values={each.key: own.get(each.key) for each in axes},
            generators=tuple(each._replace(system=name) for each in system.generators),
        )
        for name, own, (_, system) in zip(_names(found, axes), values, found, strict=True)
    ]
    return tuple({repr(_decides(each)): each for each in reversed(named)}.values())[::-1]


def _names(found: Sequence[tuple[str, System]], axes: Sequence[GridAxis]) -> list[str]:
    """Names of systems: the configuration's own where it has one system, else what differs.

    Args:
        found: (name of the configuration or "", system).
        axes: keys that differ between systems.
    """
    systems = Counter(given for given, _ in found)
    names = [given if given and systems[given] == 1 else _name(system, axes) for given, system in found]
    times = Counter(names)
    names = [
        f"{given}: {name}" if given and times[name] > 1 else name for name, (given, _) in zip(names, found, strict=True)
    ]
    times, seen = Counter(names), Counter[str]()
    for place, name in enumerate(names):
        if times[name] > 1:
            seen[name] += 1
            names[place] = f"{name} ({seen[name]})"
    return names


def axes_of(systems: Sequence[System]) -> tuple[GridAxis, ...]:
    """The keys that differ between systems, except K."""
    different: dict[str, dict[str, Any]] = {key: {} for key in (METHOD, *KEYS, REWRITE)}
    for system in systems:
        for key, value in _values(system).items():
            different[key][repr(value)] = value
    return tuple(GridAxis(key, tuple(values.values())) for key, values in different.items() if len(values) > 1)


def _values(system: System) -> dict[str, object]:
    """The value of a system on each axis."""
    settings = {f"{table}.{key}": value for table, values in system.settings.items() for key, value in values.items()}
    return {METHOD: system.method, **settings, REWRITE: system.rewrite}


def _decides(system: System) -> tuple[object, ...]:
    generators = tuple(each._replace(system="") for each in system.generators)
    return system.method, system.rewrite, system.settings, system.contexts, generators


def _expand_choice(choice: TableChoice, source: str) -> Iterator[System]:
    """The systems of a table choice, the last axis varying fastest."""
    tables = choice.tables
    # The whole file is checked, also tables that no method uses.
    # Of several methods, those after whose stages no scores of a model stand leave [repair] out.
    whole = tuple(name for name in tables if name != "repair" or _all_stages(tables) != "hybrid")
    settings_of_tables(next(_combinations(tables, whole)), source, choice.place)
    methods = choice.methods or (_all_stages(tables),)
    if "repair" in tables and not any("repair" in _tables_of(name, tables, choice.place) for name in methods):
        raise choice.place("repair").error(
            "[repair] takes the scores of a model to float32, and no method here ends with those. Add dense, or one "
            f"with {RERANK}, to methods of [pipeline], or remove [repair]."
        )
    for method in methods:
        needed = _tables_of(method, tables, choice.place)
        for given in _combinations(tables, needed):
            settings = settings_of_tables(given, source, choice.place)
            if settings.get("pipeline", {}).get("scoring") == BOTH:
                raise choice.place("pipeline", "scoring").error(
                    "scoring = 'both' makes two runs of a pipeline. In a sweep write ['high', 'low']."
                )
            for rewrite in choice.rewrites:
                alone = bool(choice.name) and len(choice.generators) == 1
                generators = tuple(
                    AnsweringGenerator(k, each, alone=alone) for each in choice.generators for k in choice.contexts
                )
                for own in _fuse_forms(rewrite, given, settings, choice, source):
                    yield System("", method, rewrite, own, choice.contexts, {}, generators)


def _fuse_forms(
    rewrite: str, given: Mapping[str, Any], settings: Settings, choice: TableChoice, source: str
) -> Iterator[Settings]:
    """The settings of a system whose pipeline writes its queries, with each [fuse] where it searches several forms."""
    if is_written_before(rewrite):
        yield settings
        return
    judge = choice.judge if set(MODEL_FORMS) & set(forms_of(rewrite)) else None
    tables: dict[str, Any] = {**given, "queries": {"rewrite": rewrite, "judge": judge}}
    if len(forms_of(rewrite)) > 1:
        tables = {"fuse": {**choice.tables.get("fuse", {}), "weights": None}, **tables}
        if "rerank" not in tables:  # the scores of a fusion are those of no model, which [repair] could take to float32
            tables.pop("repair", None)
    for each in _combinations(tables, tuple(tables)):
        yield settings_of_tables(_without_none(each), source, choice.place)


def _without_none(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {key: value for key, value in table.items() if value is not None} for name, table in tables.items()}


def _all_stages(tables: Mapping[str, object]) -> str:
    """The method with all stages of the tables; `dense` without a retrieval stage, which is refused later."""
    name = "sparse" if "embed" not in tables else "hybrid" if "sparse" in tables else "dense"
    return f"{name}{RERANK}" if "rerank" in tables else name


def _tables_of(method: str, tables: Mapping[str, object], place: Where) -> tuple[str, ...]:
    """The tables that determine the run of a method.

    Raises:
        InputError: one is missing.
    """
    stages = STAGES_BY_METHOD[method.removesuffix(RERANK)]
    last = ("rerank", "repair") if method.endswith(RERANK) else ("repair",) if method == "dense" else ()
    wanted = (*stages, "deduplicate", *last)
    missing = next((each for each in wanted if each in ("embed", "sparse", "rerank") and each not in tables), None)
    if missing is not None:
        raise place("pipeline", "methods").error(f"the method {method} needs [{missing}]. Add it, or remove {method}.")
    # The scoring of stages does not matter in sparse search alone.
    scored = ("pipeline",) if {"index", "rerank"} & set(wanted) else ()
    return tuple(each for each in (*wanted, *scored) if each in tables)


def _combinations(tables: Mapping[str, Any], names: Sequence[str]) -> Iterator[dict[str, dict[str, Any]]]:
    """The Cartesian product of the lists in some tables."""
    axes = _axes(tables, names)
    for chosen in product(*(tables[name][key] for name, key in axes)):
        found = {name: dict(tables[name]) for name in names}
        for (name, key), value in zip(axes, chosen, strict=True):
            found[name][key] = value
        yield found


def _axes(tables: Mapping[str, Any], names: Sequence[str]) -> list[tuple[str, str]]:
    """Table and key of each list of values; a value that is a list itself is a tuple."""
    return [(name, key) for name in names for key, value in tables[name].items() if isinstance(value, list)]


def grid_size(choices: Sequence[TableChoice]) -> int:
    """Number of configurations in the grid, before expansion and deduplication.

    Raises:
        InputError: a method lacks a table.
    """
    size = 0
    for choice in choices:
        for method in choice.methods or (_all_stages(choice.tables),):
            axes = _axes(choice.tables, _tables_of(method, choice.tables, choice.place))
            values = prod(len(choice.tables[name][key]) for name, key in axes)
            size += values * len(choice.rewrites) * len(choice.contexts) * max(len(choice.generators), 1)
    return size


def _name(system: System, axes: Sequence[GridAxis]) -> str:
    """A system's name: its method and what differs."""
    keys = Counter(_key_of(axis) for axis in axes)
    own = _values(system)
    parts = [
        _short(axis.key, own[axis.key], alone=keys[_key_of(axis)] == 1)
        for axis in axes
        if axis.key != METHOD and axis.key in own
    ]
    return " ".join(filter(None, (system.method, *parts)))


def _key_of(axis: GridAxis) -> str:
    return axis.key.partition(".")[2]


def generator_axes(systems: Sequence[System]) -> tuple[GridAxis, ...]:
    """The keys that differ between generators; of a server and a machine, only where nothing else differs."""
    different: dict[str, dict[str, Any]] = {}
    every = [each.axes for system in systems for each in system.generators]
    for axes in every:
        for key, value in axes.items():
            different.setdefault(key, {})[repr(value)] = value
    keys = [key for key, values in different.items() if len(values) > 1]
    for place in PLACES:
        others = [key for key in keys if key != place]
        if len({repr([each[key] for key in others]) for each in every}) == len(
            {repr([each[key] for key in keys]) for each in every}
        ):
            keys = others
    return tuple(GridAxis(key, tuple(different[key].values())) for key in keys)


def generator_name(generator: AnsweringGenerator, axes: Sequence[GridAxis]) -> str:
    """A generator's name: what differs; "" for the only one."""
    own, keys = generator.axes, Counter(_key_of(axis) for axis in axes)
    return " ".join(_short(axis.key, own[axis.key], alone=keys[_key_of(axis)] == 1) for axis in axes)


def _short(key: str, value: object, *, alone: bool) -> str:
    """A value as it appears in names.

    >>> _short("embed.dimension", 256, alone=True), _short("index.spec", "hnsw(storage='int8')", alone=True)
    ('256d', 'hnsw(storage=int8)')
    >>> _short("rerank.depth", 50, alone=True), _short("fuse.k", 60, alone=True), _short(REWRITE, AS_IS, alone=True)
    ('top50', 'k=60', '')
    """
    name = key.partition(".")[2]
    text = str(value).replace("'", "").replace('"', "").replace(", ", ",")
    if key == REWRITE:
        return "" if value == AS_IS else text.rpartition("/")[2]
    if name == "model":
        text = text.rstrip("/").rpartition("/")[2]
        return text if text == "extractive:spans" else text.rpartition(":")[2]
    if name in ("prompt", "closed_prompt"):
        text = text.rpartition("/")[2].removesuffix(".toml")
    short = {"embed.dimension": f"{text}d", "index.spec": text, "sparse.index": text, "rerank.depth": f"top{text}"}
    return short.get(key) or f"{name if alone else key}={text}"


def within_pools(systems: tuple[System, ...]) -> tuple[tuple[System, ...], tuple[Reason, ...]]:
    """Systems with the values of K that their pools allow, and the excluded ones with the reason."""
    kept, left_out = [], []
    for system in systems:
        inside = tuple(k for k in system.contexts if k <= system.pool)
        left_out += [
            Reason(f"{system.name} K={k}", above_pool(k, system.pool)) for k in system.contexts if k > system.pool
        ]
        if inside:
            generators = tuple(each for each in system.generators if each.k <= system.pool)
            kept.append(replace(system, contexts=inside, generators=generators))
    return tuple(kept), tuple(left_out)


def depths_above_pools(systems: tuple[System, ...]) -> tuple[str, ...]:
    """Remarks on rerankers whose depth exceeds their pool."""
    depths = [(each.settings["rerank"]["depth"], each.pool) for each in systems if each.reranks]
    return tuple(
        f"[rerank] depth is {depth}, and the stages before give at most {pool} documents: {pool} are reranked."
        for depth, pool in dict.fromkeys(depths)
        if depth > pool
    )


def above_pool(k: int, pool: int) -> str:
    """Why a configuration is excluded.

    Args:
        k: number of contexts.
        pool: number of documents from its last stage.
    """
    return f"K is above the pool: its last stage gives {pool} documents, and K is {k}."
