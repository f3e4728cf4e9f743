"""The tables of a sweep file beyond those of a pipeline file: their keys and accepted values.

The pipeline tables are in retrieval/pipeline/config.py; here they may contain lists, which `grid.py` expands to
systems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from trueval.golden.build.golden_tables import JUDGE as GOLDEN_JUDGE
from trueval.policy.policy import OPTIONS, OURS
from trueval.probes.ablations import ABLATIONS
from trueval.probes.query_noise import LANGUAGES, LEVELS
from trueval.retrieval.pipeline.config import Where, check_table
from trueval.retrieval.pipeline.rewriting import AS_IS, NORMALISED
from trueval.specs import Parameter, Value, choice, flag, number_in_range, text, whole

STAGES_BY_METHOD: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "dense": ("embed", "index"),
        "sparse": ("sparse",),
        "hybrid": ("embed", "index", "sparse", "fuse"),
    }
)
RERANK: Final = "+rerank"
METHODS: Final = tuple(f"{name}{end}" for end in ("", RERANK) for name in STAGES_BY_METHOD)


def several(one: Parameter, *, least: int = 1, most: int | None = None) -> Parameter:
    """A parameter that is one value or a list, stored as a tuple.

    Args:
        one: what each value must be.
        least: values that there must be.
        most: values that there may be; None for any number.

    >>> several(whole(None, 1, "documents")).check([10, 20]), several(whole(None, 1, "documents")).check(5)
    ((10, 20), (5,))
    """

    def check(value: Any) -> Any:
        values = value if isinstance(value, list | tuple) else [value]
        too_many = most is not None and len(values) > most
        if len(values) < least or too_many or len(set(map(repr, values))) < len(values):
            raise ValueError(value)
        return tuple(one.check(each) for each in values)

    default = one.default if one.default is None or isinstance(one.default, tuple) else (one.default,)
    accepts = f"{one.accepts}, or a list of different ones" if most is None else f"a list of {most}, each {one.accepts}"
    return Parameter(default, accepts, check, one.about)  # type: ignore[arg-type]


def _any(about: str) -> Parameter:
    """A parameter that is validated elsewhere."""

    def check(value: Value) -> Value:
        return value

    return Parameter(None, "as in evaluate", check, about)


def _of(names: tuple[str, ...], about: str) -> Parameter:
    return choice(names[0], *names[1:], about=about)


def _level(value: Any) -> Any:
    if isinstance(value, bool) or value not in range(1, len(LEVELS)):
        raise ValueError(value)
    return value


_SECONDS: Final = 86_400.0
_MONEY: Final = 1e12

QUERIES: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "path": text(None, "file or folder of the queries, instead of the collection's"),
        "sample": whole(None, 1, "queries that are drawn at random, by seed of [measure]; all by default"),
        "rewrite": several(text(AS_IS, f"'{AS_IS}', '{NORMALISED}', or a file of the texts, as queries.jsonl")),
    }
)
MEASURE: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "names": several(text(None, "measures, the first of them the quality; @K takes each number of contexts")),
        "judgments": text(None, "file of the judgments; those of the collection by default"),
        "grades": text(None, "grades to use instead of those of the judgments, such as 0:1,1:3,2:4"),
        "unjudged": number_in_range(None, 0, 1e9, "grade of documents that a run lists and nobody graded"),
        "convention": text(None, "do as another tool does"),
        "level": number_in_range(0.95, 0.5, 1, "of intervals", below=True, above=True),
        "resamples": whole(2000, 100, "times that queries are drawn for the intervals"),
        "seed": whole(0, 0, "of everything random"),
        **{name: _any(option.about) for name, option in OPTIONS.items() if name != "seed" and hasattr(OURS, name)},
    }
)
PRICES: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "book": text(None, "file of prices; the one of the package by default"),
        "rerank": text(None, "name of the book whose price a reranker that runs here has"),
        "embed": text(None, "name of the book whose price an embedder that runs here has"),
        "generator": text(None, "name of the book of the model that gets the contexts"),
        "candidate_tokens": number_in_range(None, 0, 1e9, "tokens of a document; measured by default", above=True),
    }
)
LATENCY: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "queries": whole(30, 0, "queries that are timed; 0 measures nothing"),
        "repeats": whole(3, 1, "times that each of them is timed"),
        "warmup": whole(2, 0, "queries before, which are not counted"),
        "concurrency": several(whole(None, 1, "queries under way at once, in closed loops")),
        "rates": several(number_in_range(None, 0, 1e6, "queries a second, in open loops", above=True)),
        "band_ms": number_in_range(
            None, 0, _SECONDS * 1e3, "latencies that differ by no more tie; measured jitter by default"
        ),
    }
)
LIMITS: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "latency_ms": number_in_range(None, 0, _SECONDS * 1e3, "that an answer may take", above=True),
        "cost": number_in_range(None, 0, _MONEY, "that 1,000 queries may cost"),
        "quality": number_in_range(None, -_MONEY, _MONEY, "that is needed"),
        "sure": number_in_range(None, 0, 1, "share of resamples in which limits must be kept; half of them by default"),
        "slo_ms": several(
            number_in_range(None, 0, _SECONDS * 1e3, "latencies of which each has a frontier", above=True)
        ),
        "percentile": choice("p50", "p95", "p99", about="of the latency"),
        "configurations": whole(10_000, 1, "that the lists of the file may make, each K counted"),
    }
)
TUNE: Final[Mapping[str, Parameter]] = MappingProxyType(
    {"within": number_in_range(0.02, 0, 1, "part of the quality of exact search that may be lost")}
)
ROUTE: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "depths": several(whole(None, 1, "fewer and more candidates of the reranker"), least=2, most=2),
        "drop": flag(False, "whether how far chatter moves a query is a further signal, at the price of a pair"),
        "level": Parameter(4, "an integer from 1 to 4", _level, "of that chatter"),
        "language": _of(LANGUAGES, "of that chatter"),
    }
)
JUDGE: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "depth": whole(None, 1, "first documents of each list that are judged; the greatest K by default"),
        "scale": text(None, "grades of these judgments for those of the judge, such as 1:0,2:0,3:1,4:2,5:3"),
        **GOLDEN_JUDGE,
    }
)

PROBES: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "names": flag(True, "whether scorers are asked to keep names apart"),
        "noise": flag(True, "whether the queries are searched with chatter too"),
        "language": _of(LANGUAGES, "of bundles and chatter"),
        "queries": whole(50, 2, "of each probe, at most"),
        "runs": whole(3, 1, "of the probe of names, each with other impostors"),
        "level": Parameter(4, "an integer from 1 to 4", _level, "of the chatter"),
        "ablations": replace(
            several(_of(tuple(ABLATIONS), "changes of names that have a column")),
            default=("gibberish_name", "edit_distance_near_miss", "initials_form"),  # type: ignore[arg-type]
        ),
    }
)

# Tables that are there only where a file has them.
ASKED_FOR: Final = ("tune", "route", "judge", "probes")
# Table → its keys, of those that a pipeline file does not have.
SWEEP_TABLES: Final[Mapping[str, Mapping[str, Parameter]]] = MappingProxyType(
    {
        "queries": QUERIES,
        "measure": MEASURE,
        "prices": PRICES,
        "latency": LATENCY,
        "limits": LIMITS,
        "tune": TUNE,
        "route": ROUTE,
        "judge": JUDGE,
        "probes": PROBES,
    }
)
METHOD_NAMES: Final = several(_of(METHODS, "stages that a system has; by default all that have a table"))
CONTEXTS: Final = several(whole(None, 1, "documents in a prompt, K"))
# Keys of these without which a table that is there cannot be used.
NEEDED: Final = {"route": "depths"}


def own_table(name: str, tables: Mapping[str, Any], place: Where) -> dict[str, Any]:
    """The values of a sweep-only table, with defaults for missing keys.

    Args:
        name: of the table.
        tables: of the file.
        place: of a table, or a key of it, in the file.

    Raises:
        InputError: it is no table, a key or a value is none of it, or it lacks a key.
    """
    given = tables.get(name, {})
    if not isinstance(given, Mapping):
        raise place(name).error(f"{name} must be a table, [{name}]. Got {given!r}.")
    values, needed = check_table(name, given, SWEEP_TABLES[name], place), NEEDED.get(name)
    if name in tables and needed is not None and values[needed] is None:
        raise place(name).error(f"[{name}] needs {needed}: {SWEEP_TABLES[name][needed].about}.")
    return values


def check_limits(tables: Mapping[str, Mapping[str, Any]], place: Where, *, priced: bool) -> None:
    """Refuse limits on unknown quantities: cost without prices, latency without timing.

    Args:
        tables: [limits] and [latency] among them.
        place: of a key in the file.
        priced: whether anything may cost money.

    Raises:
        InputError: with the table to add.
    """
    if tables["limits"]["cost"] is not None and not priced:
        raise place("limits", "cost").error(
            "nothing has a cost here, so none can keep a limit of it. "
            'Add a name of the price book, such as [prices] generator = "gpt-5-mini".'
        )
    if tables["limits"]["latency_ms"] is not None and not tables["latency"]["queries"]:
        raise place("limits", "latency_ms").error(
            "[latency] queries is 0, so that nothing is timed and none can keep a limit of latency. Time some queries."
        )
