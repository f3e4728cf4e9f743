"""The group `trueval answers`: its commands, each imported when it is asked for."""

from typing import Final

import typer

from trueval.cli.main import command_group

# In the order of the help. Each is a function in the module of its name, in this folder.
COMMANDS: Final = ("evaluate", "compare", "power", "nuggets", "judge", "stress", "generate", "brittle", "budget")


def _root(context: typer.Context) -> None:
    """Measures answers: whether they are right, what of the context they use, and what nobody told them.

    Example: trueval answers evaluate log.jsonl --judged table.jsonl --out answers
    """


answers = command_group("answers", COMMANDS, _root)
