"""The cells of a log as people grade them: documents of a collection, which the audit page of golden sets serves.

Each question is a query, and each of its cells a document that shows the claim, the text that it is held against, and
the answer or reference that it is from; audit.json has the page say what the grades mean. An audit of the design
"queries" draws questions at random and shows every cell of each, in a random order and without the judge's labels:
this corrects the judge's table:

    trueval golden audit judged/audit/cells.parquet --collection judged/audit --design queries --scale 1-4 --out people
    trueval answers evaluate log.jsonl --judged judged/table.jsonl --people people
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from trueval.answers.answer import AnswerLog
from trueval.answers.claim_table import ANSWER, QUESTION, REFERENCE, cells_of, document_of, texts_of
from trueval.files.atomic_files import write_whole
from trueval.golden.audit.store.rubric import ABOUT, CLAIMS
from trueval.judgments import Judgments

FOLDER: Final = "audit"
CELLS: Final = "cells.parquet"
_OF: Final = {ANSWER: "the answer", REFERENCE: "the reference"}
_ADDRESSES: Final = "Grade whether the claim, true or not, answers the question: 4 it does, 3 in part, 2 it does not."


def write_audit(log: AnswerLog, folder: Path, *, relevance: bool = False) -> Path | None:
    """Write the cells of a log for an audit; returns the file of what there is to grade, None where there is nothing.

    Its grades say nothing: they are there because an audit draws from judgments.

    Args:
        folder: of the files, created if absent.
        relevance: whether people also say which claims address the question.
    """
    found: dict[str, dict[str, int]] = {}
    documents, queries = [], []
    for answer in log.answers:
        cells = list(cells_of(answer, relevance=relevance))
        if not cells:
            continue
        queries.append({"_id": answer.query, "text": answer.question or answer.query})
        found[answer.query] = {document_of(cell): 1 for cell in cells}
        for cell in cells:
            claim, text = texts_of(answer, cell)
            where = _OF.get(str(cell.against), f"passage {cell.against}")
            shown = f"Claim of {_OF[cell.of]}: {claim}\n\nText, {where}: {text}"
            if cell.against == QUESTION:
                shown = f"Claim of {_OF[cell.of]}: {claim}\n\nThe question: {text}\n\n{_ADDRESSES}"
            whole = answer.text if cell.of == ANSWER else "\n".join(answer.references[:1])
            if whole and whole != claim:  # what the claim stands in: who "it" is
                shown += f"\n\nThe claim is from {_OF[cell.of]}: {whole}"
            documents.append({"_id": document_of(cell), "text": shown})
    if not found:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    _write_lines(folder / "corpus.jsonl", documents)
    _write_lines(folder / "queries.jsonl", queries)
    _write_lines(folder / ABOUT, [{"shows": CLAIMS}])
    Judgments.from_dict(found).write(folder / CELLS)
    return folder / CELLS


def _write_lines(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_whole(path, lambda file: file.write_text(text, encoding="utf-8", newline="\n"))
