"""Cuts: planted ties are found, closed forms equal enumeration, an engine that chooses at random does as they say."""

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations, pairwise, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.conftest import SHARED

import trueval as tv
from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.report.formats import to_json
from trueval.report.number_texts import FRACTIONS, POINTS
from trueval.report.terminal import render_text
from trueval.report.view_texts import write
from trueval.retrieval.cuts.cut_audit import Cuts, cut_index, cut_runs
from trueval.retrieval.cuts.cutoff import CutoffGroup
from trueval.retrieval.cuts.cuts_result import CutAudit
from trueval.retrieval.indexes.hits import Hits, join_hits
from trueval.retrieval.indexes.index import Description, make_index
from trueval.retrieval.indexes.repeated_calls import SearchSession
from trueval.retrieval.views.cuts import answer
from trueval.retrieval.views.kind import CUTS
from trueval.run import Run


class Engine:
    """Given scores, searched as engines do: the highest first, equal ones in an order drawn for each call."""

    takes = "texts"

    def __init__(self, scores: Sequence[Sequence[float]], seed: int | None = None, refused: int | None = None) -> None:
        self.scores = [np.array(row, dtype=np.float64) for row in scores]
        self.rng, self.refused = None if seed is None else np.random.default_rng(seed), refused
        self.depths: list[tuple[int, int]] = []

    def search(self, queries: Sequence[str], depth: int) -> Hits:
        self.depths.append((len(queries), depth))
        if self.refused is not None and depth > self.refused:
            raise InputError(f"depth must be at most {self.refused}. Got {depth}.")
        return join_hits([self.one(self.scores[int(query)], depth) for query in queries])

    def one(self, scores: Any, depth: int) -> tuple[Any, Any]:
        key = np.arange(len(scores)) if self.rng is None else self.rng.permutation(len(scores))
        places = np.lexsort((key, -scores))[:depth]
        return places, scores[places]

    def describe(self) -> Description:
        return Description("engine", len(self.scores[0]), None, 0, 0.0, True)

    def build(self, documents: Any) -> None: ...
    def save(self, folder: Any) -> None: ...
    def load(self, folder: Any) -> None: ...


def opened(engine: Engine) -> SearchSession:
    queries = [str(at) for at in range(len(engine.scores))]
    documents = max(map(len, engine.scores))
    return SearchSession(
        engine, queries, [f"q{at}" for at in queries], pl.Series([f"d{at}" for at in range(documents)])
    )


def shown(found: Any) -> str:
    """What every form of it says, JSON read again as strictly as it is written."""
    result = json.loads(to_json(found.to_dict()))
    assert CutAudit.from_dict(result).to_dict() == result
    return render_text(CUTS.write(result, "table")) + "".join(
        CUTS.write(result, form) for form in ("csv", "markdown", "latex")
    )


def quoted(found: Cuts) -> str:
    """The answer as text."""
    return write(answer(found.result()), FRACTIONS)


# Scores of seven documents at most with a group across k, and grades of the rubric; 0 is judged, None is not.
CASES = [
    ([5, 4, 4, 4, 1], [1, 5, None, 4, 3], 2),
    ([2, 2, 2, 2], [5, 3, None, 2], 3),
    ([9, 7, 7, 3, 3, 3, 1], [2, 4, 5, 5, 3, None, 4], 4),
    ([6, 6, 5, 5, 5, 5, 5], [3, None, 5, 4, 4, 3, 1], 5),
]


def evidence(grades: Sequence[int | None], pool: Sequence[int], k: int) -> Fraction:
    """RA-nWG of a context, by FORMULAS in fractions: b over rarity, capped."""
    n = {grade: pool.count(grade) for grade in (3, 4, 5)}
    if n[5]:
        w4 = min(Fraction(1, 2) * Fraction(n[5], n[4]), Fraction(1)) if n[4] else Fraction(0)
        w3 = min(Fraction(1, 10) * Fraction(n[5], n[3]), Fraction(1, 4)) if n[3] else Fraction(0)
        weight = {5: Fraction(1), 4: w4, 3: w3}
    else:
        weight = {4: Fraction(1), 3: Fraction(1, 5)}
    best = sorted((weight.get(grade, Fraction(0)) for grade in pool), reverse=True)[:k]
    return sum((weight.get(grade or 0, Fraction(0)) for grade in grades), Fraction(0)) / sum(best)


@pytest.mark.parametrize(("scores", "grades", "k"), CASES)
def test_every_number_equals_the_enumeration_of_all_orders(scores: list[int], grades: list[int | None], k: int):
    names = [f"d{at}" for at in range(len(scores))]
    judged = {name: grade for name, grade in zip(names, grades, strict=True) if grade is not None}
    run = {"q": dict(zip(names, map(float, scores), strict=True))}
    measures = [f"R@{k}", f"nDCG@{k}", f"RA-nWG@{k}"]
    found = cut_runs([run], k, judgments={"q": judged}, measures=measures, rel=3)
    orders = [
        order for order in permutations(range(len(scores))) if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    contexts = [frozenset(order[:k]) for order in orders]
    (cut,) = found.inside
    assert cut.contexts == len(set(contexts))
    for name, chance in zip(*found.chances().select("doc_id", "chance"), strict=True):
        at = names.index(name)
        exact = Fraction(sum(at in context for context in contexts), len(contexts))
        assert chance == pytest.approx(float(exact), abs=1e-15)
        assert (exact == Fraction(cut.slots, cut.size)) == (name in cut.documents) or exact == 1
    distinct = list(set(contexts))
    shared = Fraction(sum(len(a & b) for a, b in product(distinct, distinct)), len(distinct) ** 2 * k)
    assert cut.overlap == pytest.approx(float(shared), abs=1e-15)
    pool = list(judged.values())
    relevant = sum(grade >= 3 for grade in pool)
    ideal = sum(grade / math.log2(at + 2) for at, grade in enumerate(sorted(pool, reverse=True)[:k]))
    values = {
        f"R@{k}": [Fraction(sum((grades[at] or 0) >= 3 for at in order[:k]), relevant) for order in orders],
        f"RA-nWG@{k}": [evidence([grades[at] for at in order[:k]], pool, k) for order in orders],
        f"nDCG@{k}": [
            sum((grades[d] or 0) / math.log2(r + 2) for r, d in enumerate(order[:k])) / ideal for order in orders
        ],
    }
    for name, exact in values.items():
        told = found.to_dict()["measures"][name]
        assert told["expected"] == pytest.approx(float(sum(exact) / len(exact)), abs=1e-12)
        assert (told["lowest"], told["highest"]) == pytest.approx((float(min(exact)), float(max(exact))), abs=1e-12)


def test_what_calls_do_is_what_the_closed_form_predicts():
    """An engine that breaks ties at random: shares, contexts, overlap and recall within 4.5 standard errors."""
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 4, size=(40, 30)).astype(float)
    grades = {f"q{q}": {f"d{d}": int(rng.random() < 0.3) for d in range(30)} for q in range(40)}
    calls = 40
    found = cut_index(opened(Engine(scores, seed=11)), 10, repeats=calls, judgments=grades, measures="R@10")
    assert len(found.inside) > 30
    assert found.calls is not None
    frame = found.chances()
    chance, entered = frame["chance"].to_numpy(), frame["entered"].to_numpy()
    assert (entered[chance == 1] == 1).all()
    random = chance < 1
    error = np.abs(entered - chance)[random] / np.sqrt(chance * (1 - chance) / calls)[random]
    assert error.max() < 4.5
    assert 0.8 < np.mean(error**2) < 1.2
    assert not found.calls.otherwise.any()
    assert not found.calls.rescored.any()
    for cut in found.inside:
        others = Fraction(cut.contexts - 1, cut.contexts)
        share, expected = found.calls.by_ties[cut.place] / (calls - 1), float(others)
        assert abs(share - expected) < 4.5 * math.sqrt(expected * (1 - expected) / (calls - 1)) + 1e-12
        assert found.calls.contexts[cut.place] <= min(cut.contexts, calls)
    told = found.to_dict()
    recall = told["measures"]["R@10"]
    seen = np.array(recall["calls"])
    assert abs(seen.mean() - recall["expected"]) < 4.5 * recall["sd"] / math.sqrt(calls)
    assert recall["sd"] == pytest.approx(seen.std(ddof=1), rel=0.35)
    assert recall["lowest"] <= seen.min() <= seen.max() <= recall["highest"]
    assert told["calls"]["differed_by_ties"] == len(found.inside)


def test_two_calls_differ_as_often_as_they_should():
    scores = [[3.0, *[2.0] * size, 1.0] for size in (2, 3, 4) for _ in range(200)]
    found = cut_index(opened(Engine(scores, seed=2)), 2, repeats=2)
    calls = found.to_dict()["calls"]
    expected = 200 * (1 / 2 + 2 / 3 + 3 / 4)
    assert calls["expected_to_differ"] == pytest.approx(expected)
    spread = math.sqrt(200 * (1 / 4 + 2 / 9 + 3 / 16))
    assert abs(calls["differed_by_ties"] - expected) < 4.5 * spread
    assert "2 calls gave" in shown(found)


def test_the_group_is_followed_to_its_end_and_only_where_it_has_not_ended():
    engine = Engine([[2.0, *[1.0] * 70, 0.5], [9.0, 8.0, 7.0, *[1.0] * 69]])
    found = cut_index(opened(engine), 3, repeats=1)
    assert engine.depths == [(2, 6), (1, 24), (1, 96)]
    (cut,) = found.inside
    assert (cut.query, cut.above, cut.size, cut.slots, cut.open) == ("q0", 1, 70, 2, False)
    assert found.to_dict()["summary"]["depth_needed"] == 71


@pytest.mark.parametrize(
    ("most", "refused", "deepest", "told"),
    [
        (20, None, None, "within 20 documents"),
        (1000, 12, None, "deeper than 6"),
        (20, 12, None, "deeper than 6"),
        (20, 12, None, "within 6 documents"),
        (1000, None, 15, "within 15 documents"),
    ],
)
def test_a_group_whose_end_is_not_seen_is_open(most: int, refused: int | None, deepest: int | None, told: str):
    engine = Engine([[2.0, *[1.0] * 70]], refused=refused)
    if deepest is not None:
        engine.deepest = deepest  # type: ignore[attr-defined]  # as adapters of engines with a limit declare it
    found = cut_index(opened(engine), 3, repeats=1, most=most)
    assert [cut.open for cut in found.cuts] == [True]
    assert any(told in note for note in found.notes), found.notes
    assert "list ends inside the group" in shown(found)


def test_an_engine_with_a_rule_is_told_from_one_that_chooses():
    found = cut_index(opened(Engine([[1.0] * 6] * 3)), 2, repeats=4)
    calls = found.to_dict()["calls"]
    assert (calls["differed_by_ties"], calls["expected_to_differ"]) == (0, pytest.approx(3 * (1 - 15**-3)))
    assert "the engine has a rule" in shown(found)


class Moody(Engine):
    """Gives other documents, other scores or another order in every second call for k documents."""

    def __init__(self, mood: str) -> None:
        super().__init__([[5.0, 4.0, 3.0, 2.0, 1.0]])
        self.mood, self.calls = mood, 0

    def search(self, queries: Sequence[str], depth: int) -> Hits:
        self.calls += 1
        places, scores = self.one(self.scores[0], depth)
        if depth == 2 and self.calls % 2:
            if self.mood == "otherwise":
                places, scores = np.array([0, 3]), np.array([5.0, 2.0])
            if self.mood == "rescored":
                scores = scores + 0.25
            if self.mood == "reordered":
                places = places[::-1]
        return join_hits([(places, scores)])


@pytest.mark.parametrize("mood", ["otherwise", "rescored", "reordered"])
def test_differences_without_equal_scores_are_another_matter(mood: str):
    found = cut_index(opened(Moody(mood)), 2, repeats=4)
    calls = found.to_dict()["calls"]
    wanted = {name: int(name == mood) for name in ("otherwise", "rescored", "reordered")}
    if mood == "reordered":  # two documents that swap their scores
        wanted["rescored"] = 1
    assert {name: calls[f"differed_{name}" if name == "otherwise" else name] for name in wanted} == wanted
    assert calls["differed_by_ties"] == 0
    assert calls["largest_change"] == {"rescored": 0.25, "reordered": 1.0}.get(mood, 0.0)
    said = {"otherwise": "not deterministic", "rescored": "by 0.25 at most", "reordered": "in another order"}
    assert said[mood] in " ".join(shown(found).split())


def test_a_call_that_finds_less_than_a_deeper_one_is_told():
    class Approximate(Engine):
        def search(self, queries: Sequence[str], depth: int) -> Hits:
            places, scores = self.one(self.scores[0], depth)
            return join_hits([(places + (depth == 2), scores)])  # misses the best document where little is asked

    found = cut_index(opened(Approximate([[5.0, 4.0, 3.0, 2.0]])), 2, repeats=2)
    assert found.to_dict()["calls"]["deeper"] == 1
    assert "the index is approximate" in " ".join(shown(found).split())


def test_the_tie_precision_says_what_is_equal():
    run = {"q": {"a": 1.0, "b": 0.5001, "c": 0.5, "d": 0.1}}
    assert not cut_runs([run], 2).inside
    assert cut_runs([run], 2, tie_precision="bfloat16").inside[0].documents == ("b", "c")


def test_a_run_that_ends_inside_the_group_is_open():
    run = {"q": {"a": 3.0, "b": 2.0, "c": 2.0}, "r": {"a": 3.0, "b": 2.0}}
    found = cut_runs([run], 2)
    assert [(cut.query, cut.open) for cut in found.cuts] == [("q", True)]
    deeper = {**run, "s": {f"d{at}": float(-at) for at in range(9)}}
    assert [(cut.query, cut.open) for cut in cut_runs([deeper], 2).cuts] == [("q", False)]


def test_repeated_runs_show_their_group_together():
    one = {"q": {"a": 3.0, "b": 2.0}, "r": {"x": 1.0, "y": 0.5}}
    two = {"q": {"a": 3.0, "c": 2.0}, "r": {"x": 1.0, "y": 0.5}}
    found = cut_runs([one, two, one], 2, judgments={"q": {"b": 1, "c": 0}, "r": {"x": 1}})
    cut = next(cut for cut in found.cuts if cut.query == "q")
    assert (cut.documents, cut.slots, cut.open) == (("b", "c"), 1, True)
    assert found.calls is not None
    assert found.calls.by_ties.tolist() == [1, 0]
    assert found.calls.contexts.tolist() == [2, 1]
    assert found.chances().filter(doc_id="b")["entered"].to_list() == [pytest.approx(2 / 3)]
    assert found.to_dict()["measures"]["R@2"]["calls"] == [1.0, 0.5, 1.0]
    assert cut_runs([one, one], 2).to_dict()["calls"]["differed_by_ties"] == 0


def test_the_default_measures_follow_the_grades():
    run = {"q": {"a": 3.0, "b": 2.0, "c": 2.0}}
    binary = cut_runs([run], 2, judgments={"q": {"a": 1}}).to_dict()
    assert list(binary["measures"]) == ["R@2", "nDCG@2"]
    graded = cut_runs([run], 2, judgments={"q": {"a": 5, "b": 2}}).to_dict()
    assert list(graded["measures"]) == ["R@2", "nDCG@2", "RA-nWG@2"]
    assert cut_runs([run], 2).to_dict()["measures"] == {}


def test_the_line_to_quote():
    run = {f"q{at}": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0} for at in range(4)} | {
        "p": {"a": 1.0, "b": 0.5, "c": 0.1}
    }
    judged = {f"q{at}": {"b": 1} for at in range(4)} | {"p": {"a": 1}}
    line = "In 4 of 5 queries the cut at 2 falls inside a group of equal scores; "
    found = cut_runs([run], 2, judgments=judged)
    assert shown(found).replace("\n", " ").startswith(line + "recall@2 lies between 0.2000 and 1.0000 by the")
    told = quoted(cut_runs([run], 2))
    assert told == line + "there 50.00% of the context is left to the engine's choice."
    unmoved = cut_runs([run], 2, judgments={query: {"z": 1} for query in run})
    assert quoted(unmoved) == line + "recall@2 is 0.0000 whatever the engine chooses."
    assert quoted(cut_runs([run], 1)).startswith("In none of 5 queries does the cut at 1 fall")


TIED_ABOVE = {"q": {"a": 5.0, "b": 5.0, "c": 3.0, "d": 2.0, "e": 2.0, "f": 1.0}}


def test_what_the_cut_does_and_what_ties_above_it_do_are_told_apart():
    """d or e takes the fourth place, which nDCG@2 does not see; a and b change places, and both are in the context."""
    found = cut_runs([TIED_ABOVE], 4, judgments={"q": {"a": 1, "d": 1}}, measures="nDCG@2 R@4 nDCG@4")
    result = found.to_dict()
    second = 1 / math.log2(3)
    both = 1 + second
    ends = {name: (each["cut"], each["inside"], each) for name, each in result["measures"].items()}
    for name, least, most, first, last in (
        ("nDCG@2", 1 / both, 1 / both, second / both, 1 / both),
        ("R@4", 0.5, 1.0, 1.0, 1.0),
        ("nDCG@4", 1 / both, (1 + 1 / math.log2(5)) / both, (second + 1 / math.log2(5)) / both, None),
    ):
        cut, inside, whole = ends[name]
        assert (cut["lowest"], cut["highest"]) == (pytest.approx(least), pytest.approx(most))
        assert inside["lowest"] == pytest.approx(first)
        assert inside["highest"] == pytest.approx(most if last is None else last)
        assert cut["range"] + inside["range"] == pytest.approx(whole["range"])  # groups do not depend on each other
    assert quoted(found) == (
        "In 1 of 1 query the cut at 4 falls inside a group of equal scores; nDCG@2 is 0.6131 whatever the engine "
        "chooses."
    )
    other = "Equal scores above the cut, of documents that are in the context anyway, move nDCG@2 between 0.3869 and "
    assert f"{other}0.6131." in " ".join(shown(found).split())
    assert result["cuts"][0]["measures"]["nDCG@2"]["cut"]["lowest"] == pytest.approx(1 / both)
    sets = cut_runs([TIED_ABOVE], 4, judgments={"q": {"a": 1, "d": 1}}, measures="R@4")
    assert "Equal scores above" not in shown(sets)


def average_precision(order: Sequence[str], judged: dict[str, int], k: int) -> Fraction:
    """AP of a context of k documents."""
    hits = [rank for rank, document in enumerate(order[:k], 1) if judged.get(document)]
    return sum((Fraction(at, rank) for at, rank in enumerate(hits, 1)), Fraction(0)) / sum(judged.values())


@pytest.mark.parametrize("seed", range(40))
def test_each_source_of_ties_equals_the_enumeration_of_its_orders(seed: int):
    """Of several queries, each with the orders of the group at the cutoff alone, of the others alone, and of all."""
    rng = np.random.default_rng(seed)
    k, queries = int(rng.integers(1, 5)), [f"q{at}" for at in range(int(rng.integers(1, 4)))]
    run = {
        query: {f"d{at}": float(rng.integers(-1, 2)) for at in rng.permutation(6)[: rng.integers(k + 1, 7)].tolist()}
        for query in queries
    }
    judged = {query: {"d0": 1} | {f"d{at}": int(rng.integers(0, 2)) for at in range(1, 7)} for query in queries}
    values: dict[str, list[list[Fraction]]] = {"cut": [], "inside": [], "all": []}
    for query, listed in run.items():
        groups = [[each for each in listed if listed[each] == level] for level in (1, 0, -1)]
        sizes = np.cumsum([len(group) for group in groups])
        longest = max(map(len, run.values())) == len(listed)  # it may go on, so that its last group is at stake too
        at = int(sizes.searchsorted(k))
        is_cut = [at == place and (sizes[place] > k or (longest and sizes[place] == len(listed))) for place in range(3)]
        for name, tied in (("cut", is_cut), ("inside", [not each for each in is_cut]), ("all", [True] * 3)):
            orders = product(
                *(permutations(group) if moves else [group] for group, moves in zip(groups, tied, strict=True))
            )
            values[name].append([average_precision(list(chain(*order)), judged[query], k) for order in orders])
    told = cut_runs([run], k, judgments=judged, measures="AP").to_dict()["measures"]["AP"]
    for name, lists in values.items():
        found = told if name == "all" else told[name]
        for end, of in (("expected", lambda some: sum(some) / len(some)), ("lowest", min), ("highest", max)):
            assert found[end] == pytest.approx(float(sum(map(of, lists)) / len(lists)), abs=1e-12), (name, end)


def test_sentences_are_in_the_unit_of_their_table():
    """With --percent a line below the table says that values are points, of sentences too."""
    found = cut_runs([TIED_ABOVE], 4, judgments={"q": {"a": 1, "d": 1}}, measures="nDCG@4").to_dict()
    for form in ("table", "markdown", "latex"):
        said = CUTS.write(found, form, scale=POINTS)
        told = " ".join((render_text(said) if form == "table" else said).split())
        assert "nDCG@4 lies between 61.31 and 87.72 by the engine's choice alone." in told
        assert "move nDCG@4 between 65.09 and 87.72." in told


def test_ties_above_are_told_of_where_nothing_is_cut():
    run = {"q": {"a": 5.0, "b": 5.0, "c": 3.0, "d": 2.0}}
    found = cut_runs([run], 3, judgments={"q": {"a": 1}}, measures="RR")
    assert quoted(found).startswith("In none of 1 query")
    assert "move RR between 0.5000 and 1.0000." in " ".join(shown(found).split())


def test_the_parts_of_a_range_keep_the_policy():
    """Scores of 0 or less are not retrieved here, and what is equal is equal in a format."""
    run = {"q": {"a": 1.0, "b": 1.0 + 1e-12, "c": 0.0, "d": 0.0, "e": -1.0}}
    judged = {"q": {"b": 1, "c": 1}}
    choices = {"nonpositive": "not-retrieved", "tie_precision": "float32"}
    found = cut_runs([run], 3, judgments=judged, measures="R@3 RR@3", **choices).to_dict()["measures"]
    assert found["R@3"]["cut"]["expected"] == 0.5
    assert found["R@3"]["cut"]["range"] == found["R@3"]["range"] == 0
    assert (found["RR@3"]["cut"]["range"], found["RR@3"]["inside"]["range"]) == (0.0, 0.5)


def test_real_runs_whose_cut_changes_nothing_say_so(dl_hard_folder: Path):
    run, qrels = dl_hard_folder / "bm25.run.gz", next(dl_hard_folder.glob("*qrels*"))
    found = cut_runs([run], 100, judgments=qrels, measures="nDCG@10", tie_precision=0.0001)
    assert quoted(found).startswith(
        "In 9 of 50 queries the cut at 100 falls inside a group of equal scores; nDCG@10 is 0.30"
    )
    assert found.result().measures["nDCG@10"].cut.range == 0
    assert "move nDCG@10 between 0.3036 and 0.3044." in " ".join(shown(found).split())


def test_the_chance_to_differ_of_more_contexts_than_a_float_holds():
    cut = CutoffGroup("q", 0, 0, tuple(map(str, range(2000))), 1000, 0.0, False)
    assert cut.chance_to_differ(2) == 1.0
    assert cut.chance_to_differ(1) == 0.0
    assert len(set(combinations(range(5), 2))) == CutoffGroup("q", 0, 0, tuple("abcde"), 2, 0.0, False).contexts


class Odd(Engine):
    """Gives a list that is as odd as a test wants."""

    def __init__(self, places: Sequence[int], scores: Sequence[float], documents: int = 6) -> None:
        super().__init__([[0.0] * documents])
        self.given = (np.array(places, dtype=np.int64), np.array(scores, dtype=np.float64))

    def search(self, queries: Sequence[str], depth: int) -> Hits:
        return join_hits([(self.given[0][:depth], self.given[1][:depth])])


@pytest.mark.parametrize(
    ("engine", "k", "cuts"),
    [
        (Odd([0, 1], [2.0, 1.0]), 5, 0),  # shorter than k
        (Engine([[1.0, 1.0]]), 50, 0),  # k beyond the corpus
        (Engine([[1.0] * 9] * 2), 4, 2),  # all equal
        (Engine([[1.0, -math.inf, -math.inf, -math.inf]]), 2, 1),
        (Engine([[math.inf, math.inf, math.inf, 1.0]]), 2, 1),
        (Engine([[0.0, -0.0, 0.0, -1.0]]), 2, 1),
        (Engine([[1.0]]), 1, 0),
    ],
)
def test_odd_lists_are_cut_like_any_other(engine: Engine, k: int, cuts: int):
    found = cut_index(opened(engine), k, repeats=3, judgments={"q0": {"d0": 1}})
    assert len(found.inside) == cuts
    assert shown(found)


def test_a_document_that_comes_twice_counts_once_and_is_told():
    found = cut_index(opened(Odd([0, 1, 1, 2, 3], [3.0, 2.0, 2.0, 2.0, 1.0])), 2, repeats=2)
    assert found.inside[0].documents == ("d1", "d2")
    assert any("twice" in note for note in found.notes)
    assert shown(found)


def test_a_document_that_comes_twice_does_not_end_the_group():
    """A list of as many documents as were asked for may go on, though one of them is there twice."""

    class Twice(Engine):
        def one(self, scores: Any, depth: int) -> tuple[Any, Any]:
            places, given = super().one(scores, depth)
            return np.append(places[:1], places)[:depth], np.append(given[:1], given)[:depth]

    found = cut_index(opened(Twice([[2.0, *[1.0] * 20, 0.5]])), 2, repeats=1)
    assert (found.inside[0].size, found.inside[0].open) == (20, False)
    (cut,) = cut_index(opened(Twice([[2.0, *[1.0] * 20, 0.5]])), 2, repeats=1, most=8).inside
    assert cut.open


def test_queries_without_results_are_told_and_counted():
    class Half(Engine):
        def one(self, scores: Any, depth: int) -> tuple[Any, Any]:
            return super().one(scores, depth if scores[0] > 0 else 0)

    found = cut_index(opened(Half([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])), 2)
    assert found.to_dict()["summary"]["queries"] == 2
    assert "1 of 2 queries find nothing." in found.notes


@pytest.mark.parametrize(("kept", "calls"), [(3, 3), (1, None)])
def test_calls_that_were_made_are_kept_where_one_fails(kept: int, calls: int | None):
    class Failing(Engine):
        def search(self, queries: Sequence[str], depth: int) -> Hits:
            if len(self.depths) > kept:  # the first search is the deeper one
                raise InputError("http://localhost:1: nobody answers. Start the engine.")
            return super().search(queries, depth)

    found = cut_index(opened(Failing([[2.0, 1.0, 1.0]], seed=1)), 2, repeats=5)
    assert (found.calls and len(found.calls.runs)) == calls
    assert len(found.inside) == 1
    assert any("failed, and none was made after it: http://localhost:1: nobody" in note for note in found.notes)


def test_a_query_that_a_deeper_call_loses_is_told():
    class Flaky(Engine):
        def one(self, scores: Any, depth: int) -> tuple[Any, Any]:
            return super().one(scores, 0 if scores[0] == 9 and depth > 2 else depth)

    found = cut_index(opened(Flaky([[1.0, 1.0, 1.0], [9.0, 8.0, 7.0]])), 2, repeats=2)
    assert [cut.query for cut in found.inside] == ["q0"]
    assert "Query 'q1' found nothing when more was asked for; it is left out." in found.notes


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda: cut_index(opened(Odd([0, 1], [math.nan, 1.0])), 1), "NaN as a score for query 'q0'"),
        (lambda: cut_index(opened(Odd([], [])), 1), "no query finds a document"),
        (lambda: cut_index(opened(Engine([[1.0, 2.0]])), 0), "k must be an integer >= 1"),
        (lambda: cut_runs([], 2), "Name a run"),
        (lambda: cut_runs([{"q": {"a": 1.0, "b": 1.0}}], 2), "no list goes past rank 2"),
        (lambda: cut_runs([{"q": {"a": 1.0}}, {"p": {"a": 1.0}}], 1), "share no query"),
        (lambda: cut_runs([{"q": {"a": 1.0, "b": 0.5}}], 1, depth=3), "Leave depth out"),
        (lambda: cut_runs([{"q": {"a": 1.0, "b": 0.5}}], 1, judged_only=True), "than the first 1"),
        (lambda: cut_runs([{"q": {"a": 1.0, "b": 0.5}}], 1, skip_first=True), "than the first 1"),
        (lambda: cut_runs([{"q": {"a": math.nan, "b": 0.5}}], 1), "is nan. It must be a number"),
    ],
)
def test_what_cannot_be_cut_is_refused_in_one_line(work: Any, told: str):
    with pytest.raises((InputError, PolicyError)) as refused:
        work()
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_repeated_runs_over_other_queries_count_as_empty_there():
    one = Run.of({"q": {"a": 1.0, "b": 0.5}, "p": {"a": 1.0, "b": 0.5}})
    found = cut_runs([one, {"q": {"a": 1.0, "b": 0.5}}], 1)
    assert any("lacks 1 of 2 queries, such as 'p'" in note for note in found.notes)
    assert found.calls is not None
    assert found.calls.otherwise.tolist() == [0, 1]
    assert found.calls.contexts.tolist() == [1, 2]
    scored = cut_runs([one, {"q": {"a": 1.0, "b": 0.5}}], 1, judgments={"q": {"a": 1}, "p": {"a": 1}}, missing="skip")
    assert scored.to_dict()["measures"]["R@1"]["calls"] == [1.0, 0.5]


def test_a_list_cut_by_evaluation_is_the_same_as_by_evaluate():
    rng = np.random.default_rng(1)
    run = {f"q{q}": {f"d{d}": float(rng.integers(0, 4)) for d in range(12)} for q in range(9)}
    judged = {f"q{q}": {f"d{d}": int(rng.integers(0, 2)) for d in range(12)} for q in range(9)}
    told = cut_runs([run], 5, judgments=judged).to_dict()["measures"]["R@5"]
    exact = tv.evaluate(run, judged, ["R@5"])["R@5"]
    assert (told["expected"], told["lowest"], told["highest"]) == (exact.expected, exact.lowest, exact.highest)


@pytest.mark.parametrize("measure", ["AP", "RR", "R@9", "nDCG(base='list')@2", "P@4"])
def test_measures_see_no_document_past_the_context(measure: str):
    """Whatever was fetched: equal to every context on its own, in all orders of two equal scores at the cutoff."""
    scores = {"a": 9.0, "b": 8.0, "c": 8.0, "d": 7.0, "e": 6.0}
    judged = {"q": {"b": 0, "c": 2, "d": 3, "e": 1}}
    told = cut_runs([{"q": scores}], 2, judgments=judged, measures=[measure]).to_dict()["measures"][measure]
    contexts = [tv.evaluate({"q": {"a": 2.0, last: 1.0}}, judged, [measure])[measure].expected for last in "bc"]
    assert told["expected"] == pytest.approx(sum(contexts) / 2, abs=1e-15)
    assert (told["lowest"], told["highest"]) == pytest.approx((min(contexts), max(contexts)), abs=1e-15)


def test_a_deep_call_shows_the_group_whatever_a_shallow_one_lists():
    shallow, deep = {"q": {"a": 3.0, "b": 2.0}}, {"q": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}}
    for runs in ([shallow, deep], [deep, shallow]):
        (cut,) = cut_runs(runs, 2).cuts
        assert (cut.documents, cut.open) == (("b", "c"), False)
    (cut,) = cut_runs([shallow, {"q": {"a": 3.0, "b": 2.0, "c": 2.0}}], 2).cuts
    assert cut.open


def test_what_nobody_can_see_is_not_said_to_be_no_cut():
    one = {"q": {"a": 3.0, "b": 2.0}, "r": {"x": 1.0, "y": 0.5}}
    other = {"q": {"a": 3.0, "c": 2.0}, "r": {"x": 1.0, "y": 0.5}}
    judged = {"q": {"b": 1, "z": 0}, "r": {"x": 1}}

    def told(*runs: Any, **choices: Any) -> str:
        return quoted(cut_runs(runs, 2, **choices))

    line = "the list ends with the score of rank 2, so what is cut there cannot be seen"
    assert told(one, one) == f"In 2 of 2 queries {line}."
    assert told(one | {"r": {"x": 1.0}}, one | {"r": {"x": 1.0}}) == (
        f"In 1 of 2 queries {line}; in none of the others does the cut at 2 fall inside a group of equal scores."
    )
    assert told(one, other, judgments=judged) == (
        "In at least 1 of 2 queries the cut at 2 falls inside a group of equal scores; recall@2 lies between 0.5000 "
        "and 1.0000 or further apart by the engine's choice alone."
    )
    found = cut_runs([one, other], 2, texts=dict.fromkeys("abcxy", "text"))
    assert {cut.query: cut.cause for cut in found.result().cuts} == {"q": "identical texts", "r": "not known"}
    said = " ".join(shown(found).split())
    assert "that chooses at random at least 0.5 are expected" in said
    assert "Fetch more than 3 documents" in said


def test_a_measure_that_no_query_has_is_not_quoted():
    run = {"q": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}}
    found = cut_runs([run], 2, judgments={"q": {"a": 0}}, empty="skip")
    assert found.result().measures["R@2"].expected is None
    assert quoted(found).endswith("there 50.00% of the context is left to the engine's choice.")


def test_what_is_not_known_is_null():
    """Causes and calls too, whose keys were left out before results had types."""
    unknown = ("cause", "texts", "vectors", "decided_by_exact_scores", "calls")
    found = cut_runs([{"q": {"a": 2.0, "b": 2.0, "c": 1.0}}], 1).to_dict()
    assert [found["cuts"][0][name] for name in unknown] == [None] * 5
    assert CutAudit.from_dict(found).to_dict() == found
    older = found | {"cuts": [{name: value for name, value in found["cuts"][0].items() if name not in unknown}]}
    assert CutAudit.from_dict(older).to_dict() == found


@pytest.mark.evidence
def test_the_runs_of_dl_hard_hide_their_ties_in_the_sixth_digit(dl_hard_folder: Path):
    """Anserini takes .000001 from each further document of a tie: as written nearly nothing ties (docs/cuts.md)."""
    judged = tv.Judgments.read(dl_hard_folder / "qrels.trec")
    cut = {}
    for path in sorted(dl_hard_folder.glob("*.run.gz")):
        run = Run.read(path)
        told = [
            len(cut_runs([run], k, judgments=judged, tie_precision=p).inside) for p in (None, 1e-4) for k in (10, 100)
        ]
        cut[run.name] = tuple(told)
    assert cut == {
        "bm25": (0, 0, 0, 9),
        "bm25+bert(zs)": (0, 0, 3, 1),
        "bm25+rm3": (0, 0, 0, 4),
        "bm25+rm3+bert(zs)": (0, 1, 5, 3),
        "bm25+rm3+t5(zs)": (0, 0, 1, 0),
        "bm25+t5(zs)": (0, 0, 2, 0),
    }


@pytest.mark.evidence
@pytest.mark.parametrize(("name", "cut"), [("cranfield", []), ("scifact-test", ["756"])])
def test_bm25_in_float64_is_cut_inside_a_group_in_one_query(name: str, cut: list[str]):
    pytest.importorskip("bm25s", reason='needs the extra "retrieval"')
    folder = SHARED / "collections" / name
    if not folder.is_dir():
        pytest.skip(f"real data is absent: ../shared/data/collections/{name}")
    collection = Collection.read(str(folder))
    index = make_index("bm25")
    index.build(list(collection.documents.values()))
    queries = list(collection.queries)
    asked = SearchSession(index, list(collection.queries.values()), queries, pl.Series(list(collection.documents)))
    found = cut_index(asked, 10, repeats=2, judgments=collection.judgments)
    assert [each.query for each in found.cuts] == cut
    assert found.to_dict()["calls"]["differed_otherwise"] == 0
