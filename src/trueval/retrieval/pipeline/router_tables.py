"""The tables of router.toml, declared once. Production reads the file without them: router.py."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from trueval.files.toml_tables import Count, OneOf, Table, Text, key
from trueval.retrieval.pipeline.router import FEATURES, LOGIT, PROBABILITY

Feature = Annotated[str, OneOf(FEATURES)]
Real = Annotated[float, Field(allow_inf_nan=False)]


class Rule(Table):
    """Which queries get more candidates."""

    rule: Text = key(..., "its name: a feature, or linear for the gain predicted from several")
    fewer: Count = key(..., "candidates of most queries")
    more: Count = key(..., "candidates of queries whose need reaches the threshold")
    threshold: Annotated[float, Field(allow_inf_nan=True)] = key(..., "least need of a hard query; inf for none")
    constant: Real = key(0.0, "added to the weighted features")
    top: int = key(10, "rank of the second score of the margin", ge=2)
    scale: Annotated[str, OneOf((PROBABILITY, LOGIT))] = key(..., "of the reranker's scores")


class Certificate(Table):
    """What was promised, and of which queries."""

    measure: Text = key(..., "of the loss")
    method: Literal["conformal risk control", "learn then test"] = key(..., "in expectation, or at a level")
    epsilon: Real = key(..., "loss against always more that is promised not to be exceeded", gt=0)
    level: Real = key(None, "of Learn then Test", gt=0, lt=1)
    queries: Count = key(..., "that it was certified on")
    chosen_on: Count = key(..., "further queries that the rule was chosen on")
    loss: Real = key(..., "mean positive part of the loss over the certified queries", ge=0)
    net: Real = key(..., "mean loss, gains of fewer candidates subtracted")
    share: Real = key(..., "share of these queries with more candidates", ge=0, le=1)
    seed: int = key(..., "of the division into halves", ge=0)
    needs: list[Real] = key(..., "of these queries, with which served ones are compared")


class RouterSource(Table):
    """The sweep that it comes from."""

    name: Text = key(None, "of the sweep")
    sha256: Text = key(..., "of its sweep.json")
    system: Text = key(..., "that was routed")


class RouterFile(Table):
    """A router: how many candidates the reranker gets for a query, from scores alone."""

    format: Literal[1] = key(..., "of this file")
    router: Rule = key(...)
    weights: dict[Feature, Real] = key(..., "of the features whose sum is the need")
    certificate: Certificate = key(...)
    sweep: RouterSource = key(...)
    pipeline: dict[str, Any] = key(..., "settings that decide the scores, as table.key")
