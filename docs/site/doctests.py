"""An extension of Griffe, which reads the docstrings for the site: doctests become blocks of code."""

from __future__ import annotations

from griffe import Extension, Object

PROMPT = ">>> "


class Doctests(Extension):
    """Fences doctests, which Griffe knows in sections called Examples alone; as Markdown they would be quotations."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Change the docstring of what Griffe has just read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    r"""A docstring with a fence around each doctest, which ends at an empty line.

    >>> fenced("Sum.\n\n>>> 1 + 1\n2\n\nMore.").splitlines()
    ['Sum.', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'More.']
    """
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if not inside and line.startswith(PROMPT):
            inside = True
            lines.append("```pycon")
        elif inside and not line.strip():
            inside = False
            lines.append("```")
        lines.append(line)
    return "\n".join(lines[:-1])
