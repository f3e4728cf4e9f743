"""People label claims on the audit page of golden sets, question by question, and their labels correct the judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.answers.small import write_lines
from tests.answers.test_judge_answers import COLORS, colors, write_log
from tests.golden.audit.served import served

from trueval.answers.answer_logs import read_answers
from trueval.answers.claim_table import LABELS, cells_of, document_of, read_judged, texts_of
from trueval.answers.evaluate_answers import evaluate_answers
from trueval.answers.judge_answers import TABLE, judge_answers
from trueval.errors import InputError
from trueval.golden.audit.sampling.sample_drawing import SampleChoices
from trueval.golden.audit.server.session import SessionTasks, audit
from trueval.golden.audit.store.rubric import ABOUT, read_shows

QUESTIONS, DRAWN = 24, 12


def judged_log(folder: Path) -> tuple[str, Path]:
    """A log, judged by labels that call every cell supported."""
    path = write_log(folder, QUESTIONS)
    log = read_answers(path)
    cells = [cell for answer in log.answers for cell in cells_of(answer)]
    table = write_lines(folder / "kind.jsonl", *({**cell._asdict(), "label": "supported"} for cell in cells))
    judge_answers(path, folder / "judged", f"labels:{table}")
    return path, folder / "judged"


def drawn(folder: Path, tasks: SessionTasks) -> None:
    """A session of the audit of so many questions."""
    cells = folder / "judged" / "audit" / "cells.parquet"
    choices = SampleChoices("queries", DRAWN, None, None, None, (), (1, 4), None, None, str(cells.parent))
    audit(cells, folder / "people", choices, tasks)


def test_people_s_labels_of_an_audit_correct_the_judge(tmp_path: Path) -> None:
    path, judged = judged_log(tmp_path)
    log = read_answers(path)
    by_document = {document_of(cell): texts_of(answer, cell) for answer in log.answers for cell in cells_of(answer)}
    drawn(tmp_path, SessionTasks(None, tmp_path / "items.jsonl", serve=False, port=None))
    rows = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    texts = {tuple(each): name for name, each in by_document.items()}
    answers = {answer.question: answer.text for answer in log.answers}
    for row in rows:
        assert "supported" not in {key for key in row if key != "passage"}  # nobody sees what the judge said
        claim, text = (part.partition(": ")[2] for part in row["passage"].split("\n\n")[:2])
        assert (claim, text) in texts
        assert row["choices"]["4"] == "The text supports the claim in whole."
        if row["passage"].startswith("Claim of the answer"):  # which says who "it" is
            assert row["passage"].split("\n\n")[2] == f"The claim is from the answer: {answers[row['question']]}"
        row["grade"] = colors(claim, text) + 1
    write_lines(tmp_path / "items.jsonl", *rows)
    drawn(tmp_path, SessionTasks((tmp_path / "items.jsonl", "ann"), None, serve=False, port=None))
    found = evaluate_answers(path, str(judged / TABLE), ["correctness"], people=tmp_path / "people")["correctness"]
    assert found.labeled == DRAWN
    assert found.value == 1.0  # what the judge says
    assert found.corrected is not None
    assert found.corrected.estimate == pytest.approx(0.5)  # of two claims of each answer one has the right color


def test_each_line_of_people_is_a_cell(tmp_path: Path) -> None:
    path = write_log(tmp_path, 2, 1)
    log = read_answers(path)
    cells = [cell for answer in log.answers for cell in cells_of(answer)]
    people = [
        {"item": "x", "task": "grade", "query": cell.query, "document": document_of(cell), "grade": at % 4 + 1}
        for at, cell in enumerate(cells)
    ]
    people[0]["grade"] = None  # skipped
    read = read_judged(write_lines(tmp_path / "people.jsonl", *people), log)
    assert [read.label(cell) for cell in cells] == [-1, *(at % 4 for at in range(1, len(cells)))]
    assert len(LABELS) == len(COLORS) == 4


def test_the_page_speaks_of_claims(tmp_path: Path) -> None:
    """Before anybody has a name, and at the grades; of passages where the collection says nothing."""
    judged_log(tmp_path)
    drawn(tmp_path, SessionTasks(None, tmp_path / "items.jsonl", serve=False, port=None))
    with served(tmp_path / "people") as here:
        page = here.raw(here.head("GET", "/")).body.decode()
        started = here.post("start", {"rater": "ann"}).value
    assert '<body data-shows="claims" ' in page
    assert started["anchors"]["grade"]["1"] == "It contradicts the claim: both cannot be true."
    (tmp_path / ABOUT).write_text('{"shows": "pictures"}')
    with pytest.raises(InputError, match='must be "passages" or "claims"'):
        read_shows(str(tmp_path))
    assert read_shows(None) == read_shows("scifact") == "passages"
