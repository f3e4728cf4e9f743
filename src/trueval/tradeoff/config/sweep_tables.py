"""The tables of a sweep file, declared once: those of a pipeline, whose values may be lists, and its own."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, create_model

from trueval.answers.generation.generation_tables import Answerer
from trueval.files.toml_tables import (
    AS_GIVEN,
    AS_TUPLE,
    DIFFERENT,
    Count,
    Number,
    OneOf,
    Several,
    Table,
    Text,
    key,
    with_lists,
)
from trueval.golden.build.golden_tables import JudgeTable, Whole
from trueval.policy.policy import OPTIONS, OURS
from trueval.probes.ablations import ABLATIONS
from trueval.probes.query_noise import LANGUAGES, LEVELS
from trueval.retrieval.pipeline.pipeline_tables import TABLES, Corpus, Queries
from trueval.tradeoff.config.grid import METHODS

_MILLISECONDS: Final = 86_400_000.0
_MONEY: Final = 1e12
Language = Annotated[str, OneOf(LANGUAGES)]


class Rewrites(Table):
    """How the queries are written."""

    rewrite: Several[Text] = key(["as is"], str(Queries.model_fields["rewrite"].description), validate_default=True)


SweepQueries = create_model("Queries", __base__=(Rewrites, Queries), __doc__=Queries.__doc__)


class SweptContexts(Table):
    """What a prompt takes of the run."""

    contexts: Several[Count] = key([10], "documents in a prompt, K", validate_default=True)


SweepGenerate = create_model(
    "Generate",
    __base__=(SweptContexts, with_lists(Answerer)),
    __doc__="What a prompt takes of the run; with a model, who answers: each configuration has its answers.",
)


class SweepAnswers(Table):
    """What the answers of [generate] are held against. Their measure is the quality."""

    references: Text = key(
        ..., "reference answers, one JSON object a question: query_id, and reference, maybe answerable"
    )
    measure: Several[Text] = key(
        None, "of answers, the first of them the quality: correctness with a judge, else token-F1"
    )
    orders: Count = key(4, "orders of a context with ties that are tried: all where there are no more, else drawn")
    judge: JudgeTable = key(None, "who judges them; without it they are compared with references by words")


class _Quality(Table):
    names: Several[Text] = key(None, "measures, the first of them the quality; @K takes each number of contexts")
    judgments: Text = key(None, "file of the judgments; those of the collection by default")
    grades: Text = key(None, "grades to use instead of those of the judgments, such as 0:1,1:3,2:4")
    unjudged: Number = key(None, "grade of documents that a run lists and nobody graded", ge=0, le=1e9)
    convention: Text = key(None, "do as another tool does")
    level: Number = key(0.95, "of intervals", gt=0.5, lt=1)
    resamples: int = key(2000, "times that queries are drawn for the intervals", ge=100)
    seed: Whole = key(0, "of everything random")


# Choices of the policy in [measure].
POLICY: Final = tuple(name for name in OPTIONS if name != "seed" and hasattr(OURS, name))
# The policy checks the values, as in evaluate.
_OPTIONS: Final[dict[str, Any]] = {
    name: (
        Any,
        key(
            None,
            OPTIONS[name].about,
            json_schema_extra={"enum": list(OPTIONS[name].words)} if OPTIONS[name].words else None,
        ),
    )
    for name in POLICY
}
Measure = create_model("Measure", __base__=_Quality, __doc__="How quality is measured.", **_OPTIONS)


class Prices(Table):
    """What is paid."""

    book: Text = key(None, "file of prices; the one of the package by default")
    rerank: Text = key(None, "name of the book whose price a reranker that runs here has")
    embed: Text = key(None, "name of the book whose price an embedder that runs here has")
    generator: Text = key(None, "name of the book of the model that gets the contexts")
    candidate_tokens: Number = key(None, "tokens of a document; measured by default", gt=0, le=1e9)
    answer_tokens: Number = key(
        None,
        "tokens of an answer of generator, at per_million_output of the book; none by default",
        ge=0,
        le=1e9,
    )


class LatencyTable(Table):
    """What is timed."""

    queries: Whole = key(30, "queries that are timed; 0 measures nothing")
    repeats: Count = key(3, "times that each of them is timed")
    warmup: Whole = key(2, "queries before, which are not counted")
    concurrency: Several[Count] = key(None, "queries under way at once, in closed loops")
    rates: Several[Annotated[float, Field(gt=0, le=1e6), AS_GIVEN]] = key(None, "queries a second, in open loops")
    band_ms: Number = key(
        None, "latencies that differ by no more tie; measured jitter by default", ge=0, le=_MILLISECONDS
    )


class Limits(Table):
    """What a configuration must keep to be chosen."""

    latency_ms: Number = key(None, "that an answer may take", gt=0, le=_MILLISECONDS)
    cost: Number = key(None, "that 1,000 queries may cost", ge=0, le=_MONEY)
    quality: Number = key(None, "that is needed", ge=-_MONEY, le=_MONEY)
    sure: Number = key(None, "share of resamples in which limits must be kept; half of them by default", ge=0, le=1)
    slo_ms: Several[Annotated[float, Field(gt=0, le=_MILLISECONDS), AS_GIVEN]] = key(
        None, "latencies of which each has a frontier"
    )
    percentile: Literal["p50", "p95", "p99"] = key("p50", "of the latency")
    configurations: Count = key(10_000, "that the lists of the file may make, each K counted")


class Tune(Table):
    """The least effort of search that loses little."""

    within: Number = key(0.02, "part of the quality of exact search that may be lost", ge=0, le=1)


class Grow(Table):
    """Searches of thinned corpora, from which a larger one is forecast."""

    replicates: Count = key(5, "draws of each share of the unjudged documents below 1", ge=2, le=100)


class RouteTable(Table):
    """The depth of the reranker, chosen query by query."""

    depths: Annotated[list[Count], Field(min_length=2, max_length=2), DIFFERENT, AS_TUPLE] = key(
        ..., "fewer and more candidates of the reranker"
    )
    drop: bool = key(False, "whether how far chatter moves a query is a further signal, at the price of a pair")
    level: int = key(4, "of that chatter", ge=1, le=len(LEVELS) - 1)
    language: Language = key(LANGUAGES[0], "of that chatter")


class _OnDemand(Table):
    depth: Count = key(None, "first documents of each list that are judged; the greatest K by default")
    scale: Text = key(None, "grades of these judgments for those of the judge, such as 1:0,2:0,3:1,4:2,5:3")


class SweepJudge(JudgeTable, _OnDemand):
    """Who labels what the systems found and nobody judged: as in a golden set."""


class Probes(Table):
    """How well models keep names apart, and stand chatter."""

    names: bool = key(True, "whether scorers are asked to keep names apart")
    noise: bool = key(True, "whether the queries are searched with chatter too")
    language: Language = key(LANGUAGES[0], "of bundles and chatter")
    queries: int = key(50, "of each probe, at most", ge=2)
    runs: Count = key(3, "of the probe of names, each with other impostors")
    level: int = key(4, "of the chatter", ge=1, le=len(LEVELS) - 1)
    ablations: Several[Annotated[str, OneOf(tuple(ABLATIONS))]] = key(
        ["gibberish_name", "edit_distance_near_miss", "initials_form"],
        "changes of names that have a column",
        validate_default=True,
    )


class _Methods(Table):
    methods: Several[Annotated[str, OneOf(METHODS)]] = key(
        None, "stages that a system has; by default all that have a table"
    )


# Those of a pipeline, whose values may be lists.
_TABLES: Final[dict[str, Any]] = {
    name: with_lists(table) for name, table in TABLES.items() if name not in ("corpus", "queries", "route", "generate")
}
_TABLES["pipeline"] = create_model(
    "Stages", __base__=(_TABLES["pipeline"], _Methods), __doc__="Which stages there are."
)
_SYSTEMS: Final[dict[str, Any]] = {
    name: (table, key(None)) for name, table in {**_TABLES, "generate": SweepGenerate}.items()
}
Configuration = create_model(
    "Configuration",
    __base__=Table,
    __doc__="Systems with a name: tables that overlay those of the file.",
    name=(Text, key(..., "of the configuration")),
    **_SYSTEMS,
    queries=(Rewrites, key(None)),
)


class OwnTables(Table):
    """The tables that all systems of a sweep share."""

    corpus: Corpus = key(...)
    prices: Prices = Field(default_factory=Prices)
    latency: LatencyTable = Field(default_factory=LatencyTable)
    limits: Limits = Field(default_factory=Limits)
    tune: Tune = key(None)
    grow: Grow = key(None)
    route: RouteTable = key(None)
    answers: SweepAnswers = key(None)
    judge: SweepJudge = key(None)
    probes: Probes = key(None)


SHARED: Final = (*OwnTables.model_fields, "queries", "measure")
SweepFile = create_model(
    "SweepFile",
    __base__=OwnTables,
    __doc__="A sweep: a pipeline file whose values may be lists, and what is measured, paid and limited.",
    queries=(SweepQueries, Field(default_factory=SweepQueries)),
    measure=(Measure, Field(default_factory=Measure)),
    **_SYSTEMS,
    configuration=(list[Configuration], key([], "systems with names, in place of one grid")),  # type: ignore[valid-type]  # made above
)
