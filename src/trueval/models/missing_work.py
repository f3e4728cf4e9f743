"""Missing work: what models and judges still have to do for a command, and what it costs.

The work of a stage is estimated once: a dry run prints its sentence, and the notice before the first call begins with
it, so that both agree; the bill is at most `at_most`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from trueval.errors import TruevalWarning
from trueval.models.hosted.account import Account, round_up_amount, sum_costs
from trueval.models.hosted.services import is_this_machine
from trueval.report.number_texts import count_phrase

if TYPE_CHECKING:
    from trueval.models.output_part import OutputPart
    from trueval.standings.standings import Ints

TIMED: Final = "timed queries"
_PASSAGES: Final = ("passage", "passages")
# What the items of a stage are, where they are not texts.
UNITS: Final = {
    "pairs": ("pair", "pairs"),
    TIMED: ("query", "queries"),
    "rewrite": ("query", "queries"),
    "grade": _PASSAGES,
    "order": _PASSAGES,
    "regrade": _PASSAGES,
    "question-one": _PASSAGES,
    "question-several": _PASSAGES,
    "question-none": _PASSAGES,
    "nuggets": _PASSAGES,
    "importance": ("nugget", "nuggets"),
}
NOTHING: Final = "Nothing goes through a model: all outputs are in the cache."


@dataclass(frozen=True)
class MissingWork:
    """The work of one stage for one model or judge that is neither in the cache nor in a ledger.

    Attributes:
        stage: "documents", "queries" or "pairs" of a model; a task of a judge; or a stage of a sweep.
        items: number of texts, pairs or passages.
        calls: number of calls to a service; 0 for a local model.
        tokens: estimated input tokens of these calls.
        tokens_out: estimated output tokens of a judge.
        cost: expected cost of these calls; None if the price is unknown.
        at_most: maximum cost, if no call is sent again; None if unknown.
        exact: whether items and calls are counted; if not, they are upper bounds.
        kept: number of further items whose outputs exist.
        seconds: estimated duration of a local model; None if it was not measured.
        answers: number of earlier answers from which `tokens_out` is estimated; 0 for a guess.
    """

    stage: str
    model: str
    items: int
    calls: int = 0
    tokens: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    at_most: float | None = 0.0
    exact: bool = True
    kept: int = 0
    seconds: float | None = None
    answers: int = 0

    @property
    def sentence(self) -> str:
        """The work in one sentence.

        >>> MissingWork("pairs", "a-reranker", 1200, exact=False).sentence
        'pairs: at most 1,200 pairs through a-reranker.'
        >>> MissingWork("grade", "a-judge", 96, 12, 9_000, 600, 0.0042, 0.02, answers=9).sentence[34:]
        'a-judge, about 9,000 tokens and 600 back (as in 9 earlier answers), for about 0.0042, at most 0.02.'
        """
        one, many = UNITS.get(self.stage.partition(" (")[0], ("text", "texts"))
        if not self.items:
            return f"{self.stage}: no {one} goes to {self.model}."
        told = f"{self.stage}: {'' if self.exact else 'at most '}{count_phrase(self.items, one, many)}"
        told += f" in {count_phrase(self.calls, 'call', 'calls')} to" if self.calls else " through"
        told += f" {self.model}"
        if self.tokens:
            told += f", about {self.tokens:,} tokens"
        if self.tokens_out:
            back = f"as in {count_phrase(self.answers, 'earlier answer', 'earlier answers')}"
            told += f" and {self.tokens_out:,} back ({back if self.answers else 'thinking not counted'})"
        if self.tokens:
            told += f", {self.price}"
        return told + (f", about {self.seconds / 60:.1f} minutes." if self.seconds is not None else ".")

    @property
    def price(self) -> str:
        """The cost in words."""
        return in_words(self.cost, self.at_most)


def in_words(cost: float | None, at_most: float | None) -> str:
    """An estimated cost, in words.

    Args:
        cost: expected cost; None if the price is unknown.
        at_most: maximum cost; None if unknown.

    >>> in_words(0.01399, 0.0371), in_words(None, None)
    ('for about 0.01399, at most 0.0371', 'at a price that is not known')
    """
    if cost is None:
        return "at a price that is not known"
    return f"for about {cost:.4g}" + ("" if at_most is None else f", at most {round_up_amount(at_most)}")


def sum_work(parts: Iterable[MissingWork]) -> list[MissingWork]:
    """The work, with that of the same stage and model added up."""
    grouped: dict[tuple[str, str], list[MissingWork]] = {}
    for each in parts:
        grouped.setdefault((each.stage, each.model), []).append(each)
    return [_sum(group) for group in grouped.values()]


def _sum(group: Sequence[MissingWork]) -> MissingWork:
    seconds = [each.seconds for each in group if each.seconds is not None]
    counts = ("items", "calls", "tokens", "tokens_out", "kept")
    return replace(
        group[0],
        **{name: sum(getattr(each, name) for each in group) for name in counts},
        cost=sum_costs(each.cost for each in group),
        at_most=sum_costs(each.at_most for each in group),
        exact=all(each.exact for each in group),
        seconds=sum(seconds) if seconds else None,
    )


class MissingPart(NamedTuple):
    """The items of a part that a model has no outputs for.

    Attributes:
        stage: as in MissingWork.
        model: model as returned by `load_model`.
        places: indices of the items without outputs.
        kept: number of items with outputs.
        longest: a part of maximum length, where the items are examples of as many; None if they are known.
    """

    stage: str
    model: Any
    part: OutputPart
    places: Ints
    kept: int = 0
    longest: OutputPart | None = None

    def work(self, seconds: float | None = None) -> MissingWork:
        """The work of the model; what a service asks for it is computed as its notice computes it.

        Args:
            seconds: estimated duration, if measured.
        """
        found = MissingWork(self.stage, self.model.name, len(self.places))
        if len(self.places) and hasattr(self.model, "estimate_work"):
            found = self.model.estimate_work(self.part.name, [self.part.items[at] for at in self.places.tolist()])
            if self.longest is not None:
                most = self.model.estimate_work(self.part.name, self.longest.items).at_most
                found = replace(found, at_most=most)
        return replace(found, stage=self.stage, exact=self.longest is None, kept=self.kept, seconds=seconds)


def repeated_work(
    model: Any, part: str, asked: Sequence[Sequence[Any]], times: int, longest: Sequence[Sequence[Any]] | None = None
) -> MissingWork:
    """The work of a service for queries that are asked one at a time, while it is timed.

    Args:
        asked: [query] items of each query.
        times: number of times that a query is asked, over all queries.
        longest: [query] items of maximum length, where `asked` are examples; None if they are known.
    """
    once = _sum([model.estimate_work(part, items) for items in asked])
    most = once if longest is None else _sum([model.estimate_work(part, items) for items in longest])
    share = times / len(asked)
    return replace(
        once,
        stage=TIMED,
        items=times,
        calls=round(once.calls * share),
        tokens=round(once.tokens * share),
        cost=None if once.cost is None else once.cost * share,
        at_most=None if most.at_most is None else most.at_most * share,
        exact=longest is None,
    )


@dataclass(frozen=True)
class DryRun:
    """All work that a command would do with models and judges; nothing is computed or sent for it.

    Attributes:
        work: missing work, stage by stage.
        max_cost: spending limit in total; None for no limit.
        spent: part of the limit that is spent already.
        about: further entries of the JSON.
        lines: sentences about these, printed first.
        notes: sentences printed last.
    """

    work: Sequence[MissingWork]
    max_cost: float | None = None
    spent: float = 0.0
    about: Mapping[str, object] = field(default_factory=dict)
    lines: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def calls(self) -> int:
        """Number of calls to services and judges."""
        return sum(each.calls for each in self.work)

    @property
    def cost(self) -> float | None:
        """Expected cost of all calls; None if a price is unknown."""
        return sum_costs(each.cost for each in self.work)

    @property
    def at_most(self) -> float | None:
        """Maximum cost of all calls; None if unknown."""
        return sum_costs(each.at_most for each in self.work)

    def to_dict(self) -> dict[str, object]:
        """The JSON of a dry run."""
        return {
            **self.about,
            "work": [vars(each) for each in self.work],
            "calls": self.calls,
            "tokens": sum(each.tokens + each.tokens_out for each in self.work),
            "cost": self.cost,
            "at_most": self.at_most,
            "seconds": sum(each.seconds or 0.0 for each in self.work),
            "spent": self.spent,
            "max_cost": self.max_cost,
            "notes": list(self.notes),
        }

    def sentences(self) -> list[str]:
        """The work in sentences: each stage, the sum, and whether the limit allows it."""
        told = [*self.lines]
        told += [each.sentence + f" {each.kept:,} more are kept." * bool(each.kept) for each in self.work]
        told += [] if any(each.items for each in self.work) else [NOTHING]
        if self.calls:
            most = "" if all(each.exact for each in self.work if each.calls) else "at most "
            told.append(f"In all: {most}{count_phrase(self.calls, 'call', 'calls')}{self._price}.")
            if self.max_cost is not None and self._price:
                told.append(f"max_cost is {self.max_cost:g}: {self._limit_effect(self.max_cost)}")
        return [*told, *self.notes]

    @property
    def _price(self) -> str:
        """The cost of all calls and what is spent, in words; empty where nobody bills them."""
        if not any(each.tokens for each in self.work):
            return ""
        return f", {in_words(self.cost, self.at_most)}" + f"; {self.spent:.4g} is spent" * bool(self.spent)

    def _limit_effect(self, limit: float) -> str:
        """The effect of the spending limit."""
        if self.cost is None:
            return "a price is not known, and nothing is sent whose price is not known."
        if self.at_most is not None and self.spent + self.at_most <= limit:
            return "it allows this work."
        stops = "it stops before the limit is exceeded, and keeps what is done."
        return stops if self.spent + self.cost > limit else f"it is likely to be enough; else {stops}"


def announce(work: MissingWork, url: str, variable: str, account: Account, more: str = "") -> None:
    """Before the first call of a stage, warn of what leaves this machine, to whom and at what cost.

    Args:
        url: base URL of the service.
        variable: environment variable of its key; "" for none.
        more: further sentences.
    """
    if not work.calls:
        return
    leaves = "It goes to" if is_this_machine(url) else "It leaves this machine for"
    key = f", with the key in {variable}" if variable else ""
    limit = over = ""
    if account.max_cost is not None:
        limit = f"; {account.spent:.4g} of at most {account.max_cost:g} is spent"
        over = " It stops there, and keeps what is done." * (account.spent + (work.cost or 0.0) > account.max_cost)
    told = f"{work.sentence} {leaves} {urlsplit(url).netloc}{key}{limit}.{over}{more}"
    warnings.warn(told, TruevalWarning, stacklevel=4)
