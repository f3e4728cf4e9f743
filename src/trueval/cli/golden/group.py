"""The group `trueval golden`: its commands, each imported when it is asked for."""

from typing import Final

import typer

from trueval.cli.main import command_group

# In the order of the help. Each is a function in the module of its name, in this folder.
COMMANDS: Final = ("build", "questions", "flatters", "grade", "anchor", "audit", "next", "agree", "correct", "stress")


def _root(context: typer.Context) -> None:
    """Builds golden sets with an LLM judge within a budget, checks the judge against people, and corrects its labels.

    Example: trueval golden build golden.toml --out golden --dry-run
    """


golden = command_group("golden", COMMANDS, _root)
