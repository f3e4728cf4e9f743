"""Runs the cells of docs/tour.ipynb, and writes it as a page of the site.

Run it with: python docs/site/tour.py, after a change of its cells: it keeps in the notebook what they print.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "tour.ipynb"
NEXT = """This page is a notebook, [tour.ipynb](tour.ipynb). Next: all [functions](api/functions.md) and
[classes](api/classes.md), or all [commands](commands.md).
"""
OUTPUT = {"output_type": "stream", "name": "stdout"}


def read() -> dict[str, Any]:
    """The notebook as it is kept."""
    notebook: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return notebook


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with what its cells print: one after another in one namespace, as a kernel runs them.

    The value of a last expression is printed as `print` does. What a cell raises ends the run.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count = sum(each["cell_type"] == "code" for each in cells) + 1
            printed = _printed("".join(cell["source"]), names)
            outputs = [{**OUTPUT, "text": printed.splitlines(keepends=True)}] if printed else []
            cells.append({**cell, "execution_count": count, "outputs": outputs})
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}


def _printed(source: str, names: dict[str, object]) -> str:
    code = ast.parse(source)
    last = code.body.pop() if code.body and isinstance(code.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
            if value is not None:
                print(value)
    return printed.getvalue()


def markdown(notebook: dict[str, Any]) -> str:
    """The page of the site."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
        else:
            parts.append(f"```python\n{text}\n```")
            parts += [f"```text\n{''.join(each['text']).rstrip()}\n```" for each in cell["outputs"]]
    return "\n\n".join([*parts, NEXT])


if __name__ == "__main__":
    NOTEBOOK.write_text(json.dumps(executed(read()), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"docs/{NOTEBOOK.name}")
