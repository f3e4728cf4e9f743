"""Parts: the test files with long tests, and a digest of all that each of them stands on."""

from __future__ import annotations

import ast
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGE: Final = "trueval"
# Tests of hypothesis draw all of their examples here, a fifth in `make test` (tests/examples.py).
LONG: Final = re.compile(
    r"^(?!.*\\n).*pytest\.mark\.evidence|^(from hypothesis import|import hypothesis)", re.MULTILINE
)


def find_parts(root: Path = ROOT) -> list[str]:
    """Test files with a test that `make test` leaves out or shortens, as paths from the root."""
    found = (path for path in sorted((root / "tests").rglob("test_*.py")))
    return [path.relative_to(root).as_posix() for path in found if LONG.search(path.read_text(encoding="utf-8"))]


def part_digest(part: str, root: Path = ROOT) -> str:
    """SHA-256 of the code of a test file and of every file of the repository that it imports, directly or not.

    Comments and docstrings are not in it: what they say changes no figure.

    Args:
        part: path from the root.
        root: of the checkout.
    """
    files: set[Path] = set()
    waiting = [root / part, *_conftests(root, part)]
    while waiting:
        path = waiting.pop()
        if path not in files:
            files.add(path)
            waiting += _imported(root, path)
    whole = hashlib.sha256()
    for path in sorted(files):
        whole.update(path.relative_to(root).as_posix().encode() + b"\0" + _code(path) + b"\0")
    return whole.hexdigest()


def _conftests(root: Path, part: str) -> list[Path]:
    folders = list((root / part).parents)
    return [path for folder in folders[: folders.index(root)] if (path := folder / "conftest.py").is_file()]


@cache
def _imported(root: Path, path: Path) -> tuple[Path, ...]:
    """The files of the repository that a file imports anywhere, also inside functions.

    Of the public face, which names all that users call, they are the modules of the names that the file uses.
    """
    names: set[str] = set()
    faces: set[str] = set()  # what the file calls the package
    tree, homes = _parse(path), _homes(root)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
            faces.update(alias.asname or alias.name for alias in node.names if alias.name == PACKAGE)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update({node.module, *(f"{node.module}.{alias.name}" for alias in node.names)})
            if node.module == PACKAGE:
                names.update(homes[alias.name] for alias in node.names if alias.name in homes)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in faces:
            names.add(homes.get(node.attr, f"{PACKAGE}.{node.attr}"))
    return tuple(found for name in sorted(names - {PACKAGE}) if (found := _file_of(root, name)) is not None)


@cache
def _homes(root: Path) -> dict[str, str]:
    """Name of the public face → its module."""
    tree = _parse(root / "src" / PACKAGE / "__init__.py")
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)
    return {alias.asname or alias.name: str(node.module) for node in imports for alias in node.names}


@cache
def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _code(path: Path) -> bytes:
    """The code of a file, without comments and docstrings."""
    tree = _parse(path)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return ast.dump(tree).encode()


def _file_of(root: Path, name: str) -> Path | None:
    base = root / "src" if name.startswith(PACKAGE) else root
    path = base.joinpath(*name.split("."))
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()), None)
