"""What every registered measure must satisfy, whatever its kernel does: the twin and a few invariants decide."""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import TYPE_CHECKING

import lists
import numpy as np
import polars as pl
import pytest
import twin
from twin_evidence import ON_THE_RUBRIC, evidence_worth
from twin_more import utility_worth

from trueval.errors import TruevalWarning
from trueval.evaluation.arrays import evaluate_arrays
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.measures import parse, registry
from trueval.run import Run

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.measures import Measure

SMALL = lists.small_queries()
SEVEN = lists.seven_document_queries()
LONG = lists.long_query()
FEW = lists.Queries(SMALL | SEVEN)
LONG_ALONE = lists.Queries(long=LONG)
CUTOFFS = (1, 2, 3, 4, 5, 6, 7, 9, 1000)
CLOSE = 1e-12
# listed order by order, so only where few orders place the relevant documents
NO_SD_WHEN_LONG = {"IPrec11"}
SIGMAS = 5

# parameters beside the default; a measure that is not named here is tested with its default alone
VARIANTS = {
    "nDCG": [
        "gain='exp'",
        "gain='binary'",
        "base='list'",
        "gain='exp', base='list'",
        "gain={1: 3, 2: 9, 4: 4.5}",
        "gain='rubric'",
    ],
    "DCG": ["gain='exp'", "gain={0: 0.5, 1: 1, 2: 10, 3: 100}", "gain='rubric'"],
    "RR": ["rel=2", "rel=0"],
    "AP": ["rel=2", "rel=0", "norm='min'", "base='list'", "norm='hits'", "norm='hits', rel=2", "norm='threshold'"],
    "P": ["rel=2", "rel=0", "short='listed'"],
    "R": ["rel=2", "base='list'"],
    "F1": ["rel=2", "base='list'"],
    "Hits": ["rel=2"],
    "Success": ["rel=2", "rel=0.5"],
    "Rprec": ["rel=2"],
    "RBP": ["p=0.5", "p=0.9, rel=2", "scale=4", "scale=2, rel=4"],
    "RBP-residual": ["p=0.95"],
    "ERR": ["gmax=5"],
    "bpref": ["rel=2"],
    "IPrec": ["recall=0", "recall=0.3", "recall=1", "recall=0.5, rel=2", "recall=0.3, rounding='nearest'"],
    "IPrec11": ["rel=2", "rounding='nearest'"],
    "alpha_nDCG": ["alpha=0", "alpha=0.9", "alpha=1", "alpha=0.25, rel=2", "ideal='ndeval'"],
    "NRBP": ["alpha=0.3, beta=0.8", "alpha=0", "alpha=1, beta=0"],
    "gm": ["AP", "bpref", "nDCG(gain='exp')@3"],
    "RA-nWG": ["alpha=0.5, cap4=0.75", "alpha=2, cap3=0.2", "alpha=0", "unjudged='upper'"],
    "nWG": ["unjudged='upper'"],
    "N-Recall4+": ["unjudged='upper'"],
    "N-Recall5": ["unjudged='upper'"],
    "P4+": ["unjudged='upper'"],
    "Harm": ["unjudged='upper'"],
    "AllGold": ["rel=2"],
    "PROC": ["RA-nWG", "RA-nWG, pool=3", "RA-nWG(alpha=0.5), pool=4", "N-Recall4+, pool=2"],
    "pPROC": ["RA-nWG", "RA-nWG, pool=3", "nWG, pool=5", "N-Recall5, pool=2"],
    "retrieval_headroom": ["RA-nWG, pool=3", "P4+"],
    "ordering_headroom": ["RA-nWG, pool=3", "nWG, pool=5", "RA-nWG"],
}
FORMS = [
    name + (f"({parameters})" if parameters else "")
    for name in registry()
    for parameters in (*([] if registry()[name].definition.takes_measure else [""]), *VARIANTS.get(name, []))
]


def with_cutoffs(form: str, cutoffs: tuple[int, ...] = CUTOFFS) -> list[Measure]:
    """Return a form at every cutoff it allows, and without one where that is allowed."""
    notation = twin.Notation.read(form)
    use = registry()[notation.name].cutoff_use
    pool = notation.parameters.get("pool", math.inf)
    texts = [f"{form}@{k}" for k in cutoffs if k <= pool] if use != "none" else []
    return [parse(text) for text in texts + ([] if use == "required" else [form])]


def rubric(form: str) -> bool:
    notation = twin.Notation.read(form)
    return notation.name in ON_THE_RUBRIC | {"UDCG-proxy"} or notation.parameters.get("gain") == "rubric"


def fit(query: lists.Query, form: str) -> lists.Query:
    """Return a query with grades that the measure can read."""
    return lists.on_rubric(query) if rubric(form) else query


@cache
def read(queries: lists.Queries, on_rubric: bool) -> tuple[Run, Judgments]:
    fitted = {name: lists.on_rubric(query) if on_rubric else query for name, query in queries.items()}
    run = Run.from_dict({q: dict(query.scores) for q, query in fitted.items()})
    return run, Judgments.from_dict({q: dict(query.grades) for q, query in fitted.items()})


def scores_of(queries: lists.Queries, measures: list[Measure], **policy: object) -> Scores:
    run, judgments = read(queries, rubric(str(measures[0])))
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore",
            ".*(finds nothing relevant|every judged document|sees one facet|grades on the rubric)",
            TruevalWarning,
        )
        scores = evaluate(run, judgments, measures, **policy)
    assert scores.query_ids == tuple(queries)
    return scores


@cache
def scores_of_small(form: str) -> Scores:
    return scores_of(SMALL, with_cutoffs(form))


@cache
def orders(name: str, on_rubric: bool = False) -> twin.Orders:
    query = SMALL[name] if name in SMALL else SEVEN[name]
    query = lists.on_rubric(query) if on_rubric else query
    return twin.all_orders(query.scores, query.grades)


def assert_equals_the_twin(queries: lists.Queries, form: str, step: int) -> None:
    """Of every query each so many'th measure, of the next query those after them: 1 for all."""
    measures = with_cutoffs(form)
    scores = scores_of(queries, measures)
    for row, name in enumerate(queries):
        for column, measure in list(enumerate(measures))[row % step :: step]:
            truth = twin.over_orders(orders(name, rubric(form)), str(measure))
            where = f"{measure} of {queries[name]}"
            assert scores.exact[column], where
            found = [getattr(scores, name)[row, column] for name in ("expected", "lowest", "highest", "sd")]
            true = [truth.mean, truth.lowest, truth.highest, truth.variance]
            close = pytest.approx([*map(float, true)], abs=CLOSE, rel=CLOSE, nan_ok=True)
            assert [*found[:3], found[3] ** 2] == close, where


def assert_same(one: Scores, other: Scores, statistics: tuple[str, ...] = ("expected", "lowest", "highest")) -> None:
    """Compare order-free statistics; standard deviations by their squares, which rounding does not magnify."""
    for statistic in statistics:
        np.testing.assert_allclose(getattr(one, statistic), getattr(other, statistic), rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(one.sd**2, other.sd**2, rtol=CLOSE, atol=CLOSE)


# --- against the twin -------------------------------------------------------------------------------------------------


# Exact fractions of every order are slow: half of the cutoffs of each query now, all of them in `make evidence`.
@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.evidence)])
@pytest.mark.parametrize("form", FORMS)
def test_equals_the_twin_over_all_orders_of_up_to_five_documents(form: str, step: int) -> None:
    assert_equals_the_twin(SMALL, form, step)


# Other parameters than the default wait for `make evidence`: 5,040 orders each.
@pytest.mark.slow
@pytest.mark.parametrize(
    "form", [form if form in registry() else pytest.param(form, marks=pytest.mark.evidence) for form in FORMS]
)
def test_equals_the_twin_over_all_orders_of_seven_documents(form: str) -> None:
    assert_equals_the_twin(SEVEN, form, step=1)


@cache
def sample(on_rubric: bool) -> tuple[twin.Ranking, ...]:
    long = lists.on_rubric(LONG) if on_rubric else LONG
    return tuple(twin.sampled_orders(long.scores, long.grades, 1500, np.random.default_rng(13)))


# A plain definition takes up to a minute for 1,500 orders of a thousand documents: most wait for `make evidence`.
SAMPLED = ("P", "R", "RR", "Success", "Rprec", "bpref", "Harm", "AllGold")


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", [form if form in SAMPLED else pytest.param(form, marks=pytest.mark.evidence) for form in FORMS]
)
def test_agrees_with_sampled_orders_of_a_thousand_documents(form: str) -> None:
    measures = with_cutoffs(form, (1, 5, 10, 100, 1000, 2000))
    scores = scores_of(LONG_ALONE, measures)
    for column, measure in enumerate(measures):
        seen = twin.over_sample(sample(rubric(form)), str(measure))
        expected, variance = scores.expected[0, column], scores.sd[0, column] ** 2
        if math.isnan(expected):
            assert math.isnan(seen.mean), measure
            continue
        error = max(seen.mean_error, math.sqrt(np.nan_to_num(variance) / len(sample(rubric(form)))))
        assert abs(seen.mean - expected) <= SIGMAS * error + CLOSE, measure
        if math.isnan(variance):
            assert measure.name in NO_SD_WHEN_LONG, measure
            variance = seen.variance
        assert abs(seen.variance - variance) <= SIGMAS * seen.variance_error + CLOSE, measure
        assert scores.lowest[0, column] <= seen.lowest + CLOSE, measure
        assert scores.highest[0, column] >= seen.highest - CLOSE, measure


@pytest.mark.parametrize("form", FORMS)
def test_extrema_of_a_thousand_documents_are_values_of_the_best_and_the_worst_order(form: str) -> None:
    """No measure here prefers a worse document in front, so sorting each group by worth gives both extrema."""
    if twin.Notation.read(form).name in ("pPROC", "ordering_headroom"):
        return  # a ceiling and what is reached of it do not peak in the same order
    measures = with_cutoffs(form, (1, 5, 10, 100, 1000, 2000))
    scores = scores_of(LONG_ALONE, measures)
    for column, measure in enumerate(measures):
        best, worst = (
            float(twin.value(twin.ranking_of(order, fit(LONG, form).grades, float), str(measure)))
            for order in by_worth(measure)
        )
        assert scores.highest[0, column] == pytest.approx(max(best, worst), abs=CLOSE, rel=CLOSE)
        assert scores.lowest[0, column] == pytest.approx(min(best, worst), abs=CLOSE, rel=CLOSE)


def by_worth(measure: Measure) -> tuple[list[str], list[str]]:
    notation = twin.Notation.read(str(measure))
    long, probe = fit(LONG, str(measure)), twin.Ranking((), (), 0)

    @cache
    def worth_of(grade: float) -> float:
        if measure.name == "UDCG-proxy":
            return utility_worth(grade)
        if measure.name == "gm":
            return max(grade, 0.0)
        if "DCG" in notation.name:
            return float(twin.gain(probe, notation, grade)) if grade >= 0 else 0.0
        if rubric(str(measure)):
            return evidence_worth(list(long.grades.values()), notation, grade)
        return grade

    def worth(document: str) -> float:
        return worth_of(long.grades.get(document, -1.0))

    best = sorted(LONG.scores, key=lambda d: (-LONG.scores[d], -worth(d)))
    worst = sorted(LONG.scores, key=lambda d: (-LONG.scores[d], worth(d)))
    return best, worst


# --- invariants -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_expected_lies_between_lowest_and_highest(form: str) -> None:
    for queries in (SMALL, SEVEN, LONG_ALONE):
        scores = scores_of(queries, with_cutoffs(form))
        known = ~np.isnan(scores.expected)
        assert (scores.lowest <= scores.expected)[known].all()
        assert (scores.expected <= scores.highest)[known].all()
        ends = np.array([measure.span[:2] for measure in scores.measures])
        assert (scores.lowest >= ends[:, 0] - CLOSE)[known].all()
        assert (scores.highest <= ends[:, 1] + CLOSE)[known].all()
        found = known & ~(np.isnan(scores.sd) & (twin.Notation.read(form).name in NO_SD_WHEN_LONG))
        assert (scores.sd >= 0)[found].all()


@pytest.mark.parametrize("form", FORMS)
def test_without_ties_all_statistics_are_one_value_and_sd_is_exactly_zero(form: str) -> None:
    scores = scores_of(untied(), with_cutoffs(form))
    np.testing.assert_array_equal(scores.lowest, scores.expected)
    np.testing.assert_array_equal(scores.highest, scores.expected)
    np.testing.assert_array_equal(scores.tie_broken, scores.expected)
    assert (scores.sd == 0)[~np.isnan(scores.expected)].all()


@cache
def untied() -> lists.Queries:
    return lists.Queries(
        {
            name: lists.Query({d: float(-i) / 3 for i, d in enumerate(query.scores)}, query.grades, query.ranks)
            for name, query in [*SMALL.items(), *SEVEN.items(), *LONG_ALONE.items()]
        }
    )


@pytest.mark.parametrize("form", FORMS)
def test_names_and_input_order_change_nothing_but_the_tie_broken_value(form: str) -> None:
    assert_same(scores_of(FEW, with_cutoffs(form)), scores_of(renamed(), with_cutoffs(form)))


@cache
def renamed() -> lists.Queries:
    rng = np.random.default_rng(3)
    return lists.Queries({name: renamed_and_permuted(query, rng) for name, query in FEW.items()})


def renamed_and_permuted(query: lists.Query, rng: np.random.Generator) -> lists.Query:
    documents = [*query.scores, *(d for d in query.grades if d not in query.scores)]
    names = dict(zip(documents, rng.permutation([f"n{i}" for i in range(len(documents))]).tolist(), strict=True))
    listed = rng.permutation(list(query.scores)).tolist()
    judged = rng.permutation(list(query.grades)).tolist()
    return lists.Query(
        {names[d]: query.scores[d] for d in listed},
        {names[d]: query.grades[d] for d in judged},
        {names[d]: query.ranks[d] for d in listed},
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("scale", "shift"), [(1.0, -17.0), (0.125, 0.0), (3e300, 0.0), (1e-300, -1e-299)])
def test_shifting_and_scaling_scores_changes_nothing(form: str, scale: float, shift: float) -> None:
    after = scores_of(moved(scale, shift), with_cutoffs(form))
    assert_same(scores_of_small(form), after, ("expected", "lowest", "highest", "tie_broken"))


@cache
def moved(scale: float, shift: float) -> lists.Queries:
    return lists.Queries(
        {
            name: lists.Query({d: s * scale + shift for d, s in query.scores.items()}, query.grades, query.ranks)
            for name, query in SMALL.items()
        }
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_query_has_the_same_value_alone_and_among_others(form: str) -> None:
    together = scores_of_small(form)
    for row, name in list(enumerate(SMALL))[::6]:
        alone = scores_of(alone_in_its_run(name), with_cutoffs(form))
        for statistic in ("expected", "lowest", "highest", "tie_broken", "sd"):
            np.testing.assert_allclose(
                getattr(alone, statistic)[0], getattr(together, statistic)[row], rtol=CLOSE, atol=CLOSE
            )


@cache
def alone_in_its_run(name: str) -> lists.Queries:
    return lists.Queries({name: SMALL[name]})


@pytest.mark.parametrize("form", FORMS)
def test_the_name_is_a_value(form: str) -> None:
    for measure in with_cutoffs(form):
        assert parse(str(measure)) == measure
        assert twin.Notation.read(str(measure)).name == twin.Notation.read(form).name


@pytest.mark.parametrize("form", FORMS)
def test_arrays_say_what_dictionaries_say(form: str) -> None:
    """The same lists without ids, where all that is judged is listed."""
    listed = judged_where_listed(rubric(form))
    grades = [[fit(q, form).grades.get(d, math.nan) for d in q.scores] for q in listed.values()]
    arrays = evaluate_arrays([list(q.scores.values()) for q in listed.values()], grades, with_cutoffs(form))
    scores = scores_of(listed, with_cutoffs(form), tie_order="input")
    assert_same(arrays, scores, ("expected", "lowest", "highest", "tie_broken"))


@cache
def judged_where_listed(on_rubric: bool) -> lists.Queries:
    return lists.Queries(
        {
            name: lists.Query(q.scores, {d: g for d, g in q.grades.items() if d in q.scores} or {"missed": 0}, q.ranks)
            for name, q in SMALL.items()
            if not on_rubric or any(q.grades.get(d, -1) >= 0 for d in q.scores)
        }
    )


# --- the tie-broken value ---------------------------------------------------------------------------------------------


@cache
def run_with_ranks(queries: lists.Queries) -> Run:
    rows = [(q, d, s, query.ranks[d]) for q, query in queries.items() for d, s in query.scores.items()]
    return Run.from_frame(pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "rank"], orient="row"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tie_order", ["input", "rank", "docid-desc", "docid-asc"])
def test_tie_broken_is_the_twin_of_the_one_order_named(form: str, tie_order: str) -> None:
    measures = with_cutoffs(form)
    scores = evaluate(run_with_ranks(FEW), read(FEW, rubric(form))[1], measures, tie_order=tie_order)
    for row, query in enumerate(fit(query, form) for query in FEW.values()):
        ranking = twin.ranking_of(twin.order_by(query.scores, tie_order, query.ranks), query.grades, float)
        truths = [float(twin.value(ranking, str(measure))) for measure in measures]
        if "threshold" in form:
            truths = [float(twin.threshold_precision(query.scores, query.grades, str(m))) for m in measures]
        truths = np.where(np.isnan(scores.expected[row]), math.nan, truths)  # no value as soon as one order has none
        np.testing.assert_allclose(scores.tie_broken[row], truths, rtol=CLOSE, atol=CLOSE, err_msg=str(query))


@pytest.mark.parametrize("form", FORMS)
def test_a_random_order_is_reproducible_and_one_of_the_possible_ones(form: str) -> None:
    measures = with_cutoffs(form)
    first, again = (scores_of(SEVEN, measures, tie_order="random", seed=4) for _ in range(2))
    np.testing.assert_array_equal(first.tie_broken, again.tie_broken)
    if "threshold" in form:
        return  # no order has that value
    for row, name in enumerate(SEVEN):
        for column, measure in enumerate(measures):
            possible = {float(twin.value(ranking, str(measure))) for ranking in in_floats(name, rubric(form))}
            if any(map(math.isnan, possible)):
                assert math.isnan(first.tie_broken[row, column])
                continue
            assert min(abs(first.tie_broken[row, column] - v) for v in possible) <= CLOSE, (name, measure)


@cache
def in_floats(name: str, on_rubric: bool) -> tuple[twin.Ranking, ...]:
    """The possible orders, for sums that need not be exact and take a fifth of the time."""
    return tuple(
        twin.Ranking(
            tuple((rank, float(grade)) for rank, grade in ranking.places),
            tuple(map(float, ranking.judged)),
            ranking.listed,
            float,
        )
        for ranking in orders(name, on_rubric)
    )


def test_a_random_order_depends_on_seed_query_and_document_alone() -> None:
    measures = [parse("nDCG@3"), parse("RR")]
    mixed = lists.Queries(
        {
            name: lists.Query(dict(reversed(query.scores.items())), query.grades, query.ranks)
            for name, query in reversed(SEVEN.items())
        }
    )
    straight = scores_of(SEVEN, measures, tie_order="random", seed=8)
    turned = scores_of(mixed, measures, tie_order="random", seed=8)
    np.testing.assert_array_equal(straight.tie_broken, turned.tie_broken[::-1])


@pytest.mark.slow
def test_random_orders_are_uniform() -> None:
    """Over many seeds the tie-broken value has the expectation and the variance of all orders."""
    measures = [parse("nDCG@3"), parse("RR"), parse("AP")]
    draws = np.stack([scores_of(SEVEN, measures, tie_order="random", seed=s).tie_broken for s in range(600)])
    scores = scores_of(SEVEN, measures)
    error = scores.sd / math.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - scores.expected) <= SIGMAS * error + CLOSE).all()
    np.testing.assert_allclose(draws.std(axis=0), scores.sd, rtol=0.2, atol=CLOSE)


# --- nothing there ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_judged_query_that_the_run_lacks_gets_the_worst_value_and_is_named(form: str) -> None:
    run = Run.from_dict({"here": {"a": 1.0}, "unjudged": {"a": 1.0}})
    grade = 4 if form == "ERR" else 5  # the largest there is
    judgments = Judgments.from_dict({"here": {"a": grade}, "gone": {"a": grade}})
    with pytest.warns(UserWarning, match="."):
        scores = evaluate(run, judgments, with_cutoffs(form))
    assert scores.query_ids == ("here", "gone")
    assert (scores.missing_queries, scores.unjudged_queries) == (("gone",), ("unjudged",))
    worst = registry()[twin.Notation.read(form).name].definition.worst
    for statistic in ("expected", "lowest", "highest", "tie_broken"):
        np.testing.assert_array_equal(getattr(scores, statistic)[1], worst)
    assert (scores.sd[1] == 0).all()


@pytest.mark.parametrize("convention", [None, "paper", "sklearn", "torchmetrics"])
@pytest.mark.parametrize("form", FORMS)
def test_no_choice_of_base_or_of_empty_queries_changes_what_a_missing_query_counts_as(
    form: str, convention: str | None
) -> None:
    """Of a query with something to find, and that the run lacks, the policy of missing queries alone decides."""
    run, grade = Run.from_dict({"here": {"a": 1.0}}), 5 if rubric(form) else 4
    judgments = Judgments.from_dict({"here": {"a": grade}, "gone": {"a": grade}})
    measures = with_cutoffs(form)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        found = [
            evaluate(run, judgments, measures, convention=convention, labels="threshold", base=base, **policies)
            for base in ("judgments", "list")
            for policies in ({"missing": "worst", "empty": "skip"}, {"missing": "skip", "empty": "zero"})
        ]
    worst = registry()[twin.Notation.read(form).name].definition.worst
    for scores, value in zip(found, (worst, np.nan) * 2, strict=True):
        np.testing.assert_array_equal(scores.expected[1], value)
        assert scores.missing_queries == ("gone",)


@pytest.mark.parametrize("choices", [{"judged_only": True}, {"skip_first": True}], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_a_list_of_which_a_policy_leaves_nothing_is_an_empty_list(form: str, choices: dict[str, bool]) -> None:
    """The run has the query, so it is neither missing nor refused nor skipped, and is worth what no documents are."""
    grade = 5 if rubric(form) else 4
    run = Run.from_dict({"here": {"z": 2.0, "a": 1.0}, "bare": {"z": 1.0}})
    judgments = Judgments.from_dict({"here": {"a": grade}, "bare": {"a": grade}})
    nothing = twin.Ranking((), (grade,), 0)
    measures = with_cutoffs(form)
    values = [float(twin.value(nothing, str(measure))) for measure in measures]
    for missing in ("error", "skip", "worst"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruevalWarning)
            scores = evaluate(run, judgments, measures, missing=missing, **choices)
        assert scores.missing_queries == ()
        for statistic in ("expected", "lowest", "highest", "tie_broken"):
            np.testing.assert_array_equal(getattr(scores, statistic)[1], values)
        np.testing.assert_array_equal(scores.sd[1], [0 * value for value in values])


@pytest.mark.parametrize("form", FORMS)
def test_a_list_that_is_given_and_is_empty_is_no_missing_query(form: str) -> None:
    """In dicts, arrays and logs a query can have an empty list, which is worth what no documents are."""
    grade = 5 if rubric(form) else 4
    judgments = Judgments.from_dict({"here": {"a": grade}, "bare": {"a": grade}})
    measures = with_cutoffs(form)
    values = [float(twin.value(twin.Ranking((), (grade,), 0), str(measure))) for measure in measures]
    given = (
        {"bare": {}, "here": {"a": 1.0}},
        {"here": ["a"], "bare": []},
        [{"query": "here", "ids": ["a"]}, {"query": "bare", "ids": []}],
        Run.from_arrays([[1.0], []], [["a"], []], ["here", "bare"]),
    )
    for run, missing in zip(given, ("error", "skip", "worst", "error"), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruevalWarning)
            scores = evaluate(run, judgments, measures, missing=missing)
        assert scores.missing_queries == ()
        np.testing.assert_array_equal(scores.expected[1], values)
        np.testing.assert_array_equal(scores.tie_broken[1], values)


@pytest.mark.parametrize("form", FORMS)
def test_a_list_of_no_documents_has_one_value(form: str) -> None:
    measures = with_cutoffs(form)
    scores = evaluate_arrays([[], [1.0]], [[], [1]], measures)
    nothing = twin.Ranking((), (), 0)
    for column, measure in enumerate(measures):
        value = float(twin.value(nothing, str(measure)))
        found = [getattr(scores, name)[0, column] for name in ("expected", "lowest", "highest", "sd")]
        np.testing.assert_array_equal(found, [value, value, value, 0 * value])


@pytest.mark.filterwarnings("ignore:.*every judged document for relevant")
@pytest.mark.parametrize("form", FORMS)
def test_infinite_and_negative_scores_are_ordinary(form: str) -> None:
    ordinary = {"q": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0, "e": 0.0}}
    extreme = {"q": {"a": math.inf, "b": -0.0, "c": 0.0, "d": -5.0, "e": -math.inf}}
    judgments = Judgments.from_dict({"q": {"a": 1, "b": 2, "d": 1, "e": 3}})
    one, other = (evaluate(Run.from_dict(r), judgments, with_cutoffs(form)) for r in (ordinary, extreme))
    assert_same(one, other, ("expected", "lowest", "highest", "tie_broken"))


def test_every_registered_measure_has_a_plain_definition() -> None:
    """A new measure enters this suite by itself; without a definition in the twin it fails here first."""
    assert set(registry()) <= set(twin.DEFINITIONS)
    assert set(VARIANTS) <= set(registry())
