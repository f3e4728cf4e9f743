"""Prediction: do the queries that a probe flags lose most quality when their text is changed?

A probe gives each query a signal under a condition (the query with noise, without its accents, ...), and a measure
gives its loss of quality. Both are oriented so that larger is worse: a correlation above 0 means that the probe
predicts losses, one around 0 that it does not:

    drop       1 - cosine of the query and its changed form
    overlap    1 - share of the first K documents that both find
    margin     -(score of the first document - score of the next), of the query as it was
    loss       measure of the query as it was - measure of its changed form

P-B section 4.5 says that such diagnostics "predict set quality" but reports no correlation; here it is estimated with
an interval. Pooled correlations rank queries within each model and condition, so that a model which is worse in both,
or a harder condition, does not count as prediction; `across` ranks all of them together, which is what a scatter plot
of everything seems to show.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.errors import InputError
from trueval.probes.correlation import Correlation, Correlations, CorrelationStratum, across, correlate
from trueval.probes.prediction_result import ModelOrder, PooledEntry, PredictionSummary, SignalEntry
from trueval.report.result import ResultHolder
from trueval.standings.standings import Floats

COLUMNS: Final = ("model", "condition", "signal", "measure", "query_id", "danger", "loss")
ALL: Final = "all"
MARGIN: Final = "margin"
# Minimum number of models: below it, a perfect order occurs by chance with probability 2 / n! > 1/20.
MODELS: Final = 5
# Maximum number of models whose orders are all enumerated: 8! = 40,320.
LISTED: Final = 8


class SignalCorrelation(NamedTuple):
    """How well a signal of one model predicts losses under one condition.

    Attributes:
        condition: change of the queries.
        found: the correlations.
        lost: share of the queries whose value fell.
        gained: share of the queries whose value rose.
        danger: mean of the signal; NaN if unknown.
        loss: mean of the loss.
    """

    name: str
    condition: str
    signal: str
    measure: str
    found: Correlations
    lost: float
    gained: float
    danger: float
    loss: float

    def entry(self) -> SignalEntry:
        """The row of the result."""
        return SignalEntry(
            self.name,
            self.condition,
            self.signal,
            self.measure,
            **self.found.entry(),
            lost=self.lost,
            gained=self.gained,
            danger=self.danger,
            loss=self.loss,
        )


class PooledCorrelation(NamedTuple):
    """How well a signal predicts losses within models and conditions, pooled.

    Attributes:
        condition: "all", or one condition.
        models: names of the models.
        strata: number of pairs of a model and a condition in which both vary, and number of all pairs.
        found: correlations within strata.
        across: Spearman's correlation with all ranks in one list, which includes differences between models and
            conditions.
    """

    condition: str
    signal: str
    measure: str
    models: tuple[str, ...]
    strata: tuple[int, int]
    found: Correlations
    across: Correlation

    def entry(self) -> PooledEntry:
        """The row of the result."""
        used, of = self.strata
        return PooledEntry(
            self.condition,
            self.signal,
            self.measure,
            self.models,
            used,
            of,
            **self.found.entry(),
            across=self.across.entry(),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(ResultHolder):
    """How well probes predict losses.

    Attributes:
        models: one row per model, condition, signal and measure.
        pooled: one row per signal and measure, over all conditions and for each.
        orders: whether each signal orders the models by their losses.
        about: fields of the result: the collection and the settings.
    """

    models: tuple[SignalCorrelation, ...]
    pooled: tuple[PooledCorrelation, ...]
    orders: tuple[ModelOrder, ...]
    queries: int
    level: float
    resamples: int
    seed: int
    about: dict[str, Any]
    notes: tuple[str, ...] = ()

    def with_notes(self, about: Mapping[str, object], notes: Sequence[str]) -> Prediction:
        """The prediction with its provenance added.

        Args:
            about: metadata of the result.
        """
        return replace(self, about={**self.about, **about}, notes=(*self.notes, *notes))

    def result(self) -> PredictionSummary:
        """The rows without what they were computed from."""
        return PredictionSummary(
            **self.about,
            queries=self.queries,
            level=self.level,
            resamples=self.resamples,
            seed=self.seed,
            models=tuple(each.entry() for each in self.models),
            pooled=tuple(each.entry() for each in self.pooled),
            orders=self.orders,
            notes=self.notes,
        )


class PredictionChoices(NamedTuple):
    """Options of the correlations.

    Attributes:
        threads: number of threads; does not affect the result.
    """

    level: float = 0.95
    resamples: int = 2000
    seed: int = 0
    threads: int | None = None


def predict(rows: pl.DataFrame, choices: PredictionChoices | None = None) -> Prediction:
    """Correlate probe signals with losses of queries.

    Args:
        rows: columns model, condition, signal, measure, query_id, danger, loss, with one row per query; danger and loss
            are null or NaN if unknown.

    Raises:
        InputError: a column is missing, or a query comes twice.

    >>> drop, lost = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.0, 0.0, 0.5, 0.25, 0.5, 1.0]
    >>> found = predict(pl.DataFrame({
    ...     "model": "m", "condition": "noise 4", "signal": "drop", "measure": "R@10",
    ...     "query_id": list("abcdef"), "danger": drop, "loss": lost,
    ... }), PredictionChoices(resamples=100))
    >>> round(found.models[0].found.spearman.value, 3), round(found.models[0].lost, 3)
    (0.883, 0.667)
    """
    choices = choices or PredictionChoices()
    table = _Table.of(rows)
    models = tuple(table.correlate_signals(choices))
    pooled = tuple(table.pool(choices))
    return Prediction(models, pooled, tuple(table.orders()), len(table.ids), *choices[:3], {})


class _Table(NamedTuple):
    """Signals and losses as vectors over the same queries.

    Attributes:
        strata: (model, condition, signal, measure) → vectors.
    """

    ids: tuple[str, ...]
    strata: dict[tuple[str, str, str, str], CorrelationStratum]

    @classmethod
    def of(cls, rows: pl.DataFrame) -> _Table:
        missing = [name for name in COLUMNS if name not in rows.columns]
        if missing:
            raise InputError(f"The table of a prediction has no column {', '.join(missing)}.")
        keys = list(COLUMNS[:4])
        if rows.select(COLUMNS[:5]).is_duplicated().any():
            raise InputError("A query has two values of one model, condition, signal and measure. Give each once.")
        ids = rows["query_id"].unique(maintain_order=True).to_list()
        places = {query: place for place, query in enumerate(ids)}
        strata = {}
        for key, part in rows.group_by(keys, maintain_order=True):
            x, y = np.full(len(ids), np.nan), np.full(len(ids), np.nan)
            place = [places[query] for query in part["query_id"].to_list()]
            values = (part[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("danger", "loss"))
            x[place], y[place] = values
            model, condition, signal, measure = map(str, key)
            strata[model, condition, signal, measure] = CorrelationStratum(x, y)
        return cls(tuple(ids), strata)

    def correlate_signals(self, choices: PredictionChoices) -> Iterator[SignalCorrelation]:
        """Correlations of each model under each condition."""
        for key, stratum in self.strata.items():
            found = correlate([stratum], **choices._asdict(), names=(key[2], f"the change in {key[3]}"))
            known = stratum.known
            x, y = stratum.x[known], stratum.y[known]
            shares = (float(each.mean()) if len(x) else np.nan for each in (y > 0, y < 0, x, y))
            yield SignalCorrelation(*key, found, *shares)

    def pool(self, choices: PredictionChoices) -> Iterator[PooledCorrelation]:
        """Correlations pooled over models and conditions for each signal and measure, then per condition."""
        conditions = list(dict.fromkeys(key[1] for key in self.strata))
        for signal, measure in dict.fromkeys(key[2:] for key in self.strata):
            for condition in (ALL, *conditions) if len(conditions) > 1 else (ALL,):
                chosen = self._select(condition, signal, measure)
                names = tuple(dict.fromkeys(key[0] for key in chosen))
                if len(chosen) < 2:
                    continue
                strata = list(chosen.values())
                found = correlate(strata, **choices._asdict(), names=(signal, f"the change in {measure}"))
                used = sum(not each.lacks for each in strata)
                together = across(strata, **choices._asdict())
                yield PooledCorrelation(condition, signal, measure, names, (used, len(strata)), found, together)

    def _select(self, condition: str, signal: str, measure: str) -> dict[tuple[str, ...], CorrelationStratum]:
        return {
            key: each
            for key, each in self.strata.items()
            if key[2:] == (signal, measure) and condition in (ALL, key[1])
        }

    def orders(self) -> Iterator[ModelOrder]:
        """Rank agreement of models with their losses, over the conditions common to all."""
        for signal, measure in dict.fromkeys(key[2:] for key in self.strata):
            if signal == MARGIN:  # margins of a cosine and of BM25 have no common unit
                continue
            means: dict[str, list[Floats]] = {}
            for (model, *_), each in self._select(ALL, signal, measure).items():
                known = each.known
                if known.any():
                    means.setdefault(model, []).append(np.array([each.x[known].mean(), each.y[known].mean()]))
            most = max((len(each) for each in means.values()), default=0)
            kept = [np.mean(each, axis=0) for each in means.values() if len(each) == most]
            yield order_of(ALL, signal, measure, np.array(kept).reshape(-1, 2))


def order_of(condition: str, signal: str, measure: str, means: Floats) -> ModelOrder:
    """Whether a probe ranks models by their loss, with the probability by chance.

    Args:
        condition: "all", or one condition.
        means: [model, 2] mean signal and mean loss.

    >>> order_of("all", "drop", "R@10", np.array([[0.1, 0.0], [0.2, 0.1], [0.3, 0.2]])).told
    'It cannot be known from 3 models: even a perfect order of them, or its reverse, happens by chance 1 time in 3.'
    """
    models = len(means)
    tau = _tau(means[:, 0], means[:, 1])
    p = _chance(means, tau)
    if models < 2:
        told = "It cannot be known from one model."
    elif math.isnan(tau):
        told = "It cannot be known: one of the two is the same for all models."
    elif models < MODELS:
        often = f"1 time in {math.factorial(models) // 2}" if models > 2 else "every time"
        told = (
            f"It cannot be known from {models} models: even a perfect order of them, or its reverse, happens by chance"
        )
        told = f"{told} {often}."
    else:
        beside = "" if math.isnan(p) else f"; of all orders of the models {p:.1%} agree or disagree as much"
        told = f"Kendall's tau-b of {models} models is {tau:.2f}{beside}."
    return ModelOrder(condition, signal, measure, models, tau, p, told)


def _chance(means: Floats, tau: float) -> float:
    """Share of all permutations with at least this agreement in absolute value; NaN where too many, or unknown."""
    models = len(means)
    if models < 2 or models > LISTED or math.isnan(tau):
        return math.nan
    orders = (_tau(means[:, 0], means[list(order), 1]) for order in permutations(range(models)))
    return sum(abs(each) >= abs(tau) - 1e-12 for each in orders) / math.factorial(models)


def _tau(x: Floats, y: Floats) -> float:
    """Kendall's tau-b of few values."""
    signs = [np.sign(values[:, None] - values) for values in (x, y)]
    scale = math.sqrt(float(np.abs(signs[0]).sum())) * math.sqrt(float(np.abs(signs[1]).sum()))
    return float((signs[0] * signs[1]).sum()) / scale if scale else math.nan
