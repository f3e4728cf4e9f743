"""Records: what a part printed when it was last run, a page each in docs/evidence/."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from evidence.parts import ROOT

FOLDER: Final = ROOT / "docs" / "evidence"


class Record(NamedTuple):
    """One run of a part.

    Attributes:
        part: path of the test file from the root.
        date: ISO, of the day it ended.
        minutes: of processors, children included.
        outcome: pytest's last line without its times, such as "3 passed"; with "of 40" where the time ended before.
        digest: of the part when it began.
        figures: name of a test → what it printed.
    """

    part: str
    date: str
    minutes: float
    outcome: str
    digest: str
    figures: dict[str, str]

    @property
    def failed(self) -> bool:
        """Whether a test failed, or there was none. Tests that are skipped, as without ../shared/data, do not fail."""
        return any(word in self.outcome for word in ("failed", "error", "no tests"))

    def to_markdown(self) -> str:
        """The page."""
        lines = [
            f"# {self.part.removeprefix('tests/')}",
            "",
            "| | |",
            "|---|---|",
            f"| date | {self.date} |",
            f"| minutes of processors | {self.minutes:.1f} |",
            f"| outcome | {self.outcome} |",
            f"| digest | {self.digest} |",
        ]
        for name, text in self.figures.items():
            lines += ["", f"## {name}", "", "```", *text.rstrip().splitlines(), "```"]
        return "\n".join(lines) + "\n"


def page_of(part: str, folder: Path = FOLDER) -> Path:
    """The page of a part."""
    return folder / Path(part).relative_to("tests").with_suffix(".md")


def read_head(part: str, folder: Path = FOLDER) -> dict[str, str]:
    """The table at the head of a page: date, outcome, digest; empty where there is none."""
    page = page_of(part, folder)
    if not page.is_file():
        return {}
    head = page.read_text(encoding="utf-8").split("\n## ")[0]
    return dict(re.findall(r"^\| (\w[\w ]*) \| (.*) \|$", head, re.MULTILINE))


def write_index(parts: Sequence[str], root: Path = ROOT, folder: Path = FOLDER) -> None:
    """Write the table of all parts: what each shows, when it was last run, and what came of it.

    Args:
        parts: paths of test files from the root.
        root: of the checkout.
        folder: of the pages.
    """
    lines = [
        "# Evidence",
        "",
        "What the long tests printed when they were last run, written by `make evidence` (docs/design/tests.md).",
        "",
        *_notes(folder),
        "| part | what it shows | date | minutes | outcome |",
        "|---|---|---|---:|---|",
    ]
    for part in parts:
        about = ast.get_docstring(ast.parse((root / part).read_text(encoding="utf-8"))) or ""
        shows = " ".join(about.split("\n\n")[0].split()).replace("|", "\\|")
        head, page = read_head(part, folder), page_of(part, folder).relative_to(folder).as_posix()
        name = f"[{page.removesuffix('.md')}]({page})" if head else part
        row = (head.get(key, "never run" * (key == "date")) for key in ("date", "minutes of processors", "outcome"))
        lines.append(f"| {name} | {shows} | {' | '.join(row)} |")
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _notes(folder: Path) -> list[str]:
    """A list of the pages of notes/, which people write: methods, and measurements that no test repeats."""
    pages = sorted((folder / "notes").glob("*.md"))
    if not pages:
        return []
    titles = [page.read_text(encoding="utf-8").split("\n")[0].removeprefix("# ") for page in pages]
    listed = [f"- [{title}](notes/{page.name})" for title, page in zip(titles, pages, strict=True)]
    return ["Methods and figures behind the pages for users, written by hand:", "", *listed, ""]


def write(record: Record, folder: Path = FOLDER) -> None:
    """Write the page of a part, whole or not at all."""
    page = page_of(record.part, folder)
    page.parent.mkdir(parents=True, exist_ok=True)
    new = page.with_suffix(".new")
    new.write_text(record.to_markdown(), encoding="utf-8")
    new.replace(page)
