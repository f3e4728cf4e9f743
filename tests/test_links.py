"""Links of the documentation lead to files and to headings that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    if page.parent.name != "site"  # links of the built site: tests/test_site.py
)
CODE = re.compile(r"^```.*?^```", flags=re.DOTALL | re.MULTILINE)


def links(text: str) -> list[str]:
    """Targets of the links within the repository, code left out."""
    found = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", CODE.sub("", text)))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page: lower case, hyphens for spaces, no other signs."""
    headings = re.findall(r"^#+ +(.*)$", CODE.sub("", text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for target in links(page.read_text(encoding="utf-8")):
        place, _, anchor = target.partition("#")
        path = page.parent / place if place else page
        known = path.suffix != ".md" or not anchor or (path.is_file() and anchor in anchors(path.read_text("utf-8")))
        if not path.exists() or not known:
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page: Path) -> None:
    assert broken(page) == []


def test_a_link_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# One `two` (3)\n\n[x](#one-two-3) [y](b.md#no) [z](c.md) [w](b.md)\n```\n[v](d)\n```\n"
    )
    (tmp_path / "b.md").write_text("# Yes\n")
    assert broken(tmp_path / "a.md") == ["b.md#no", "c.md"]
