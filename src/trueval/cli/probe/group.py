"""The group `trueval probe`: its commands, each imported when it is asked for."""

from typing import Final

import typer

from trueval.cli.main import command_group

# In the order of the help. Each is a function in the module of its name, in this folder.
COMMANDS: Final = ("names", "noise", "join")


def _root(context: typer.Context) -> None:
    """Tests scorers with small constructed cases: whether they keep names apart, and what chatter does to them.

    Example: trueval probe names --model all-MiniLM-L6-v2 --bm25 --language en,fr
    """


probe = command_group("probe", COMMANDS, _root)
