"""The plan of a golden set: a TOML file parsed into the settings of every stage.

The file is a pipeline file (corpus, embed, index, sparse, fuse) with the tables of golden_tables.py in addition;
docs/design/golden.md shows one.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from trueval.collection import Collection, Tell, place_beside
from trueval.comparison.resampling.resampled_sums import sample
from trueval.errors import InputError, PolicyError, TruevalWarning, nearest
from trueval.files.toml import Toml
from trueval.golden.build.golden_tables import (
    GOLDEN_TABLES,
    JUDGE_REWRITES,
    LABEL_KEYS,
    MODEL_KEYS,
    RETRIEVAL,
)
from trueval.golden.build.grade import GradingSettings
from trueval.golden.build.refine_pools import RefinementSettings
from trueval.judgments import grade_map
from trueval.models.hosted.services import check_url
from trueval.retrieval.pipeline.config import Settings, check_table, set_reuse, settings_of_tables
from trueval.retrieval.pipeline.rewriting import AS_IS, NORMALISED

LABELS, REPLAY = "labels:", "replay:"
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
        rewrite: method of rewriting.py, "judge", or a file.
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
        _refuse_unknown(toml)
        own = {name: _check_table(name, toml) for name in GOLDEN_TABLES}
        settings = _settings(toml, own["pool"]["depth"])
        corpus, queries, seed = settings["corpus"], own["queries"], own["golden"]["seed"]
        rewrite = queries["rewrite"]
        if rewrite == JUDGE_REWRITES and str(own["judge"]["model"]).startswith(LABELS):
            raise toml.place("queries", "rewrite").error(
                "labels know no other words for a query. Choose another rewrite, or a judge that is a model."
            )
        return cls(
            path.stem,
            str(path),
            {name: values for name, values in settings.items() if name != "corpus"},
            place_beside(path, corpus["path"]),
            corpus["fields"],
            None if queries["path"] is None else str(path.parent / queries["path"]),
            queries["sample"],
            rewrite if rewrite in (AS_IS, NORMALISED, JUDGE_REWRITES) else str(path.parent / rewrite),
            own["pool"]["depth"],
            judge_plan(own["judge"], path, toml, seed),
            own["prune"]["keep"],
            RefinementSettings(**own["refine"], seed=seed),
            seed,
        )

    def reusing(self, reuse: str | None) -> GoldenPlan:
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
        drawn = sample(list(found.queries), self.sample, self.seed)
        queries = found.queries if self.sample is None else {query: found.queries[query] for query in drawn}
        return replace(found, queries=queries, judgments=None)


def _refuse_unknown(toml: Toml) -> None:
    known = (*RETRIEVAL, *GOLDEN_TABLES)
    unknown = next((name for name in toml.tables if name not in known), None)
    if unknown is not None:
        raise toml.place(unknown).error(
            f"there is no table [{unknown}]. There are: {', '.join(known)}.{nearest(unknown, known)}"
        )
    for name in ("corpus", "judge"):
        if name not in toml.tables:
            raise toml.place().error(f"a golden set needs [{name}]. Add it.")


def _check_table(name: str, toml: Toml) -> dict[str, Any]:
    given = toml.tables.get(name, {})
    if not isinstance(given, Mapping):
        raise toml.place(name).error(f"{name} must be a table, [{name}]. Got {given!r}.")
    return check_table(name, given, GOLDEN_TABLES[name], toml.place)


def _settings(toml: Toml, depth: int) -> dict[str, dict[str, Any]]:
    """The tables of the pipeline; the pool is the union of both searches."""
    tables: dict[str, Any] = {name: toml.tables[name] for name in RETRIEVAL if name in toml.tables}
    for name in DEPTHS:
        if toml.has(name, "depth"):
            raise toml.place(name, "depth").error(
                f"the depth of a pool is that of [pool]. Remove depth from [{name}], and set it there."
            )
    settings = settings_of_tables(tables, toml.source, toml.place)
    for name in DEPTHS:
        if name in settings:
            settings[name]["depth"] = 2 * depth if name == "fuse" else depth
    return settings


def judge_plan(values: Mapping[str, Any], path: Path, toml: Toml, seed: int) -> JudgePlan:
    """Validate the table [judge].

    Args:
        values: values of the table, with defaults filled in.

    Raises:
        InputError: there is no model, a key goes with another kind of judge, or a value is none.
    """
    at = toml.place
    if values["model"] is None:
        raise at("judge").error("[judge] needs model: as the server calls it, or labels:FILE.")
    model = str(values["model"])
    foreign = MODEL_KEYS if model.startswith((LABELS, REPLAY)) else LABEL_KEYS
    wrong = next((key for key in foreign if toml.has("judge", key)), None)
    if wrong is not None:
        raise at("judge", wrong).error(f"{model} has no {wrong}. Remove it from [judge].")
    try:
        check_url(values["base_url"], model)
    except InputError as error:
        raise at("judge", "base_url").error(str(error)) from None
    try:
        how = GradingSettings(values["mode"], values["batch"], values["rounds"], values["aggregate"], seed)
        if values["grades"] is not None:
            grade_map(values["grades"])
    except PolicyError as error:
        raise at("judge").error(str(error)) from None
    found = dict(values)
    for kind in (LABELS, REPLAY):
        if model.startswith(kind):
            found["model"] = f"{kind}{path.parent / model.removeprefix(kind)}"
    if values["prompt"].endswith(".toml"):
        found["prompt"] = str(path.parent / values["prompt"])
    return JudgePlan(found, how)


def read_judge(named: str, given: Mapping[str, Any]) -> JudgePlan:
    """Read a judge that is used outside a golden set.

    Args:
        named: a model, labels:FILE, or a TOML file with a table [judge].
        given: keys of [judge] that override the file.

    Raises:
        InputError: as in `GoldenPlan.read`.
    """
    path = Path(named)
    in_file = path.suffix == ".toml"
    toml = Toml.read(path, "a TOML file with a table [judge]") if in_file else Toml("--judge", "", {})
    own = dict(toml.tables.get("judge", {})) if in_file else {"model": named}
    path = path if in_file else Path("judge.toml")  # its paths are relative to the current folder
    whole = replace(toml, tables={**toml.tables, "judge": {**own, **given}})
    seed = _check_table("golden", whole)["seed"] if "golden" in whole.tables else 0
    return judge_plan(_check_table("judge", whole), path, whole, seed)
