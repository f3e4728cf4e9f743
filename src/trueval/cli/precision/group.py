"""The group `trueval precision`: its commands, each imported when it is asked for."""

from typing import Final

import typer

from trueval.cli.main import command_group

# In the order of the help. Each is a function in the module of its name, in this folder.
COMMANDS: Final = ("audit", "runs", "bound", "repair", "codes")


def _root(context: typer.Context) -> None:
    """Says what number formats do to a result: of models that run now, of runs that you have, and at most.

    Example: trueval precision audit collection --model bge-reranker-v2-m3 --dtype bfloat16,float32 -m nDCG@10
    """


precision = command_group("precision", COMMANDS, _root)
