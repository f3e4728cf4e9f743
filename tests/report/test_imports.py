"""The floor of report/: it is there for every room, so it may know none of them."""

import ast
from pathlib import Path

from trueval import report

ROOMS_BELOW = {"errors", "extras", "version", "printable", "files", "policy", "report"}


def test_report_imports_no_room() -> None:
    """Late imports and those for types count too."""
    found = {}
    for file in Path(report.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                parts = name.split(".")
                if parts[0] == "trueval" and parts[1:2] and parts[1] not in ROOMS_BELOW:
                    found[file.name] = name
    assert found == {}
