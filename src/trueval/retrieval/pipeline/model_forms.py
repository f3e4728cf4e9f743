"""Forms of the queries that a language model writes: each text asked for once, and counted before anything is sent.

Who writes lies above this room, beside the judges of golden sets; it is found by its entry point, as views are:

    [project.entry-points."trueval.rewriters"]
    model = "trueval.golden.build.query_writing:write_queries"
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from trueval.errors import InputError
from trueval.models.hosted.account import Account
from trueval.models.missing_work import MissingWork
from trueval.models.output_part import Step

GROUP: Final = "trueval.rewriters"


class QueryForm(NamedTuple):
    """Queries in a form that a model writes.

    Attributes:
        texts: query id → text; where nobody wrote it yet, a text that no query has.
        seconds: query id → seconds that its answer took when it was given.
        cost: mean cost of a query; None if a price is not known.
        notes: one-line remarks, for results.
        missing: the questions that would be asked; None where every text is there.
    """

    texts: Mapping[str, str]
    seconds: Mapping[str, float] = MappingProxyType({})
    cost: float | None = None
    notes: tuple[str, ...] = ()
    missing: MissingWork | None = None


class QueryWriter(Protocol):
    """The function of the entry point."""

    def __call__(
        self,
        judge: str,
        form: str,
        queries: Mapping[str, str],
        *,
        cache: Path | None,
        account: Account,
        step: Step,
        ask: bool,
    ) -> QueryForm:
        """Write queries in a form.

        Args:
            judge: a model, or a TOML file with a table [judge].
            form: "model", "step-back" or "hyde".
            queries: id → text.
            cache: folder of the ledger with what was written; None for none.
            account: account that pays, with its limit.
            step: progress callback.
            ask: whether to ask for what is not in the ledger.

        Raises:
            InputError: it cannot be asked, would cost too much, or is no model.
        """
        ...


@cache
def find_writer() -> QueryWriter:
    """The function that has a language model write queries.

    Raises:
        InputError: the installation lacks it.
    """
    from importlib.metadata import entry_points  # reads the metadata of every installed package, so only on demand

    found = {point.value: point for point in entry_points(group=GROUP, name="model")}
    if not found:
        raise InputError(f"This installation has no entry point 'model' of {GROUP}. Install trueval anew.")
    writer: QueryWriter = next(iter(found.values())).load()
    return writer
