"""Predictions from tables of signals and losses: what is told of each model, of all, and of the order of models."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau, spearmanr

from trueval.errors import InputError
from trueval.probes.prediction import PredictionChoices, order_of, predict
from trueval.probes.prediction_result import JoinedCollection

FAST = PredictionChoices(resamples=50, threads=1)


ABOUT = {
    "collection": JoinedCollection("made", "made", 3, 30, {}),
    "policy": {},
    "measures": ("R@10",),
    "k": 10,
    "systems": (),
    "conditions": (),
}


def table(rng: np.random.Generator, models: tuple[str, ...] = ("a", "b"), queries: int = 30) -> pl.DataFrame:
    """Signals that tell of losses, of some models under two conditions; a query is not known of one."""
    parts = []
    for place, model in enumerate(models):
        for condition in ("noise 2", "noise 4"):
            danger = rng.random(queries) + place
            loss = np.round(danger - place + rng.normal(0, 0.3, queries), 1)
            danger[3] = np.nan
            rows = {"model": model, "condition": condition, "signal": "drop", "measure": "R@10"}
            parts.append(
                pl.DataFrame(
                    {"query_id": [f"q{at}" for at in range(queries)], "danger": danger, "loss": loss}
                ).with_columns(**{name: pl.lit(value) for name, value in rows.items()})
            )
    return pl.concat(parts)


def test_every_row_is_that_of_its_model_and_condition() -> None:
    rows = table(np.random.default_rng(0))
    found = predict(rows, FAST)
    assert [(each.name, each.condition) for each in found.models] == [
        (m, c) for m in "ab" for c in ("noise 2", "noise 4")
    ]
    for each in found.models:
        part = rows.filter(
            (pl.col("model") == each.name) & (pl.col("condition") == each.condition) & pl.col("danger").is_not_nan()
        )
        x, y = part["danger"].to_numpy(), part["loss"].to_numpy()
        assert each.found.spearman.value == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
        assert each.found.kendall.value == pytest.approx(kendalltau(x, y).statistic, abs=1e-12)
        assert each.found.queries == 29
        assert (each.lost, each.gained) == ((y > 0).mean(), (y < 0).mean())
        assert (each.danger, each.loss) == pytest.approx((x.mean(), y.mean()))
    told = found.with_notes(ABOUT, ()).to_dict()
    assert (told["kind"], told["format"], told["queries"], told["level"]) == ("probe-prediction", 1, 30, 0.95)
    assert told["models"][0]["spearman"] == found.models[0].found.spearman.value


def test_pooled_says_within_and_across() -> None:
    found = predict(table(np.random.default_rng(1)), FAST)
    everything, *each = found.pooled
    assert [one.condition for one in found.pooled] == ["all", "noise 2", "noise 4"]
    assert (everything.models, everything.strata, each[0].strata) == (("a", "b"), (4, 4), (2, 2))
    assert everything.found.spearman.value > 0.4
    # Model b has a greater signal everywhere and loses as much: across both, the signal says less.
    assert everything.across.value < everything.found.spearman.value - 0.1
    assert everything.entry().across.value == everything.across.value


def test_rows_may_come_in_any_order_and_with_nulls() -> None:
    rows = table(np.random.default_rng(2))
    nulls = rows.with_columns(pl.when(pl.col("danger").is_nan()).then(None).otherwise("danger").alias("danger"))
    one, other = (predict(each, FAST).with_notes(ABOUT, ()).to_dict() for each in (nulls, rows))
    assert one == other
    mixed = predict(rows.sample(fraction=1, shuffle=True, seed=1), FAST)
    by_name = {(each.name, each.condition): each.found.spearman.value for each in mixed.models}
    for each in predict(rows, FAST).models:
        assert by_name[each.name, each.condition] == pytest.approx(each.found.spearman.value, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.drop("loss"), "no column loss"),
        (lambda rows: pl.concat([rows, rows.head(1)]), "two values"),
    ],
)
def test_what_is_not_such_a_table_is_refused(change, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=said):
        predict(change(table(np.random.default_rng(3))))


def test_the_order_of_models_is_told_only_where_it_could_be_known() -> None:
    means = np.array([[0.1, 0.0], [0.2, 0.3], [0.3, 0.2], [0.4, 0.5], [0.5, 0.4], [0.6, 0.6]])
    found = order_of("all", "drop", "R@10", means)
    taus = [kendalltau(means[:, 0], means[list(order), 1]).statistic for order in permutations(range(6))]
    assert found.tau == pytest.approx(kendalltau(*means.T).statistic)
    assert found.p == np.mean(np.abs(taus) >= found.tau - 1e-9)
    assert found.told.startswith("Kendall's tau-b of 6 models is 0.73")
    assert "cannot be known from one" in order_of("all", "drop", "R@10", means[:1]).told
    assert "every time" in order_of("all", "drop", "R@10", means[:2]).told
    assert "1 time in 12" in order_of("all", "drop", "R@10", means[:4]).told
    same = order_of("all", "drop", "R@10", means * [1, 0])
    assert "one of the two is the same" in same.told
    assert np.isnan([same.tau, same.p]).all()
    three = predict(table(np.random.default_rng(4), models=("a", "b", "c")), FAST).orders
    assert [(each.models, each.condition) for each in three] == [(3, "all")]
