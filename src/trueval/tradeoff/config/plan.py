"""The plan of a sweep: the systems, configurations and settings of a TOML file.

A sweep file is a pipeline file whose values may be lists, with the tables of sweep_tables.py beside; docs/tradeoff.md
and docs/design/tradeoff.md show one. `[[configuration]]` lists systems instead of a grid: each has a name, and tables
that overlay those of the file.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from trueval.collection import place_beside
from trueval.cost.cost_model import SweepPrices
from trueval.errors import MeasureError, Place, PolicyError, TruevalWarning
from trueval.evaluation.defaults import RELEVANT, rubric_measures, scale_is_known
from trueval.files.toml import Toml
from trueval.files.toml_tables import as_written, read_tables
from trueval.golden.build.golden_plan import JudgePlan, judge_plan
from trueval.golden.build.judge_choice import prices_of
from trueval.judgments import grade_map
from trueval.measures import parse_list
from trueval.policy.conventions import convention
from trueval.retrieval.pipeline.config import beside_file, queries_beside, set_reuse
from trueval.retrieval.pipeline.rewriting import place_forms
from trueval.specs import split
from trueval.tradeoff.config.answers_plan import (
    AnsweringGenerator,
    AnswersPlan,
    generators_of,
    read_answers_plan,
)
from trueval.tradeoff.config.grid import (
    GridAxis,
    K,
    Reason,
    System,
    TableChoice,
    axes_of,
    depths_above_pools,
    generator_axes,
    grid_size,
    systems_of,
    within_pools,
)
from trueval.tradeoff.config.sweep_tables import POLICY, SHARED, SweepFile, SweepJudge
from trueval.tradeoff.quality.quality_settings import AT_K, QualitySettings

CONFIGURATION: Final = "configuration"
DEFAULT_CONTEXTS: Final = (10,)
DEFAULT_MEASURES: Final = ("nDCG@K", "R@K")
ANY_K: Final = 999_999_937  # stands for K when a measure is parsed; longer than any list


@dataclass(frozen=True, eq=False)
class SweepPlan:
    """The plan of a sweep.

    Attributes:
        name: name of the file, without suffix.
        source: path of the file.
        collection: folder or name of the collection.
        fields: fields of a document that make its text.
        queries: file of the queries; None for those of the collection.
        sample: number of sampled queries; None for all.
        sample_seed: seed of that sample.
        rewrites: rewriting as the file has it → the same with its files found.
        systems: distinct systems.
        measuring: how quality is measured.
        tables: settings of prices, latency, limits, and of tune, route, judge and probes if the file has them.
        left_out: impossible configurations, with their reasons.
        notes: one-line remarks.
        judge: judge of unjudged retrieved passages; None for none.
        answers: what answers are held against; None where nobody answers.
    """

    name: str
    source: str
    collection: str
    fields: tuple[str, ...]
    queries: str | None
    sample: int | None
    sample_seed: int
    rewrites: Mapping[str, str]
    systems: tuple[System, ...]
    measuring: QualitySettings
    tables: Mapping[str, Mapping[str, Any]]
    left_out: tuple[Reason, ...]
    notes: tuple[str, ...] = ()
    judge: JudgePlan | None = None
    answers: AnswersPlan | None = None

    @classmethod
    def read(cls, path: Path) -> SweepPlan:
        """Read the TOML of a sweep.

        Args:
            path: path of the file, from whose folder other paths are resolved.

        Raises:
            InputError: it cannot be read, or a table, key or value is invalid; the message has the line.
        """
        return _plan(Toml.read(path, "the TOML file of a sweep"), path)

    def with_reuse(self, reuse: str | None) -> SweepPlan:
        """The plan with another choice of cached model outputs; None keeps the choice."""
        return replace(
            self, systems=tuple(replace(each, settings=set_reuse(each.settings, reuse)) for each in self.systems)
        )

    @property
    def axes(self) -> tuple[GridAxis, ...]:
        """Keys that differ between configurations."""
        contexts = tuple(sorted({k for system in self.systems for k in system.contexts}))
        several = (GridAxis(K, contexts),) if len(contexts) > 1 else ()
        return (*axes_of(self.systems), *several, *generator_axes(self.systems))

    @property
    def configurations(self) -> int:
        """Number of configurations, without the impossible ones."""
        return sum(len(system.generators or system.contexts) for system in self.systems)

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, the quality first: those of answers, where there are any, then those of lists."""
        return (*(() if self.answers is None else self.answers.measures), *self.measuring.names)


def _plan(toml: Toml, path: Path) -> SweepPlan:
    written = read_tables(SweepFile, toml.tables, toml.place)
    own = {name: dict(vars(table)) for name, table in vars(written).items() if name in SHARED and table is not None}
    tables = {name: table for name, table in as_written(written, toml.tables).items() if name not in SHARED}
    configurations = tables.pop(CONFIGURATION, [])
    _refuse_same_names(configurations, toml)
    asked = own["queries"]
    base = TableChoice(
        "", _resolve_model_paths(tables, path), (), asked["rewrite"], (), toml.place, judge=asked["judge"]
    )
    choices = [_overlaid(base, each, number, toml) for number, each in enumerate(configurations)] or [base]
    choices = [_extract_methods(each, path) for each in choices]
    _refuse_endless(grid_size(choices), own["limits"]["configurations"], toml)
    systems = systems_of(choices, toml.source)
    kept, left_out = within_pools(systems)
    if not kept:
        raise toml.place("generate", "contexts").error(
            f"contexts of [generate]: no system gives so many documents: {left_out[0].name}: {left_out[0].reason}"
        )
    kept = tuple(_with_found_forms(each, path) for each in kept)
    rewrites = dict.fromkeys(system.rewrite for system in kept)
    collection = place_beside(path, own["corpus"]["path"])
    judged = _file(own["measure"]["judgments"], path) or collection
    measuring, remarks = _read_quality_settings(own["measure"], judged, kept[0].contexts[0], toml, path)
    own["prices"] = {**own["prices"], "book": _file(own["prices"]["book"], path)}
    charges = SweepPrices.read(own["prices"], toml.place)
    kept = tuple(replace(each, generators=_with_book(each.generators, own["prices"]["book"])) for each in kept)
    generators = [each for system in kept for each in system.generators]
    answers = read_answers_plan(
        own.get("answers"), generators, toml, path, seed=measuring.seed, book=own["prices"]["book"]
    )
    priced = any(charges.knows(each.settings) or each.is_written_by_model for each in kept)
    _check_limits(
        own, toml, priced=priced or any(None not in prices_of(each.values, each.model) for each in generators)
    )
    return SweepPlan(
        path.stem,
        str(path),
        collection,
        own["corpus"]["fields"],
        _file(own["queries"]["path"], path),
        own["queries"]["sample"],
        measuring.seed if own["queries"]["seed"] is None else own["queries"]["seed"],
        {each: place_forms(each, path.parent) for each in rewrites},
        kept,
        measuring,
        {name: values for name, values in own.items() if name not in ("corpus", "queries", "measure", "answers")},
        left_out,
        (*remarks, *depths_above_pools(kept)),
        _judge(written.judge, measuring, kept, toml, path, own["prices"]["book"]) if "judge" in own else None,
        answers,
    )


def _with_found_forms(system: System, path: Path) -> System:
    """The system with the files of the forms that its pipeline searches found from the folder of the file."""
    if "queries" not in system.settings:
        return system
    return replace(system, settings={**system.settings, "queries": queries_beside(system.settings["queries"], path)})


def _with_book(generators: tuple[AnsweringGenerator, ...], book: str | None) -> tuple[AnsweringGenerator, ...]:
    """The generators with the price book of [prices] where they have none."""
    return tuple(each._replace(values={**each.values, "book": each.values["book"] or book}) for each in generators)


def _refuse_endless(size: int, limit: int, toml: Toml) -> None:
    if size > limit:
        raise toml.place("limits", "configurations").error(
            f"the lists make {size:,} configurations. They must be at most {limit:,}: shorten a list, or raise "
            "configurations of [limits]."
        )


def _judge(
    judge: SweepJudge, measuring: QualitySettings, systems: tuple[System, ...], toml: Toml, path: Path, book: str | None
) -> JudgePlan:
    """The judge on demand, checked before any work."""
    found = judge_plan(judge, path, toml.place, measuring.seed, book=book)
    try:
        if vars(judge)["scale"] is not None:
            grade_map(judge.scale)
    except PolicyError as error:
        raise toml.place("judge", "scale").error(f"scale of [judge]: {error}") from None
    faceted = [str(each) for each in measuring.at(systems[0].contexts[0]) if each.definition.needs_facets]
    if faceted:
        raise toml.place("judge").error(f"{faceted[0]} needs facets, and a judge gives none. Remove one of the two.")
    return found


def _check_limits(tables: Mapping[str, Mapping[str, object]], toml: Toml, *, priced: bool) -> None:
    """Refuse limits of quantities that the sweep does not measure: cost without prices, latency without timing."""
    if tables["limits"]["cost"] is not None and not priced:
        raise toml.place("limits", "cost").error(
            "nothing has a cost here, so no limit on cost can be checked. "
            'Add a name of the price book, such as [prices] generator = "gpt-5-mini".'
        )
    if tables["limits"]["latency_ms"] is not None and not tables["latency"]["queries"]:
        raise toml.place("limits", "latency_ms").error(
            "[latency] queries is 0: nothing is timed, so no limit on latency can be checked. Set it to 1 or more."
        )


def _refuse_same_names(configurations: Sequence[Mapping[str, object]], toml: Toml) -> None:
    names = [each["name"] for each in configurations]
    if len(set(names)) < len(names):
        second = next(number for number, name in enumerate(names) if name in names[:number])
        raise toml.place(CONFIGURATION, second, "name").error(
            f"two configurations are called {names[second]!r}. Rename one."
        )


def _overlaid(base: TableChoice, own: Mapping[str, Any], number: int, toml: Toml) -> TableChoice:
    """The tables of the file under those of a configuration."""

    def place(*path: str | int) -> Place:
        inside: Any = own
        for key in path:
            if key not in inside:
                return toml.place(*path)
            inside = inside[key]
        return toml.place(CONFIGURATION, number, *path)

    tables = dict(base.tables)
    for name, values in _resolve_model_paths(own, Path(toml.source)).items():
        if name not in ("name", "queries"):
            tables[name] = {**tables.get(name, {}), **values}
    rewrites = own.get("queries", {}).get("rewrite", base.rewrites)
    return base._replace(name=own["name"], tables=tables, rewrites=rewrites, place=place)


def _extract_methods(choice: TableChoice, path: Path) -> TableChoice:
    """The choice with its methods, numbers of contexts and generators extracted from the tables of a pipeline."""
    tables = dict(choice.tables)
    stages = dict(tables.get("pipeline", {}))
    generate = dict(tables.pop("generate", {}))
    contexts = generate.pop("contexts", DEFAULT_CONTEXTS)
    generators = generators_of(generate, path, choice.place)
    methods = stages.pop("methods", ())
    if "pipeline" in tables:
        tables["pipeline"] = stages
    return choice._replace(tables=tables, methods=methods, contexts=tuple(sorted(contexts)), generators=generators)


def _resolve_model_paths(tables: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The choice with folders of models resolved from the folder of the file."""
    found = dict(tables)
    for name in ("embed", "rerank"):
        given = tables.get(name, {}).get("model")
        if given is not None:
            placed = [_model(each, path) for each in given] if isinstance(given, list) else _model(given, path)
            found[name] = {**tables[name], "model": placed}
    if isinstance(tables.get("deduplicate", {}).get("sources"), str):
        found = beside_file(found, path)
    return found


def _model(name: str, path: Path) -> str:
    """The path of a model that is a folder beside the file, also as RECIPE:FOLDER; other names are unchanged."""
    recipe, colon, folder = name.rpartition(":")
    place = path.parent / folder
    with suppress(OSError):  # a name too long for a path is not a folder
        return f"{recipe}{colon}{place}" if folder and place.is_dir() else name
    return name


def _file(name: str | None, path: Path) -> str | None:
    return None if name is None else str(path.parent / name)  # an absolute path stays as it is


def _read_quality_settings(
    own: Mapping[str, Any], judged: str, k: int, toml: Toml, path: Path
) -> tuple[QualitySettings, tuple[str, ...]]:
    """The quality settings, checked before any work, and notes on the names of measures.

    Args:
        own: table [measure].
        judged: the judgments, or the collection that has them.
        k: a number of contexts.
        toml: the file.
        path: of the file.
    """
    choices = {name: own[name] for name in POLICY}
    golden = own["grades"] is None and scale_is_known(judged, choices)
    names = own["names"] or ([rubric_measures("K")] if golden else DEFAULT_MEASURES)
    key = "names"
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always", TruevalWarning)
        try:
            # One by one, since measures in one text are separated by spaces.
            names = tuple(str(each) for name in names for each in _split(name, k))
            key = "grades"
            grades = None if own["grades"] is None else grade_map(own["grades"])
            for key, value in choices.items():  # one by one, so that the error has the line of the wrong one
                convention(**{key: value})
            key = "convention"
            chosen = {**choices, "seed": own["seed"], **({"rel": RELEVANT} if golden else {})}
            policy = convention(own["convention"], **chosen)
        except (MeasureError, PolicyError) as error:
            raise toml.place("measure", key).error(str(error)) from None
        except TypeError:  # text instead of a number
            raise toml.place("measure", key).error(
                f"{key} of [measure] must be as in `trueval evaluate`. Got {own[key]!r}."
            ) from None
    found = QualitySettings(
        tuple(map(_with_threshold, names)) if golden else names,
        _file(own["judgments"], path),
        grades,
        own["unjudged"],
        policy,
        own["level"],
        own["resamples"],
        own["seed"],
    )
    if found.at(k)[0].better == "lower":
        raise toml.place("measure", "names").error(
            f"the first measure is the quality, where higher is better. Got {names[0]}. Name another one first."
        )
    return found, tuple(dict.fromkeys(str(each.message) for each in remarks))


def _with_threshold(name: str) -> str:
    """A measure of a golden set that names its threshold: R@K is R(rel=4)@K."""
    (measure,) = parse_list(AT_K.sub(f"@{ANY_K}", name))
    return str(measure.with_threshold(RELEVANT)).replace(f"@{ANY_K}", "@K")


def _split(name: str, k: int) -> list[str]:
    """The measures of one text, @K kept as it is."""
    parts = [part.strip() for part in split(name, " ,", MeasureError)]
    for part in parts:
        parse_list(AT_K.sub(f"@{k}", part))
    return parts
