"""Formulas over the judged table: the twin, other packages, all ways to fill missing labels, speed."""

from __future__ import annotations

import importlib
import itertools
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pytest
from tests.answers.small import draw_labels, draw_log, twin

from trueval.answers.answer import AnswerLog, Claim, LoggedAnswer, Passage, ReferenceClaim
from trueval.answers.answer_measures import MEASURES
from trueval.answers.claim_measures import losses
from trueval.answers.claim_table import (
    CONTRADICTED,
    MISSING,
    NOT,
    PARTLY,
    SUPPORTED,
    Cell,
    ClaimTable,
    JudgedCells,
    PassageCells,
    cells_of,
)

OF_TABLE = [each for each in MEASURES.values() if each.judged]


def test_every_formula_is_that_of_its_twin() -> None:
    """On 300 random questions: equal values, and nothing to measure on the same questions."""
    rng = np.random.default_rng(1)
    log = draw_log(rng, 300)
    judged = draw_labels(rng, log, relevance=True)
    table = ClaimTable.of(log, judged)
    expected = [twin(answer, judged) for answer in log.answers]
    for measure in OF_TABLE:
        low, high = measure.values(log, table).bounds
        wanted = np.array([each[measure.name] for each in expected])
        np.testing.assert_allclose(low, wanted, atol=1e-15, err_msg=measure.name)
        np.testing.assert_array_equal(low, high, err_msg=measure.name)
    assert {each.name for each in OF_TABLE} == expected[0].keys()


@pytest.mark.parametrize("seed", range(25))
def test_bounds_are_the_extremes_over_all_ways_to_fill_missing_labels(seed: int) -> None:
    """At most 7 missing cells of one question, each filled with not, partly or supported."""
    rng = np.random.default_rng(seed)
    log = draw_log(rng, 1, claims=2, nuggets=2, passages=2)
    answer = log.answers[0]
    judged = draw_labels(rng, log, missing=0.4, relevance=True)
    gaps = [cell for cell in cells_of(answer, relevance=True) if judged.label(cell) == MISSING][:7]
    others = {cell: codes if codes != (MISSING,) or cell in gaps else (0,) for cell, codes in judged.labels.items()}
    judged = JudgedCells(others, "table")
    filled = []
    for codes in itertools.product((1, PARTLY, SUPPORTED), repeat=len(gaps)):
        labels = {**others, **{cell: (code,) for cell, code in zip(gaps, codes, strict=True)}}
        filled.append(twin(answer, JudgedCells(labels, "table")))
    for measure in OF_TABLE:
        low, high = measure.values(log, ClaimTable.of(log, judged)).bounds
        every = np.array([each[measure.name] for each in filled])
        if np.isnan(every).all():
            assert np.isnan(low[0]), measure.name
        elif measure.name == "context-utilization" and np.isnan(every).any():
            # Where some ways leave no claim in the context, bounds are over the others, or there are none.
            assert np.isnan(low[0]) or low[0] <= np.nanmin(every)
        else:
            assert (low[0], high[0]) == pytest.approx((every.min(), every.max())), measure.name


def test_answer_relevance_by_hand_is_not_known_without_its_labels_and_bounded_without_some() -> None:
    """Two claims answer, one in part, one not: 2.5 / 4; a label less may be any; none at all says nothing, nor 0."""
    claims = tuple(Claim(f"c{at}") for at in range(4))
    answers = tuple(LoggedAnswer(query, text, "text", claims, (), (), None) for query, text in (("q", "?"), ("r", "")))
    log = AnswerLog("system", "log", answers, {})

    def found(*codes: int) -> list[float]:
        labels = {Cell("q", "answer", at, "question"): (code,) for at, code in enumerate(codes, start=1)}
        values = MEASURES["answer-relevance"].values(log, ClaimTable.of(log, JudgedCells(labels, "table")))
        assert values.unknown.tolist() == [not codes, True]  # the second has no question
        assert np.isnan(values.bounds.lowest[1])
        return [float(values.bounds.lowest[0]), float(values.bounds.highest[0])]

    assert found(SUPPORTED, SUPPORTED, PARTLY, NOT) == [0.625, 0.625]
    assert found(SUPPORTED, SUPPORTED, PARTLY, CONTRADICTED) == [0.625, 0.625]
    assert found(SUPPORTED, MISSING, PARTLY, NOT) == [0.375, 0.625]
    assert found(SUPPORTED) == [0.25, 1.0]  # rows that a table lacks
    assert np.isnan(found()).all()


def test_answer_relevance_without_halves_is_deepevals() -> None:
    """Its rule: verdicts other than no, of all verdicts; equal where no claim addresses the question in part."""
    rng = np.random.default_rng(6)
    log = draw_log(rng, 100)
    verdicts = {
        cell: (SUPPORTED if rng.random() < 0.6 else NOT,)
        for answer in log.answers
        for cell in cells_of(answer, relevance=True)
        if cell.against == "question"
    }
    ours = MEASURES["answer-relevance"].values(log, ClaimTable.of(log, JudgedCells(verdicts, "table"))).bounds.lowest
    for answer, value in zip(log.answers, ours.tolist(), strict=True):
        said = ["yes" if codes == (SUPPORTED,) else "no" for cell, codes in verdicts.items() if cell[0] == answer.query]
        relevant = 0
        for verdict in said:
            if verdict.strip().lower() != "no":
                relevant += 1
        assert value == relevant / len(said)


def test_nugget_scores_are_nuggetizers() -> None:
    """On 200 random questions with a vital nugget; without any it gives 0, and here there is no value."""
    metrics = pytest.importorskip("nuggetizer.core.metrics", reason="nuggetizer is not installed")
    rng = np.random.default_rng(2)
    log = draw_log(rng, 200, nuggets=6)
    judged = draw_labels(rng, log)
    table = ClaimTable.of(log, judged)
    names = {0: "not_support", 1: "not_support", PARTLY: "partial_support", SUPPORTED: "support"}
    ours = {
        "all_score": "nugget-recall",
        "strict_all_score": "nugget-recall-strict",
        "vital_score": "vital-recall",
        "strict_vital_score": "vital-recall-strict",
    }
    values = {theirs: MEASURES[name].values(log, table).bounds.lowest for theirs, name in ours.items()}
    for at, answer in enumerate(log.answers):
        nuggets = [
            {
                "importance": nugget.importance,
                "assignment": names[judged.label(Cell(answer.query, "reference", number, "answer"))],
            }
            for number, nugget in enumerate(answer.reference_claims, start=1)
        ]
        theirs = metrics.calculate_nugget_scores(answer.query, nuggets)
        for name, mine in values.items():
            assert np.nan_to_num(mine[at]) == pytest.approx(getattr(theirs, name)), name


def _ragchecker() -> ModuleType:
    """Its formulas, without its evaluator, which wants a package that calls models."""
    spec = find_spec("ragchecker")
    if spec is None or find_spec("dataclasses_json") is None:
        pytest.skip("ragchecker is not installed")
    if "ragchecker" not in sys.modules:
        package = ModuleType("ragchecker")
        package.__path__ = list(spec.submodule_search_locations or ())
        sys.modules["ragchecker"] = package
    return importlib.import_module("ragchecker.computation")


def test_values_are_ragcheckers() -> None:
    """On random questions with a passage; its code differs as the docs say: no relevant claim, noise of both sorts."""
    computation = _ragchecker()
    container = importlib.import_module("ragchecker.container")
    rng = np.random.default_rng(3)
    log = draw_log(rng, 260)
    log = replace(log, answers=tuple(each for each in log.answers if each.passages))
    judged = draw_labels(rng, log)
    table = ClaimTable.of(log, judged)
    names = {
        "precision": "correctness",
        "recall": "nugget-recall-strict",
        "f1": "claim-F1",
        "claim_recall": "claim-recall",
        "context_precision": "context-precision",
        "context_utilization": "context-utilization",
        "noise_sensitivity_in_relevant": "noise-relevant",
        "hallucination": "hallucination",
        "self_knowledge": "self-knowledge",
        "faithfulness": "faithfulness",
    }
    values = {name: MEASURES[name].values(log, table).bounds.lowest for name in [*names.values(), "noise-irrelevant"]}
    for at, answer in enumerate(log.answers):
        result = _their_result(container, answer, judged)
        for theirs in [*names, "noise_sensitivity_in_irrelevant"]:
            computation.METRIC_FUNC_MAP[theirs](result)
        for theirs, mine in names.items():
            assert np.nan_to_num(values[mine][at]) == pytest.approx(float(result.metrics[theirs])), theirs
        exclusive = float(result.metrics["noise_sensitivity_in_irrelevant"])
        assert exclusive <= values["noise-irrelevant"][at] + 1e-12


# The two worked examples that RAGChecker publishes (examples/checking_outputs.json of its repository): labels by claim,
# E supported, N not, C contradicted, and the values that it gives for them.
EXAMPLES = (
    (
        "NEEEEEEEENC",  # claims of the answer, against the reference
        "EEEEEECNEENNNNNENNNNEE",  # claims of the reference, against the answer
        "NENN NNNN NNNN NNNN NNNN NNNN NENN NNNN ENNE NNNE NNNN",  # claims of the answer, against passages
        "NENN NNNN NNNN ENNN EENN ENNE CCNN" + " NNNN" * 14 + " NENN",  # claims of the reference
        {
            "correctness": 0.7272727272727273,
            "nugget-recall-strict": 0.5,
            "claim-F1": 0.5925925925925926,
            "claim-recall": 0.22727272727272727,
            "context-precision": 0.75,
            "faithfulness": 0.36363636363636365,
            "noise-relevant": 0.18181818181818182,
            "noise-irrelevant": 0.0,
            "hallucination": 0.09090909090909091,
            "self-knowledge": 0.5454545454545454,
            "context-utilization": 1.0,
        },
    ),
    (
        "NEEEE",
        "EECENEEE",
        "NEN NEE CEE ENE CEE",
        "NEN NEE NEN CEE NNE ENE EEE NEE",
        {
            "correctness": 0.8,
            "nugget-recall-strict": 0.75,
            "claim-F1": 0.7741935483870969,
            "claim-recall": 1.0,
            "context-precision": 1.0,
            "faithfulness": 1.0,
            "noise-relevant": 0.2,
            "noise-irrelevant": 0.0,
            "hallucination": 0.0,
            "self-knowledge": 0.0,
            "context-utilization": 0.75,
        },
    ),
)


@pytest.mark.parametrize("example", EXAMPLES, ids=["rivers", "flags"])
def test_values_are_those_that_ragchecker_publishes(example: tuple[str, str, str, str, dict[str, float]]) -> None:
    against_reference, against_answer, claims, nuggets, expected = example
    passages = len(claims.split()[0])
    answer = LoggedAnswer(
        "q",
        "?",
        "text",
        tuple(Claim(f"c{at}") for at in range(len(against_reference))),
        ("reference",),
        tuple(ReferenceClaim(f"r{at}") for at in range(len(against_answer))),
        tuple(Passage(str(at), f"p{at}") for at in range(passages)),
    )
    sides = (("answer", "reference", against_reference, claims), ("reference", "answer", against_answer, nuggets))
    labels = {
        Cell("q", of, claim, against): ({"E": SUPPORTED, "N": NOT, "C": CONTRADICTED}[letter],)
        for of, other, whole, rows in sides
        for claim, (own, row) in enumerate(zip(whole, rows.split(), strict=True), start=1)
        for against, letter in ((other, own), *enumerate(row, start=1))
    }
    log = AnswerLog("system", "log", (answer,), {})
    assert {*labels} == {*cells_of(answer)}
    table = ClaimTable.of(log, JudgedCells(labels, "table"))
    found = {name: float(MEASURES[name].values(log, table).bounds.lowest[0]) for name in expected}
    assert found == pytest.approx(expected)


def _their_result(container: ModuleType, answer: LoggedAnswer, judged: JudgedCells) -> object:
    def names(of: str, claim: int, against: str | int) -> str:
        found = judged.label(Cell(answer.query, of, claim, against))
        return {SUPPORTED: "Entailment", 0: "Contradiction"}.get(found, "Neutral")

    claims = range(1, len(answer.claims) + 1)
    nuggets = range(1, len(answer.reference_claims) + 1)
    passages = range(1, len(answer.passages or ()) + 1)
    made: object = container.RAGResult(
        answer.query,
        answer.question,
        "",
        "",
        answer2response=[names("answer", claim, "reference") for claim in claims],
        response2answer=[names("reference", nugget, "answer") for nugget in nuggets],
        retrieved2response=[[names("answer", claim, passage) for passage in passages] for claim in claims],
        retrieved2answer=[[names("reference", nugget, passage) for passage in passages] for nugget in nuggets],
    )
    return made


def test_losses_sort_every_reference_claim() -> None:
    """1 of 4 claims in the answer; of the others 1 in the context, 1 in none, 1 not judged."""
    log = draw_log(np.random.default_rng(8), 1, claims=1, nuggets=1, passages=1)
    answer = replace(log.answers[0], reference_claims=log.answers[0].reference_claims * 4)
    answer = replace(answer, passages=(("p", "text"),))
    log = AnswerLog("system", "log", (answer,), {})
    made = {1: SUPPORTED, 2: 1, 3: PARTLY}
    found = {3: 1, 2: SUPPORTED}
    labels = {Cell("q0", "reference", number, "answer"): (code,) for number, code in made.items()}
    labels |= {Cell("q0", "reference", number, 1): (code,) for number, code in found.items()}
    assert [each.tolist() for each in losses(ClaimTable.of(log, JudgedCells(labels, "")))] == [[1], [1], [1], [1]]


@pytest.mark.slow
def test_all_measures_of_100_000_tables_take_a_second() -> None:
    """4 claims, 4 reference claims and 5 passages each, 4.8 million cells: seconds of the processor, best of 3."""
    queries, claims, passages = 100_000, 4, 5
    rng = np.random.default_rng(4)
    table = big_table(rng, queries, claims, passages)
    log = AnswerLog("system", "log", (), {})
    times = []
    for _ in range(3):
        fresh = replace(table)  # without what was computed before
        began = time.process_time()
        for measure in OF_TABLE:
            measure.values(log, fresh)
        times.append(time.process_time() - began)
    assert min(times) < 1, times


def big_table(rng: np.random.Generator, queries: int, claims: int, passages: int) -> ClaimTable:
    """A table of equal questions with random labels, 5 % missing, and a citation of the first passage by each claim."""

    def label(size: int) -> np.ndarray:
        return np.where(rng.random(size) < 0.05, MISSING, rng.integers(0, 4, size))

    every, query = queries * claims, np.repeat(np.arange(queries), claims)

    def cells() -> PassageCells:
        claim = np.repeat(np.arange(every), passages)
        return PassageCells(claim, query[claim] * passages + np.tile(np.arange(passages), every), label(len(claim)))

    return ClaimTable(
        queries,
        np.ones(queries, dtype=bool),
        np.ones(queries, dtype=bool),
        query,
        label(every),
        query,
        label(every),
        (rng.random(every) < 0.5).astype(np.float64),
        np.repeat(np.arange(queries), passages),
        cells(),
        cells(),
        np.arange(every) * passages,
        np.arange(every),
        np.zeros(queries),
        np.zeros(queries),
        np.ones(queries, dtype=bool),
        label(every),
    )
