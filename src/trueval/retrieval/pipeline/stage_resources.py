"""Shared resources of stages: models, vectors and candidates computed once, and a cache that may be missing or full."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
from numpy.typing import NDArray

from trueval.collection import Collection
from trueval.errors import InputError, TruevalWarning
from trueval.files.digests import damage
from trueval.models.hosted.account import Account
from trueval.models.missing_work import MissingWork, sum_work
from trueval.models.output_part import Step, silent
from trueval.retrieval.pipeline.model_forms import QueryForm, find_writer
from trueval.retrieval.pipeline.pipeline_result import Stage
from trueval.retrieval.pipeline.rewriting import AS_IS, rewritten
from trueval.threads import Executor

REMOVED = ".removed."  # prefix of folders for entries that are being removed
Begin = Callable[[str], Step]


@dataclass(eq=False)
class StageResources:
    """Resources shared by the runs of a pipeline, so that nothing is computed twice.

    Attributes:
        cache: folder of the cache; None for none.
        outputs: folder of model outputs; None for none.
        account: account of hosted models.
        executor: runs models elsewhere; None for here.
        models: settings → model.
        vectors: settings of the model, and which texts in which form → vectors.
        seconds: the same keys → seconds that the vectors took.
        stages: key → stage.
        hashes: subject → hashes of texts or models.
        forms: queries and form → these queries, and those in that form.
        asks: whether a model is asked for the forms that it writes; if not, texts that nobody wrote yet are others.
        missing: form → the questions that were not asked for it.
        written: form that a model wrote → what it wrote.
    """

    cache: Path | None
    outputs: Path | None
    account: Account
    executor: Executor | None = None
    models: dict[str, Any] = field(default_factory=dict)
    vectors: dict[str, NDArray[Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    stages: dict[str, Stage] = field(default_factory=dict)
    hashes: dict[str, dict[str, Any]] = field(default_factory=dict)
    forms: dict[tuple[int, str], tuple[Mapping[str, str], Mapping[str, str]]] = field(default_factory=dict)
    asks: bool = True
    missing: dict[str, MissingWork] = field(default_factory=dict)
    written: dict[str, QueryForm] = field(default_factory=dict)

    def know_forms(self, queries: Mapping[str, str], written: Mapping[str, Mapping[str, str]]) -> None:
        """Take forms of the queries that are written already, so that nobody is asked for them.

        Args:
            queries: id → text, as they were asked.
            written: form → query id → text.
        """
        self.forms.update({(id(queries), form): (queries, texts) for form, texts in written.items()})

    def rewritten(
        self, collection: Collection, way: str, judge: str | None = None, begin: Begin | None = None
    ) -> Collection:
        """A collection whose queries are in another form, written once for all pipelines that ask the same queries.

        Args:
            collection: documents and queries.
            way: one form, as in rewriting.py.
            judge: who writes the forms of a model.
            begin: called with the name of the work where a model writes.

        Raises:
            InputError: a file of texts is bad, or lacks some of the queries; or a model cannot be asked.
        """
        if way == AS_IS:
            return collection
        queries = collection.queries
        if (id(queries), way) not in self.forms:
            texts = rewritten(queries, way) if judge is None else self._write(queries, way, judge, begin)
            # With the queries themselves, which must live as long as their id stands for them.
            self.forms[id(queries), way] = queries, texts
        return replace(collection, queries=self.forms[id(queries), way][1])

    def _write(self, queries: Mapping[str, str], form: str, judge: str, begin: Begin | None) -> Mapping[str, str]:
        """Queries as a language model writes them; what it wrote before is not asked again."""
        step = (begin or nobody)(form) if self.asks else silent
        found = find_writer().write(
            judge, form, queries, cache=self.cache, account=self.account, step=step, ask=self.asks
        )
        self.written[form] = found
        if found.missing is not None:
            self.missing[form] = found.missing
        return found.texts

    def with_questions(self, work: list[MissingWork]) -> list[MissingWork]:
        """The questions that were not asked, and the work with their answers, which nobody knows yet."""
        if not self.missing:
            return work
        # What is written may be longer than the text that stands for it here.
        later = [replace(each, exact=False, at_most=None if each.calls else each.at_most) for each in work]
        return [*sum_work(self.missing.values()), *later]

    def hash_once(self, of: object, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The hashes of something, computed once, since models are large.

        Args:
            of: its description, as JSON.
            make: function that computes the hashes.
        """
        key = json.dumps(of, sort_keys=True)
        if key not in self.hashes:
            self.hashes[key] = make()
        return self.hashes[key]


@contextmanager
def open_resources(
    cache: Path | None, account: Account, *, kept: bool, executor: Executor | None = None, asks: bool = True
) -> Iterator[StageResources]:
    """Open shared resources; without a cache, two runs share model outputs in a temporary folder."""
    if cache is not None or not kept:
        yield StageResources(cache, None if cache is None else cache / "outputs", account, executor, asks=asks)
        return
    # Memory maps of removed files stay readable; where they cannot be removed, the system does it later.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield StageResources(None, Path(folder), account, executor, asks=asks)


@contextmanager
def tolerate_cache_errors(place: Path) -> Iterator[None]:
    """Continue without caching on write errors: a full or read-only disk must not cost hours of work.

    Args:
        place: path to write; if another process wrote it in the meantime, its content is the same.
    """
    try:
        yield
    except (OSError, RuntimeError, InputError, pl.exceptions.PolarsError) as error:
        if isinstance(error, InputError) and not place.exists():
            raise
        if not place.exists():
            reason = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
            told = f"{place}: cannot be kept ({reason}). The work goes on, and would be done again."
            warnings.warn(told, TruevalWarning, stacklevel=4)


def is_whole(folder: Path, key: str) -> bool:
    """Whether a cached index is intact; a damaged one is removed, to be rebuilt."""
    damaged = damage(folder, key)
    if damaged is None:
        return True
    warnings.warn(f"{folder}: a damaged index ({damaged}). It is made again.", TruevalWarning, stacklevel=2)
    with tolerate_cache_errors(folder), tempfile.TemporaryDirectory(prefix=REMOVED, dir=folder.parent) as aside:
        folder.rename(Path(aside) / folder.name)
    return False


def nobody(_: str) -> Step:
    """A callback for stages whose progress is not reported."""
    return silent
