"""What action.yml runs: the gate, and one comment on the pull request, which later pushes change and do not repeat.

Everything comes from the environment of a runner, and the inputs of action.yml as TRUEVAL_*. The comment begins with a
mark that is not shown, by which it is found again. Where it cannot be written, as from forks, whose token may only
read, its text goes to the summary of the job. A comment that fails does not fail the build; the gate alone does.
"""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

ANNOTATION = re.compile(r"^::(error|warning|notice) title=([^:]*)::(.*)$", re.MULTILINE)
PAGES = 50  # of 100 comments each, among which ours is looked for
SECONDS = 20  # that GitHub has for an answer
NOT_MEASURED = "not measured"


class Gate(NamedTuple):
    """What the gate said.

    Attributes:
        status: exit status of `trueval evaluate`.
        verdict: not worse, worse, cannot tell, passed, failed, or not measured.
        sentence: why, in a sentence.
        results: JSON of the evaluation; empty where nothing was measured.
    """

    status: int
    verdict: str
    sentence: str
    results: Mapping[str, Any]


def run_gate(settings: Mapping[str, str]) -> Gate:
    """Evaluate the run with its limits, and print annotations for the log of the build."""
    out, baseline = Path(settings["OUT"]), settings["BASELINE"]
    (out / "results.json").unlink(missing_ok=True)  # those of another step are not this run's
    limits = shlex.split(settings["LIMITS"])
    against = ["--baseline", baseline] if baseline else []
    if baseline and not any(each.startswith("--when-same") for each in limits):
        against += ["--when-same", "pass"]  # most changes leave retrieval as it was
    program = [sys.executable, "-m", "trueval"]
    command = [
        *program,
        "evaluate",
        settings["JUDGMENTS"],
        settings["RUN"],
        "-m",
        settings["MEASURES"],
        *limits,
        *against,
    ]
    done = subprocess.run(
        [*command, "--out", str(out), "--format", "github"],
        check=False,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    if not (out / "results.json").is_file():
        why = done.stderr.strip().splitlines() or ["trueval said nothing"]
        sentence = next((line for line in reversed(why) if line.startswith("trueval: ")), why[-1]).removeprefix(
            "trueval: "
        )
        print(f"::error title=trueval::{sentence.replace('%', '%25')}")
        return Gate(done.returncode or 1, NOT_MEASURED, sentence, {})
    subprocess.run([*program, "report", str(out)], check=False)
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return Gate(done.returncode, *conclude(done.stdout, results), results)


def conclude(annotations: str, results: Mapping[str, Any]) -> tuple[str, str]:
    """The verdict of all checks, and the sentence of the one that decides: the first that failed, or cannot tell."""
    found = {level: (title, line) for level, title, line in reversed(ANNOTATION.findall(annotations))}
    checks = [check for run in results["runs"] for check in run.get("checks", ())]
    for level in ("error", "warning"):
        if level in found:
            title, line = found[level]
            return title.removeprefix("trueval%3A "), line.replace("%0A", " ").replace("%25", "%")
    passed = "not worse" if any(check["name"] == "max-drop" for check in checks) else "passed"
    return passed, f"{len(checks)} of {len(checks)} checks passed."


def text_of(gate: Gate, settings: Mapping[str, str], commit: str) -> str:
    """The comment: one line with the verdict, then a table of before and after."""
    lines = [mark_of(settings["NAME"]), f"**{plain(settings['NAME'])}: {gate.verdict}.** {plain(gate.sentence)}", ""]
    runs = {run["name"]: run for run in gate.results.get("runs", ())}
    drops = [check for run in runs.values() for check in run.get("checks", ()) if check["name"] == "max-drop"]
    if drops:
        lines += [
            "| measure | before | after | difference, 95 % interval | allowed loss | verdict |",
            "|---|---:|---:|---|---:|---|",
        ]
    for check in drops:
        name = check["measure"]
        after = next(run for run in runs.values() if check in run.get("checks", ()))["measures"][name]["expected"]
        before = value_before(check, runs, settings["BASELINE"])
        ends = (
            ""
            if check["low"] is None
            else f"{signed(check['value'])} [{signed(check['low'])}, {signed(check['high'])}]"
        )
        cells = (plain(name), number(before), number(after), ends, f"{check['limit']:g}", check["verdict"])
        lines.append(f"| {' | '.join(cells)} |")
    alone = [check for run in runs.values() for check in run.get("checks", ()) if check["name"] != "max-drop"]
    if alone:
        lines += ["", "| check | measure | found | limit | verdict |", "|---|---|---:|---:|---|"]
    for check in alone:
        limit = "" if check["limit"] is None else f"{check['limit']:g}"
        cells = (check["name"], plain(check["measure"] or "all"), number(check["value"]), limit, check["verdict"])
        lines.append(f"| {' | '.join(cells)} |")
    if gate.results:
        lines += [
            "",
            f"The page is report.html of the artifact {plain(settings['NAME'])}. Measured at {commit[:12] or 'this'}.",
        ]
    return "\n".join(lines).strip() + "\n"


def value_before(check: Mapping[str, Any], runs: Mapping[str, Any], baseline: str) -> float | None:
    """The mean of the baseline: one of the runs that were read, or one of a folder of results; None if unknown."""
    name = (check["baseline"] or "").removesuffix(" (baseline)")
    folder, _, chosen = (baseline, "", "") if Path(baseline).is_dir() else baseline.rpartition("#")
    file = Path(folder or ".", "results.json")
    if name not in runs and folder and file.is_file():
        stored = json.loads(file.read_text(encoding="utf-8"))["runs"]
        runs = {run["name"]: run for run in stored if chosen in ("", run["name"])}
        name = next(iter(runs)) if len(runs) == 1 else next((each for each in runs if name.endswith(f"#{each}")), "")
    found = runs.get(name, {"measures": {}})["measures"].get(check["measure"])
    return None if found is None else found["expected"]


def mark_of(name: str) -> str:
    """The first line of a comment, which is not shown."""
    return f"<!-- trueval: {re.sub('[^A-Za-z0-9 ._]', '_', name)} -->"


def plain(text: str) -> str:
    """A text that Markdown shows as it is, whoever chose its names: no link, no mention, no end of a cell."""
    return re.sub(r"([\\`*_\[\]|~#@])", lambda mark: f"&#{ord(mark[1])};", html.escape(" ".join(text.split())))


def number(value: float | None) -> str:
    """A value with four digits; empty where there is none."""
    return "" if value is None else f"{value:.4f}"


def signed(value: float) -> str:
    """A difference with four digits and its sign."""
    return f"{value:+.4f}"


class Comments:
    """The comments of a pull request.

    Args:
        api: GITHUB_API_URL.
        repository: owner and name.
        number: of the pull request.
        token: with which comments are written.
    """

    def __init__(self, api: str, repository: str, number: int, token: str) -> None:
        self._repository, self._token = f"{api}/repos/{repository}", token
        self._list = f"{self._repository}/issues/{number}/comments"

    def put(self, text: str) -> None:
        """Change our comment, or write it where there is none, or another's token wrote it.

        Raises:
            OSError: GitHub refuses, or gives no answer.
            ValueError: its answer is none of GitHub's.
        """
        mark = text.partition("\n")[0]
        for page in range(1, PAGES + 1):
            found = self._ask("GET", f"{self._list}?per_page=100&page={page}")
            for comment in found:
                if (comment.get("body") or "").startswith(mark) and self._change(int(comment["id"]), text):
                    return
            if len(found) < 100:
                break
        self._ask("POST", self._list, {"body": text})

    def _change(self, id: int, text: str) -> bool:
        try:
            self._ask("PATCH", f"{self._repository}/issues/comments/{id}", {"body": text})
        except urllib.error.HTTPError as error:
            if error.code in (403, 404):
                return False
            raise
        return True

    def _ask(self, method: str, url: str, data: Mapping[str, str] | None = None) -> Any:
        headers = {"Accept": "application/vnd.github+json", "Authorization": f"Bearer {self._token}"}
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(url, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.loads(answer.read())


def publish(text: str, settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Write the comment where there is a pull request, or else the text into the summary of the job."""
    event = Path(environment.get("GITHUB_EVENT_PATH", ""))
    told = json.loads(event.read_text(encoding="utf-8")) if event.is_file() else {}
    request, why = told.get("pull_request"), "there is no pull request"
    if request and settings["COMMENT"] != "true":
        why = "no comment was asked for"
    elif request:
        api = environment.get("GITHUB_API_URL", "https://api.github.com")
        try:
            Comments(api, environment["GITHUB_REPOSITORY"], int(request["number"]), settings["TOKEN"]).put(text)
        except (OSError, ValueError) as error:  # an HTTPError is the first, what is no JSON the second
            why = f"the comment could not be written ({error})"
            print(f"::notice title=trueval::{why}; the job summary has its text.".replace("\n", " "))
        else:
            return
    print(f"trueval: {why}, so the summary of the job has the verdict.", file=sys.stderr)
    append(environment.get("GITHUB_STEP_SUMMARY"), text)


def append(file: str | None, text: str) -> None:
    """Append to a file that the runner reads, if there is a runner."""
    if file:
        with Path(file).open("a", encoding="utf-8") as opened:
            opened.write(text)


def main() -> None:
    """Run the gate, say what it found, and leave with its status."""
    settings = {
        name.removeprefix("TRUEVAL_"): value for name, value in os.environ.items() if name.startswith("TRUEVAL_")
    }
    gate = run_gate(settings)
    append(os.environ.get("GITHUB_OUTPUT"), f"verdict={gate.verdict}\n")
    publish(text_of(gate, settings, os.environ.get("GITHUB_SHA", "")), settings, os.environ)
    sys.exit(gate.status)


if __name__ == "__main__":
    main()
