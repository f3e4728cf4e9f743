"""The section on prediction: which measures of lists say beforehand what the answers of a generator are worth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from trueval.report.units import DIFFERENCE, FRACTION, INTERVAL, NAME, interval_of
from trueval.report.view import Column, Quantity, Section, Sentence, Sheet
from trueval.tradeoff.diagnosis.diagnosis_results import GeneratorPrediction, MeasurePrediction


class _PredictionRow(NamedTuple):
    """A measure, and the generator whose answers it predicts."""

    generator: GeneratorPrediction
    measure: MeasurePrediction


def prediction_section(found: tuple[GeneratorPrediction, ...] | None) -> list[Section]:
    """Each measure for each generator; empty where nobody answers.

    Args:
        found: of a frontier.
    """
    rows = [_PredictionRow(each, measure) for each in found or () for measure in each.measures]
    if not rows:
        return []
    columns: list[Column[_PredictionRow]] = [
        *([Column("generator", lambda row: row.generator.generator, NAME)] if len(found or ()) > 1 else []),
        Column[_PredictionRow]("measure", lambda row: row.measure.measure, NAME),
        Column[_PredictionRow]("explains", lambda row: row.measure.explained.value, FRACTION, strong=True),
        Column[_PredictionRow]("interval", lambda row: row.measure.explained, INTERVAL),
        Column[_PredictionRow]("behind\nthe best", lambda row: _value(row.measure.behind), DIFFERENCE, leaves=2),
        Column[_PredictionRow]("interval ", lambda row: row.measure.behind, interval_of(DIFFERENCE), leaves=3),
        Column[_PredictionRow]("agrees", lambda row: _value(row.measure.agreement), FRACTION, leaves=1),
        Column[_PredictionRow]("interval  ", lambda row: row.measure.agreement, INTERVAL, leaves=4),
    ]
    words = (
        "Explains: the share of what differs between answers, to questions on which the curve was not fitted; 0 is no "
        "better than the mean. Agrees: of two configurations whose answers to a question differ, how often the measure "
        "says which is better; .5 is chance."
    )
    answers = rows[0].generator.answers
    return [Section("What predicts the answers", [Sheet(f"Measures that predict {answers}", rows, columns)], words)]


def _value(found: object) -> float | None:
    return getattr(found, "value", None)


def prediction_findings(found: tuple[GeneratorPrediction, ...] | None) -> Iterator[Sentence]:
    """The measure that predicts answers best, and whether it is separated from the others.

    Args:
        found: of a frontier.
    """
    for each in found or ():
        first, *others = each.measures
        words = f"{each.generator}: {first.measure}"
        if first.explained.low is None or first.explained.low <= 0:
            yield f"{each.generator}: no measure of lists surely predicts {each.answers} of new questions."
            continue
        told: tuple[str | Quantity, ...] = (f"{words} explains ", Quantity(first.explained, "value"), " (")
        told += (Quantity(first.explained, "low"), " to ", Quantity(first.explained, "high"))
        near = [other.measure for other in others if other.behind is None or (other.behind.low or 0.0) <= 0]
        rest = f"; it is not separated from {', '.join(near)}" if near else ", more than each other" if others else ""
        yield (*told, f") of {each.answers} of new questions{rest}.")
