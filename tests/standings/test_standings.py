"""Standings as parts of others: some queries, one query many times, shards of the documents."""

from dataclasses import fields, replace

import numpy as np
import pytest

from trueval.errors import InputError
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.measures import Measure, parse, registry
from trueval.policy.policy import OURS, Policy
from trueval.run import Run
from trueval.standings.counting import count
from trueval.standings.standings import PER_POOLED, PER_QUERY, PER_ROW, Standings

RNG = np.random.default_rng(11)
QUERIES, DOCUMENTS = 6, 30
LISTS = {
    f"q{query}": {f"d{at}": float(score) for at, score in enumerate(RNG.integers(0, 8, DOCUMENTS))}
    for query in range(QUERIES)
}
GRADES = {query: {f"d{at}": int(RNG.integers(1, 6)) for at in range(0, 36, 3)} for query in LISTS}
RUN, JUDGMENTS = Run.from_dict(LISTS), Judgments.from_dict(GRADES)
RANDOM = Policy(tie_order="random", seed=3)
STATISTICS = ("expected", "lowest", "highest", "tie_broken", "sd")


def every_measure() -> list[Measure]:
    """Each registered measure at a cutoff that falls inside a tie group, but for those of facets."""
    found = []
    for name, registered in registry().items():
        definition = registered.definition
        text = f"{name}(RA-nWG, pool=9)" if "pool" in definition.parameters else name
        text = f"{name}(RA-nWG@5)" if definition.takes_measure and text == name else text
        text = {"ERR": "ERR(gmax=5)", "novelty": "RA-nWG", "gm": "gm(AP)"}.get(name, text)  # sources are not known here
        measure = parse(text if definition.cutoff_use == "none" else f"{text}@5")
        if not measure.needs_facets:
            found.append(measure)
    return found


def test_every_array_is_known_to_be_of_rows_judged_documents_or_queries() -> None:
    others = {"depth", "sources", "facets", "merged"}
    assert {each.name for each in fields(Standings)} == {*PER_ROW, *PER_POOLED, *PER_QUERY} | others
    counted = count(RUN, JUDGMENTS, OURS)
    sizes = {PER_ROW: len(counted.query), PER_POOLED: len(counted.pool_query), PER_QUERY: counted.queries}
    assert all(len(getattr(counted, name)) == size for names, size in sizes.items() for name in names)


@pytest.mark.parametrize("measure", every_measure(), ids=str)
@pytest.mark.parametrize("depth", [None, 4])
def test_taken_queries_keep_their_values(measure: Measure, depth: int | None) -> None:
    whole = count(RUN, JUDGMENTS, Policy(depth=depth))
    queries = np.array([4, 0, 4])
    all_of, some = measure.evaluate(whole), measure.evaluate(whole.take(queries))
    for name in STATISTICS:
        np.testing.assert_allclose(getattr(some, name), getattr(all_of, name)[queries], 1e-12, 1e-15, err_msg=name)


@pytest.mark.parametrize("measure", every_measure(), ids=str)
@pytest.mark.parametrize("policy", [OURS, Policy(tie_order="docid-asc"), RANDOM], ids=["ours", "ids", "random"])
def test_lists_in_tie_order_are_worth_their_tie_broken_values(measure: Measure, policy: Policy) -> None:
    """Whatever the order: no tie is left, so that every statistic is the value under it."""
    counted, one = count(RUN, JUDGMENTS, policy), measure.under(policy).one_by_one
    broken, untied = one.evaluate(counted).tie_broken, one.evaluate(counted.in_tie_order())
    for name in ("expected", "lowest", "highest", "tie_broken"):
        np.testing.assert_allclose(getattr(untied, name), broken, 1e-12, 1e-15, err_msg=name)
    assert not np.nan_to_num(untied.sd).any()


def test_packed_standings_hold_every_value_in_less() -> None:
    """Unknown orders, scores that float32 rounds, the largest integers and none at all come back as they were."""
    counted = count(RUN, JUDGMENTS, Policy(depth=4))
    largest = np.where(np.arange(len(counted.above)) % 2, np.iinfo(np.int64).max, -1)
    hostile = replace(counted, score=np.where(counted.score > 6, np.inf, counted.score / 3), ahead=largest)
    for one in (counted, hostile, count(RUN, JUDGMENTS, RANDOM), counted.take(np.zeros(0, dtype=np.int64))):
        packed = one.pack()
        again = packed.unpack()
        for name in PER_ROW + PER_POOLED + PER_QUERY:
            values, found = getattr(one, name), getattr(again, name)
            assert found.dtype == values.dtype
            assert np.array_equal(found, values, equal_nan=values.dtype.kind == "f")
    sizes = [sum(getattr(each, name).nbytes for name in PER_ROW) for each in (counted, counted.pack())]
    assert sizes[1] < sizes[0] / 4


def test_a_repeated_query_has_a_value_for_each_order() -> None:
    judgments = Judgments.from_dict({"q": {"a": 1, "b": 0}})
    counted = count(Run.from_dict({"q": {"a": 1.0, "b": 1.0}}), judgments, OURS)
    order = {int(item): row for row, item in enumerate(counted.item)}
    ahead = np.zeros((2, 2), dtype=np.int64)
    ahead[0, order[1]] = ahead[1, order[0]] = 1
    assert parse("RR").evaluate(counted.repeat(np.zeros(1, dtype=np.int64), [ahead])).tie_broken.tolist() == [1.0, 0.5]


def shards(whole: Standings, run: Run, policy: Policy, parts: np.ndarray) -> list[Standings]:
    """What counting over each part of the documents gives, done one document at a time."""
    found = []
    for part in np.unique(parts):
        held = {
            query: {d: s for at, (d, s) in enumerate(docs.items()) if parts[at] == part}
            for query, docs in LISTS.items()
        }
        above, tied, ahead = (np.zeros_like(whole.above) for _ in range(3))
        place = order_of_all(run, policy)
        for row, (query, item) in enumerate(zip(whole.query, whole.item, strict=True)):
            name, doc = f"q{query}", JUDGMENTS.frame["doc_id"][int(item)]
            own = LISTS[name][doc]
            above[row] = sum(score > own for score in held[name].values())
            tied[row] = sum(score == own for score in held[name].values())
            ahead[row] = sum(
                score == own and place[name, other] < place[name, doc] for other, score in held[name].items()
            )
        listed = np.array([len(held[f"q{query}"]) for query in range(QUERIES)])
        found.append(replace(whole, above=above, tied=tied, ahead=ahead, listed=listed))
    return found


def order_of_all(run: Run, policy: Policy) -> dict[tuple[str, str], int]:
    """The place of every document in the order of ties, seen through judgments that grade all of them."""
    everything = Judgments.from_dict({query: dict.fromkeys(docs, 1) for query, docs in LISTS.items()})
    counted = count(run, everything, policy)
    docs = everything.frame["doc_id"].to_list()
    return {
        (f"q{query}", docs[item]): int(above + ahead)
        for query, item, above, ahead in zip(counted.query, counted.item, counted.above, counted.ahead, strict=True)
    }


def test_merged_shards_are_the_standings_of_all_documents() -> None:
    whole = count(RUN, JUDGMENTS, RANDOM)
    merged = Standings.merge(shards(whole, RUN, RANDOM, RNG.integers(0, 3, DOCUMENTS)))
    for name in (*PER_ROW, *PER_POOLED, "judged", "listed"):
        np.testing.assert_array_equal(getattr(merged, name), getattr(whole, name), err_msg=name)
    assert merged.merged
    assert not whole.merged
    for measure in every_measure():
        one, other = measure.evaluate(whole), measure.evaluate(merged)
        for name in STATISTICS:
            np.testing.assert_allclose(
                getattr(one, name), getattr(other, name), 1e-12, 1e-15, err_msg=f"{name}, {measure}"
            )


def test_shards_of_other_documents_are_refused() -> None:
    whole = count(RUN, JUDGMENTS, OURS)
    with pytest.raises(InputError, match="same judged documents"):
        Standings.merge([whole, replace(whole, score=whole.score + 1)])
    with pytest.raises(InputError, match="same judged documents"):
        Standings.merge([whole, whole.take(np.arange(QUERIES - 1))])
    with pytest.raises(InputError, match="no shard may end at a depth"):
        Standings.merge([count(RUN, JUDGMENTS, Policy(depth=3))])


def test_the_counts_are_those_that_evaluate_uses() -> None:
    whole = count(RUN, JUDGMENTS, OURS)
    expected = evaluate(RUN, JUDGMENTS, "nDCG@5").expected[:, 0]
    np.testing.assert_array_equal(parse("nDCG@5").evaluate(whole).expected, expected)


@pytest.mark.parametrize(
    ("last", "grades", "cut"),
    [
        ([2.0, 2.0], {"a": 1, "z": 1}, True),  # a relevant document may have been cut off behind the last two
        ([2.0, 2.0], {"a": 0, "z": 1}, True),
        ([2.0, 2.0], {"a": 1, "z": 0}, False),  # all relevant ones are listed
        ([2.0, 2.0], {"a": 1, "c": 2}, False),
        ([2.0, 2.0], {"z": 0}, False),  # nothing is relevant
        ([2.0, 1.0], {"a": 1, "z": 1}, False),  # the last one is alone
        ([3.0, 3.0], {"z": 1}, True),  # one group of all
    ],
)
def test_a_list_may_be_cut_inside_its_last_group(last: list[float], grades: dict[str, int], cut: bool) -> None:
    counted = count(
        Run.from_dict({"q": dict(zip("abc", [3.0, *last], strict=True))}), Judgments.from_dict({"q": grades}), OURS
    )
    assert counted.possibly_cut.tolist() == [cut]


def test_only_the_longest_lists_of_a_run_may_be_cut() -> None:
    run = Run.from_dict(
        {"long": dict.fromkeys("abc", 1.0), "as long": dict.fromkeys("abc", 1.0), "short": {"a": 1.0, "b": 1.0}}
    )
    judgments = Judgments.from_dict({query: {"z": 1} for query in ("short", "long", "as long", "absent")})
    assert count(run, judgments, OURS).possibly_cut.tolist() == [False, True, True, False]
