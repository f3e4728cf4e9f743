"""Remarks on ids that look like others and are not: Unicode is compared as it is written, and never normalized."""

from __future__ import annotations

import polars as pl

from trueval.files.frame import Table

# Spaces, line ends, control and format characters, inside an id or at its edge; a plain space inside is ordinary.
UNSEEN = r"^ | $|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|[^\P{Zs} ]"
EDGE_OR_CONTROL = r"^ | $|[\x00-\x1f\x7f]"


def id_notes(table: Table, query_ids: pl.Series) -> tuple[str, ...]:
    """Remark on ids with characters that cannot be seen, and on ids that are equal only when normalized.

    Args:
        table: rows with doc_id.
        query_ids: the ids of the queries, each once.
    """
    if table.plain:
        return ()
    return tuple(
        note
        for name, ids in (("query_id", query_ids), ("doc_id", table.frame["doc_id"]))
        for note in (_unseen(ids, name, table), _unnormalized(ids, name, table))
        if note is not None
    )


def _beyond_ascii(ids: pl.Series) -> pl.Series:
    """The ids with characters beyond ASCII, each once: all others are in the form NFC as they are."""
    return ids.filter(ids.str.len_bytes() != ids.str.len_chars()).unique(maintain_order=True)


def _unseen(ids: pl.Series, name: str, table: Table) -> str | None:
    found = ids.filter(ids.str.contains(EDGE_OR_CONTROL))
    if found.is_empty():
        others = _beyond_ascii(ids)
        found = others.filter(others.str.contains(UNSEEN))
    if found.is_empty():
        return None
    return (
        f"{table.source}: {name}s hold characters that cannot be seen, for instance {found[0][:80]!a}; they are kept, "
        "and match only the same characters"
    )


def _unnormalized(ids: pl.Series, name: str, table: Table) -> str | None:
    others = _beyond_ascii(ids)
    changed = others.filter(others != others.str.normalize("NFC"))
    if changed.is_empty():
        return None
    one = changed[0]
    composed = pl.Series([one]).str.normalize("NFC")[0]
    twin = f"; {composed!a} is there too, as another id" if bool((others == composed).any()) else ""
    return (
        f"{table.source}: {len(changed)} {name}s are not in Unicode form NFC, for instance {one[:80]!a}; ids are never "
        f"normalized, and match only the same form{twin}"
    )
