"""A small audit, drawn without a golden set: passages g1, g2 ... of two queries, and one pair of neighbors."""

from __future__ import annotations

from pathlib import Path

from trueval.collection import text_hash
from trueval.golden.audit.store.audit_manifest import AuditManifest, AuditStratum, Item, write_sample


def hash_of(text: str) -> str:
    return text_hash([text])


def small_audit(
    folder: Path,
    *,
    items: int = 5,
    raters: int = 1,
    order: bool = True,
    what: str = "what?",
    word: str = "passage",
    scale: tuple[int, int] = (1, 5),
) -> Path:
    """Write the sample of an audit, in which questions and passages are called as `what` and `word` say; its folder."""
    texts = {hash_of(text): text for text in (what, "why?", *(f"{word} {at}" for at in range(items + 2)))}
    grades = tuple(
        Item(
            f"g{at}",
            "grade",
            f"q{at % 2}",
            (f"d{at}",),
            "grade 5, heavy" if at % 2 else "grade 1, light",
            (hash_of("why?" if at % 2 else what), hash_of(f"{word} {at}")),
            *scale,
        )
        for at in range(items)
    )
    # The lower one of the two is shown first.
    hashes = tuple(map(hash_of, (what, f"{word} {items}", f"{word} {items + 1}")))
    pair = Item("o1", "order", "q0", ("lower", "upper"), "lists", hashes, -1, 1, ranks=(4, 3))
    scales = {"grade": scale, "order": (-1, 1)} if order else {"grade": scale}
    about = {"size": items, "qrels": "hash", "measure": None, "runs": [], "judged": 40, "unjudged": 0}
    strata = (
        AuditStratum("grade 1, light", 20, items - items // 2, 0.5),
        AuditStratum("grade 5, heavy", 20, items // 2, 0.5),
    )
    drawn = AuditManifest("documents", 0, raters, scales, strata, (*grades, *((pair,) if order else ())), about)
    write_sample(folder, drawn, texts)
    return folder
