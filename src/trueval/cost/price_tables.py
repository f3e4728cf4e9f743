"""The tables of a price book."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from trueval.files.toml_tables import Count, Number, Table, key


def first_day(told: str) -> dt.date:
    """The day of a date, or the first day of a month.

    Args:
        told: a day, 2025-11-12, or a month, 2025-11.
    """
    return dt.date.fromisoformat(f"{told}-01" if len(told) == len("2025-11") else told)


def _day(value: object) -> str:
    first_day(str(value))  # raises ValueError if it is not a date
    return str(value)


Day = Annotated[Any, AfterValidator(_day), WithJsonSchema({"type": "string", "format": "day"})]
Words = Annotated[str, Field(pattern=r"\S")]


class TokenPrice(Table):
    """The price of a model's input."""

    per_million_tokens: Number = key(..., "price of a million tokens that go in", ge=0)
    date: Day = key(None, "where it is not that of the book")
    source: Words = key(None, "where it is not that of the book")


class GeneratorPrice(TokenPrice):
    """The price of a generator's input, and of what it writes."""

    per_million_output: Number = key(None, "price of a million tokens that come out", ge=0)


class RerankerPrice(TokenPrice):
    """The price of a reranker: per token, of query and document together, or per search."""

    per_million_tokens: Number = key(None, "price of a million tokens of query and document together", ge=0)
    per_thousand_searches: Number = key(None, "instead, where a service bills searches", ge=0)
    documents_per_search: Count = key(None, "that are billed with a query as one search")

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> RerankerPrice:
        if (self.per_million_tokens is None) == (self.per_thousand_searches is None):
            raise ValueError("write per_million_tokens or per_thousand_searches, one of the two.")
        if (self.documents_per_search is None) != (self.per_thousand_searches is None):
            raise ValueError("per_thousand_searches and documents_per_search go together. Write both.")
        return self


class EvaluationPrices(Table):
    """Prices of evaluation, each of one."""

    question: Number = key(0.0, "price of a new question, without its labels", ge=0)
    label: Number = key(0.0, "price of one graded passage", ge=0)
    answer: Number = key(0.0, "price of running one question through one system", ge=0)


class PriceBookFile(Table):
    """A price book: prices of models by the names that their services use."""

    date: Day = key(..., "of all prices that have none of their own: a day, 2025-11-12, or a month, 2025-11")
    currency: Words = key(..., "of all prices, such as USD")
    source: Words = key(..., "who states the prices")
    rerankers: dict[str, RerankerPrice] = key({}, "prices of rerankers")
    embedders: dict[str, TokenPrice] = key({}, "prices of embedders")
    generators: dict[str, GeneratorPrice] = key({}, "prices of generators")
    evaluation: EvaluationPrices = key(None, "prices of questions, labels and answers, for `trueval budget`")
