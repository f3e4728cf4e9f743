"""The server of an audit's page: its address is the same each time, and nobody but this machine reaches it."""

from __future__ import annotations

import os
import re
import socket
import sys
from pathlib import Path

import pytest
from tests.golden.audit.served import HOST, Process, drawn, event, plain, served
from tests.golden.audit.small_audit import small_audit

from trueval.errors import InputError, MissingExtraError
from trueval.golden.audit.server.page_address import FILE, Address, read_address, write_address
from trueval.golden.audit.server.request_guard import HEADERS, PAGES
from trueval.golden.audit.server.server import open_socket, serve
from trueval.golden.audit.store.audit_store import AuditStore


def test_an_address_outlives_its_server_and_is_its_owners_alone(tmp_path: Path) -> None:
    first = read_address(tmp_path)
    assert len(first.token) == 43  # 256 bits in base64
    assert first.token != read_address(tmp_path).token
    write_address(tmp_path, first._replace(port=8001))
    assert read_address(tmp_path) == Address(first.token, 8001)
    if os.name != "nt":
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [FILE]


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"token": "short", "port": 1}', '{"token": 1, "port": 1}', '{"token": "%s", "port": true}'],
)
def test_an_address_that_was_changed_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text.replace("%s", "a" * 43))
    with pytest.raises(InputError, match=rf"{FILE}: cannot be read .* Remove it"):
        read_address(tmp_path)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.1", "::", "example.com", ""])
def test_other_machines_do_not_reach_it(host: str) -> None:
    with pytest.raises(InputError, match=r"host must be an address of this machine alone, such as 127\.0\.0\.1"):
        open_socket(host, 0)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the option lets two servers share a port")
def test_the_port_of_a_server_that_was_killed_is_free() -> None:
    with open_socket(HOST, 0) as place:
        assert place.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) != 0


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    drawn(tmp_path / "a", grades=plain(1))
    with socket.create_server((HOST, 0)) as other, AuditStore.open(tmp_path / "a") as store:
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=rf"port {port} of {HOST} cannot be used .* name another with --port"):
            serve(store, port=port)
    assert not (tmp_path / "a" / FILE).exists()


def test_without_the_extra_its_command_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    drawn(tmp_path / "a", grades=plain(1))
    with AuditStore.open(tmp_path / "a") as store, pytest.raises(MissingExtraError, match=r"trueval\[web\]"):
        serve(store)


def test_every_file_of_the_page_is_there_and_names_nothing_else(tmp_path: Path) -> None:
    with served(drawn(tmp_path / "a", grades=plain(1))) as page:
        for path, (_, kind) in PAGES.items():
            answer = page.raw(page.head("GET", path.decode(), Authorization=None))
            assert (answer.status, answer.headers["content-type"]) == (200, kind)
            assert {name: answer.headers[name.lower()] for name in HEADERS} == HEADERS
            words = answer.body.decode()
            named = re.findall(r'(?:src|href|from)[= ]"([^"#]+)"', words)
            assert {name.lstrip("./").encode() for name in named} <= {each.lstrip(b"/") for each in PAGES}
            assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", words)
            assert not re.search(r"\bstyle=|\son\w+=|innerHTML|document\.write|\beval\(", words)


def test_a_page_is_not_at_its_end_while_labels_are_wanted(tmp_path: Path) -> None:
    with served(small_audit(tmp_path / "a", items=1, raters=2, order=False)) as page:
        (item,) = page.items("Ann", 1)
        progress = page.post("events", event("Ann", item["id"])).value["progress"]
        assert (progress["mine"], progress["all"], progress["items"]) == (1, 1, 2)


@pytest.mark.evidence
def test_ctrl_c_ends_it_in_peace_and_a_second_one_of_the_same_audit_is_refused(tmp_path: Path) -> None:
    folder = drawn(tmp_path / "a", grades=plain(1))
    process = Process(folder)
    with pytest.raises(InputError, match="another trueval golden audit has these labels open"):
        AuditStore.open(folder)
    assert process.stop() == 0
    AuditStore.open(folder).close()


def test_a_browser_finds_what_it_kept_when_the_token_changed_and_the_sample_grew(tmp_path: Path) -> None:
    names = []
    for count in (2, 5):
        folder = drawn(tmp_path / str(count), grades=plain(count))
        with served(folder) as page:
            names.append(page.post("start", {"rater": "Ann"}).value["audit"])
    assert names[0] == names[1]
