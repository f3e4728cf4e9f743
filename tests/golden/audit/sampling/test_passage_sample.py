"""The sample: every passage is as likely as any other of its stratum to have been answered, whenever people stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import pytest

from trueval.golden.audit.sampling import passage_sample
from trueval.golden.audit.sampling.passage_sample import draw_passages, strata_of
from trueval.golden.audit.sampling.population import ALL_QUERIES, JudgedMember, Population, population_of
from trueval.judgments import Judgments


def population_of_two(x: int, y: int) -> Population:
    """Strata x and y, of so many passages each."""
    names = [f"x{at}" for at in range(x)] + [f"y{at}" for at in range(y)]
    return Population("documents", tuple(JudgedMember("q", name, name[0]) for name in names), {"x": 0.6, "y": 0.4})


def every_draw(
    monkeypatch: pytest.MonkeyPatch, names: Sequence[str], draw: Callable[[], list[JudgedMember]]
) -> list[Any]:
    """What is drawn under every pair of orders of the names: one decides who is drawn, the other who comes first."""
    found = []
    for chosen in permutations(names):
        for served in permutations(names):
            places = {"sample": {each: at for at, each in enumerate(chosen)}}
            places["order"] = {each: at for at, each in enumerate(served)}

            def shuffled(seed: int, what: str, things: Iterable[Any], of: Any, places: Any = places) -> list[Any]:
                return sorted(things, key=lambda thing: places[what][of(thing)[-1]])

            monkeypatch.setattr(passage_sample, "shuffle", shuffled)
            found.append(draw())
    return found


@pytest.mark.parametrize(
    ("x", "y", "sizes"), [(3, 1, (2, 3)), (2, 2, (2, 3)), pytest.param(3, 2, (4, 5), marks=pytest.mark.evidence)]
)
def test_every_prefix_is_a_simple_random_sample_of_each_stratum(
    monkeypatch: pytest.MonkeyPatch, x: int, y: int, sizes: tuple[int, int]
) -> None:
    """Exact, over all orders: a passage has chance a / N, and two of a stratum a (a - 1) / (N (N - 1)); also where the
    sample grew. a is what was answered of the N passages of a stratum."""
    population = population_of_two(x, y)

    def draw() -> list[JudgedMember]:
        return draw_passages(population, sizes[1], 0, draw_passages(population, sizes[0], 0))

    draws = every_draw(monkeypatch, [each.document for each in population.members], draw)
    for prefix in range(1, sizes[1] + 1):
        by_counts: dict[tuple[int, int], list[frozenset[JudgedMember]]] = {}
        for each in draws:
            counts = Counter(member.stratum for member in each[:prefix])
            by_counts.setdefault((counts["x"], counts["y"]), []).append(frozenset(each[:prefix]))
        for answered, own in by_counts.items():
            for name, size, a in zip("xy", (x, y), answered, strict=True):
                members = [each for each in population.members if each.stratum == name]
                for number, chance in ((1, Fraction(a, size)), (2, Fraction(a * (a - 1), max(1, size * (size - 1))))):
                    for some in combinations(members, number):
                        assert Fraction(sum(set(some) <= each for each in own), len(own)) == chance


def test_every_number_of_whole_queries_is_a_simple_random_sample_of_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of queries with 1, 2 and 3 passages: after any number of whole ones, each is as likely to be among them."""
    members = [JudgedMember(f"q{size}", f"q{size}-{place}", ALL_QUERIES) for size in (1, 2, 3) for place in range(size)]
    population = Population("queries", tuple(members), {ALL_QUERIES: 1.0})
    names = ["q1", "q2", "q3"]

    def draw() -> list[JudgedMember]:
        return draw_passages(population, 3, 0, draw_passages(population, 2, 0))

    found = []
    for chosen in permutations(names):
        places = {each: at for at, each in enumerate(chosen)}

        # The order of passages inside a query is not looked at here: that of the queries serves for both.
        def shuffled(seed: int, what: str, things: Iterable[Any], of: Any, places: Any = places) -> list[Any]:
            return sorted(things, key=lambda thing: places[of(thing)[0]])

        monkeypatch.setattr(passage_sample, "shuffle", shuffled)
        served = [each.query for each in draw()]
        queries = list(dict.fromkeys(served))
        # Query by query: no passage of another one is between two of a query.
        assert served == sorted(served, key=queries.index)
        assert Counter(served) == {"q1": 1, "q2": 2, "q3": 3}
        found.append(served)
    for whole in (1, 2, 3):
        for query in names:
            times = sum(query in list(dict.fromkeys(each))[:whole] for each in found)
            assert Fraction(times, len(found)) == Fraction(whole, 3)
    # Who stops at a number of passages does not have that: the query of one is whole more often than that of three.
    after_three = {name: sum(each[:3].count(name) == int(name[1]) for each in found) for name in names}
    assert after_three == {"q1": 3, "q2": 3, "q3": 2}


def test_seeds_draw_every_passage_of_a_stratum_equally_often() -> None:
    """Half of a sample is answered, under 1,000 seeds: no passage is 5 standard errors from its chance."""
    members = tuple(JudgedMember(f"q{at % 3}", f"d{at}", "many" if at < 12 else "few") for at in range(18))
    population = Population("documents", members, {"many": 0.5, "few": 0.5})
    assert [(each.name, each.sampled) for each in strata_of(population, draw_passages(population, 10, 0))] == [
        ("few", 5),
        ("many", 5),
    ]
    times: Counter[JudgedMember] = Counter()
    expected = dict.fromkeys(("many", "few"), 0.0)
    for seed in range(1000):
        answered = draw_passages(population, 10, seed)[:5]
        times.update(answered)
        counts = Counter(each.stratum for each in answered)
        for name, size in population.sizes.items():
            expected[name] += counts[name] / size
    for member in members:
        chance = expected[member.stratum] / 1000
        assert abs(times[member] / 1000 - chance) < 5 * (chance * (1 - chance) / 1000) ** 0.5


def test_a_larger_sample_begins_with_the_smaller_one_whatever_the_order_of_the_file() -> None:
    members = tuple(JudgedMember(f"q{at % 5}", f"d{at}", "xyz"[at % 3]) for at in range(60))
    for design in ("documents", "queries"):
        share = {"x": 0.5, "y": 0.3, "z": 0.2} if design == "documents" else {ALL_QUERIES: 1.0}
        population = Population(design, members, share)
        turned = Population(design, members[::-1], share)
        small, large = (3, 5) if design == "queries" else (11, 37)
        first = draw_passages(population, small, 7)
        assert draw_passages(turned, small, 7) == first
        grown = draw_passages(turned, large, 7, first)
        assert grown[: len(first)] == first
        assert set(grown) == set(draw_passages(population, large, 7))
        assert draw_passages(population, small, 8) != first


def test_passages_that_nobody_judged_are_not_in_the_population() -> None:
    judgments = Judgments.from_dict({"q": {"a": 3, "b": -1, "c": 0}, "r": {"d": -1}})
    for design in ("documents", "queries"):
        population = population_of(judgments, design, 10)
        assert {each.document for each in population.members} == {"a", "c"}
    assert population_of(judgments, "queries", 10).sizes == {ALL_QUERIES: 1}


def test_disagreement_comes_from_the_labels_of_a_golden_set() -> None:
    judgments = Judgments.from_dict({"q": {f"d{at}": 1 + at % 2 for at in range(40)}})
    labels = [
        {"query": "q", "document": f"d{at}", "labels": [{"grade": 1}, {"grade": 1 + (at < 10)}, {"grade": None}]}
        for at in range(40)
    ]
    sizes = population_of(judgments, "documents", 100, labels=labels).sizes
    assert sizes == {
        "grade 1, labels differ": 5,
        "grade 2, labels differ": 5,
        "grade 1, labels agree": 15,
        "grade 2, labels agree": 15,
    }
    single = [{**each, "labels": each["labels"][:1]} for each in labels]
    assert population_of(judgments, "documents", 100, labels=single).sizes == {"grade 1": 20, "grade 2": 20}
