"""The texts of an audit, stored once each by hash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final

from trueval.collection import Collection, text_hash
from trueval.errors import InputError

NOBODY: Final[Mapping[str, str]] = MappingProxyType({})


class TextTable:
    """The texts of a collection that a sample uses.

    Args:
        read: reads the collection on first use.
        judged: (query, document) → hash of the text that the judge saw; empty if not stored.
        asked: query → hash of its text when it was judged; empty if not stored.
        questions: query → text, used instead of the collection's text where it is the one that the judge saw.

    >>> texts = TextTable(lambda: Collection("sample", "corpus", {"d": "this"}, {"q": "what"}), {})
    >>> texts.found[texts.document("q", "d")]
    'this'
    """

    def __init__(
        self,
        read: Callable[[], Collection],
        judged: Mapping[tuple[str, str], str],
        asked: Mapping[str, str] = NOBODY,
        questions: Mapping[str, str] = NOBODY,
    ) -> None:
        self._read, self._judged, self._asked = read, judged, asked
        self._questions = {query: text for query, text in questions.items() if asked.get(query) == text_hash([text])}
        self.found: dict[str, str] = {}

    @cached_property
    def collection(self) -> Collection:
        """The collection of the texts."""
        return self._read()

    def keep(self, text: str) -> str:
        """Store a text of the sample and return its hash."""
        found = text_hash([text])
        self.found[found] = text
        return found

    def query(self, query: str) -> str:
        """Hash of a query's text.

        Raises:
            InputError: it has none, or another one than the judge was asked.
        """
        text = self._questions.get(query) or self.collection.queries.get(query)
        if not text:
            raise InputError(
                f"{self.collection.source}: query {query!r} has no text there. Name the collection that was judged."
            )
        found = self.keep(text)
        if self._asked.get(query, found) != found:
            raise InputError(
                f"{self.collection.source}: query {query!r} is asked in other words there than were judged. Name the "
                "collection that was judged, or build the golden set again with these queries."
            )
        return found

    def document(self, query: str, document: str) -> str:
        """Hash of a document's text.

        Raises:
            InputError: it has none, or another one than the judge saw.
        """
        text = self.collection.documents.get(document)
        found = self.keep(text) if text else None
        if found is None or self._judged.get((query, document), found) != found:
            what = "no text there" if found is None else "another text there than the one that was judged"
            raise InputError(
                f"{self.collection.source}: document {document!r} of query {query!r} has {what}. Name the collection "
                "that was judged, or carry the judgments over first: trueval golden anchor."
            )
        return found
