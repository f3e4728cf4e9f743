"""Prices: a dated book of model prices, and the cost of 1,000 queries (P-B §3.2.1)."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from trueval.errors import PolicyError, nearest
from trueval.files.toml import Toml
from trueval.models.hosted.account import Price, ServiceUsage
from trueval.models.hosted.services import is_hosted

Role = Literal["rerankers", "embedders", "generators"]
ROLES: Final[tuple[Role, ...]] = ("rerankers", "embedders", "generators")
BOOK: Final = Path(__file__).with_name("prices.toml")
QUERIES: Final = 1_000
FREE: Final = Price(0.0)
"""Price of a local model, or of a missing stage."""


class ListedPrice(NamedTuple):
    """An entry of the price book.

    Attributes:
        name: name of the model.
        price: its price.
        currency: currency of the price.
        date: day (2025-11-12) or month (2025-11) on which the price held.
        source: who states the price.
        documents_per_search: number of documents billed with a query as one search; None if tokens are billed.
        per_million_output: price of a million tokens that a generator writes; None if the book does not say.
    """

    name: str
    price: Price
    currency: str
    date: str
    source: str
    documents_per_search: int | None = None
    per_million_output: float | None = None

    def older_than_a_year(self, today: dt.date) -> bool:
        """Whether the price was recorded more than a year ago; a month counts from its first day.

        >>> one = ListedPrice("m", Price(1.0), "USD", "2025-11", "")
        >>> [one.older_than_a_year(dt.date(2026, 11, day)) for day in (1, 2)]
        [False, True]
        """
        from trueval.cost.price_tables import first_day

        read = first_day(self.date)
        # A year after 29 February is 1 March.
        later = read.replace(year=read.year + 1) if (read.month, read.day) != (2, 29) else dt.date(read.year + 1, 3, 1)
        return later < today


@dataclass(frozen=True)
class PriceBook:
    """Prices of models, each with date and source.

    Attributes:
        path: path of the file.
        date: date of the prices without their own.
        currency: currency of all prices.
        source: source of the prices without their own.
        prices: role → name of the model → its price.
        evaluation: question, label and answer → price of one; None where the book has none.
    """

    path: str
    date: str
    currency: str
    source: str
    prices: Mapping[Role, Mapping[str, ListedPrice]]
    evaluation: Mapping[str, float] | None = None

    @classmethod
    def read(cls, path: Path | None = None) -> PriceBook:
        """Read a price book.

        Args:
            path: path of the TOML file; None for that of the package, which has the prices of P-B §3.2.1.

        Raises:
            InputError: the file cannot be read, or a key or value is invalid; the message names file, line and key.

        >>> PriceBook.read().find("rerankers", "rerank-2.5").price
        Price(per_million_tokens=0.05, per_thousand_searches=None)
        """
        from trueval.cost.price_tables import PriceBookFile
        from trueval.files.toml_tables import read_tables

        toml = Toml.read(path or BOOK, "a price book, such as prices.toml of trueval")
        book = read_tables(PriceBookFile, toml.tables, toml.place)

        def listed_price(name: str, own: dict[str, Any]) -> ListedPrice:
            price = Price(own["per_million_tokens"], own.get("per_thousand_searches"))
            day, source = own["date"] or book.date, own["source"] or book.source
            searched, written = own.get("documents_per_search"), own.get("per_million_output")
            return ListedPrice(name, price, book.currency, day, source, searched, written)

        prices = {
            role: {name: listed_price(name, vars(own)) for name, own in getattr(book, role).items()} for role in ROLES
        }
        evaluation = dict(vars(book.evaluation)) if "evaluation" in book.model_fields_set else None
        return cls(toml.source, book.date, book.currency, book.source, prices, evaluation)

    def find(self, role: Role, name: str) -> ListedPrice:
        """Look up the price of a model.

        Args:
            role: what the model does.
            name: name of the model in the book; a service prefix, as in "voyage:rerank-2.5", is ignored.

        Raises:
            PolicyError: the book has no such name.
        """
        listed = self.look_up(role, name)
        if listed is None:
            known, entry = ", ".join(self.prices[role]) or "none", f'[{role}."{name}"]'
            ours = self.path == str(BOOK)
            book = "the price book of trueval" if ours else self.path
            cure = f"Name a book of your own as book in [prices], with {entry} and" if ours else f"Add {entry} with"
            raise PolicyError(
                f"{book} has no price of {name}. Its {role}: {known}.{nearest(name, self.prices[role])} {cure} "
                "per_million_tokens."
            )
        return listed

    def look_up(self, role: Role, name: str) -> ListedPrice | None:
        """Look up the price of a model, or None where the book has none; otherwise as `find`."""
        return self.prices[role].get(name.partition(":")[2] if is_hosted(name) else name)

    def notes(self, used: Sequence[ListedPrice], today: dt.date) -> tuple[str, ...]:
        """Remarks on prices more than a year old, one line per date.

        Args:
            used: prices that costs were computed from.
            today: date of the report.
        """
        old: dict[str, list[str]] = {}
        for listed in used:
            if listed.older_than_a_year(today):
                old.setdefault(listed.date, []).append(listed.name)
        return tuple(
            f"Prices of {', '.join(dict.fromkeys(names))} are of {day}, more than a year old: correct them and their "
            f"date in a price book of your own, and name it as book in [prices]."
            for day, names in old.items()
        )


class QueryUsage(NamedTuple):
    """Mean usage of one query.

    Attributes:
        candidates: number of reranked candidates, or [query] numbers where lists differ; 0 without a reranker.
        candidate_tokens: tokens of query and document together, by the reranker's tokenizer; None if unknown.
        query_tokens: embedded tokens; None if unknown.
        contexts: number of documents in the prompt.
        context_tokens: tokens of each; None if unknown.
        overhead_tokens: tokens of the prompt besides the contexts.
        answer_tokens: tokens of the generator's answer; 0 leaves it out.
    """

    candidates: float | Sequence[int] = 0
    candidate_tokens: float | None = None
    query_tokens: float | None = None
    contexts: float = 0
    context_tokens: float | None = None
    overhead_tokens: float = 0.0
    answer_tokens: float = 0.0

    @property
    def prompt_tokens(self) -> float | None:
        """Generator input tokens per query: contexts times their tokens, plus the prompt."""
        return None if self.context_tokens is None else self.contexts * self.context_tokens + self.overhead_tokens


class SystemPrices(NamedTuple):
    """Prices of a system's components.

    Attributes:
        rerank: price of the reranker; FREE where it runs locally or is absent; None if unknown.
        embed: price of the query embedder; FREE and None as for `rerank`.
        generator: price of the generator's input; FREE and None as for `rerank`.
        documents_per_search: as in ListedPrice, of the reranker.
        per_million_output: as in ListedPrice, of the generator.
    """

    rerank: Price | None = FREE
    embed: Price | None = FREE
    generator: Price | None = None
    documents_per_search: int | None = None
    per_million_output: float | None = None


class CostParts(NamedTuple):
    """Cost of 1,000 queries by component, in the price currency; None where a price or count is unknown.

    Attributes:
        rerank: K T_cand / 1000 price_per_1k for each query (P-B §3.2.1), K candidates of T_cand tokens.
        embed: embedding of the queries.
        generator: input of the generator, and its answers where their tokens are stated.
    """

    rerank: float | None
    embed: float | None
    generator: float | None

    @property
    def total(self) -> float | None:
        """Total cost; None where a part is unknown."""
        parts = [part for part in self if part is not None]
        return math.fsum(parts) if len(parts) == len(self) else None

    @property
    def retrieval(self) -> float | None:
        """Cost before generation."""
        return None if self.rerank is None or self.embed is None else self.rerank + self.embed


def cost_of_thousand(use: QueryUsage, prices: SystemPrices) -> CostParts:
    """Compute the cost of 1,000 queries.

    P-B §3.2.1, which counts no output of the generator; answer_tokens add it.

    Args:
        use: usage per query.
        prices: price of each component.

    >>> prices = SystemPrices(Price(0.05), generator=Price(1.25))
    >>> cost_of_thousand(QueryUsage(50, 500, contexts=10, context_tokens=500), prices)
    CostParts(rerank=1.25, embed=0.0, generator=6.25)
    >>> cost_of_thousand(
    ...     QueryUsage(contexts=10, context_tokens=500, answer_tokens=100), prices._replace(per_million_output=10.0)
    ... ).generator
    7.25
    """
    candidates = float(np.mean(use.candidates))
    tokens = None if use.candidate_tokens is None else candidates * use.candidate_tokens
    searches = _searches(use.candidates, prices.documents_per_search)
    return CostParts(
        _thousand(prices.rerank, tokens if candidates else 0.0, searches),
        _thousand(prices.embed, use.query_tokens, None),
        _of_generator(prices, use),
    )


def _of_generator(prices: SystemPrices, use: QueryUsage) -> float | None:
    """Cost of prompts, and of answers where their tokens are stated."""
    asked = _thousand(prices.generator, use.prompt_tokens, None)
    if asked is None or not use.answer_tokens:
        return asked
    if prices.per_million_output is None:
        return None
    return asked + use.answer_tokens * prices.per_million_output * QUERIES / 1e6


def _searches(candidates: float | Sequence[int], documents: int | None) -> float | None:
    """Billed searches per query: one per block of documents, rounded up."""
    return None if documents is None else float(np.mean(np.ceil(np.asarray(candidates, dtype=float) / documents)))


def _thousand(price: Price | None, tokens: float | None, searches: float | None) -> float | None:
    """Cost of 1,000 queries with this usage each."""
    if price is None:
        return None
    if price == FREE:  # whether the usage is known or not
        return 0.0
    if searches is not None and price.per_thousand_searches is not None:
        return price.cost(ServiceUsage(searches=searches * QUERIES))
    if tokens is None or price.per_million_tokens is None:
        return None
    return tokens * price.per_million_tokens * QUERIES / 1e6
