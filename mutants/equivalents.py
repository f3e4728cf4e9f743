"""Known equivalents: changes that no test can notice, each with its reason, in equivalents.toml."""

from __future__ import annotations

import ast
import difflib
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from mutants.tree import TREE

LIST: Final = Path(__file__).with_name("equivalents.toml")


class Change(NamedTuple):
    """What a mutant changes.

    Attributes:
        file: from src/ on.
        function: that the change is in, with its class; "" outside of any.
        line: the changed line without the spaces around it.
        mutant: the line that it became.
        diff: three lines around it.
    """

    file: str
    function: str
    line: str
    mutant: str
    diff: str

    @staticmethod
    def between(path: Path, original: str, mutated: str) -> Change:
        """The change between two texts of a file."""
        before, after = original.splitlines(), mutated.splitlines()
        opcodes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        _, start, end, begin, stop = next(each for each in opcodes if each[0] != "equal")
        name = path.relative_to(TREE).as_posix() if path.is_relative_to(TREE) else path.as_posix()
        diff = "\n".join(difflib.unified_diff(before, after, name, name, lineterm=""))
        line, mutant = (" ".join(" ".join(each).split()) for each in (before[start:end], after[begin:stop]))
        return Change(name, function_at(original, start + 1), line, mutant, diff)


class Equivalent(NamedTuple):
    """A change that changes nothing that a test could hold.

    Attributes:
        file: from src/ on.
        function: that it is in, with its class.
        line: as it is.
        mutants: what it may become.
        reason: why nobody can tell.
    """

    file: str
    function: str
    line: str
    mutants: tuple[str, ...]
    reason: str


def read_equivalents(path: Path = LIST) -> list[Equivalent]:
    """The list."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["equivalent"]
    return [Equivalent(**{**entry, "mutants": tuple(entry["mutants"])}) for entry in entries]


def explanation(change: Change, equivalents: Sequence[Equivalent]) -> str:
    """The reason why nobody can notice a change; empty where none is known."""
    same = (each for each in equivalents if (each.file, each.function, each.line) == change[:3])
    return next((each.reason for each in same if change.mutant in each.mutants), "")


def function_at(source: str, row: int) -> str:
    r"""The function or class that a row is in, as Class.method; decorators belong to what they decorate.

    >>> function_at("class A:\n    def b(self):\n        return 1\n", 3)
    'A.b'
    """
    found: list[str] = []

    def descend(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                if not first <= row <= (child.end_lineno or 0):
                    continue
                found.append(child.name)
            descend(child)

    descend(ast.parse(source))
    return ".".join(found)


def run_with(source: str, first: int, last: int) -> range:
    """The rows whose tests run a change from a first to a last row: those rows.

    Of a change to a decorator, which itself runs at import, those of the function that it decorates; of one to the
    decorator of a class none.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and first in {each.lineno for each in node.decorator_list}:
            end = node.end_lineno or 0
            return range(node.body[0].lineno, end + 1) if isinstance(node, ast.FunctionDef) else range(0)
    return range(first, last + 1)


class Span(NamedTuple):
    """From one place of a file to another, each row and column."""

    start: tuple[int, int]
    end: tuple[int, int]

    def __contains__(self, place: object) -> bool:
        """Whether a place is in it."""
        return isinstance(place, tuple) and self.start <= place < self.end


def annotations(source: str) -> list[Span]:
    """Where types are written that the program does not look at when it runs: annotations, and imports for them."""
    return list(_annotations(ast.parse(source)))


def _annotations(tree: ast.AST) -> Iterator[Span]:
    for node in ast.walk(tree):
        types: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            types = [node.returns, *(each.annotation for each in every if each is not None)]
        elif isinstance(node, ast.AnnAssign):
            types = [node.annotation]
            # An alias of a type is written like a value.
            types += [node.value] if "TypeAlias" in ast.unparse(node.annotation) else []
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            types = [node]
        for each in types:
            if isinstance(each, ast.expr | ast.stmt):
                yield Span((each.lineno, each.col_offset), (each.end_lineno or 0, each.end_col_offset or 0))
