"""The view of a drift check: whether served queries still look like those of the certificate."""

from __future__ import annotations

from typing import Final, NamedTuple

from trueval.report.number_texts import count_phrase
from trueval.report.units import COUNT, number
from trueval.report.view import Answer, Column, Quantity, Section, Sheet, View, choices_section, columns_of
from trueval.tradeoff.route.drift import DriftCheck, NeedSummary
from trueval.tradeoff.views.units import SHARE

NEED: Final = number(".4g")
LEGEND: Final = (
    "evidence: the factor by which bets against equal distributions multiplied their stake (an e-value); by chance it "
    "ever reaches what is needed with a probability of at most 1 - level.",
    "need: what the router compares with its threshold; larger for harder queries.",
)


class _Row(NamedTuple):
    """Queries that certified or were served."""

    name: str
    needs: NeedSummary


def view(result: DriftCheck) -> View:
    """What `trueval route check` shows.

    Args:
        result: of the command.
    """
    rows = [_Row("certified", result.certified), _Row("served", result.served)]
    columns: list[Column[_Row]] = [
        Column("queries", lambda row: row.name),
        Column("number", lambda row: row.needs.queries, COUNT),
        Column("median need", lambda row: row.needs.median, NEED, strong=True),
        Column("10 %", lambda row: row.needs.low, NEED),
        Column("90 %", lambda row: row.needs.high, NEED),
        Column("more candidates", lambda row: row.needs.share, SHARE),
    ]
    sheet = Sheet("Certified and served queries", rows, columns, id="needs")
    return View(
        title="Drift of a router",
        answer=_answer(result),
        sections=[
            Section("Needs of queries", [sheet], open=True, id="needs-block"),
            choices_section("check", {"level": result.level, "seed": result.seed}),
        ],
        csv=Sheet("", [result], columns_of("drifted", "level", "needed", "evidence", "largest", "first")),
        legend=LEGEND,
    )


def _answer(result: DriftCheck) -> Answer:
    served = count_phrase(result.served.queries, "served query", "served queries")
    evidence = ("largest evidence ", Quantity(result, "largest", NEED), " of ", Quantity(result, "needed", NEED))
    question = "Do served queries still look like those that certified the router?"
    if result.drifted:
        return Answer(
            (
                f"No: the {served} differ from the certified ones, since the {result.first:,}th of them (",
                *evidence,
                f"). The loss of at most {result.epsilon:g} {result.measure} is no longer promised.",
            ),
            question=question,
            sure=f"By chance this happens with a probability of at most {1 - result.level:.3g} at any time.",
            change="Judge some served queries, sweep them, and certify a router on them.",
            next="trueval frontier SWEEP_DIR --route",
        )
    return Answer(
        (f"No drift is found in {served}: ", *evidence, "."),
        question=question,
        sure="The test sees scores, not qualities: a promise can break while scores look alike.",
        change="More served queries could show a difference; check again when the log has grown.",
    )
