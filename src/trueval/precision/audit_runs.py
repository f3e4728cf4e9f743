"""The audit of runs that were scored elsewhere, each of a model in named formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from trueval.errors import InputError, PolicyError
from trueval.numerics import find_format
from trueval.precision.audit import audit
from trueval.precision.regimes import Regime
from trueval.run import Run

if TYPE_CHECKING:
    from trueval.judgments import Judgments
    from trueval.measures.grammar import Measures
    from trueval.policy.policy import Policy
    from trueval.precision.audit_result import Audit

AS_READ: Final = "as read"  # φ of a run: a file does not say how its scores were computed
NAMES: Final = ["query_id", "doc_id"]


def read_regime(name: str) -> Regime:
    """The regime of a run by its name: MODEL:DTYPE, or MODEL:DTYPE:SCORING if scores have a format of their own.

    Args:
        name: such as "minilm:bfloat16:float32".

    Raises:
        PolicyError: the name has no format, or one that is unknown.

    >>> read_regime("minilm:bfloat16").name, read_regime("minilm:bfloat16:float32").label
    ('minilm bfloat16_bfloat16', 'bfloat16_float32')
    """
    model, *formats = name.split(":")
    if not model or len(formats) not in (1, 2):
        raise PolicyError(
            "The name of a run must be MODEL:DTYPE or MODEL:DTYPE:SCORING, such as minilm:bfloat16:float32. "
            f"Got {name!r}."
        )
    dtype, scoring = find_format(formats[0]).name, find_format(formats[-1]).name
    return Regime(model, AS_READ, dtype, scoring)


def audit_runs(
    runs: Mapping[str, Run],
    judgments: Judgments,
    measures: Measures | None = None,
    *,
    policy: Policy | None = None,
    **choices: Any,
) -> Audit:
    """Audit runs of the same queries and documents: `trueval precision runs`.

    Args:
        runs: name → run; `read_regime` reads the names.
        judgments: grades.
        measures: as in `evaluate`.
        policy: as in `evaluate`, like the choices.

    Raises:
        InputError: there is no run, or two do not list the same documents.
        PolicyError: a name or a choice is unknown.

    >>> from trueval import Judgments
    >>> scores = {"m:bfloat16": {"a": 0.5, "b": 0.5}, "m:bfloat16:float32": {"b": 0.499, "a": 0.5}}
    >>> runs = {name: Run.from_dict({"q": each}) for name, each in scores.items()}
    >>> found = audit_runs(runs, Judgments.from_dict({"q": {"a": 1, "b": 0}}), "RR")
    >>> [each.scores.mean("RR").range for each in found.results]
    [0.5, 0.0]
    """
    return audit(align_runs(runs), judgments, measures, policy=policy, **choices)


def align_runs(runs: Mapping[str, Run]) -> dict[Regime, Run]:
    """The runs by regime, their documents in the order of the first, as lists are compared place by place.

    Args:
        runs: name → run.

    Raises:
        InputError: two do not list the same documents, or are of one regime.
        PolicyError: a name is none of a regime.
    """
    found: dict[Regime, Run] = {}
    for name, run in runs.items():
        regime, first = read_regime(name), next(iter(found.values()), run)
        if regime in found:
            raise InputError(f"Two runs are of {regime.name}. Give each model, dtype and scoring once.")
        listed = first.frame.select(NAMES)
        scored = listed.join(run.frame.select(*NAMES, "score"), on=NAMES, how="left", maintain_order="left")
        lacking = scored.filter(pl.col("score").is_null())
        if len(lacking) or len(run.frame) != len(listed):
            query, document = lacking.select(NAMES).row(0) if len(lacking) else _find_extra(run, listed)
            raise InputError(
                f"{name}: it does not list the documents of {next(iter(runs))}: document {document!r} of query "
                f"{query!r} is in one alone. Runs must rank the same candidates, such as those of "
                "trueval retrieve --scoring both."
            )
        found[regime] = Run.from_frame(scored, name=regime.name)
    return found


def _find_extra(run: Run, listed: pl.DataFrame) -> tuple[str, str]:
    """A document of a run that the first run does not list."""
    query, document = run.frame.join(listed, on=NAMES, how="anti").select(NAMES).row(0)
    return query, document
