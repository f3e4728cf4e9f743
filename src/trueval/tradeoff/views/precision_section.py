"""The section on number formats: the ladder of each audited pipeline, beside the systems that are this pipeline."""

from __future__ import annotations

from collections.abc import Iterator

from trueval.precision.stages_result import RegimeStage
from trueval.precision.views.stages import ladder_sheet
from trueval.report.number_texts import count_phrase
from trueval.report.units import DIFFERENCE
from trueval.report.view import Quantity, Section, Sentence
from trueval.tradeoff.frontier.frontier_result import FrontierResult, SystemPrecision
from trueval.tradeoff.views.frontier_answer import leading_rules


def precision_section(found: tuple[SystemPrecision, ...] | None) -> list[Section]:
    """What number formats do to each audited pipeline, stage by stage.

    Args:
        found: of a frontier.
    """
    if not found:
        return []
    words = " ".join(
        f"{each.pipeline}: audited on {count_phrase(each.queries, 'query', 'queries')}; of the sweep it is "
        f"{', '.join(each.systems)}."
        for each in found
    )
    sheets = [
        ladder_sheet(each.ladder, f"Stages of {each.pipeline}", f"precision-{at}") for at, each in enumerate(found)
    ]
    return [Section("What number formats do", sheets, words, id="precision")]


def precision_findings(result: FrontierResult) -> Iterator[Sentence]:
    """What ties in low precision leave at the end of each audited pipeline, and where a lead is smaller.

    Args:
        result: of the command.
    """
    for each in result.precision or ():
        last = each.ladder[-1].stage
        ends = [step for step in each.ladder if step.stage == last]
        low = max(ends, key=lambda step: (step.measures[0].range or 0.0, step.regime != "file"))
        others = [step for step in ends if step.regime in ("high", "float32") and step is not low]
        yield (
            f"In {_name(each)} ties leave {low.measures[0].measure} a range of ",
            Quantity(low.measures[0], "range"),
            " and a bias of ",
            Quantity(low.measures[0], "bias", DIFFERENCE),
            f" at the end {_regime(low)}",
            *(part for step in others for part in ("; ", Quantity(step.measures[0], "range"), f" {_regime(step)}")),
            ".",
        )
        yield from _smaller_leads(result, each, low)


def _smaller_leads(result: FrontierResult, audited: SystemPrecision, low: RegimeStage) -> Iterator[Sentence]:
    """Choices by quality that lead by less than a range."""
    ranges = {value.measure: value for value in low.measures}
    for rule in leading_rules(result):
        if rule.seeks != "quality" or None in (rule.answer, rule.runner_up, rule.value, rule.runner_up_value):
            continue
        first, second = result.points[rule.answer or 0], result.points[rule.runner_up or 0]
        value = ranges.get(first.quality.measure)
        lead = (rule.value or 0.0) - (rule.runner_up_value or 0.0)
        if first.system_name in audited.systems and value is not None and lead < (value.range or 0.0):
            yield (
                f"{first.name} leads {second.name} by less than the range ",
                Quantity(value, "range"),
                f" that ties leave {value.measure} {_regime(low)}.",
            )


def _name(audited: SystemPrecision) -> str:
    others = len(audited.systems) - 1
    return f"{audited.systems[0]} and {count_phrase(others, 'other', 'others')}" if others else audited.systems[0]


def _regime(step: RegimeStage) -> str:
    """A regime in words."""
    told = {
        "low": f"with all in {step.format}",
        "high": f"in {step.format} scored in float32",
        "file": "as the file of the audit says",
    }
    return told.get(step.regime, "in float32")
