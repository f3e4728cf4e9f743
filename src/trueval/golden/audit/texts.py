"""The texts of an audit, each once, by its hash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from trueval.collection import Collection, text_hash
from trueval.errors import InputError


class Texts:
    """Texts of a collection, and those that a sample has asked for.

    Args:
        read: reads the collection, once it is needed.
        judged: query and document → hash of the text that the judge saw; empty where nobody kept it.

    >>> texts = Texts(lambda: Collection("sample", "corpus", {"d": "this"}, {"q": "what"}), {})
    >>> texts.found[texts.document("q", "d")]
    'this'
    """

    def __init__(self, read: Callable[[], Collection], judged: Mapping[tuple[str, str], str]) -> None:
        self._read, self._judged = read, judged
        self.found: dict[str, str] = {}

    @cached_property
    def collection(self) -> Collection:
        """Where the texts are from."""
        return self._read()

    def keep(self, text: str) -> str:
        """The hash of a text that is in the sample from now on."""
        found = text_hash([text])
        self.found[found] = text
        return found

    def query(self, query: str) -> str:
        """The hash of the text of a query.

        Raises:
            InputError: it has none.
        """
        text = self.collection.queries.get(query)
        if not text:
            raise InputError(
                f"{self.collection.source}: query {query!r} has no text there. Name the collection that was judged."
            )
        return self.keep(text)

    def document(self, query: str, document: str) -> str:
        """The hash of the text of a document.

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
