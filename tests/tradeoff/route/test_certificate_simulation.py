"""Certificates of routers: the mean loss on queries that certified nothing, in planted worlds and real splits.

docs/evidence/notes/tradeoff.md has the figures.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest
from tests.conftest import SHARED
from tests.extras import need
from tests.tradeoff.route.test_certificate import planted_inputs

import trueval as tv
from trueval.judgments import Judgments
from trueval.retrieval.fusion.ranked_lists import score_lists
from trueval.retrieval.pipeline.router import LOGIT, Router
from trueval.run import Run
from trueval.tradeoff.route.certificate import RouterChoice, RouterData, choose_need, halves
from trueval.tradeoff.route.route_result import RouterInputs

NAMES = ("margin", "gap", "tied", "nqc", "entropy")


def losses(
    given: RouterData, certified: int, choice: RouterChoice, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Mean loss on the queries left out of a router from a random part, the share that it escalates, and of none."""
    order = rng.permutation(len(given.gains))
    part, rest = given.take(order[:certified]), given.take(order[certified:])
    first, second = halves(certified, int(rng.integers(1 << 30)))
    rule, on = choose_need(part.take(first), choice), part.take(second)
    threshold = choice.threshold(rule.values(on.features), on.losses)
    assert threshold is not None
    more = rule.values(rest.features) >= threshold
    return float(np.where(more, 0.0, rest.losses).mean()), float(more.mean()), float(rest.losses.mean())


def report(name: str, found: np.ndarray, epsilon: float) -> None:
    """Print mean loss with its error, and refuse one above epsilon by more than two errors."""
    loss, error = found[:, 0].mean(), found[:, 0].std(ddof=1) / np.sqrt(len(found))
    above = (found[:, 0] > epsilon).mean()
    print(
        f"{name}: loss {loss:.4f} +- {error:.4f} of {epsilon}, above in {above:.3f}, "
        f"escalated {found[:, 1].mean():.3f}, always fewer loses {found[:, 2].mean():.4f}"
    )
    assert loss <= epsilon + 2 * error


@pytest.mark.evidence
@pytest.mark.parametrize("sharp", [0.0, 1.0, 3.0])
@pytest.mark.parametrize(("queries", "epsilon"), [(50, 0.0385), (100, 0.02), (300, 0.02), (300, 0.05)])
def test_planted_worlds(queries: int, epsilon: float, sharp: float) -> None:
    rng = np.random.default_rng(int(100 * sharp) + queries)
    found = []
    for _ in range(400):
        inputs = planted_inputs(rng, queries + 2000, sharp)
        given = RouterData.of(inputs, list(inputs.features), "nDCG@10")
        found.append(losses(given, queries, RouterChoice(epsilon), rng))
    report(f"planted, {queries} queries, margin {sharp}", np.array(found), epsilon)


@pytest.mark.evidence
def test_planted_worlds_at_a_level() -> None:
    rng = np.random.default_rng(1)
    found = []
    for _ in range(400):
        inputs = planted_inputs(rng, 2300, 3.0)
        given = RouterData.of(inputs, list(inputs.features), "nDCG@10")
        found.append(losses(given, 300, RouterChoice(0.05, 0.9), rng))
    values = np.array(found)
    above = (values[:, 0] > 0.05).mean()
    print(f"planted, level .9: above epsilon in {above:.3f} of 400, loss {values[:, 0].mean():.4f}")
    assert above <= 0.1 + 2 * np.sqrt(0.09 / 400)


@cache
def reranked(name: str, index: str, fewer: int, more: int, most: int) -> RouterData:
    """BM25 reranked by cosines of character 4-grams, to two depths: lexical, so that it runs anywhere."""
    text = pytest.importorskip("sklearn.feature_extraction.text")
    place = SHARED / "collections" / name
    if not place.is_dir():
        pytest.skip(f"real data is absent: ../shared/data/collections/{name}")
    collection = tv.Collection.read(str(place))
    assert collection.judgments is not None
    run = tv.retrieve(collection, index=index, depth=more + 1).run
    ids = list(collection.documents)
    spaces = text.TfidfVectorizer(analyzer="char_wb", ngram_range=(4, 4), sublinear_tf=True)
    documents = spaces.fit_transform([collection.documents[each] for each in ids])
    of = {each: at for at, each in enumerate(ids)}
    lists, shallow, deep, signals = score_lists(run), {}, {}, {each: [] for each in NAMES}
    router = Router(fewer, more, 0.0, {"margin": 1.0}, scale=LOGIT)
    judged = set(collection.judgments.query_ids.to_list())
    for query, rows in run.frame.group_by("query_id", maintain_order=True):
        if query[0] not in judged or len(shallow) >= most:
            continue
        found = rows["doc_id"].to_list()[:more]
        vector = spaces.transform([collection.queries[query[0]]])
        scores = (documents[[of[each] for each in found]] @ vector.T).toarray()[:, 0].tolist()
        shallow[query[0]] = dict(zip(found[:fewer], scores[:fewer], strict=True))
        deep[query[0]] = dict(zip(found, scores, strict=True))
        for each, value in router.features(lists[query[0]], [20 * score for score in scores[:fewer]]).items():
            signals[each].append(value)
    graded = Judgments.from_frame(collection.judgments.frame.filter(pl.col("query_id").is_in(list(shallow))))
    scored = [tv.evaluate(Run.from_dict(each), graded, ["nDCG@10"]) for each in (shallow, deep)]
    place_of = {query: at for at, query in enumerate(shallow)}
    at = [place_of[query] for query in scored[0].query_ids]
    values = [each.expected[:, 0] for each in scored]
    features = {each: tuple(np.array(signals[each])[at].tolist()) for each in NAMES}
    inputs = RouterInputs(tuple(values[0].tolist()), tuple(values[1].tolist()), features, 10, LOGIT, {})
    return RouterData.of(inputs, NAMES, "nDCG@10")


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("name", "index", "epsilon", "part"),
    [
        ("scifact-test", "bm25(language='en')", 0.02, 200),
        ("scifact-test", "bm25(language='en')", 0.05, 200),
        ("piaf-v1.0-fr", "bm25(language='fr')", 0.02, 200),
        ("piaf-v1.0-fr", "bm25(language='fr')", 0.005, 600),
    ],
)
def test_real_splits(name: str, index: str, epsilon: float, part: int) -> None:
    need("bm25s", extra="retrieval")
    given = reranked(name, index, 5, 50, 800)
    rng = np.random.default_rng(0)
    found = np.array([losses(given, part, RouterChoice(epsilon), rng) for _ in range(200)])
    report(f"{name}, {len(given.gains)} queries, {part} to certify", found, epsilon)
