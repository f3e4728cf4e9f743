"""The plan of a golden set: a TOML file parsed into the settings of every stage.

docs/design/golden.md shows one, and golden_tables.py has its tables.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from trueval.collection import Collection, Tell, place_beside
from trueval.comparison.resampling.resampled_sums import sample
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.files.toml import Toml, Where
from trueval.files.toml_tables import read_tables
from trueval.golden.build.golden_tables import LABEL_KEYS, MODEL_KEYS, GoldenFile, JudgeFile, JudgeTable
from trueval.golden.build.grade import GradingSettings
from trueval.golden.build.refine_pools import RefinementSettings
from trueval.judgments import grade_map
from trueval.models.hosted.services import check_url
from trueval.retrieval.pipeline.config import Settings, set_reuse, settings_of_tables
from trueval.retrieval.pipeline.rewriting import MODEL_FORMS, forms_of, place_forms

LABELS, REPLAY = "labels:", "replay:"
# Pipeline tables that a golden set accepts: those that find the pools. Those with a depth.
RETRIEVAL: Final = ("corpus", "embed", "index", "sparse", "fuse")
DEPTHS: Final = ("index", "sparse", "fuse")


@dataclass(frozen=True)
class JudgePlan:
    """The judge and its settings.

    Attributes:
        values: key of [judge] → value, with paths relative to the folder of the plan resolved.
        grading: settings of grading.
    """

    values: Mapping[str, Any]
    grading: GradingSettings

    @property
    def model(self) -> str:
        """Name of the judge in the file."""
        return str(self.values["model"])

    @property
    def is_model(self) -> bool:
        """Whether the judge is a language model, rather than labels or a ledger."""
        return not self.model.startswith((LABELS, REPLAY))


@dataclass(frozen=True, eq=False)
class GoldenPlan:
    """All settings of a golden set.

    Attributes:
        name: name of the file, without suffix.
        settings: settings of the pipeline that finds the pools.
        collection: path or name of documents and queries.
        fields: fields of a document that form its text.
        queries: file of the queries; None for those of the collection.
        sample: number of queries to sample; None for all.
        sample_seed: seed of that sample.
        rewrite: forms, as in rewriting.py.
        depth: number of documents per search.
        keep: number of passages per query for the refinement.
        refining: settings of the refinement.
        seed: seed of all random numbers.
    """

    name: str
    source: str
    settings: Settings
    collection: str
    fields: tuple[str, ...]
    queries: str | None
    sample: int | None
    sample_seed: int
    rewrite: str
    depth: int
    judge: JudgePlan
    keep: int
    refining: RefinementSettings
    seed: int

    @classmethod
    def read(cls, path: Path) -> GoldenPlan:
        """Read a plan file.

        Raises:
            InputError: it cannot be read, or a table, a key or a value is none of a golden set; with the line.
        """
        toml = Toml.read(path, "the TOML file of a golden set")
        written = read_tables(GoldenFile, toml.tables, toml.place)
        queries, depth, seed = vars(written.queries), written.pool.depth, written.golden.seed
        rewrite = queries["rewrite"]
        if queries["judge"] is not None:
            raise toml.place("queries", "judge").error("the judge of a golden set is that of [judge]. Remove this one.")
        by_model = set(MODEL_FORMS) & set(forms_of(rewrite))
        forms: dict[str, Any] = {"rewrite": place_forms(rewrite, path.parent)}
        if by_model:
            forms["judge"] = written.judge.model
        settings = _settings(toml, depth, forms)
        corpus = settings.pop("corpus")
        if by_model and written.judge.model.startswith(LABELS):
            raise toml.place("queries", "rewrite").error(
                "labels know no other words for a query. Choose another rewrite, or a judge that is a model."
            )
        return cls(
            path.stem,
            str(path),
            settings,
            place_beside(path, corpus["path"]),
            corpus["fields"],
            None if queries["path"] is None else str(path.parent / queries["path"]),
            queries["sample"],
            seed if queries["seed"] is None else queries["seed"],
            forms["rewrite"],
            depth,
            judge_plan(written.judge, path, toml.place, seed),
            written.prune.keep,
            RefinementSettings(**vars(written.refine), seed=seed),
            seed,
        )

    def with_reuse(self, reuse: str | None) -> GoldenPlan:
        """The plan with another setting for cached model outputs; None leaves it unchanged."""
        return replace(self, settings=set_reuse(self.settings, reuse))

    def read_collection(self, tell: Tell = None) -> Collection:
        """Read documents and queries; judgments are not needed.

        Args:
            tell: called repeatedly with the number of documents read so far.

        Raises:
            InputError: a file is bad.
        """
        found = Collection.read(self.collection, fields=self.fields, queries=self.queries, tell=tell)
        if self.sample is not None and self.sample > len(found.queries):
            told = f"sample is {self.sample}, and there are only {len(found.queries)} queries: all are taken."
            warnings.warn(f"{self.source}: {told}", TruevalWarning, stacklevel=2)
        drawn = sample(list(found.queries), self.sample, self.sample_seed)
        queries = found.queries if self.sample is None else {query: found.queries[query] for query in drawn}
        return replace(found, queries=queries, judgments=None)


def _settings(toml: Toml, depth: int, queries: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables of the pipeline, with [queries] if several forms are searched; the pool is the union of all searches.

    Args:
        queries: rewrite, and who writes the forms of a model.
    """
    tables: dict[str, Any] = {name: toml.tables[name] for name in RETRIEVAL if name in toml.tables}
    forms = forms_of(queries["rewrite"])
    if len(forms) > 1:
        tables["queries"] = queries
    for name in DEPTHS:
        if "depth" in tables.get(name, {}):
            raise toml.place(name, "depth").error(
                f"the depth of a pool is that of [pool]. Remove depth from [{name}], and set it there."
            )
    settings = settings_of_tables(tables, toml.source, toml.place)
    for name in DEPTHS:
        if name in settings:
            settings[name]["depth"] = 2 * len(forms) * depth if name == "fuse" else depth
    return settings


def judge_plan(judge: JudgeTable, path: Path, at: Where, seed: int, *, book: str | None = None) -> JudgePlan:
    """Check what the keys of [judge] say together.

    Args:
        at: from a table and its keys to what an error calls these.
        book: price book where the table names none.

    Raises:
        InputError: a key goes with another kind of judge, or a value is none.
    """
    model = judge.model
    foreign = MODEL_KEYS if model.startswith((LABELS, REPLAY)) else LABEL_KEYS
    wrong = next((key for key in foreign if key in judge.model_fields_set), None)
    if wrong is not None:
        raise at("judge", wrong).error(f"{model} has no {wrong}. Remove it from [judge].")
    try:
        check_url(judge.base_url, model)
    except InputError as error:
        raise at("judge", "base_url").error(str(error)) from None
    found: dict[str, Any] = {name: getattr(judge, name) for name in JudgeTable.model_fields}
    try:
        if found["grades"] is not None:
            grade_map(found["grades"])
    except PolicyError as error:
        raise at("judge", "grades").error(f"grades of [judge]: {error}") from None
    for kind in (LABELS, REPLAY):
        if model.startswith(kind):
            found["model"] = f"{kind}{path.parent / model.removeprefix(kind)}"
    found["book"] = book if found["book"] is None else str(path.parent / found["book"])
    if judge.prompt.endswith(".toml"):
        found["prompt"] = str(path.parent / judge.prompt)
    return JudgePlan(found, GradingSettings(judge.mode, judge.batch, judge.rounds, judge.aggregate, seed))


def read_judge(named: str, given: Mapping[str, object]) -> JudgePlan:
    """Read a judge that is used outside a golden set.

    Args:
        named: a model, labels:FILE, or a TOML file with a table [judge].
        given: keys of [judge] that override the file.

    Raises:
        InputError: as in `GoldenPlan.read`.
    """
    path = Path(named)
    if path.suffix == ".toml":
        toml = Toml.read(path, "a TOML file with a table [judge]")
    else:  # its paths are relative to the current folder
        path, toml = Path("judge.toml"), Toml("--judge", "", {"judge": {"model": named}})
    tables = {name: toml.tables[name] for name in JudgeFile.model_fields if name in toml.tables}
    if isinstance(tables.get("judge", {}), dict):
        tables["judge"] = {**tables.get("judge", {}), **given}
    written = read_tables(JudgeFile, tables, toml.place)
    return judge_plan(written.judge, path, toml.place, written.golden.seed)
