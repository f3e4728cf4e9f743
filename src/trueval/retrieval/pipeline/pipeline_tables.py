"""The tables of a pipeline file, declared once: a sweep and a golden set have them too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from trueval.files.toml_tables import AS_GIVEN, AS_LIST, AS_TUPLE, Count, Number, OneOf, Table, Text, key
from trueval.numerics import formats
from trueval.score_width import ScoreWidth

Texts = Annotated[list[str], Field(min_length=1), AS_LIST, AS_TUPLE]
Weight = Annotated[float, Field(gt=0), AS_GIVEN]
Weights = Annotated[list[Weight], Field(min_length=2, max_length=2), AS_LIST, AS_TUPLE]


class Corpus(Table):
    """What is searched."""

    path: Text = key(..., "folder of the collection, from the folder of this file")
    fields: Texts = key(("title", "text"), "fields of a document that make its text")


class Queries(Table):
    """Which queries, and how they are written."""

    path: Text = key(None, "file or folder of the queries, instead of the collection's")
    sample: Count = key(None, "queries that are drawn at random, of the judged ones if there are any; all by default")
    seed: Annotated[int, Field(ge=0)] = key(None, "of the sample; that of the file by default, or 0")
    rewrite: Text = key(
        "as is",
        "'as is', 'normalised', 'denoise' (without chatter around a question); 'model', 'step-back' or 'hyde', which a "
        "language model writes; or a file of the texts, as queries.jsonl. Several, as in 'as is + denoise', are all "
        "searched and their lists fused",
    )
    judge: Text = key(
        None, "who writes those of a model: its name, or a TOML file with a table [judge]; a golden set has a [judge]"
    )


class Stages(Table):
    """What concerns all stages."""

    scoring: Literal["stages", "high", "low", "both"] = key(
        "stages", "as each stage says; all in float32; all in the dtype of the model; or one run of each"
    )


class _Model(Table):
    model: Text = key(..., "a recipe, a folder, an id of the hub, or SERVICE:MODEL of a service")
    dtype: Literal["bfloat16", "float32", "float16"] = key("bfloat16", "format that the model runs in")
    device: Text = key(None, "as torch calls it; an accelerator by default if there is one")
    batch_size: Count = key(32, "texts or pairs that go through the model at once")
    max_length: Count = key(None, "tokens that are kept of a text or pair")
    instruction: Text = key(None, "task description in the prompt, instead of the recipe's")
    reuse: Literal["pass", "text"] = key(
        "pass", "kept outputs in low precision that are taken: of the same pass alone, or of the same text"
    )


class HostedKeys(Table):
    """The keys of a model that a service runs."""

    base_url: Text = key(None, "where a service is reached that is not the usual one")
    api_key_env: Text = key(None, "the environment variable that holds the key")
    encoding: Literal["base64", "float"] = key("base64", "how vectors travel")
    batch_tokens: Count = key(None, "tokens that go into one call, by our estimate")
    timeout: Number = key(120, "seconds that an answer may take", gt=0, le=86_400)
    concurrency: Count = key(1, "calls that are under way at once")
    price_per_million_tokens: Number = key(None, "what the service asks, in any currency", ge=0, le=1e9)
    price_per_thousand_searches: Number = key(None, "what the service asks where it bills searches", ge=0, le=1e9)


class _Embedder(_Model):
    dimension: Count = key(None, "numbers of each vector that are kept, made length 1 again")


class Embed(HostedKeys, _Embedder):
    """The model that makes vectors of texts: dense search."""


class IndexTable(Table):
    """How vectors are searched."""

    spec: Text = key("flat", "the dense index")
    depth: Count = key(100, "documents that the stage gives for each query")
    # Beside the formats of scores: those of the index itself, or the model's own dtype.
    scoring: Annotated[str, OneOf(("index", "model", *formats()))] = key(
        "index", "format of the scores, computed anew from the embeddings; or the index's own"
    )


class Sparse(Table):
    """The search of words."""

    index: Text = key("bm25", "the index of words")
    depth: Count = key(100, "documents that the stage gives for each query")


class Fuse(Table):
    """How the dense and the sparse run become one."""

    method: Literal["rrf", "weighted"] = key("rrf", "by ranks or by normalised scores")
    k: Number = key(60, "of rrf: added to each rank", ge=0, le=1e9)
    norm: Literal["min-max", "z-score"] = key("min-max", "of weighted: how scores are normalised")
    weights: Weights = key(None, "of the dense and the sparse run")
    tied: Literal["listed", "shared"] = key(
        "listed", "of rrf: documents of equal score have ranks one after another, or share that of the first"
    )
    terms: Number = key(0, "weight of a document that holds the words of the query, rare ones above all", ge=0, le=1e6)
    phrases: Number = key(0, "weight of one that holds its pairs of neighbouring words", ge=0, le=1e6)
    codes: Number = key(0, "weight of one that holds its numbers and codes", ge=0, le=1e6)
    depth: Count = key(100, "documents that the stage gives for each query")


class Deduplicate(Table):
    """What leaves a list: near duplicates, and documents of a source that has enough."""

    threshold: Number = key(0.8, "least Jaccard similarity of near duplicates", gt=0, le=1)
    words: Count = key(5, "of an n-gram")
    duplicates: bool = key(True, "whether near duplicates are left out")
    per_source: Count = key(None, "documents of one source that stay in a list; all by default")
    sources: Text = key(
        None, "file with a document id and its source on each line; by default chunks are of their document"
    )


class _Reranker(_Model):
    scoring: Annotated[str, OneOf(("float32", "model", *(form for form in formats() if form != "float32")))] = key(
        "float32", "of the scores"
    )
    depth: Count = key(50, "documents of each list that are scored")


class Rerank(HostedKeys, _Reranker):
    """The model that scores the first documents of each list anew."""


def _check_width(text: str) -> str:
    if ScoreWidth.parse(text).unit.startswith("step"):
        raise ValueError("codes have a step only where the range of all scores is known, not of a query served alone")
    return text


Width = Annotated[str, Field(min_length=1, json_schema_extra={"format": "width"}), AfterValidator(_check_width)]


class RepairTable(Table):
    """What is scored again in float32, so that the first documents are those of float32."""

    within: Width = key("bfloat16", "by how much a float32 score may differ from the one of the stage before")
    k: Count = key(10, "documents that count: the first k are those of float32")
    order: bool = key(False, "whether their order is too, and with it every measure at k")


class RouterTable(Table):
    """The router that chooses how many candidates the reranker gets for each query."""

    router: Text = key(..., "router.toml of `trueval frontier --route`, from the folder of this file")


class Generate(Table):
    """What a prompt takes of the run."""

    contexts: Count = key(..., "documents in a prompt: the run is written as a log of contexts too")


class PipelineFile(Table):
    """What finds documents: a table that is not there is a stage that is not done."""

    corpus: Corpus = key(None)
    queries: Queries = key(None)
    pipeline: Stages = key(None)
    embed: Embed = key(None)
    index: IndexTable = key(None)
    sparse: Sparse = key(None)
    fuse: Fuse = key(None)
    deduplicate: Deduplicate = key(None)
    rerank: Rerank = key(None)
    repair: RepairTable = key(None)
    route: RouterTable = key(None)
    generate: Generate = key(None)


TABLES: Final[Mapping[str, Any]] = {
    name: field.annotation for name, field in PipelineFile.model_fields.items() if field.annotation is not None
}
# Every key, as table.key.
KEYS: Final = tuple(f"{name}.{each}" for name, table in TABLES.items() for each in table.model_fields)
# Keys of a model that runs here alone, those that it is loaded with first, and of one that a service runs.
LOADED_KEYS: Final = ("dtype", "device", "max_length", "instruction")
LOCAL_KEYS: Final = (*LOADED_KEYS, "reuse")
HOSTED_KEYS: Final = tuple(HostedKeys.model_fields)
# Those that decide neither what a service answers nor what it is asked.
PAYING_KEYS: Final = ("batch_size", *(name for name in HOSTED_KEYS if name not in ("base_url", "encoding")))
