"""P-B's published margins, for context: other models, other texts. Never mixed with measured values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from trueval.probes.ablations import ABLATIONS
from trueval.report.view import Column, Section, Sheet

SOURCE: Final = (
    "Published in P-B (Dallaire 2025, arXiv 2511.09545), not measured by trueval: other models and other texts, "
    "about 100 queries and 15 runs."
)
SYSTEMS: Final = ("OpenAI 3L", "Voyage 3.5")


class PublishedTable(NamedTuple):
    """A published table.

    Attributes:
        title: its number and what it shows.
        language: of its texts; "" for both.
        head: headings; the first is that of the rows.
        rows: cells as they are printed.
    """

    title: str
    language: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _changes(number: str, language: str, openai: str, voyage: str) -> PublishedTable:
    rows = tuple(zip(ABLATIONS, openai.split(), voyage.split(), strict=True))
    return PublishedTable(
        f"{number}: ΔΔ% of Δname against base, {language.upper()}", language, ("condition", *SYSTEMS), rows
    )


TABLES: Final = (
    PublishedTable(
        "Table 10: base margins",
        "",
        ("language and model", "Δname", "Δtopic", "Δboth"),
        (
            ("EN OpenAI 3L", "0.175", "0.305", "0.486"),
            ("EN Voyage 3.5", "0.160", "0.298", "0.464"),
            ("FR OpenAI 3L", "0.139", "0.260", "0.407"),
            ("FR Voyage 3.5", "0.164", "0.277", "0.447"),
        ),
    ),
    PublishedTable(
        "Table 11: name/topic ratios",
        "",
        ("language and model", "name/topic"),
        (
            ("EN OpenAI 3L", "0.574"),
            ("EN Voyage 3.5", "0.537"),
            ("FR OpenAI 3L", "0.535"),
            ("FR Voyage 3.5", "0.592"),
        ),
    ),
    _changes(
        "Table 4.1",
        "en",
        "-100.0% -76.9% -69.3% -3.0% -0.0% -11.0% -3.6% -3.0% +8.4% -6.9%",
        "-100.0% -68.0% -64.4% +15.7% +0.0% -8.5% -3.2% -7.4% -6.2% -15.1%",
    ),
    _changes(
        "Table 4.2",
        "fr",
        "-100.0% -71.6% -76.2% +6.1% +2.3% -10.7% +5.0% -3.4% +21.8% -7.9%",
        "-100.0% -71.4% -69.5% +18.1% -1.5% -18.0% -8.5% -12.6% +8.4% +1.7%",
    ),
)


def published_tables(languages: frozenset[str]) -> tuple[PublishedTable, ...]:
    """The published tables for some languages.

    Args:
        languages: of the texts that were probed.

    >>> [each.title[:9] for each in published_tables(frozenset({"fr"}))]
    ['Table 10:', 'Table 11:', 'Table 4.2']
    """
    return tuple(each for each in TABLES if not each.language or each.language in languages)


def published_section(title: str, source: str, tables: Sequence[PublishedTable]) -> Section:
    """Published tables on the page, folded and apart from what was measured.

    Args:
        title: heading.
        source: where they are from.
        tables: in the order of reading.
    """
    sheets = [Sheet(each.title, each.rows, list(_columns(each)), folded=True, only="page") for each in tables]
    return Section(title, sheets, source)


def _columns(table: PublishedTable) -> Iterator[Column[tuple[str, ...]]]:
    return (Column(title, itemgetter(place)) for place, title in enumerate(table.head))
