"""The proxy of UDCG: the authors' form, ties across K over all orders, depth and judged-only."""

from __future__ import annotations

import math

import lists
import numpy as np
import pytest
import twin

from trueval.errors import InputError
from trueval.evaluation.arrays import evaluate_arrays
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.measures import parse
from trueval.run import Run


def test_by_hand() -> None:
    """Grades 5, 4, 3, 2, 1: u is 1, 3/4, -1/6, -1/12, 0; the mean over K = 5 is .3."""
    scores = evaluate_arrays([[5.0, 4.0, 3.0, 2.0, 1.0]], [[5, 4, 3, 2, 1]], ["UDCG-proxy@5", "UDCG-proxy@1"])
    np.testing.assert_allclose(scores.expected[0], [1 / (1 + math.exp(-0.3)), 1 / (1 + math.exp(-1))], rtol=1e-14)


def test_the_published_name_leads_to_the_proxy_and_says_so() -> None:
    assert str(parse("UDCG@5")) == "UDCG-proxy@5"


def test_other_scales_are_refused() -> None:
    with pytest.raises(InputError, match="rubric 1 to 5"):
        evaluate_arrays([[1.0]], [[0]], "UDCG@5")


@pytest.mark.parametrize("policy", [{"depth": 2}, {"judged_only": True}])
@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_depth_and_judged_only(policy: dict[str, object]) -> None:
    drawn = lists.small_queries(40, seed=37) | lists.seven_document_queries()
    queries = {name: lists.on_rubric(query) for name, query in drawn.items()}
    run = Run.from_dict({name: dict(query.scores) for name, query in queries.items()})
    judgments = Judgments.from_dict({name: dict(query.grades) for name, query in queries.items()})
    scores = evaluate(run, judgments, "UDCG@3", **policy)
    for row, query in enumerate(queries.values()):
        if not any(map(twin.is_judged, query.grades.values())):
            assert math.isnan(scores.expected[row, 0])
            continue
        kept = {d: s for d, s in query.scores.items() if "depth" in policy or twin.is_judged(query.grades.get(d))}
        if not kept:
            continue  # missing from the run: the worst value
        values, counts = [], []
        for ranking, count in twin.all_orders(kept, query.grades).items():
            depth = int(policy.get("depth", 100))  # type: ignore[call-overload]
            short = twin.Ranking(tuple(ranking.top(depth)), ranking.judged, min(ranking.listed, depth))
            values.append(float(twin.value(short, "UDCG-proxy@3")))
            counts.append(count)
        mean = np.average(values, weights=counts)
        truth = [mean, min(values), max(values), np.average((np.array(values) - mean) ** 2, weights=counts)]
        found = [getattr(scores, name)[row, 0] for name in ("expected", "lowest", "highest", "sd")]
        assert [*found[:3], found[3] ** 2] == pytest.approx(truth, abs=1e-12), query
