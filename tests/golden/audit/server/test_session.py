"""A session of an audit draws, takes, gives, and serves only where that is wanted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.golden import small

from trueval.errors import InputError
from trueval.golden.audit.sampling.sample_drawing import SampleChoices
from trueval.golden.audit.server.session import SessionTasks, audit
from trueval.golden.audit.store.audit_manifest import AuditManifest


def test_items_go_out_and_answers_come_in(tmp_path: Path) -> None:
    small.corpus(tmp_path / "c")
    judged, folder, file = tmp_path / "c" / "labels.trec", tmp_path / "audit", tmp_path / "items.jsonl"
    choices = SampleChoices(size=6, collection=str(tmp_path / "c"))
    with pytest.raises(InputError, match=r"audit: there is no audit that could take answers\. Draw it first"):
        audit(judged, folder, choices, SessionTasks(take=(file, "ann")))
    assert not folder.exists()  # nothing was drawn for answers to another audit
    drawn: list[AuditManifest] = []
    given = audit(judged, folder, choices, SessionTasks(give=file), drawn=drawn.append)
    assert (given.items, given.taken, given.progress, len(drawn[0].items)) == (6, None, (), 6)
    assert given.sentences(file)[0] == f"wrote 6 items to {file}."
    file.write_text(file.read_text().replace('"grade": null', '"grade": 3'))
    taken = audit(judged, folder, SampleChoices(), SessionTasks(take=(file, "ann")))
    assert taken.sentences(None) == ["took 6 grades and 0 skips."]
    people = [json.loads(line) for line in (folder / "people.jsonl").read_text().splitlines()]
    assert [row["grade"] for row in people] == [3] * 6
