"""The view of a published mean: what its number of queries supports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trueval.comparison.gate.published_means import PublishedMean
from trueval.report.number_texts import count_phrase
from trueval.report.units import COUNT, FRACTION, INTERVAL, unscaled_unit
from trueval.report.view import Answer, Column, Quantity, Section, Sentence, Sheet, View, columns_of

METHODS: Final = {
    "clopper-pearson": "Clopper & Pearson, for values of 0 or 1",
    "kl": "n kl(mean, x) <= ln(2 / (1 - level)), for any values from 0 to 1",
}
P: Final = unscaled_unit(FRACTION.plain)  # a chance, which --percent leaves as it is
COLUMNS: Final[tuple[Column[PublishedMean], ...]] = (
    Column("mean", lambda row: row.value, FRACTION, strong=True),
    Column("queries", lambda row: row.queries, COUNT),
    Column("interval", lambda row: row.interval, INTERVAL),
    Column("difference", lambda row: row.difference, FRACTION),
    Column("least p", lambda row: row.least_p, P),
)


def view(result: PublishedMean) -> View:
    """What `trueval power --value` shows.

    Args:
        result: of the command.
    """
    queries = count_phrase(result.queries, "query", "queries")
    answer = (
        "A mean of ",
        Quantity(result, "value"),
        f" over {queries} supports the {result.level:.4g} interval ",
        Quantity(result, "interval", INTERVAL),
        ".",
    )
    csv: list[Column[PublishedMean]] = [
        *columns_of("value", "queries", "grain", "difference", "level"),
        Column("interval_low", lambda row: row.interval.low),
        Column("interval_high", lambda row: row.interval.high),
        *columns_of("method", "least_p"),
    ]
    return View(
        title="A published mean",
        answer=Answer(
            answer,
            "What does a published mean support?",
            f"Interval: {METHODS[result.method]}.",
            "The runs themselves say more: trueval compare tests them query by query.",
            "trueval compare QRELS RUN RUN",
        ),
        sections=[
            Section(
                "A published mean",
                [Sheet("What so many queries support", [result], COLUMNS, id="published-table")],
                id="published",
            )
        ],
        csv=Sheet("", [result], csv),
        findings=list(_describe_difference(result)),
        legend=[],
    )


def _describe_difference(result: PublishedMean) -> Iterator[Sentence]:
    if result.difference is None:
        return
    difference = Quantity(result, "difference")
    if result.separable is None:
        yield (
            "A difference of ",
            difference,
            " may be significant or not: two means cannot show it, the values of each query can. Where all values are "
            "multiples of a step, as of P@10, --grain gives the least p that is possible.",
        )
        return
    claim = "may be" if result.separable else "cannot be"
    yield (
        "A difference of ",
        difference,
        f" {claim} significant at {1 - result.level:.2g}: the least p that the paired randomization test can give, "
        "whatever the values are, is ",
        Quantity(result, "least_p", P),
        ".",
    )
