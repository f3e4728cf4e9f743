"""Where stdout or stderr cannot take what goes there, no result is lost, and what is lost is said."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import QRELS, TIED

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a POSIX shell closes and redirects the streams")

FILES = ["results.csv", "results.json"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in {"qrels": QRELS, "tied": TIED, "é😀": TIED}.items():
        (tmp_path / f"{name}.trec").write_text(text, encoding="utf-8")
    return tmp_path


def run(folder: Path, line: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """A line of bash in which $trueval is the command."""
    program = f"set -o pipefail; trueval() {{ '{sys.executable}' -m trueval \"$@\"; }}; {line}"
    environment = {**os.environ, **variables}
    return subprocess.run(["bash", "-c", program], cwd=folder, env=environment, capture_output=True, timeout=60)


def test_a_closed_stdout_is_an_error_that_loses_no_result_and_no_check(files: Path) -> None:
    done = run(files, "trueval evaluate qrels.trec tied.trec -m RR --min RR=0.1 --min-queries 1 --out out >&-")
    assert done.returncode == 1
    assert b"stdout is closed, and the results go there." in done.stderr
    assert b"checks passed" in done.stderr
    assert b"Traceback" not in done.stderr
    assert [name for name in FILES if not (files / "out" / name).is_file()] == []


def test_a_reader_that_went_away_takes_no_result_with_it(files: Path) -> None:
    done = run(files, "trueval evaluate qrels.trec tied.trec -m RR --min RR=0.9 --out out | true")
    assert done.returncode == 1
    assert b"RR is 0.75, below --min RR=0.9." in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr
    assert [name for name in FILES if not (files / "out" / name).is_file()] == []


@pytest.mark.evidence
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_behind_stdout_is_an_error(files: Path) -> None:
    done = run(files, "trueval evaluate qrels.trec tied.trec -m RR --format csv > /dev/full")
    assert done.returncode == 1
    assert b"No space left on device." in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.evidence
def test_a_closed_stderr_loses_talk_alone(files: Path) -> None:
    done = run(files, "trueval evaluate qrels.trec tied.trec -m RR --format json --out out 2>&-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["runs"][0]["measures"]["RR"]["expected"] == 0.75


def test_what_an_encoding_lacks_is_escaped_as_json_has_it(files: Path) -> None:
    done = run(files, "trueval evaluate qrels.trec é😀.trec -m RR --format json", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert b"\\u00e9\\ud83d\\ude00" in done.stdout
    assert json.loads(done.stdout)["runs"][0]["name"] == "é😀"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names of files")
def test_a_file_name_that_is_not_utf8_is_shown_and_kept(files: Path) -> None:
    (files / "tied.trec").rename(files / os.fsdecode(b"\xe9.trec"))
    done = run(files, "trueval evaluate qrels.trec $'\\xe9'.trec -m RR --out out")
    assert done.returncode == 0, done.stderr
    assert b"\\udce9" in done.stdout
    kept = json.loads((files / "out" / "results.json").read_bytes())
    assert kept["runs"][0]["name"] == r"\udce9"  # written out: other readers of JSON refuse halves of surrogates
