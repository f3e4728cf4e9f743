"""What evaluate says and refuses beside its numbers, which tests/truth holds."""

import warnings

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.evaluation.scores import STATISTICS
from trueval.measures import Definition, Measure, linear, parse
from trueval.measures.grammar import Measures
from trueval.measures.measure import Values
from trueval.measures.orders.weights import WeightTable
from trueval.measures.parameters import REL
from trueval.policy.policy import Exceptional, Policy
from trueval.standings.standings import Standings

RUN = tv.Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})


def notes_of(grades: dict[str, float], measure: Measures, **choices: float | str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        return " ".join(tv.evaluate(RUN, tv.Judgments.from_dict({"q": grades}), measure, **choices).notes)


@pytest.mark.parametrize("grade", [1, 2])
def test_grades_of_another_scale_are_told_where_a_rubric_is_read(grade: int) -> None:
    """Binary judgments: on the rubric 1 to 5 all of them are not relevant, and Harm would be the precision."""
    said = notes_of({"a": grade, "b": 1}, "Harm@2 PROC(RA-nWG)@2 RR")
    assert "judgments: Harm@2, PROC(RA-nWG)@2 read grades on the rubric 1 to 5" in said
    assert f"the largest of the judgments is {grade}" in said
    assert "--grades 0:1,1:5" in said
    assert not notes_of({"a": grade}, "RR nDCG@2")
    assert not notes_of({"a": grade, "b": 3}, "Harm@2")


def test_swapped_arguments_are_named() -> None:
    judgments = tv.Judgments.from_dict({"q": {"a": 1}})
    with pytest.raises(InputError, match="Got Judgments and Run"):
        tv.evaluate(judgments, RUN, "RR")


def test_gold_of_the_rubric_is_not_grade_one_by_silence() -> None:
    rubric = {"a": 1, "b": 5, "c": 3}
    assert "AllGold(rel=4)" in notes_of(rubric, "AllGold@2")
    assert not notes_of(rubric, "AllGold(rel=1)@2")
    assert not notes_of(rubric, "AllGold@2", rel=4)
    assert not notes_of({"a": 1, "b": 0}, "AllGold@2")
    assert not notes_of(rubric, "RR(rel=4)")
    assert notes_of(rubric, "AllGold@2").count("AllGold@2") == 1  # not once more as a threshold that all reach
    assert "judgments: RR takes every judged document" in notes_of(rubric, "AllGold@2 RR")
    assert "AllGold@2 takes every judged document" in notes_of({"a": 1, "b": 2, "c": 3}, "AllGold@2")


def test_a_threshold_that_no_grade_reaches_is_said() -> None:
    grades = {"a": 1, "b": 3, "c": 0}
    assert "AP finds nothing relevant in any run: it counts grades from 9 on" in notes_of(grades, "AP", rel=9)
    assert "largest of the judgments is 3" in notes_of(grades, "RR(rel=4) RR(rel=3)")
    assert not notes_of(grades, "AP RR(rel=3) nDCG@2", rel=3)
    assert not notes_of(grades, "nDCG@2", rel=9)
    assert "grades above 0" in notes_of({"a": 0}, "AP", convention="sentence-transformers")


def test_a_threshold_that_every_grade_reaches_is_said_as_loudly() -> None:
    """The rubric 1 to 5 begins at "not relevant": with rel 1 the first document is always relevant, and RR is 1."""
    rubric = {"a": 1, "b": 2, "c": 5}
    said = notes_of(rubric, "RR AP@2 P(rel=1)@2 nDCG@2")
    assert said.startswith("judgments: RR, AP@2 take every judged document for relevant: they count grades from 1 on")
    assert "the lowest of the judgments is 1, the largest 5" in said
    assert "--rel 4" in said
    assert "--grades 1:0" in said
    assert "P(rel=1)" not in said  # whoever names a threshold has thought about it
    assert "nDCG@2 counts the lowest grade as a gain" in said
    assert "RR takes every judged document" in notes_of({"a": 1, "b": 4}, "RR")
    assert "(--rel 3)" in notes_of({"a": 2, "b": 3, "c": 7}, "RR")
    assert not notes_of({"a": 1, "b": 2}, "RR")  # as NFCorpus has it
    assert not notes_of(rubric, "RR", rel=4)
    assert not notes_of({"a": 0, "b": 1, "c": 2}, "RR")
    assert not notes_of({"a": 1, "b": 1}, "RR")  # relevant documents alone, as in most judgments that were not pooled


def test_of_measures_of_others_only_their_threshold_is_known() -> None:
    """This one declares rel and gains by grade, so that it takes no document of grade 1 for relevant."""

    def gains(standings: Standings, measure: Measure) -> Values:
        worth = (standings.grade - 1) / 4
        return linear(standings, worth, WeightTable(np.ones(measure.cutoff)), np.ones(standings.queries), no_query)

    no_query = np.zeros(1, dtype=bool)
    about = ("Own-gain", "Gains of grades.", "sum of (g - 1) / 4", "test")
    own = Measure(Definition(*about, gains, parameters={"rel": REL}), "Own-gain", 2)
    said = notes_of({"a": 1, "b": 5}, [own])
    assert said.startswith("judgments: every judged document reaches the threshold rel of Own-gain@2, which is 1: the")
    assert "for relevant" not in said
    assert "(--rel 4), or map the grades (--grades 1:0" in said
    both = notes_of({"a": 1, "b": 5}, [own, "RR"])
    assert "RR takes every judged document for relevant" in both
    assert "rel of Own-gain@2" in both
    assert all(each.is_ours for each in map(parse, ("RR", "nDCG@10", "gm(AP)", "RA-nWG@10")))


def test_a_map_of_many_grades_is_begun_and_not_written_out() -> None:
    grades = {f"d{grade}": grade for grade in range(1, 14)}
    assert "(--rel 2), or map the grades (--grades 1:0,...)." in notes_of(grades, "RR")


def test_arrays_say_it_too() -> None:
    with pytest.warns(TruevalWarning, match="RR takes every judged document for relevant"):
        found = tv.evaluate_arrays([[2.0, 1.0, 0.5]], [[1, 5, np.nan]], "RR")
    assert found.expected[0, 0] == 1
    assert len(found.notes) == 1
    assert not tv.evaluate_arrays([[2.0, 1.0]], [[0, 5]], "RR").notes
    assert not tv.evaluate_arrays([[2.0, 1.0]], [[0, 0]], "RR").notes


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_where_grade_0_is_relevant_zeros_of_arrays_are() -> None:
    found = tv.evaluate_arrays([[2.0, 1.0, 1.0]], [[0, 1, 0]], "P@2 RR R@2", rel=0)
    assert found.expected[0].tolist() == [1.0, 1.0, 2 / 3]


def test_arrays_have_a_query_for_each_list() -> None:
    assert tv.evaluate_arrays([[2.0, 1.0], [1.0], [3.0]], [[0, 1], [1], [0]], "RR").query_ids == ("0", "1", "2")


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_a_grade_that_a_convention_does_not_take_is_named() -> None:
    with pytest.raises(InputError, match=r"AP takes grades 0 and 1 under this convention. Got 3\."):
        tv.evaluate(RUN, {"q": {"a": 1, "b": 0, "c": 3}}, "AP", convention="sklearn")


def test_a_call_says_what_it_was_told_whatever_was_told_before() -> None:
    for rel in (1, 1.0, 2, 2.0):
        chosen = tv.evaluate_arrays([[2.0, 1.0]], [[0, 1]], "RR", rel=rel).policy.rel
        assert (chosen, type(chosen)) == (rel, type(rel))


def test_measures_are_read_alike_from_a_text_a_list_and_what_a_loop_gives_once() -> None:
    texts = ["nDCG@10", "RR(rel=2)"]
    for measures in (" ".join(texts), texts, iter(texts), map(parse, texts), [texts[0], parse(texts[1])]):
        assert tuple(map(str, tv.evaluate_arrays([[2.0, 1.0]], [[0, 1]], measures).measures)) == tuple(texts)


def test_no_result_depends_on_the_calls_before_it() -> None:
    rng = np.random.default_rng(0)
    pairs = [(rng.integers(0, 9, shape), rng.integers(0, 4, shape)) for shape in [(3, 8), (1, 2), (5, 30)] * 2]
    pairs[3:] = pairs[:3]
    once = [tv.evaluate_arrays(*pair, "nDCG nDCG@5 DCG RBP AP RR@3") for pair in pairs]
    for first, again in zip(once[:3], once[3:], strict=True):
        for statistic in STATISTICS:
            assert np.array_equal(getattr(first, statistic), getattr(again, statistic), equal_nan=True)


def test_matched_counts_the_judged_documents_in_the_lists() -> None:
    run = tv.Run.from_dict({"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0}, "q3": {"a": 1.0}})
    judgments = tv.Judgments.from_dict({"q1": {"a": 0, "b": 2, "c": 1}, "q2": {"z": 1}})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert tv.evaluate(run, judgments, "RR").matched == 2
        assert tv.evaluate(run, tv.Judgments.from_dict({"q1": {"z": 1}}), "RR").matched == 0
    assert tv.evaluate_arrays([[0.3, 0.2, 0.1]], [[1, 0, -1]], "RR").matched == 2
    assert tv.evaluate_arrays([[0.3, 0.2, 0.1]], [[1, 0, -1]], "RBP-residual").matched == 2


def test_a_bounded_expectation_says_how_far_it_can_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, grades = [[1.0] * 12, [0.5] * 12], [[1, 0, 0] * 4, [0, 1] * 6]
    exact = tv.evaluate_arrays(scores, grades, "IPrec(recall=0.5)")
    assert "expected_within" not in exact.details[0]
    monkeypatch.setattr("trueval.measures.orders.curve_moments.MOST_STEPS", 40)
    bounded = tv.evaluate_arrays(scores, grades, "IPrec(recall=0.5)")
    margin = bounded.details[0]["expected_within"]
    assert bounded.exact == (False,)
    assert abs(bounded.mean("IPrec(recall=0.5)").expected - exact.mean("IPrec(recall=0.5)").expected) <= margin
    assert 0 < margin < 0.5
    assert bounded.to_dict()["measures"]["IPrec(recall=0.5)"]["details"] == {"expected_within": margin}


def test_no_standard_deviation_is_beyond_half_the_range() -> None:
    scores = np.array([[*range(200_000, 2, -1), 1.5, 1.5]], dtype=float)
    grades = np.zeros((1, 200_000))
    grades[0, -1] = 1
    found = tv.evaluate_arrays(scores, grades, "nDCG")
    rounding = np.spacing(found.highest)
    assert (found.sd <= (found.highest - found.lowest) / 2 + rounding).all()


@pytest.mark.parametrize("seed", [np.int64(3), 3])
def test_numbers_of_numpy_are_numbers(seed: int) -> None:
    judgments = tv.Judgments.from_dict({"q": {"a": 1, "b": 0}})
    found = tv.evaluate(RUN, judgments, "RR", tie_order="random", seed=seed, rel=np.float64(1), depth=np.int64(2))
    assert found.policy.seed == 3
    assert type(found.policy.rel) is float


@pytest.mark.parametrize("seed", ["1", 1.0, 2**63])
def test_a_seed_is_an_integer(seed: object) -> None:
    with pytest.raises(PolicyError, match="seed must be an integer"):
        tv.evaluate(RUN, tv.Judgments.from_dict({"q": {"a": 1}}), "RR", tie_order="random", seed=seed)


@pytest.mark.parametrize(("facets", "expected"), [(["0", "0"], True), (["1", "2"], False)])
def test_measures_of_facets_say_that_there_is_one_facet(facets: list[str], expected: bool) -> None:
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "facet": facets, "grade": [1.0, 1.0]})
    judgments = tv.Judgments.from_frame(frame, facets=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        notes = tv.evaluate(RUN, judgments, "RR alpha_nDCG@5").notes
    assert any("alpha_nDCG@5 sees one facet" in note for note in notes) == expected


# What a query counts as that the run lacks and that has nothing to find, one of the two, or neither.
NOT_THERE = tv.Judgments.from_dict({"both": {"a": 0}, "absent": {"a": 1}, "empty": {"c": 0}, "there": {"b": 1}})
TWO_OF_FOUR = tv.Run.from_dict({query: {"a": 3.0, "b": 2.0, "c": 2.0} for query in ("empty", "there")})


@pytest.mark.parametrize(
    ("missing", "empty", "both", "absent", "nothing"),
    [
        ("skip", "zero", np.nan, np.nan, 0.0),
        ("skip", "one", np.nan, np.nan, 1.0),
        ("skip", "skip", np.nan, np.nan, np.nan),
        ("worst", "zero", 0.0, 0.0, 0.0),
        ("worst", "one", 1.0, 0.0, 1.0),
        ("worst", "skip", np.nan, 0.0, np.nan),
    ],
)
def test_absent_and_empty_queries(missing: str, empty: str, both: float, absent: float, nothing: float) -> None:
    """A query left out stays out, and its deviation is not available; one that counts has a deviation of 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        scores = tv.evaluate(TWO_OF_FOUR, NOT_THERE, "RR", missing=missing, empty=empty)
    settled = np.array([both, absent, nothing])
    for statistic in ("expected", "lowest", "highest", "tie_broken"):
        np.testing.assert_array_equal(getattr(scores, statistic)[:3, 0], settled, err_msg=statistic)
    np.testing.assert_array_equal(scores.sd[:3, 0], 0.0 * settled)
    assert scores.expected[3, 0] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert scores.sd[3, 0] == pytest.approx((1 / 2 - 1 / 3) / 2)
    assert scores.mean("RR").queries == 1 + int((~np.isnan(settled)).sum())
    assert scores.missing_queries == ("both", "absent")


@pytest.mark.parametrize(("missing", "value"), [("worst", 1.0), ("skip", np.nan)])
def test_an_absent_query_counts_as_the_worst_value_which_may_be_1(missing: str, value: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        scores = tv.evaluate(TWO_OF_FOUR, NOT_THERE, "RBP-residual", missing=missing)
    np.testing.assert_array_equal(scores.expected[:2, 0], [value, value])
    np.testing.assert_array_equal(scores.sd[:2, 0], [0.0 * value] * 2)


@pytest.mark.parametrize(
    ("measures", "cut"), [("P@2", ()), ("P@3", ("q",)), ("P@2 P@3 P@1", ("q",)), ("P@1 P@2", ()), ("AP", ("q",))]
)
def test_a_list_that_may_end_inside_a_tie_concerns_measures_that_look_into_it(
    measures: str, cut: tuple[str, ...]
) -> None:
    """The last group begins at rank 3, and a relevant document may have been cut off behind it."""
    run = tv.Run.from_dict({"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 2.0}})
    assert tv.evaluate(run, tv.Judgments.from_dict({"q": {"a": 1, "z": 1}}), measures).ties.cut_queries == cut


@pytest.mark.parametrize(("depth", "cut"), [(2, ()), (3, ("q",))])
def test_a_depth_keeps_measures_out_of_the_last_group(depth: int, cut: tuple[str, ...]) -> None:
    run = tv.Run.from_dict({"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 2.0}})
    found = tv.evaluate(run, tv.Judgments.from_dict({"q": {"a": 1, "z": 1}}), "AP", depth=depth)
    assert found.ties.cut_queries == cut


def test_every_grade_below_zero_is_no_grade() -> None:
    """Also one that rounds to 0."""
    found, left_out = (tv.evaluate_arrays([[3.0, 2.0]], [[grade, 1]], "nDCG DCG@2 RR AP") for grade in (-0.5, -1.0))
    assert found.expected.tolist() == left_out.expected.tolist()


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_an_order_that_is_known_at_the_depth_counts_beside_one_that_is_not() -> None:
    """In q1 ranx's order is that of the input: a, b; c is past the depth. AP is what a gives, 1/2."""
    run = {"q1": {"a": 2.0, "b": 1.0, "c": 1.0}, "q2": {f"d{place}": 1.0 for place in range(16)}}
    judgments = {"q1": {"a": 1, "c": 1}, "q2": {"d3": 1}}
    scores = tv.evaluate(run, judgments, "AP(norm='threshold')", tie_order="input-below-16", depth=2)
    assert scores.tie_broken[0, 0] == 0.5
    assert np.isnan(scores.tie_broken[1, 0])


@pytest.mark.parametrize("grade", [4, 5])
def test_judgments_of_one_grade_list_what_is_relevant(grade: int) -> None:
    assert notes_of({"a": grade, "b": grade}, "P@1") == ""


def test_queries_without_judgments_are_named() -> None:
    with pytest.warns(TruevalWarning) as said:
        tv.evaluate({"q": {"a": 1.0}, "y": {"a": 1.0}}, {"q": {"a": 1}}, "RR")
    assert [str(each.message) for each in said] == ["run: without judgments and left out: 1 query, 'y'."]


def test_what_a_policy_does_otherwise_for_one_measure_counts_documents_anew() -> None:
    policy = Policy(exceptions=(Exceptional(("RR",), (("depth", 1),)),))
    scores = tv.evaluate({"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 1}}, "RR P@2 RR@5", policy=policy)
    assert scores.expected.tolist() == [[0.0, 0.5, 0.0]]


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_no_query_of_arrays_is_missing() -> None:
    """A list is there for each, if only an empty one, and what a policy leaves out of it changes nothing of that."""
    for missing in ("error", "skip", "worst"):
        scores = tv.evaluate_arrays(
            [[2.0, 1.0], [1.0], []], [[0, 1], [-1], []], "RR", missing=missing, judged_only=True
        )
        assert (scores.missing_queries, scores.expected[:, 0].tolist()) == ((), [0.5, 0.0, 0.0])


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_where_no_judged_query_has_a_list_nothing_is_said_of_the_ids_of_documents() -> None:
    found = tv.evaluate({"q": {}, "r": {"x": 1.0}}, {"q": {"a": 1}}, "RR")
    assert not any("no retrieved document is judged" in note for note in found.notes)


def test_an_emptied_list_is_said_and_no_judged_document_of_any_list_is_said_too() -> None:
    judgments = {"q": {"a": 1}, "r": {"a": 1}}
    with pytest.warns(TruevalWarning) as caught:
        tv.evaluate({"q": {"x": 1.0}, "r": {"y": 1.0}}, judgments, "RR", judged_only=True)
    said = [str(each.message) for each in caught]
    assert "nothing is left of the list of 2 queries, 'q', 'r' (judged_only)" in said[0]
    assert "no retrieved document is judged" in said[1]
