"""The TOML of a pipeline: which tables and keys there are, and what each may be.

    [corpus]                       [sparse]                          [rerank]
    path = "sample"                index = "bm25(language='fr')"     model = "bge-reranker-v2-m3"
    [embed]                        [fuse]                            dtype = "bfloat16"
    model = "all-MiniLM-L6-v2"     method = "rrf"                    scoring = "float32"
    [index]                        k = 60                            depth = 50
    spec = "hnsw(efSearch=64)"

A table that is not there is a stage that is not done. An unknown key is refused, so that no typing error is a default.
[pipeline] is about all stages, [generate] about what a prompt takes of the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from trueval.errors import InputError, Place, PolicyError, nearest
from trueval.files.toml import Toml
from trueval.models.hosted.services import is_hosted
from trueval.models.model_location import find_model
from trueval.models.output_reuse import PASS, TEXT
from trueval.models.pair_scores import FINISHED, MODEL
from trueval.models.pair_scores import HIGH as HIGH_FORMAT
from trueval.numerics import FORMATS
from trueval.report.provenance import strip_folders
from trueval.retrieval.indexes.index import read_spec
from trueval.specs import Parameter, check_value, choice, number_in_range, whole
from trueval.specs import text as _text

Settings: TypeAlias = Mapping[str, Mapping[str, Any]]
# From a table, and a key of it, to what an error calls these.
Where: TypeAlias = Callable[..., Place]

DTYPES: Final = ("bfloat16", "float32", "float16")
# Beside the formats of scores: those of the index itself, or the model's own dtype.
SCORING: Final = ("index", "model", *FORMATS)
# How the stages of a pipeline score: as each table says; all in float32; all in the dtype of their model; or two runs.
STAGES, HIGH, LOW, BOTH = "stages", "high", "low", "both"
# Tables that take the spec of an index: its key, what the index must take, and where it belongs otherwise.
SPECS: Final = {
    "index": ("spec", "vectors", "an index of vectors, such as flat", "[sparse]"),
    "sparse": ("index", "texts", "an index of words, such as bm25", "[index]"),
}


def _texts(default: Any, about: str) -> Parameter:
    def check(value: Any) -> Any:
        if not isinstance(value, list | tuple) or not value or not all(isinstance(each, str) for each in value):
            raise ValueError(value)
        return tuple(value)

    return Parameter(default, "a list of texts", check, about)


def _numbers(about: str) -> Parameter:
    def check(value: Any) -> Any:
        if not isinstance(value, list | tuple) or not value or {*map(type, value)} - {int, float}:
            raise ValueError(value)
        return tuple(value)

    return Parameter(None, "a list of numbers", check, about)


def _flag(default: bool, about: str) -> Parameter:
    def check(value: Any) -> Any:
        if not isinstance(value, bool):
            raise ValueError(value)
        return value

    return Parameter(default, "true or false", check, about)


_MODEL: Final = {
    "model": _text(None, "a recipe, a folder, an id of the hub, or SERVICE:MODEL of a service"),
    "dtype": choice(*DTYPES, about="format that the model runs in"),
    "device": _text(None, "as torch calls it; an accelerator by default if there is one"),
    "batch_size": whole(32, 1, "texts or pairs that go through the model at once"),
    "max_length": whole(None, 1, "tokens that are kept of a text or pair"),
    "instruction": _text(None, "task description in the prompt, instead of the recipe's"),
    "reuse": choice(
        PASS, TEXT, about="kept outputs in low precision that are taken: of the same pass alone, or of the same text"
    ),
}
_HOSTED: Final = {
    "base_url": _text(None, "where a service is reached that is not the usual one"),
    "api_key_env": _text(None, "the environment variable that holds the key"),
    "encoding": choice("base64", "float", about="how vectors travel"),
    "batch_tokens": whole(None, 1, "tokens that go into one call, by our estimate"),
    "timeout": number_in_range(120, 0, 86_400, "seconds that an answer may take", above=True),
    "concurrency": whole(1, 1, "calls that are under way at once"),
    "price_per_million_tokens": number_in_range(None, 0, 1e9, "what the service asks, in any currency"),
    "price_per_thousand_searches": number_in_range(None, 0, 1e9, "what the service asks where it bills searches"),
}
# Keys of a model that runs here alone, those that it is loaded with first, and of one that a service runs.
LOADED_KEYS: Final = ("dtype", "device", "max_length", "instruction")
LOCAL_KEYS: Final = (*LOADED_KEYS, "reuse")
HOSTED_KEYS: Final = tuple(_HOSTED)
# Those that decide neither what a service answers nor what it is asked.
PAYING_KEYS: Final = ("batch_size", *(key for key in HOSTED_KEYS if key not in ("base_url", "encoding")))
_DEPTH: Final = whole(100, 1, "documents that the stage gives for each query")

TABLES: Final[Mapping[str, Mapping[str, Parameter]]] = MappingProxyType(
    {
        "corpus": {
            "path": _text(None, "folder of the collection, from the folder of this file"),
            "fields": _texts(("title", "text"), "fields of a document that make its text"),
        },
        "pipeline": {
            "scoring": choice(
                STAGES,
                HIGH,
                LOW,
                BOTH,
                about="as each stage says; all in float32; all in the dtype of the model; or one run of each",
            ),
        },
        "embed": {
            **_MODEL,
            "dimension": whole(None, 1, "numbers of each vector that are kept, made length 1 again"),
            **_HOSTED,
        },
        "index": {
            "spec": _text("flat", "the dense index"),
            "depth": _DEPTH,
            "scoring": choice(
                *SCORING, about="format of the scores, computed anew from the embeddings; or the index's own"
            ),
        },
        "sparse": {"index": _text("bm25", "the index of words"), "depth": _DEPTH},
        "fuse": {
            "method": choice("rrf", "weighted", about="by ranks or by normalised scores"),
            "k": number_in_range(60, 0, 1e9, "of rrf: added to each rank"),
            "norm": choice("min-max", "z-score", about="of weighted: how scores are normalised"),
            "weights": _numbers("of the dense and the sparse run"),
            "terms": number_in_range(
                0, 0, 1e6, "weight of a document that holds the words of the query, rare ones above all"
            ),
            "phrases": number_in_range(0, 0, 1e6, "weight of one that holds its pairs of neighbouring words"),
            "codes": number_in_range(0, 0, 1e6, "weight of one that holds its numbers and codes"),
            "depth": _DEPTH,
        },
        "deduplicate": {
            "threshold": number_in_range(0.8, 0, 1, "least Jaccard similarity of near duplicates", above=True),
            "words": whole(5, 1, "of an n-gram"),
            "duplicates": _flag(True, "whether near duplicates are left out"),
            "per_source": whole(None, 1, "documents of one source that stay in a list; all by default"),
            "sources": _text(
                None, "file with a document id and its source on each line; by default chunks are of their document"
            ),
        },
        "rerank": {
            **_MODEL,
            "scoring": choice(
                "float32", "model", *[form for form in FORMATS if form != "float32"], about="of the scores"
            ),
            "depth": whole(50, 1, "documents of each list that are scored"),
            **_HOSTED,
        },
        "generate": {"contexts": whole(None, 1, "documents in a prompt: the run is written as a log of contexts too")},
    }
)
# Keys without which a table says nothing.
NEEDED: Final = {"embed": "model", "rerank": "model", "corpus": "path", "generate": "contexts"}


def read_settings(path: Path) -> dict[str, dict[str, Any]]:
    """Read a pipeline file.

    Args:
        path: path of the TOML.

    Returns:
        Its tables, in the order of the stages, each with every key.

    Raises:
        InputError: it cannot be read, or a table, a key or a value is none of a pipeline; with the line.
    """
    given = Toml.read(path, "the TOML file of a pipeline")
    return beside_file(settings_of_tables(given.tables, given.source, given.place), path)


def beside_file(settings: dict[str, dict[str, Any]], path: Path) -> dict[str, dict[str, Any]]:
    """Settings whose files are found from the folder of the file that names them; an absolute path stays as it is."""
    sources = settings.get("deduplicate", {}).get("sources")
    if sources is None:
        return settings
    return {**settings, "deduplicate": {**settings["deduplicate"], "sources": str(path.parent / sources)}}


def settings_of_tables(given: Mapping[str, Any], source: str, place: Where | None = None) -> dict[str, dict[str, Any]]:
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
    at: Where = place or (lambda *_: Place(source))
    unknown = next((name for name in given if name not in TABLES), None)
    if unknown is not None:
        known = ", ".join(TABLES)
        raise at(unknown).error(f"there is no table [{unknown}]. There are: {known}.{nearest(unknown, TABLES)}")
    found = {name: _table(name, given[name], at) for name in TABLES if name in given}
    if "index" in found and "embed" not in found:
        raise at("index").error("[index] needs the vectors of a model. Add [embed] with its model.")
    if not {"embed", "sparse"} & found.keys():
        raise Place(source).error("nothing retrieves. Add [embed] with a model, [sparse], or both.")
    if "embed" in found:
        found.setdefault("index", _table("index", {}, at))
    if "fuse" in found and not {"embed", "sparse"} <= found.keys():
        raise at("fuse").error("[fuse] makes one run of two. Add [embed] or [sparse], or remove it.")
    if {"embed", "sparse"} <= found.keys():
        found.setdefault("fuse", _table("fuse", {}, at))
    weights = found.get("fuse", {}).get("weights")
    if weights is not None and (len(weights) != 2 or not all(0 < each < math.inf for each in weights)):
        raise at("fuse", "weights").error(
            f"weights of [fuse] must be two numbers above 0, of the dense and the sparse run. Got {list(weights)}."
        )
    for name in SPECS.keys() & found.keys():
        _check_spec(name, found, at)
    return {name: found[name] for name in TABLES if name in found}


def _check_spec(name: str, found: Settings, at: Where) -> None:
    """Refuse a spec that cannot be read, vectors where words belong, or words where vectors do."""
    (key, side, wanted, elsewhere), values = SPECS[name], found[name]
    try:
        kind, chosen = read_spec(values[key])
    except PolicyError as error:
        raise at(name, key).error(f"{key} of [{name}]: {error}") from None
    takes = kind.takes_of(chosen)
    if takes != side and (takes, name) != ("both", "index"):
        raise at(name, key).error(f"[{name}] takes {wanted}. Got {values[key]}, which belongs into {elsewhere}.")
    stages = found.get("pipeline", {}).get("scoring", STAGES)
    if takes == "both" and (values["scoring"], stages) != ("index", STAGES):
        raise at(name, key).error(
            "[index] scoring, and [pipeline] scoring, go with an index of vectors alone. "
            f"Got {values[key]}; leave them out."
        )


def _table(name: str, given: Any, at: Where) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise at(name).error(f"{name} must be a table, [{name}]. Got {given!r}.")
    values = check_table(name, given, TABLES[name], at)
    needed = NEEDED.get(name)
    if needed is not None and values[needed] is None:
        raise at(name).error(f"[{name}] needs {needed}: {TABLES[name][needed].about}.")
    return _of_model(name, values, given, at) if "model" in TABLES[name] else values


def check_table(name: str, given: Mapping[str, Any], declared: Mapping[str, Parameter], at: Where) -> dict[str, Any]:
    """The values of a table, defaults where the file does not name them.

    Args:
        name: name of the table.
        given: key → value.
        declared: the keys that there are.
        at: from a table and a key to what errors call these.

    Raises:
        InputError: there is no such key, or its value is none that it takes.
    """
    values: dict[str, Any] = {key: one.default for key, one in declared.items()}
    for key, value in given.items():
        try:
            values[key] = check_value(f"[{name}]", declared, key, value, InputError)
        except InputError as error:
            raise at(name, key).error(str(error)) from None
    return values


def _of_model(name: str, values: dict[str, Any], given: Mapping[str, Any], at: Where) -> dict[str, Any]:
    """The keys that go with the model of a table: one that runs here, or one that a service runs."""
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
