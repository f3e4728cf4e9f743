"""Forms of the queries that a language model writes: each text asked for once, and counted before anything is sent.

Who writes lies above this room, beside the judges of golden sets; it is found by its entry point, as views are:

    [project.entry-points."trueval.rewriters"]
    model = "trueval.golden.build.query_writing:REWRITER"
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
from trueval.plugins import load_plugins

GROUP: Final = "trueval.rewriters"
MODEL: Final = "model"


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


class WriteQueries(Protocol):
    """The function of a rewriter."""

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


class Rewriter(NamedTuple):
    """The object of the entry point.

    Attributes:
        name: name of the entry point.
        write: has a language model write queries.
    """

    name: str
    write: WriteQueries


@cache
def find_writer() -> Rewriter:
    """The rewriter of this installation.

    Raises:
        InputError: it lacks one.
        PolicyError: a package brings one that cannot be had, or a second one.
    """
    found = load_plugins(GROUP, Rewriter, ())
    if MODEL not in found:
        raise InputError(f"This installation has no entry point {MODEL!r} of {GROUP}. Install trueval anew.")
    return found[MODEL]
