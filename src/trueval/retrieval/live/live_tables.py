"""The TOML file of a live retriever: an engine's URL or a command, and where its answers have ids and scores."""

from __future__ import annotations

from typing import Any

from trueval.files.toml_tables import Count, Number, Table, Text, key


class Live(Table):
    """How a live retriever is asked, and what its answers look like."""

    url: Text = key(None, "of the search, with {text} and {k} where these belong")
    command: Text = key(
        None, "instead of url: a program that prints JSON, with {text} and {k}; without {text} it reads the text"
    )
    body: dict[str, Any] = key(None, "JSON to post, with '{text}' and '{k}'; without it the URL is got")
    method: Text = key(None, "of HTTP: POST with a body, else GET")
    headers: dict[str, str] = key(None, "further headers, for keys use api_key_env")
    api_key_env: Text = key(None, "the environment variable that holds the key")
    api_key_header: Text = key("authorization", "the header that the key goes to; in authorization as Bearer")
    hits: Text = key(None, "path of the list of documents in an answer, such as result.points; found by default")
    id: Text = key(None, "path of the id in a document, such as payload.doc_id; found by default")
    score: Text = key(None, "path of the score; with a minus before it, of a distance; found by default")
    at_once: Count = key(None, "calls at once; 8 by default, of a command 1")
    timeout: Number = key(60, "seconds that an answer may take", gt=0, le=86_400)


class LiveFile(Table):
    """The file of a live retriever."""

    live: Live = key(...)
