"""Grades that are there already, as answers to the items of an audit."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from trueval.errors import InputError
from trueval.golden.audit.store.audit_store import AuditStore
from trueval.golden.audit.store.events import Event
from trueval.golden.audit.store.exchange import write_people
from trueval.judgments import Judgments

RATER: Final = "file"


def record_grades(folder: Path, grades: Judgments, rater: str = RATER) -> int:
    """Answer the open items of an audit from a file of judgments; items that it does not grade are skipped.

    Args:
        folder: folder of the audit.
        grades: judgments by people, or by another judge.
        rater: who gave them.

    Returns:
        Number of items that were answered.

    Raises:
        InputError: a grade is not on the scale of the audit, or another process serves it.
    """
    known = {(query, document): grade for query, document, grade in grades.frame.iter_rows() if grade >= 0}
    events = []
    with AuditStore.open(folder) as store:
        answered = store.labels()
        for item in store.items.values():
            if item.item in answered or item.task != "grade":
                continue
            grade = known.get((item.query, item.documents[0]))
            if grade is not None and not (grade == int(grade) and item.low <= grade <= item.high):
                raise InputError(
                    f"{grades.source}: document {item.documents[0]!r} of query {item.query!r} has the grade {grade:g}. "
                    f"It must be a whole number from {item.low} to {item.high}, the scale of the audit in {folder}."
                )
            kind = "skip" if grade is None else "grade"
            given = None if grade is None else int(grade)
            events.append(Event(secrets.token_hex(16), rater, item.item, kind, given))
        store.record_all(events)
        write_people(store)
    return len(events)
