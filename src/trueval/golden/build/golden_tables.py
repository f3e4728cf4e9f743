"""The tables of a golden-set file beside those of a pipeline; a sweep has [queries] and [judge] too."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from trueval.files.toml_tables import Count, Number, OneOf, Table, Text, key
from trueval.golden.build.grade import MODES, GradingSettings
from trueval.golden.build.prune import KEEP
from trueval.golden.judge.model_judge import OPENAI
from trueval.golden.refine.aggregate import AGGREGATES
from trueval.golden.refine.paper_s6 import TURNS
from trueval.golden.refine.posterior_s6 import OVERLAP
from trueval.retrieval.pipeline.pipeline_tables import Corpus, Embed, Fuse, IndexTable, Queries, Sparse

_MONEY: Final = 1e9
_GRADES: Final = 100.0
Whole = Annotated[int, Field(ge=0)]


class Pool(Table):
    """Which passages are judged."""

    depth: Count = key(50, "documents of each search; the pool is all that either found")


class _Labels(Table):
    grades: Text = key(None, "of labels:FILE: grades of the rubric for those of the file, such as 0:1,1:3,2:5")
    unknown: Count = key(None, "of labels:FILE: grade of what has no label; refused by default")


class Errors(Table):
    """The errors of labels that stand for a judge."""

    noise: Number = key(None, "of labels as a judge: grades, drawn anew for each call", ge=0, le=_GRADES)
    persistent: Number = key(None, "of labels: grades, drawn once for each query and passage", ge=0, le=_GRADES)
    position: Number = key(None, "of labels: what the first slot gains over the last", ge=-_GRADES, le=_GRADES)
    length: Number = key(None, "of labels: what a passage gains that is e times as long", ge=-_GRADES, le=_GRADES)
    gross: Number = key(None, "of labels: share of grades that are drawn at random", ge=0, le=1)
    invalid: Number = key(None, "of labels: share of passages that get no grade", ge=0, le=1)


class Parameters(Table):
    """What a request to a model says beside its prompt."""

    temperature: Number = key(None, "of the model; its own by default", ge=0, le=2)
    top_p: Number = key(None, "of the model", ge=0, le=1)
    seed: Whole = key(None, "of the model, where the server takes one")
    max_tokens: Count = key(None, "of an answer, as servers call it that are not OpenAI's")
    max_completion_tokens: Count = key(None, "of an answer")
    reasoning_effort: Text = key(None, "of models that reason")


class _JudgeSettings(Table):
    model: Text = key(..., "as the server calls it; labels:FILE, or replay:LEDGER#NAME")
    base_url: Text = key(OPENAI, "where the server is")
    api_key_env: str = key(
        None, "the environment variable that holds the key, empty for none; OPENAI_API_KEY at OpenAI, else none"
    )
    timeout: Number = key(120, "seconds that an answer may take", gt=0, le=86_400)
    prompt: Text = key("grade-1-5", "for grades, by name or as a .toml file")
    mode: Annotated[str, OneOf(MODES)] = key(GradingSettings().mode, "a few passages a call, one, or the whole pool")
    batch: Count = key(GradingSettings().batch, "passages of a call")
    rounds: Count = key(GradingSettings().rounds, "times that each passage is shown")
    aggregate: Annotated[str, OneOf(tuple(AGGREGATES))] = key(
        GradingSettings().aggregate, "what makes one grade of several labels"
    )
    repeat: Whole = key(0, "calls of each task that are asked once more, to see what differs")
    concurrency: Count = key(8, "calls under way at once, at most")
    max_cost: Number = key(None, "what may be spent on the golden set, in the currency of the prices", ge=0, le=_MONEY)
    price_per_million_input: Number = key(
        None, "what a million tokens of prompts cost; that of the book", ge=0, le=_MONEY
    )
    price_per_million_output: Number = key(
        None, "what a million tokens of answers cost; that of the book", ge=0, le=_MONEY
    )
    book: Text = key(None, "price book, instead of that of the package")


class JudgeTable(Errors, _Labels, Parameters, _JudgeSettings):
    """Who grades passages: a model, labels with stated errors, or the answers in a ledger."""


# Keys of [judge] for labels only, and for a model only.
LABEL_KEYS: Final = ("grades", "unknown", *Errors.model_fields)
MODEL_KEYS: Final = (
    *("base_url", "api_key_env", "timeout", "prompt", "price_per_million_input", "book"),
    *Parameters.model_fields,
)


class Prune(Table):
    """Which graded passages are worth refining."""

    keep: Count = key(KEEP, "passages of a query that go into the refinement, by buckets of grades")


class Refine(Table):
    """How the best passages are ordered."""

    method: Literal["posterior", "paper", "none"] = key("posterior", "a posterior; as published; or no refinement")
    top: Count = key(20, "passages that are returned")
    batch: int = key(5, "passages of a call", ge=2)
    parallel: Count = key(4, "calls of one round of a query")
    overlap: Number = key(OVERLAP, "share of the returned that are expected to belong, at which it stops", ge=0, le=1)
    calls: Whole = key(60, "for each query, at most")
    slot_bias: bool = key(False, "whether being shown first or last is taken to move the judge")
    gross: Number = key(
        None,
        "share of grades that are taken to be grossly wrong; by default what several rounds say, or 0.05",
        ge=0,
        lt=1,
    )
    turns: Count = key(TURNS, "of the published method: turns in which the best stay the same")
    regrade: bool = key(False, "whether passages whose order contradicts their grades are graded once more")


class Golden(Table):
    """The golden set as a whole."""

    seed: Whole = key(0, "of everything random")


class GoldenFile(Table):
    """A golden set: what finds the pools, and who judges them."""

    corpus: Corpus = key(...)
    queries: Queries = Field(default_factory=Queries)
    embed: Embed = key(None)
    index: IndexTable = key(None)
    sparse: Sparse = key(None)
    fuse: Fuse = key(None)
    pool: Pool = Field(default_factory=Pool)
    judge: JudgeTable = key(...)
    prune: Prune = Field(default_factory=Prune)
    refine: Refine = Field(default_factory=Refine)
    golden: Golden = Field(default_factory=Golden)


class JudgeFile(Table):
    """A judge that is used outside a golden set."""

    judge: JudgeTable = key(...)
    golden: Golden = Field(default_factory=Golden)
