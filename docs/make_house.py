"""Writes the tree in docs/design/house.md: every room and file with the first sentence of its docstring.

Run it with: python docs/make_house.py
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).with_name("design") / "house.md"
PACKAGE = Path(__file__).resolve().parents[1] / "src" / "trueval"
BEGIN, END = "<!-- the tree, by docs/make_house.py -->\n", "<!-- end of the tree -->\n"
WIDTH = 110  # characters of a sentence


def tree() -> str:
    """The rooms in the order of the alphabet, each with its files."""
    lines = "\n".join(_lines(PACKAGE, ""))
    return f"{BEGIN}```\nsrc/trueval/\n{lines}\n```\n{END}"


def page(text: str) -> str:
    """The page with the tree of today."""
    before, rest = text.split(BEGIN)
    return before + tree() + rest.split(END)[1]


def _lines(folder: Path, indent: str) -> Iterator[str]:
    for path in sorted(folder.glob("*.py")):
        if path.stem not in ("__init__", "__main__"):
            yield f"{indent}  {path.name:<22} {_sentence(path)}"
    for path in sorted(each for each in folder.iterdir() if (each / "__init__.py").is_file()):
        yield f"{indent}  {path.name + '/':<22} {_sentence(path / '__init__.py')}"
        yield from _lines(path, indent + "  ")


def _sentence(path: Path) -> str:
    """The first sentence of a docstring, or as much of it as there is room for."""
    words = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split())
    first = re.split(r"(?<=[.;]) |::", words)[0].rstrip(".:;")
    return first if len(first) <= WIDTH else first[:WIDTH].rsplit(" ", 1)[0] + " …"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {PAGE}")
