"""An extension of Griffe, which reads the docstrings for the site: doctests and drawings become blocks of code."""

from __future__ import annotations

from griffe import Extension, Object

PROMPT = ">>> "
BRANCH = "├"


class Doctests(Extension):
    """Fences doctests, which as Markdown would be quotations, and drawings of trees, which would be one paragraph."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Change the docstring of what Griffe has just read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    r"""A docstring with a fence around each doctest and each drawing of a tree, which end at an empty line.

    >>> fenced("Sum.\n\n>>> 1 + 1\n2\n\nMore.").splitlines()
    ['Sum.', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'More.']
    """
    lines: list[str] = []
    inside = False
    given = text.splitlines()
    for line, following in zip([*given, ""], [*given[1:], "", ""], strict=True):
        if not inside and (line.startswith(PROMPT) or following.startswith(BRANCH)):
            inside = True
            lines.append("```pycon" if line.startswith(PROMPT) else "```text")
        elif inside and not line.strip():
            inside = False
            lines.append("```")
        lines.append(line)
    return "\n".join(lines[:-1])
