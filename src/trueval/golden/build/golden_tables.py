"""The tables of a golden-set file beyond those of a pipeline file: their keys and accepted values."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from trueval.golden.build.grade import MODES, GradingSettings
from trueval.golden.build.prune import KEEP
from trueval.golden.judge.model_judge import OPENAI
from trueval.golden.refine.aggregate import AGGREGATES
from trueval.golden.refine.paper_s6 import TURNS
from trueval.golden.refine.posterior_s6 import OVERLAP
from trueval.retrieval.pipeline.rewriting import AS_IS, NORMALISED
from trueval.specs import Parameter, choice, flag, number_in_range, text, whole

JUDGE_REWRITES: Final = "judge"
# Pipeline tables that a golden set accepts: those that find the pools.
RETRIEVAL: Final = ("corpus", "embed", "index", "sparse", "fuse")
METHODS: Final = ("posterior", "paper", "none")
_MONEY: Final = 1e9
_GRADES: Final = 100.0


def _of(names: tuple[str, ...], about: str) -> Parameter:
    return choice(names[0], *names[1:], about=about)


def _text_parameter(about: str) -> Parameter:
    """A text parameter that may be empty."""

    def check(value: Any) -> Any:
        if not isinstance(value, str):
            raise ValueError(value)
        return value

    return Parameter(None, "a text", check, about)


QUERIES: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "path": text(None, "file or folder of the queries, instead of the collection's"),
        "sample": whole(None, 1, "queries that are drawn at random, by seed of [golden]; all by default"),
        "rewrite": text(
            AS_IS, f"'{AS_IS}', '{NORMALISED}', '{JUDGE_REWRITES}', or a file of the texts, as queries.jsonl"
        ),
    }
)
POOL: Final[Mapping[str, Parameter]] = MappingProxyType(
    {"depth": whole(50, 1, "documents of each search; the pool is all that either found")}
)
PARAMETERS: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "temperature": number_in_range(None, 0, 2, "of the model; its own by default"),
        "top_p": number_in_range(None, 0, 1, "of the model"),
        "seed": whole(None, 0, "of the model, where the server takes one"),
        "max_tokens": whole(None, 1, "of an answer, as servers call it that are not OpenAI's"),
        "max_completion_tokens": whole(None, 1, "of an answer"),
        "reasoning_effort": text(None, "of models that reason"),
    }
)
ERRORS: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "noise": number_in_range(None, 0, _GRADES, "of labels as a judge: grades, drawn anew for each call"),
        "persistent": number_in_range(None, 0, _GRADES, "of labels: grades, drawn once for each query and passage"),
        "position": number_in_range(None, -_GRADES, _GRADES, "of labels: what the first slot gains over the last"),
        "length": number_in_range(None, -_GRADES, _GRADES, "of labels: what a passage gains that is e times as long"),
        "gross": number_in_range(None, 0, 1, "of labels: share of grades that are drawn at random"),
        "invalid": number_in_range(None, 0, 1, "of labels: share of passages that get no grade"),
    }
)
JUDGE: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "model": text(None, "as the server calls it; labels:FILE, or replay:LEDGER#NAME"),
        "base_url": text(OPENAI, "where the server is"),
        "api_key_env": _text_parameter(
            "the environment variable that holds the key, empty for none; OPENAI_API_KEY at OpenAI, else none"
        ),
        "timeout": number_in_range(120, 0, 86_400, "seconds that an answer may take", above=True),
        "prompt": text("grade-1-5", "for grades, by name or as a .toml file"),
        "mode": _of(MODES, "a few passages a call, one, or the whole pool"),
        "batch": whole(GradingSettings().batch, 1, "passages of a call"),
        "rounds": whole(GradingSettings().rounds, 1, "times that each passage is shown"),
        "aggregate": _of(tuple(AGGREGATES), "what makes one grade of several labels"),
        "repeat": whole(0, 0, "calls of each task that are asked once more, to see what differs"),
        "concurrency": whole(8, 1, "calls under way at once, at most"),
        "max_cost": number_in_range(
            None, 0, _MONEY, "what may be spent on the golden set, in the currency of the prices"
        ),
        "price_per_million_input": number_in_range(None, 0, _MONEY, "what a million tokens of prompts cost"),
        "price_per_million_output": number_in_range(None, 0, _MONEY, "what a million tokens of answers cost"),
        **PARAMETERS,
        "grades": text(None, "of labels:FILE: grades of the rubric for those of the file, such as 0:1,1:3,2:5"),
        "unknown": whole(None, 1, "of labels:FILE: grade of what has no label; refused by default"),
        **ERRORS,
    }
)
# Keys of [judge] for labels only, and for a model only.
LABEL_KEYS: Final = ("grades", "unknown", *ERRORS)
MODEL_KEYS: Final = ("base_url", "api_key_env", "timeout", "prompt", "price_per_million_input", *PARAMETERS)
PRUNE: Final[Mapping[str, Parameter]] = MappingProxyType(
    {"keep": whole(KEEP, 1, "passages of a query that go into the refinement, by buckets of grades")}
)
REFINE: Final[Mapping[str, Parameter]] = MappingProxyType(
    {
        "method": _of(METHODS, "a posterior; as published; or no refinement"),
        "top": whole(20, 1, "passages that are returned"),
        "batch": whole(5, 2, "passages of a call"),
        "parallel": whole(4, 1, "calls of one round of a query"),
        "overlap": number_in_range(
            OVERLAP, 0, 1, "share of the returned that are expected to belong, at which it stops"
        ),
        "calls": whole(60, 0, "for each query, at most"),
        "slot_bias": flag(False, "whether being shown first or last is taken to move the judge"),
        "gross": number_in_range(
            None,
            0,
            1,
            "share of grades that are taken to be grossly wrong; by default what several rounds say, or 0.05",
            below=True,
        ),
        "turns": whole(TURNS, 1, "of the published method: turns in which the best stay the same"),
        "regrade": flag(False, "whether passages whose order contradicts their grades are graded once more"),
    }
)
GOLDEN: Final[Mapping[str, Parameter]] = MappingProxyType({"seed": whole(0, 0, "of everything random")})
GOLDEN_TABLES: Final[Mapping[str, Mapping[str, Parameter]]] = MappingProxyType(
    {"queries": QUERIES, "pool": POOL, "judge": JUDGE, "prune": PRUNE, "refine": REFINE, "golden": GOLDEN}
)
