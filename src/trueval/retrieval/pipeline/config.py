"""The TOML of a pipeline; pipeline_tables.py has its tables and keys.

    [corpus]                       [sparse]                          [rerank]
    path = "sample"                index = "bm25(language='fr')"     model = "bge-reranker-v2-m3"
    [embed]                        [fuse]                            dtype = "bfloat16"
    model = "all-MiniLM-L6-v2"     method = "rrf"                    scoring = "float32"
    [index]                        k = 60                            depth = 50
    spec = "hnsw(efSearch=64)"

A table that is not there is a stage that is not done. An unknown key is refused, so that no typing error is a default.
[queries] says which queries, and in which form they are searched; [pipeline] is about all stages, [generate] about
what a prompt takes of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from trueval.errors import Place, PolicyError
from trueval.files.toml import Toml, Where
from trueval.models.hosted.services import is_hosted
from trueval.models.model_location import find_model
from trueval.models.pair_scores import FINISHED, MODEL
from trueval.models.pair_scores import HIGH as HIGH_FORMAT
from trueval.report.provenance import strip_folders
from trueval.retrieval.indexes.index import read_spec
from trueval.retrieval.pipeline.rewriting import AS_IS, BETWEEN, MODEL_FORMS, forms_of, name_form, place_forms
from trueval.retrieval.pipeline.router import Router
from trueval.retrieval.pipeline.router_file import check_pipeline, read_router_file

Settings: TypeAlias = Mapping[str, Mapping[str, Any]]

# How the stages of a pipeline score: as each table says; all in float32; all in the dtype of their model; or two runs.
STAGES, HIGH, LOW, BOTH = "stages", "high", "low", "both"
# Tables that take the spec of an index: its key, what the index must take, and where it belongs otherwise.
SPECS: Final = {
    "index": ("spec", "vectors", "an index of vectors, such as flat", "[sparse]"),
    "sparse": ("index", "texts", "an index of words, such as bm25", "[index]"),
}


def read_settings(path: Path) -> dict[str, dict[str, object]]:
    """Read a pipeline file.

    Args:
        path: path of the TOML.

    Returns:
        Its tables, in the order of the stages, each with every key.

    Raises:
        InputError: it cannot be read, or a table, a key or a value is none of a pipeline; with the line.
    """
    given = Toml.read(path, "the TOML file of a pipeline")
    settings = beside_file(settings_of_tables(given.tables, given.source, given.place), path)
    router: Any = settings.get("route", {}).get("router")
    return settings if router is None else set_route(settings, Path(router))


def beside_file(settings: dict[str, dict[str, Any]], path: Path) -> dict[str, dict[str, object]]:
    """Settings whose files are found from the folder of the file that names them; an absolute path stays as it is."""
    found = dict(settings)
    for table, name in (("deduplicate", "sources"), ("route", "router"), ("queries", "path")):
        place = settings.get(table, {}).get(name)
        if place is not None:
            found[table] = {**found[table], name: str(path.parent / place)}
    return found if "queries" not in found else {**found, "queries": queries_beside(found["queries"], path)}


def queries_beside(queries: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The keys of [queries], with the files of its forms and of its judge found from the folder of the file."""
    judge = queries.get("judge")
    if judge is not None and judge.endswith(".toml"):
        judge = str(path.parent / judge)
    return {**queries, "rewrite": place_forms(queries.get("rewrite", AS_IS), path.parent), "judge": judge}


def settings_of_tables(
    given: Mapping[str, Any], source: str, place: Where | None = None
) -> dict[str, dict[str, object]]:
    """Check the tables of a pipeline, and add the defaults.

    Args:
        given: table → key → value.
        source: what errors call them.
        place: from a table, and a key of it, to what errors call these; None calls everything `source`.

    Raises:
        InputError: a table, a key, a value or the spec of an index is none of a pipeline, or nothing retrieves.

    >>> settings_of_tables({"sparse": {}}, "here")
    {'sparse': {'index': 'bm25', 'depth': 100}}
    """
    from trueval.files.toml_tables import read_tables
    from trueval.retrieval.pipeline.pipeline_tables import Fuse, IndexTable, PipelineFile

    at: Where = place or (lambda *_: Place(source))
    written = read_tables(PipelineFile, given, at)
    found = {name: dict(vars(table)) for name, table in vars(written).items() if table is not None}
    for name in ("embed", "rerank"):
        if name in found:
            found[name] = _of_model(name, found[name], given[name], at)
    if "index" in found and "embed" not in found:
        raise at("index").error("[index] needs the vectors of a model. Add [embed] with its model.")
    if not {"embed", "sparse"} & found.keys():
        raise Place(source).error("nothing retrieves. Add [embed] with a model, [sparse], or both.")
    if "embed" in found:
        found.setdefault("index", dict(vars(IndexTable())))
    if _makes_several_runs(found, at):
        found.setdefault("fuse", dict(vars(Fuse())))
    for name in SPECS.keys() & found.keys():
        _check_spec(name, found, at)
    if "repair" in found:
        _check_repair(found, at)
    _check_queries(found, at)
    return {name: found[name] for name in PipelineFile.model_fields if name in found}


def _makes_several_runs(found: Settings, at: Where) -> bool:
    """Whether there are runs to fuse: of both searches, or of several forms of the queries."""
    both = {"embed", "sparse"} <= found.keys()
    several = both or len(forms_of(found.get("queries", {}).get("rewrite", AS_IS))) > 1
    if "fuse" in found and not several:
        raise at("fuse").error(
            "[fuse] makes one run of several. Add [embed] or [sparse], or another form of the queries, or remove it."
        )
    if "fuse" in found and not both and found["fuse"]["weights"] is not None:
        raise at("fuse", "weights").error("weights are those of the dense and the sparse run. Remove them.")
    return several


def _check_queries(found: Settings, at: Where) -> None:
    """Refuse a form of the queries that is named twice, and one that a model writes where none is named."""
    queries = found.get("queries", {})
    forms = forms_of(queries.get("rewrite", AS_IS))
    if "" in forms:
        raise at("queries", "rewrite").error(f"{BETWEEN!r} stands between two forms. Name one on each side of it.")
    if len(set(forms)) < len(forms):
        raise at("queries", "rewrite").error(f"{' + '.join(forms)} names a form twice. Name each once.")
    names = list(map(name_form, forms))
    if len(set(names)) < len(names):
        raise at("queries", "rewrite").error(
            f"{' + '.join(names)}: results tell forms apart by the names of their files. Rename one."
        )
    written = [form for form in forms if form in MODEL_FORMS]
    if written and queries["judge"] is None:
        raise at("queries", "rewrite").error(
            f"{written[0]!r} is written by a language model. Name it as judge in [queries], or a TOML file with a "
            "table [judge]."
        )
    if queries.get("judge") is not None and not written:
        raise at("queries", "judge").error(
            f"no form here is written by a model. Remove judge, or add one of {', '.join(map(repr, MODEL_FORMS))} to "
            "rewrite."
        )


def _check_spec(name: str, found: Settings, at: Where) -> None:
    """Refuse a spec that cannot be read, vectors where words belong, or words where vectors do."""
    (key, side, wanted, elsewhere), values = SPECS[name], found[name]
    try:
        kind, chosen = read_spec(values[key])
    except PolicyError as error:
        raise at(name, key).error(f"{key} of [{name}]: {error}") from None
    takes = kind.takes_of(chosen)
    if takes != side and (takes, name) != ("both", "index"):
        raise at(name, key).error(f"[{name}] takes {wanted}. Got {values[key]}, which belongs in {elsewhere}.")
    stages = found.get("pipeline", {}).get("scoring", STAGES)
    if takes == "both" and (values["scoring"], stages) != ("index", STAGES):
        raise at(name, key).error(
            "[index] scoring, and [pipeline] scoring, go with an index of vectors alone. "
            f"Got {values[key]}; leave them out."
        )


def with_search(settings: Settings, index: Mapping[str, Any], **embed: Any) -> Settings:
    """The settings of a dense search alone, with the first form of the queries, as a pipeline begins.

    Args:
        settings: settings of a pipeline with [embed].
        index: table of the index.
        embed: keys of [embed] instead of those of the pipeline.

    >>> both = {"queries": {"rewrite": "denoise + as is", "judge": None}, "embed": {"model": "m"}}
    >>> with_search(both, {"spec": "flat"})["queries"]
    {'rewrite': 'denoise', 'judge': None}
    """
    found: dict[str, Mapping[str, Any]] = {"embed": {**settings["embed"], **embed}, "index": index}
    if "queries" in settings:
        first, *_ = forms_of(settings["queries"]["rewrite"])
        found["queries"] = {**settings["queries"], "rewrite": first}
    return found


def repaired_table(settings: Settings) -> str | None:
    """The table of the model that gives the last scores, which [repair] runs in float32; None for other scores.

    >>> repaired_table({"embed": {}, "index": {}}), repaired_table({"sparse": {}, "rerank": {}})
    ('embed', 'rerank')
    """
    return "rerank" if "rerank" in settings else None if {"sparse", "fuse"} & settings.keys() else "embed"


def _check_repair(found: Settings, at: Where) -> None:
    """Refuse [repair] of scores that no model gives in float32."""
    table = repaired_table(found)
    if table is None:
        last = "a fusion" if "fuse" in found else "a search of words"
        raise at("repair").error(
            f"[repair] takes the scores of a model to float32, and the last scores here are those of {last}. Add "
            "[rerank], or remove [repair]."
        )
    if is_hosted(found[table]["model"]):
        raise at("repair").error(
            f"[repair] runs a model in float32, and {found[table]['model']} is hosted, so that its service decides the "
            f"format. Name a model that runs here in [{table}], or remove [repair]."
        )
    index = found.get("index", {})
    if table == "embed" and index["scoring"] == "index":
        kind, chosen = read_spec(index["spec"])
        if kind.takes_of(chosen) != "vectors" or chosen.get("storage") == "binary":
            raise at("repair").error(
                f"[repair] compares inner products with those of float32, and {index['spec']} gives other scores. Set "
                "scoring of [index] to a number format, or remove [repair]."
            )


def _of_model(name: str, values: dict[str, Any], given: Mapping[str, object], at: Where) -> dict[str, object]:
    """The keys that go with the model of a table: one that runs here, or one that a service runs."""
    from trueval.retrieval.pipeline.pipeline_tables import HOSTED_KEYS, LOCAL_KEYS

    model = values["model"]
    hosted = is_hosted(model)
    foreign = LOCAL_KEYS if hosted else HOSTED_KEYS
    wrong = next((key for key in foreign if key in given), None)
    if wrong is not None:
        why = "is hosted, so that its service decides it" if hosted else "runs on this machine"
        raise at(name, wrong).error(f"{model} {why}. Remove {wrong} from [{name}].")
    scoring = values.get("scoring", HIGH_FORMAT)
    if hosted and find_model(model).recipe.scoring == FINISHED and scoring not in (HIGH_FORMAT, "model"):
        raise at(name, "scoring").error(
            f"{model} gives finished scores, not to be scored in {scoring}. Remove scoring from [{name}]."
        )
    kept = {key: value for key, value in values.items() if key not in foreign}
    # A service is given as many texts as it takes, unless the file says otherwise.
    return kept | ({"batch_size": given.get("batch_size")} if hosted else {})


def set_scoring(settings: Settings, scoring: str) -> Settings:
    """The settings of a pipeline whose every stage scores in high or in low precision.

    Args:
        settings: settings of the pipeline.
        scoring: "high", float32; "low", the dtype of each stage's model; "stages", as they are.
    """
    if scoring == STAGES:
        return settings
    form = "float32" if scoring == HIGH else MODEL
    return {
        name: {**values, "scoring": form} if name in ("index", "rerank") else values
        for name, values in settings.items()
    }


def set_route(settings: Settings, path: Path) -> dict[str, dict[str, object]]:
    """The settings of a pipeline whose reranker gets as many candidates as a router says.

    Args:
        path: router.toml.

    Raises:
        InputError: it is no router, or was certified for another pipeline.
        PolicyError: all stages are to score in one format, or two runs are to be made.
    """
    router, about = Router.load(path), read_router_file(path)
    check_pipeline(router, about, settings)
    if "repair" in settings:
        raise PolicyError("A router was certified without [repair]. Remove the table, or the router.")
    if settings.get("pipeline", {}).get("scoring", STAGES) != STAGES:
        raise PolicyError("A router was certified on the scores of the stages' own formats. Leave scoring out.")
    rerank = {**settings["rerank"], "depth": router.more}
    return {
        **{name: dict(values) for name, values in settings.items()},
        "rerank": rerank,
        "route": {"router": str(path)},
    }


def set_reuse(settings: Settings, reuse: str | None) -> Settings:
    """The settings of a pipeline whose models that run here take kept outputs as asked.

    Args:
        settings: settings of the pipeline.
        reuse: "pass" or "text"; None leaves them as they are.
    """
    if reuse is None:
        return settings
    return {name: {**values, "reuse": reuse} if "reuse" in values else values for name, values in settings.items()}


def formats_used(settings: Settings) -> list[str]:
    """What is said of the formats that the models of a pipeline run in, which decide how much ties.

    Args:
        settings: settings of the pipeline, also as its manifest has them.

    >>> formats_used({"embed": {"model": "m", "dtype": "bfloat16"}})
    ['m ran in bfloat16; to run it in another format, set dtype in [embed].']
    """
    return [
        f"{strip_folders(values['model'])} ran in {values['dtype']}; to run it in another format, set dtype in "
        f"[{name}]."
        for name, values in settings.items()
        if "dtype" in values
    ]
