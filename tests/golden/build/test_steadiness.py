"""How far a judge agrees with itself, in numbers that can be checked by hand."""

from __future__ import annotations

import polars as pl
import pytest

from trueval.golden.build.steadiness import RepeatedAnswers, between_rounds, by_slot
from trueval.golden.judge.judge import JudgeAnswer, JudgeLabel, Question
from trueval.golden.refine.heterogeneity import GradeSpread, QueryGrades, heterogeneity


def labels(*rows: tuple[str, int, int, int | None]) -> pl.DataFrame:
    schema = {"doc_id": pl.String, "round": pl.Int64, "slot": pl.Int64, "grade": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(query_id=pl.lit("q"), slots=pl.lit(2))


def test_two_rounds() -> None:
    found = labels(("a", 0, 0, 5), ("b", 0, 1, 3), ("c", 0, 0, 1), ("d", 0, 1, None), ("a", 1, 1, 5), ("b", 1, 0, 2),
                   ("c", 1, 0, 3), ("d", 1, 1, 4))  # fmt: skip
    (each,) = between_rounds(found)
    assert (each.first, each.second, each.passages) == (0, 1, 3)
    assert (each.same, each.within_one) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert each.difference == pytest.approx((0 - 1 + 2) / 3)
    # Squared differences: observed (0 + 1 + 4) / 3; of every pair (0+9+4+4+1+0+16+1+4) / 9.
    assert each.kappa == pytest.approx(1 - (5 / 3) / (39 / 9))
    assert each.table[4][4] == each.table[2][1] == each.table[0][2] == 1
    assert sum(map(sum, each.table)) == 3


def test_slots() -> None:
    first, last = by_slot(labels(("a", 0, 0, 5), ("b", 0, 0, 3), ("c", 0, 1, 1), ("d", 0, 1, 1)))
    assert (first.slot, first.mean, first.passages) == (1, 4.0, 2)
    assert first.error == pytest.approx(1.0)  # sd √2 over √2
    assert (last.slot, last.mean, last.error) == (2, 1.0, 0.0)


def test_asked_twice() -> None:
    grade, order = Question("grade", "q", ("a", "b")), Question("order", "q", ("a", "b", "c"))
    first = (
        JudgeAnswer((JudgeLabel(5), JudgeLabel(2))),
        JudgeAnswer((JudgeLabel(1), None)),
        JudgeAnswer(order=(0, 1, 2)),
        JudgeAnswer(order=(2, 1, 0)),
    )
    second = (
        JudgeAnswer((JudgeLabel(5), JudgeLabel(3))),
        JudgeAnswer((JudgeLabel(1), JudgeLabel(1))),
        JudgeAnswer(order=(0, 2, 1)),
        JudgeAnswer(),
    )
    found = RepeatedAnswers((grade, grade, order, order), first, second).summarize()
    assert (found.calls, found.labels, found.orders) == (4, 3, 1)
    assert found.labels_differ == pytest.approx(1 / 3)
    assert found.orders_differ == 1.0
    assert found.pairs_differ == pytest.approx(1 / 3)


def test_heterogeneity_of_three_queries() -> None:
    rows = [("a", str(n), g) for n, g in enumerate([5, 5, 4, 1])] + [("b", "1", 5), ("b", "2", None), ("c", "1", 2)]
    frame = pl.DataFrame(rows, schema={"query_id": pl.String, "doc_id": pl.String, "grade": pl.Int64}, orient="row")
    found = heterogeneity(frame)
    assert found.grades["5"] == GradeSpread(1.0, 1.0, 0.5, without=1)
    assert found.useful == GradeSpread(1.0, pytest.approx(4 / 3), 0.75, without=1)
    unknown = pl.DataFrame([("d", "1", None)], schema=frame.schema, orient="row")  # not a query without useful passages
    more = heterogeneity(pl.concat([frame, unknown]))
    assert (more.queries, more.useful, more.grades) == (4, found.useful, found.grades)
    assert heterogeneity(unknown).useful == GradeSpread(None, None, None, without=0)
    assert found.by_query[1] == QueryGrades("b", 1, 1, {"1": 0, "2": 0, "3": 0, "4": 0, "5": 1})
