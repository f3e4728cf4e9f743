"""Cost model: the cost of a sweep's systems under its [prices], from their settings, texts and lists."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from trueval.cost.prices import FREE, QUERIES, ListedPrice, PriceBook, QueryUsage, Role, SystemPrices, cost_of_thousand
from trueval.cost.tokens import PairCounter, text_tokens
from trueval.errors import InputError, PolicyError
from trueval.files.toml import Where
from trueval.models.hosted.account import Price, sum_costs
from trueval.models.hosted.services import is_hosted, parse_hosted_name
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.run import Run

PARTS: Mapping[str, Role] = {"rerank": "rerankers", "embed": "embedders", "generator": "generators"}


@dataclass(frozen=True)
class SweepPrices:
    """The prices that apply, from the table [prices] of a sweep.

    Attributes:
        book: price book.
        named: "rerank", "embed", "generator" → the price that [prices] names.
        candidate_tokens: tokens of a candidate with its query, and of a context; None where they are counted.
        answer_tokens: tokens of an answer of the generator; None leaves answers out.
    """

    book: PriceBook
    named: Mapping[str, ListedPrice]
    candidate_tokens: float | None = None
    answer_tokens: float | None = None

    @classmethod
    def read(cls, table: Mapping[str, Any], place: Where | None = None) -> SweepPrices:
        """Read the price book of [prices], and look up its prices, before any work.

        Args:
            table: the table [prices]; a missing key is None.
            place: function from table and key to their place in the file, for errors; None without a file.

        Raises:
            InputError: the book is invalid, lacks a named price, or lacks that of answers whose tokens are stated.
        """
        path = table.get("book")
        book = PriceBook.read(None if path is None else Path(path))
        named: dict[str, ListedPrice] = {}
        for part, role in PARTS.items():
            if table.get(part) is not None:
                try:
                    named[part] = book.find(role, table[part])
                except PolicyError as error:
                    told = f"[prices] {part}: {error}"
                    raise (place("prices", part).error(told) if place else InputError(told)) from None
        answers, generator = table.get("answer_tokens"), named.get("generator")
        if answers is not None and (generator is None or generator.per_million_output is None):
            told = (
                "[prices] answer_tokens: no generator is named whose answers have a price. Name it as generator, in a "
                "book with its per_million_output."
            )
            raise place("prices", "answer_tokens").error(told) if place else InputError(told)
        return cls(book, named, table.get("candidate_tokens"), answers)

    def prices(self, settings: Mapping[str, Mapping[str, object]]) -> SystemPrices:
        """Prices of a system's components.

        A missing stage is free. For a hosted model the price is that of its table (price_per_million_tokens), else the
        price book's entry for its name, else the entry that [prices] names; for a local model the entry that [prices]
        names, or nothing.

        Args:
            settings: stage → its settings.
        """
        rerank = settings.get("rerank")
        documents = None if rerank is None else self._documents(rerank)
        generator = self.named.get("generator")
        return SystemPrices(
            self._price("rerank", rerank),
            self._price("embed", settings.get("embed")),
            None if generator is None else generator.price,
            documents,
            None if generator is None else generator.per_million_output,
        )

    def knows(self, settings: Mapping[str, Mapping[str, object]]) -> bool:
        """Whether a system may cost money: [prices] names a price, or a stage calls a hosted model."""
        models = (settings[part]["model"] for part in ("embed", "rerank") if part in settings)
        return bool(self.named) or any(map(is_hosted, models))

    def used_prices(self, settings: Mapping[str, Mapping[str, object]]) -> list[ListedPrice]:
        """The entries of the price book that a system's cost depends on."""
        found = [self._find_listed(part, settings[part]) for part in ("rerank", "embed") if part in settings]
        return [each for each in (*found, self.named.get("generator")) if each is not None]

    def notes(self, systems: Sequence[Mapping[str, Mapping[str, object]]], today: dt.date) -> tuple[str, ...]:
        """Remarks on outdated prices.

        Args:
            systems: [system] stage → its settings.
            today: date of the report.
        """
        return self.book.notes([each for settings in systems for each in self.used_prices(settings)], today)

    def to_dict(self) -> dict[str, object]:
        """The prices entry of sweep.json."""
        names = {part: self.named[part].name if part in self.named else None for part in PARTS}
        about = {"date": self.book.date, "currency": self.book.currency, "source": self.book.source}
        answers = {} if self.answer_tokens is None else {"answer_tokens": self.answer_tokens}
        return {**about, **names, "candidate_tokens": self.candidate_tokens, **answers}

    def _price(self, part: str, table: Mapping[str, Any] | None) -> Price | None:
        if table is None:
            return FREE
        given = Price(table.get("price_per_million_tokens"), table.get("price_per_thousand_searches"))
        if given != Price():
            return given
        listed = self._find_listed(part, table)
        if listed is not None:
            return listed.price
        return None if is_hosted(table["model"]) else FREE

    def _find_listed(self, part: str, table: Mapping[str, Any]) -> ListedPrice | None:
        """The price-book entry of a stage; None where its own table has the price, or nothing does."""
        if any(table.get(f"price_{key}") is not None for key in Price._fields):
            return None
        own = self.book.look_up(PARTS[part], table["model"]) if is_hosted(table["model"]) else None
        return own or self.named.get(part)

    def _documents(self, table: Mapping[str, Any]) -> int | None:
        """Number of documents that the reranker bills as one search."""
        listed = self._find_listed("rerank", table)
        if listed is not None:
            return listed.documents_per_search
        return (parse_hosted_name(table["model"]).service.search or None) if is_hosted(table["model"]) else None


class SystemCost(NamedTuple):
    """The usage of a system per query, and its cost per 1,000 queries.

    Attributes:
        tokens: "query", "candidate", "context" → mean tokens; None if the system has none.
        prompts: K → mean tokens of a query's contexts.
        costs: K → "rerank", "embed", "generator", "total" of 1,000 queries; None if unknown. Without a
            generator in [prices] the total is that of retrieval; without any price or service all are None.
        how: how tokens were counted, in words.
    """

    tokens: Mapping[str, float | None]
    prompts: Mapping[int, float]
    costs: Mapping[int, Mapping[str, float | None]]
    how: tuple[str, ...]

    def with_rewriting(self, query: float | None) -> SystemCost:
        """The cost with that of the forms of its queries that a language model writes.

        Args:
            query: mean cost of a query; None if unknown.

        >>> plain = SystemCost({}, {}, {10: {"rerank": 1.0, "embed": 0.0, "generator": None, "total": 1.0}}, ())
        >>> plain.with_rewriting(0.002).costs[10]["total"], plain.with_rewriting(None).costs[10]["total"]
        (3.0, None)
        """
        rewrite = None if query is None else QUERIES * query
        costs = {
            k: {**parts, "rewrite": rewrite, "total": sum_costs([parts["total"], rewrite])}
            for k, parts in self.costs.items()
        }
        return self._replace(costs=costs)


class CostModel:
    """Computes the usage of systems over one corpus; each text and pair is tokenized once.

    Args:
        charges: prices of the sweep.
        documents: id → text of the corpus.
        billed: whether another system of the sweep costs money, so that a free one costs 0 rather than None.
    """

    def __init__(self, charges: SweepPrices, documents: Mapping[str, str], *, billed: bool = False) -> None:
        self.charges, self.documents, self.billed = charges, documents, billed
        self._lengths: dict[str, int] = {}
        self._counters: dict[int, PairCounter] = {}

    def of(
        self,
        settings: Mapping[str, Mapping[str, object]],
        queries: Mapping[str, str],
        run: Run,
        ks: Sequence[int],
        *,
        reranker: object = None,
        embedder: object = None,
        known: Mapping[str, float | None] | None = None,
    ) -> SystemCost:
        """The usage and cost of a system.

        Args:
            settings: stage → its settings.
            queries: id → text of all queries, also of those without hits.
            run: run of the system: the reranked candidates, if it has a reranker.
            ks: numbers of contexts.
            reranker: model whose tokenizer counts pairs; None if not loaded.
            embedder: model whose tokenizer counts queries; None if not loaded.
            known: "query" and "candidate" → mean tokens from an earlier count; None if not counted.
        """
        ordered = rank_lists(run)
        ids, ends = ordered.documents["doc_id"].to_list(), ordered.offsets.tolist()
        lists = {
            query: ids[begin:end]
            for query, begin, end in zip(ordered.query_ids.to_list(), ends[:-1], ends[1:], strict=True)
        }
        told: list[str] = []
        before = known or {}
        candidate = before.get("candidate") if self.charges.candidate_tokens is None else None
        if "rerank" in settings and candidate is None:
            candidate = self._candidate(lists, queries, reranker, told)
        query = before.get("query")
        if "embed" in settings and query is None:
            found = text_tokens(list(queries.values()), embedder)
            query = float(found.read.mean())
            told.append(f"queries {found.how}")
        prompts, context = self._prompts(lists, len(queries), ks, told)
        counts = [len(lists.get(each, ())) for each in queries] if "rerank" in settings else 0
        costs = {}
        for k in ks:
            use = QueryUsage(counts, candidate, query, 1, prompts[k], answer_tokens=self.charges.answer_tokens or 0.0)
            costs[k] = self._cost(use, settings)
        return SystemCost({"query": query, "candidate": candidate, "context": context}, prompts, costs, tuple(told))

    def _cost(self, use: QueryUsage, settings: Mapping[str, Mapping[str, object]]) -> dict[str, float | None]:
        cost = cost_of_thousand(use, self.charges.prices(settings))
        if not (self.billed or self.charges.knows(settings)):
            return dict.fromkeys((*cost._fields, "total"))
        total = cost.total if "generator" in self.charges.named else cost.retrieval
        return {**cost._asdict(), "total": total}

    def _candidate(
        self, lists: Mapping[str, Sequence[str]], queries: Mapping[str, str], reranker: object, told: list[str]
    ) -> float | None:
        """Mean tokens of a pair as the reranker sees it."""
        if self.charges.candidate_tokens is not None:
            told.append("candidates and contexts as [prices] candidate_tokens says")
            return self.charges.candidate_tokens
        pairs = [(queries[query], self.documents[each]) for query, ids in lists.items() for each in ids]
        if not pairs:
            return None
        found = self._counters.setdefault(id(reranker), PairCounter(reranker)).count(pairs)
        told.append(f"candidates {found.how}")
        return float(found.read.mean())

    def _prompts(
        self, lists: Mapping[str, Sequence[str]], queries: int, ks: Sequence[int], told: list[str]
    ) -> tuple[dict[int, float], float | None]:
        """K → mean tokens of the first K documents per query, and the mean tokens of a document at the largest K."""
        fixed = self.charges.candidate_tokens
        if fixed is None:
            told.append(f"contexts {self._measure({each for ids in lists.values() for each in ids[: max(ks)]})}")
        prompts, context = {}, None
        for k in sorted(ks):
            chosen = [each for ids in lists.values() for each in ids[:k]]
            tokens = len(chosen) * fixed if fixed is not None else float(sum(self._lengths[each] for each in chosen))
            prompts[k] = tokens / queries
            context = tokens / len(chosen) if chosen else None
        return prompts, context

    def _measure(self, ids: set[str]) -> str:
        """Count the tokens of new documents; the generator's tokenizer is not available here."""
        new = sorted(ids - self._lengths.keys())
        found = text_tokens([self.documents[each] for each in new])
        self._lengths.update(zip(new, found.read.tolist(), strict=True))
        return found.how
