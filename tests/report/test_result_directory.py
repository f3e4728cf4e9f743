import json
from pathlib import Path

import pytest

from trueval.errors import InputError
from trueval.report.kinds import Kind, read_directory
from trueval.report.result_directory import pointer

RESULTS = {"kind": "evaluate", "format": 2, "trueval": "0", "policy": {}, "runs": []}


def write(folder: Path, **files: object) -> Path:
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_files_are_known_by_their_kind_alone(tmp_path: Path) -> None:
    """Keys of an evaluation do not make one, as they did in format 1."""
    nameless = {name: value for name, value in RESULTS.items() if name != "kind"}
    directory = read_directory(write(tmp_path, b=RESULTS, a=RESULTS, c={"x": 1}, d=[1], e=nameless, f={"kind": "new"}))
    assert [(file.name, file.kind) for file in directory.files] == [("a.json", "evaluate"), ("b.json", "evaluate")]
    assert directory.others == ("c.json", "d.json", "e.json", "f.json")
    assert directory.of("compare") == ()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {},
            r"no result to report\. It must hold a JSON file of kind .*compare, .*power, .*published, retrieve",
        ),
        (
            {"results": {"format": 1, "runs": []}},
            r'results\.json has no "kind": files of trueval have one since format 2',
        ),
        ({"a": {"kind": "new", "format": 1}}, r"a\.json is of kind new, which no installed package declares\."),
        ({"results": {**RESULTS, "format": 99}}, r"results\.json: format 99 of kind evaluate\. This version reads up"),
        ({"results": {**RESULTS, "format": None}}, r"results\.json: format null of kind evaluate\."),
        ({"results": {**RESULTS, "format": "2"}}, r'results\.json: format "2" of kind evaluate\.'),
    ],
)
def test_what_cannot_be_reported_is_an_error(tmp_path: Path, files: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_directory(write(tmp_path, **files))


def test_a_kind_without_a_page_makes_no_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueval.report.kinds.find", lambda name: Kind(name, format=2, order=1))
    with pytest.raises(InputError, match=r"no result to report\."):
        read_directory(write(tmp_path, latency={"kind": "latency", "format": 2}))


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"format": 2,', encoding="utf-8")
    with pytest.raises(InputError, match=r"results\.json: not JSON"):
        read_directory(tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: no such folder"):
        read_directory(tmp_path / "nowhere")


@pytest.mark.parametrize("key", ["a/b", "a~b", "100% é", "R(rel=2, base='list')@10", 'say "<b>"#?'])
def test_pointers_can_be_read_back(key: str) -> None:
    from urllib.parse import unquote

    fragment = pointer("measures", key)
    assert not set(fragment) & set(' <>"#?')
    assert unquote(fragment).split("/")[2].replace("~1", "/").replace("~0", "~") == key
