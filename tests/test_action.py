"""The action of GitHub, in a runner's environment and before a GitHub of our own on loopback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from action.pull_request import Gate, conclude, mark_of, plain, publish, text_of

ROOT = Path(__file__).resolve().parents[1]
TOKEN, QUERIES = "a token of the workflow", 40
SETTINGS = {
    "JUDGMENTS": "qrels.trec",
    "RUN": "new.trec",
    "BASELINE": "main.trec",
    "MEASURES": "RR P@1",
    "LIMITS": "--max-drop RR=0.1 --min P@1=0.2",
    "NAME": "retrieval",
    "COMMENT": "true",
    "TOKEN": TOKEN,
    "OUT": "results",
}
WORSE = Gate(1, "worse", "new: RR lost 0.5.", {})


@dataclass
class GitHub:
    """The comments of pull request 7 of a/b, and what is refused.

    Attributes:
        refuses: method → status that it is answered with.
        others: ids of comments that our token may not change.
    """

    comments: list[dict[str, Any]] = field(default_factory=list)
    refuses: dict[str, int] = field(default_factory=dict)
    others: set[int] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    says: bytes | None = None
    url: str = ""

    def answer(self, method: str, path: str, body: dict[str, str], authorization: str | None) -> tuple[int, Any]:
        self.asked.append(f"{method} {path}")
        if authorization != f"Bearer {TOKEN}":
            return 401, {"message": "Bad credentials"}
        if method in self.refuses:
            return self.refuses[method], {"message": "Resource not accessible by integration"}
        parts = urlsplit(path)
        if method == "GET" and parts.path == "/repos/a/b/issues/7/comments":
            asked = {name: int(values[0]) for name, values in parse_qs(parts.query).items()}
            first = asked["per_page"] * (asked["page"] - 1)
            return 200, self.comments[first : first + asked["per_page"]]
        if method == "POST" and parts.path == "/repos/a/b/issues/7/comments":
            self.comments.append({"id": 1000 + len(self.comments), "body": body["body"]})
            return 201, self.comments[-1]
        found = re.fullmatch(r"/repos/a/b/issues/comments/(\d+)", parts.path)
        if method == "PATCH" and found:
            if int(found[1]) in self.others:
                return 403, {"message": "Resource not accessible by integration"}
            (comment,) = (each for each in self.comments if each["id"] == int(found[1]))
            comment["body"] = body["body"]
            return 200, comment
        return 404, {"message": "Not Found"}


@pytest.fixture
def github() -> Iterator[GitHub]:
    """GitHub on loopback."""
    known = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            status, found = known.answer(self.command, self.path, body, self.headers.get("Authorization"))
            data = json.dumps(found).encode() if known.says is None else known.says
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815  as http.server names them

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    known.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield known
    server.shutdown()
    server.server_close()


@pytest.fixture
def runner(tmp_path: Path, github: GitHub) -> dict[str, str]:
    """The variables that a runner sets, of a push to pull request 7."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"action": "synchronize", "pull_request": {"number": 7}}), encoding="utf-8")
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": github.url,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_REPOSITORY": "a/b",
        "GITHUB_SHA": "0123456789abcdef",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_ACTION_PATH": str(ROOT),
    }


def summary(runner: dict[str, str]) -> str:
    file = Path(runner["GITHUB_STEP_SUMMARY"])
    return file.read_text(encoding="utf-8") if file.exists() else ""


def test_a_second_push_changes_the_comment_of_the_first(github: GitHub, runner: dict[str, str]) -> None:
    github.comments += [{"id": at, "body": f"comment {at}"} for at in range(230)]
    github.comments.append({"id": 999, "body": None})
    publish(text_of(WORSE, SETTINGS, ""), SETTINGS, runner)
    publish(text_of(WORSE._replace(verdict="not worse"), SETTINGS, ""), SETTINGS, runner)
    publish(text_of(WORSE, SETTINGS | {"NAME": "of another gate"}, ""), SETTINGS, runner)
    ours = [each["body"] for each in github.comments if (each["body"] or "").startswith("<!-- trueval")]
    assert [body.splitlines()[1].partition(".")[0] for body in ours] == [
        "**retrieval: not worse",
        "**of another gate: worse",
    ]
    assert not summary(runner)


def test_the_mark_in_a_comment_of_somebody_else_is_no_comment_of_ours(github: GitHub, runner: dict[str, str]) -> None:
    github.comments = [
        {"id": 1, "body": f"{mark_of('retrieval')}\nmine"},
        {"id": 2, "body": f"see {mark_of('retrieval')}"},
    ]
    github.others = {1}
    for _ in range(2):
        publish(text_of(WORSE, SETTINGS, ""), SETTINGS, runner)
    assert [each["body"].splitlines()[-1][:6] for each in github.comments] == ["mine", "see <!", "**retr"]


@pytest.mark.parametrize("trouble", ["fork", "no token", "server", "no JSON", "nobody there"])
def test_where_no_comment_can_be_written_the_summary_has_its_text(
    github: GitHub, runner: dict[str, str], capsys: pytest.CaptureFixture[str], trouble: str
) -> None:
    settings = dict(SETTINGS)
    if trouble == "fork":
        github.refuses = {"POST": 403, "PATCH": 403}
    elif trouble == "no token":
        settings["TOKEN"] = ""
    elif trouble == "server":
        github.refuses = {"GET": 502}
    elif trouble == "no JSON":
        github.says = b"<html>"
    else:
        runner["GITHUB_API_URL"] = "http://127.0.0.1:9"
    publish(text_of(WORSE, SETTINGS, ""), settings, runner)
    assert "**retrieval: worse.** new: RR lost 0.5." in summary(runner)
    assert not github.comments
    out, err = capsys.readouterr()
    assert out.startswith("::notice title=trueval::the comment could not be written (")
    assert len(out.splitlines()) == len(err.splitlines()) == 1
    assert TOKEN not in out + err


@pytest.mark.parametrize("why", ["there is no pull request", "no comment was asked for"])
def test_without_a_pull_request_or_a_wish_github_is_not_asked(
    github: GitHub, runner: dict[str, str], capsys: pytest.CaptureFixture[str], why: str
) -> None:
    settings = SETTINGS | ({"COMMENT": "false"} if why.startswith("no") else {})
    if why.startswith("there"):
        Path(runner["GITHUB_EVENT_PATH"]).write_text('{"ref": "refs/heads/main"}', encoding="utf-8")
    publish(text_of(WORSE, SETTINGS, ""), settings, runner)
    assert (github.asked, why in capsys.readouterr().err) == ([], True)
    assert "worse" in summary(runner)


def test_a_failed_check_decides_before_one_that_cannot_tell() -> None:
    results = {"runs": [{"checks": [{"name": "max-drop"}, {"name": "min"}]}]}
    lines = (
        "::warning title=trueval%3A cannot tell::a: the 95%25 interval\n::error title=trueval%3A failed::a: RR%0Ab\n"
    )
    assert conclude(lines, results) == ("failed", "a: RR b")
    assert conclude(lines.splitlines()[0], results) == ("cannot tell", "a: the 95% interval")
    assert conclude("::notice title=trueval::2 checks passed\n", results) == ("not worse", "2 of 2 checks passed.")
    assert conclude("", {"runs": [{"checks": [{"name": "min"}]}]}) == ("passed", "1 of 1 checks passed.")


def test_names_of_a_pull_request_are_shown_as_they_are() -> None:
    name = "a|b`[x](http://y)<img src=z> @team #1\n::error::-->"
    assert not set(plain(name)) & set("|`[]<>@\n")
    assert mark_of(name).count("-->") == 1
    text = text_of(Gate(1, "not measured", name, {}), SETTINGS | {"NAME": name}, "")
    assert text.splitlines()[0] == mark_of(name)
    assert "@team" not in text


def write(folder: Path, name: str, ranks: list[int]) -> None:
    """A run that puts the relevant document of query i on rank ranks[i]."""
    lines = []
    for query, rank in enumerate(ranks):
        documents = ["b", "c", "d"]
        documents.insert(rank - 1, "a")
        lines += [f"q{query} Q0 {document} 0 {10 - place} x\n" for place, document in enumerate(documents)]
    (folder / f"{name}.trec").write_text("".join(lines), encoding="utf-8")


def run_action(folder: Path, runner: dict[str, str], **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the step of action.yml that gates, as a runner would after the step that installs."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    given = {name: str(each.get("default", "")) for name, each in action["inputs"].items()}
    given |= {"token": TOKEN, **inputs}
    (step,) = (each for each in action["runs"]["steps"] if each.get("id") == "gate")
    replaced = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: given[m[1]], text) for name, text in step["env"].items()
    }
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | runner | replaced | {"PATH": path}
    return subprocess.run(
        ["bash", "-e", "-c", step["run"]], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.slow
def test_the_action_gates_twice_and_comments_once(tmp_path: Path, github: GitHub, runner: dict[str, str]) -> None:
    (tmp_path / "qrels.trec").write_text("".join(f"q{q} 0 a 1\n" for q in range(QUERIES)), encoding="utf-8")
    write(tmp_path, "main", [1] * QUERIES)
    write(tmp_path, "new", [2] * QUERIES)
    inputs = {"judgments": "qrels.trec", "run": "new.trec", "baseline": "main.trec", "measures": "RR", "out": "results"}
    done = run_action(tmp_path, runner, **inputs)
    assert done.returncode == 1, done.stderr
    assert "::error title=trueval%3A worse::new: RR lost 0.5 against main" in done.stdout
    (comment,) = github.comments
    lines = comment["body"].splitlines()
    assert lines[1].startswith("**trueval: worse.** new: RR lost 0.5 against main; the 95% interval of the difference")
    assert "| RR | 1.0000 | 0.5000 | -0.5000 [-0.5000, -0.5000] | 0.01 | worse |" in lines
    assert "**the check failed**" in summary(runner)
    assert (tmp_path / "results" / "report.html").is_file()
    write(tmp_path, "new", [1] * QUERIES)  # the second push leaves retrieval as it was on main
    done = run_action(tmp_path, runner, **inputs)
    assert done.returncode == 0, done.stderr
    (comment,) = github.comments
    assert "**trueval: not worse.** 1 of 1 checks passed." in comment["body"]
    assert Path(runner["GITHUB_OUTPUT"]).read_text(encoding="utf-8") == "verdict=worse\nverdict=not worse\n"


@pytest.mark.slow
def test_what_cannot_be_measured_has_a_sentence_and_no_number(
    tmp_path: Path, github: GitHub, runner: dict[str, str]
) -> None:
    """A stored baseline serves the first push; then it has vanished, and the results of before are not shown."""
    (tmp_path / "qrels.trec").write_text("".join(f"q{q} 0 a 1\n" for q in range(QUERIES)), encoding="utf-8")
    write(tmp_path, "new", [1] * 20 + [2] * 20)
    keep = [sys.executable, "-m", "trueval", "evaluate", "qrels.trec", "new.trec", "-m", "RR", "--out", "kept"]
    subprocess.run(keep, cwd=tmp_path, check=True, capture_output=True)
    inputs = {
        "judgments": "qrels.trec",
        "run": "new.trec",
        "measures": "RR",
        "out": "results",
        "limits": "--max-drop 0",
    }
    done = run_action(tmp_path, runner, baseline="kept", **inputs)
    assert done.returncode == 0, done.stderr
    assert "| RR | 0.7500 | 0.7500 | +0.0000 [+0.0000, +0.0000] | 0 | not worse |" in github.comments[0]["body"]
    done = run_action(tmp_path, runner, baseline="gone", **inputs)
    assert done.returncode == 1
    assert done.stdout.startswith("::error title=trueval::--baseline: gone must be a run file")
    (comment,) = github.comments
    assert comment["body"].splitlines()[1].startswith("**trueval: not measured.** --baseline: gone must be")
    assert not re.search(r"\d\.\d{4}", comment["body"])


def test_the_action_and_the_example_name_inputs_that_there_are() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    used = set(re.findall(r"inputs\.(\w+)", json.dumps(action["runs"])))
    assert used == action["inputs"].keys()
    (gate,) = (step for step in action["runs"]["steps"] if step.get("id") == "gate")
    assert {name.removeprefix("TRUEVAL_") for name in gate["env"]} == SETTINGS.keys()
    assert all("${{" not in step.get("run", "") for step in action["runs"]["steps"])  # no text of others in a shell
    example = yaml.safe_load((ROOT / "examples" / "retrieval-gate.yml").read_text(encoding="utf-8"))
    (step,) = (each for each in example["jobs"]["gate"]["steps"] if each.get("uses", "").startswith("./"))
    assert step["with"].keys() <= action["inputs"].keys()
    needed = {name for name, each in action["inputs"].items() if each.get("required")}
    assert needed <= step["with"].keys()
    assert "OWNER" not in json.dumps(example)
