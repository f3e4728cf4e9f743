"""`trueval golden audit`: what a person types, and what comes of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.golden import small

ROOT = Path(__file__).parents[3]
EMPTY = '"grade": null'


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Judgments and the texts that were judged."""
    small.corpus(tmp_path / "c")
    return tmp_path / "c" / "labels.trec"


def test_a_sample_is_drawn_exported_filled_in_and_taken(trueval: Any, judged: Path, tmp_path: Path) -> None:
    out, run = tmp_path / "audit", tmp_path / "run.trec"
    run.write_text("".join(f"q0 Q0 wings-{at} {at + 1} {9 - at} r\n" for at in range(5)))
    first = (judged, run, "--collection", tmp_path / "c", "--out", out, "--size", 12, "--order", 1, "--no-serve")
    drawn = trueval("golden", "audit", *first)
    assert drawn.status == 0, drawn.err
    # Grades 1, 3, 4, 5 and 2 of 24 passages; size 12 allows three strata.
    assert drawn.err.splitlines() == [
        "12 judged passages of 24 from 3 strata, seed 0.",
        "4 neighbors of 1 of 1 lists.",
        f"Next: trueval golden audit {judged} {run} --out {out}",
    ]
    assert not drawn.out
    given = trueval("golden", "audit", judged, "--out", out, "--export", tmp_path / "items.jsonl")
    assert f"wrote 16 items to {tmp_path / 'items.jsonl'}." in given.err
    took = f"Next: trueval golden audit {judged} --out {out} --import {tmp_path / 'items.jsonl'} --rater NAME"
    assert took in given.err.splitlines()
    lines = (tmp_path / "items.jsonl").read_text().splitlines()
    (tmp_path / "ann.jsonl").write_text("\n".join([lines[0].replace(EMPTY, '"grade": 2'), *lines[1:]]))
    taken = trueval("golden", "audit", judged, "--out", out, "--import", tmp_path / "ann.jsonl", "--rater", "ann")
    assert taken.status == 0, taken.err
    assert "took 1 grade and 0 skips; 15 items are still empty." in taken.err
    assert taken.err.splitlines()[-1] == f"Next: trueval golden agree --people {out} {judged}"
    again = (judged, run, "--out", out, "--import", tmp_path / "ann.jsonl", "--rater", "ann")
    corrects = f"Next: trueval golden correct {judged} {run} --audit {out}"
    assert trueval("golden", "audit", *again).err.splitlines()[-1] == corrects
    empty = trueval("golden", "audit", judged, "--out", out, "--import", tmp_path / "items.jsonl", "--rater", "bob")
    assert empty.err.splitlines()[-1] == took.replace("NAME", "bob")
    (row,) = [json.loads(line) for line in (out / "people.jsonl").read_text().splitlines()]
    assert (row["grade"], [each["rater"] for each in row["labels"]]) == (2, ["ann"])
    (tmp_path / "bob.jsonl").write_text("\n".join([*lines[:2], lines[2].replace(EMPTY, '"grade": 6')]))
    refused = trueval("golden", "audit", judged, "--out", out, "--import", tmp_path / "bob.jsonl", "--rater", "bob")
    assert refused.status == 1
    assert "bob.jsonl:3: a grade must be an integer from 1 to 5. Got 6." in refused.err
    assert len((out / "people.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--import", "x.jsonl"), "--import and --rater belong together"),
        (("--rater", "ann"), "--import and --rater belong together"),
        (("--scale", "5-1x"), "--scale must be the least and the greatest grade"),
        (("--design", "documnts"), "design must be one of documents, queries"),
        (("--export", __file__ + "/x.jsonl"), "cannot be made (File exists)"),
    ],
)
def test_misuse_is_told(trueval: Any, judged: Path, tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    common = ("--collection", tmp_path / "c", "--out", tmp_path / "audit", "--no-serve")
    found = trueval("golden", "audit", judged, *common, *options, columns=200)
    assert found.status in (1, 2)
    assert said in found.err


def test_judgments_need_a_folder_for_their_audit(trueval: Any, judged: Path) -> None:
    found = trueval("golden", "audit", judged, columns=200)
    assert found.status == 2
    assert "judgments have no folder for an audit" in found.err
    missing = trueval("golden", "audit", judged.with_name("absent"), columns=200)
    assert missing.status == 1
    assert "absent: no such folder or file. Name a golden set" in missing.err


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT")
def test_a_session_gives_its_address_and_ends_with_what_people_said(judged: Path, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason='needs the extra "web"')
    out = tmp_path / "audit"
    command = [sys.executable, "-m", "trueval", "golden", "audit", str(judged)]
    options = ["--collection", str(tmp_path / "c"), "--out", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TRUEVAL_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(
        [*command, *options], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("http://127.0.0.1:")
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0, said
    again = f"Next: trueval golden audit {judged} --out {out}"
    assert said.splitlines()[-2:] == ["grade: 0 of 24 items are answered.", again]
    assert (out / "people.jsonl").is_file()
