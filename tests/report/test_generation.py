"""Files that were written together are known by their stamps, and no others are taken for them."""

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from trueval.errors import InputError
from trueval.report.generation import (
    REPORT,
    generation_id,
    generations,
    ids_of,
    stamp_of,
    write_generation,
)

FIRST = {"results.json": '{\n "kind": "a",\n "x": 1\n}\n', "details.json": '{\n "x": 1\n}\n', "results.csv": "x\n1\n"}
SECOND = {name: text.replace("1", "2") for name, text in FIRST.items()}
OTHER = {"comparison.json": '{\n "kind": "b"\n}\n', "comparison.csv": "y\n"}


def held(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def read_generations(folder: Path) -> dict[str, bytes]:
    with generations(folder) as files:
        return files


def draw(results: dict[str, bytes], stage: Path) -> list[str]:
    """A page and a figure of whatever is there."""
    (stage / "figures").mkdir()
    for name in ("report.html", "figures/a.svg"):
        (stage / name).write_bytes(b"".join(results.values()))
    return ["report.html", "figures/a.svg"]


def test_every_json_file_ends_with_the_same_stamp_and_is_json(tmp_path: Path) -> None:
    write_generation(tmp_path, FIRST)
    results, details = (json.loads((tmp_path / name).read_bytes()) for name in ("results.json", "details.json"))
    stamp = results.pop("generation")
    assert results == {"kind": "a", "x": 1}
    assert details == {"x": 1, "generation": stamp}
    assert stamp["files"].keys() == FIRST.keys()
    # As the docs say, to be checked by hand: the bytes before the line of the stamp, or the whole file.
    for name, digest in stamp["files"].items():
        data = (tmp_path / name).read_bytes()
        assert sha256(data.partition(b'\n "generation"')[0]).hexdigest() == digest
    assert stamp["id"] == generation_id(stamp["files"]) == stamp_of((tmp_path / "results.json").read_bytes())["id"]


def test_equal_results_have_equal_ids(tmp_path: Path) -> None:
    for name, files in {"one": FIRST, "two": FIRST, "three": SECOND}.items():
        write_generation(tmp_path / name, files)
    one, two, three = (held(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two
    assert not {one[name] for name in FIRST} & {three[name] for name in FIRST}


@pytest.mark.parametrize("name", sorted(FIRST))
def test_a_file_of_another_generation_is_named(tmp_path: Path, name: str) -> None:
    """An old details.json showed RR .5 beside a query table of 1.0."""
    write_generation(tmp_path / "old", FIRST)
    write_generation(tmp_path / "new", SECOND)
    (tmp_path / "new" / name).write_bytes((tmp_path / "old" / name).read_bytes())
    with pytest.raises(InputError, match=rf"do not belong together\..*{name} is not the one that \w+.json was written"):
        read_generations(tmp_path / "new")


@pytest.mark.parametrize("name", sorted(FIRST))
def test_a_file_without_a_stamp_from_an_older_version_is_named(tmp_path: Path, name: str) -> None:
    write_generation(tmp_path, SECOND)
    (tmp_path / name).write_text(FIRST[name], encoding="utf-8")
    with pytest.raises(InputError, match=rf"{name} is not the one that \w+.json was written with"):
        read_generations(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"x": 1', b'"x": 2', "results.json was changed after it was written"),
        (b'{\n "kind"', b'{ "kind"', "results.json was changed after it was written"),
        (b'"results.csv": "', b'"results.csv": "0', "results.json: the stamp at its end was changed"),
        (b'"results.csv"', b'"../results.csv"', "results.json: the stamp at its end was changed"),
        (b'"id": "', b'"id": "0', "results.json: the stamp at its end was changed"),
        (b'"}}\n}\n', b'"}},\n "x": 2\n}\n', "results.json: the stamp at its end was changed"),
        (b'"}}\n}\n', b"", "results.json: the stamp at its end was changed"),
    ],
)
def test_a_file_that_was_edited_is_named(tmp_path: Path, old: bytes, new: bytes, said: str) -> None:
    write_generation(tmp_path, FIRST)
    data = (tmp_path / "results.json").read_bytes()
    assert data.count(old) == 1
    (tmp_path / "results.json").write_bytes(data.replace(old, new))
    with pytest.raises(InputError, match=said):
        read_generations(tmp_path)


def test_a_folder_may_be_copied_and_files_that_nobody_reads_removed(tmp_path: Path) -> None:
    write_generation(tmp_path / "old", FIRST)
    (tmp_path / "new").mkdir()
    for path in (tmp_path / "old").glob("*.json"):
        (tmp_path / "new" / path.name).write_bytes(path.read_bytes())
    assert read_generations(tmp_path / "new") == read_generations(tmp_path / "old")


def test_a_folder_without_stamps_is_read_as_it_is(tmp_path: Path) -> None:
    for name, text in FIRST.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_generations(tmp_path) == {name: FIRST[name].encode() for name in ("results.json", "details.json")}


def test_several_commands_share_a_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    write_generation(tmp_path, FIRST)
    write_generation(tmp_path, OTHER)
    before = held(tmp_path)
    write_generation(tmp_path, SECOND)
    after = held(tmp_path)
    assert after.keys() == before.keys() == FIRST.keys() | OTHER.keys() | {"notes.txt"}
    assert {name for name in after if after[name] != before[name]} == FIRST.keys()
    assert len(ids_of(map(json.loads, read_generations(tmp_path).values()))) == 2


def test_what_a_generation_has_no_more_goes(tmp_path: Path) -> None:
    write_generation(tmp_path, FIRST)
    write_generation(tmp_path, {"results.json": SECOND["results.json"]})
    assert held(tmp_path).keys() == {"results.json"}


def test_page_and_figures_are_of_the_results_beside_them(tmp_path: Path) -> None:
    write_generation(tmp_path, FIRST, draw)
    (tmp_path / "figures" / "mine.svg").write_text("mine", encoding="utf-8")
    shown = held(tmp_path)
    assert shown.keys() == {*FIRST, REPORT, "report.html", "figures/a.svg", "figures/mine.svg"}
    report = json.loads(shown[REPORT])
    assert report["of"] == {name: sha256(shown[name]).hexdigest() for name in ("details.json", "results.json")}
    assert report["generation"]["files"].keys() == {REPORT, "report.html", "figures/a.svg"}
    assert report["generation"]["files"]["report.html"] == sha256(shown["report.html"]).hexdigest()
    write_generation(tmp_path, OTHER)  # of which that page shows nothing
    assert held(tmp_path).keys() == {*FIRST, *OTHER, "figures/mine.svg"}
    write_generation(tmp_path, {}, draw)
    assert held(tmp_path)["report.html"] == b"".join(read_generations(tmp_path).values())


def test_a_page_without_figures_leaves_those_that_are_true(tmp_path: Path) -> None:
    def page(results: dict[str, bytes], stage: Path) -> list[str]:
        (stage / "report.html").write_text("page", encoding="utf-8")
        return ["report.html"]

    write_generation(tmp_path, FIRST, draw)
    write_generation(tmp_path, {}, page)
    assert json.loads((tmp_path / REPORT).read_bytes())["generation"]["files"].keys() == {
        *("report.html", "figures/a.svg", REPORT)
    }
    write_generation(tmp_path, SECOND, page)
    assert not (tmp_path / "figures").exists()


def test_half_of_a_surrogate_is_written_as_json_has_it(tmp_path: Path) -> None:
    """A file name that is not UTF-8 brings one."""
    write_generation(tmp_path, {"results.json": '{"name": "\udce9"}'})
    assert json.loads((tmp_path / "results.json").read_bytes())["name"] == "\udce9"


WRITER = """
import itertools, sys
from pathlib import Path
from trueval.report.generation import write_generation
folder, stop, letter = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
for number in itertools.count():
    text = f'{{"x": "{letter}{number}"}}'
    write_generation(folder, {name: text for name in ("a.json", "b.json", "c.json", "d.csv")})
    if stop.exists():
        break
"""


def test_two_writers_and_a_reader_at_once_see_whole_results_only(tmp_path: Path) -> None:
    folder, stop = tmp_path / "out", tmp_path / "stop"
    command = [sys.executable, "-c", WRITER, str(folder), str(stop)]
    writers = [subprocess.Popen([*command, letter], stderr=subprocess.PIPE) for letter in "AB"]
    seen: list[str] = []
    while len(seen) < 50 or len({each[0] for each in seen}) < 2:
        assert [writer.poll() for writer in writers] == [None, None]
        if folder.exists():
            found = {json.loads(data)["x"] for data in read_generations(folder).values()}
            assert len(found) == 1
            seen += found
    stop.touch()
    assert [(writer.communicate()[1], writer.returncode) for writer in writers] == [(b"", 0), (b"", 0)]
    assert [path.name for path in tmp_path.rglob(".*")] == []
