"""Builds the site: docs/ and what is made of the program at build time, as HTML.

Run it with: python docs/make_site.py [FOLDER], which is build/site where none is given. The folder gets mkdocs.yml,
pages/ in Markdown, and html/, which opens from disk as well as from a server.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from docs.site import reference  # noqa: E402  # found by the line above

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
# What docs/ holds beside pages: programs, and the sources of the site itself.
LEFT_OUT = ("*.py", "__pycache__", "site")
# What tests say of a block after its language, which Markdown for Python takes for running text.
BLOCK = re.compile(r"(?m)^(```\w+) \w+$")
# Pages that a search does not find: evidence and the house would be half of all it says.
UNSEARCHED = ("evidence/", "design/")
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#]+)")


def stage(folder: Path) -> None:
    """Write mkdocs.yml and all pages for which no command runs.

    Args:
        folder: emptied first.
    """
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    shutil.copytree(ROOT / "docs", pages, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for source in sorted((ROOT / "docs" / "site").glob("*.*")):
        if source.suffix != ".py":
            shutil.copy(source, pages)
    shutil.copy(ROOT / "README.md", pages / "index.md")
    written = {page.relative_to(pages): page for page in pages.rglob("*.md")}
    for name, text in reference.pages().items():
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (pages / name).write_text(text, encoding="utf-8", newline="\n")
    for name, page in sorted(written.items()):
        text = BLOCK.sub(r"\1", _with_links(page.read_text(encoding="utf-8"), name, pages))
        page.write_text(text, encoding="utf-8", newline="\n")
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    addresses = {"repo_url": REPOSITORY, "site_url": PROJECT["urls"]["Documentation"]}
    lines = [settings, *(f"{name}: {url}\n" for name, url in addresses.items())]
    (folder / "mkdocs.yml").write_text("".join(lines), encoding="utf-8", newline="\n")


def _with_links(text: str, name: Path, pages: Path) -> str:
    """A page whose links to files outside of the site lead to the repository.

    Args:
        text: the page, in Markdown.
        name: of the page below `pages`; index.md is README.md of the repository.
        pages: folder of the pages.

    Raises:
        FileNotFoundError: a link leads to a file that the repository does not have.
    """
    source = ROOT / "README.md" if name == Path("index.md") else ROOT / "docs" / name

    def place(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(source.parent / match[1]))
        if (pages / name.parent / match[1]).is_file() and source.name != "README.md":
            return match[1]
        if not target.exists():
            raise FileNotFoundError(f"{name}: nothing is at {match[1]}")
        inside = pages / target.relative_to(ROOT / "docs") if target.is_relative_to(ROOT / "docs") else None
        if target == ROOT / "README.md":
            inside = pages / "index.md"
        if inside is not None and inside.is_file():
            return Path(os.path.relpath(inside, (pages / name).parent)).as_posix()
        kind = "tree" if target.is_dir() else "blob"
        return f"{REPOSITORY}/{kind}/main/{target.relative_to(ROOT).as_posix()}"

    return LINK.sub(place, text)


def build(folder: Path) -> str:
    """Build the site in a folder, and return what Zensical says.

    Args:
        folder: emptied first; html/ in it is the site.

    Raises:
        RuntimeError: a command fails, or Zensical warns of something.
    """
    stage(folder)
    _call(folder, str(ROOT / "docs" / "site" / "commands.py"), str(folder / "work"), str(folder / "pages"))
    said = _call(folder, "-m", "zensical", "build", "--strict")
    if "Warning" in said:
        raise RuntimeError(said)
    index = folder / "html" / "search.json"
    search = json.loads(index.read_text(encoding="utf-8"))
    search["items"] = [each for each in search["items"] if not each["location"].startswith(UNSEARCHED)]
    index.write_text(json.dumps(search), encoding="utf-8")
    return said


def _call(folder: Path, *words: str) -> str:
    """What a program in Python prints.

    Raises:
        RuntimeError: it failed.
    """
    source = os.pathsep.join([str(ROOT), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8"}
    settings = os.environ | {"PYTHONPATH": source, "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, *words], check=False, cwd=folder, env=settings, **output)
    said = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    if done.returncode:
        raise RuntimeError(said)
    return said


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve()
    build(place)
    print(place / "html" / "index.html")
