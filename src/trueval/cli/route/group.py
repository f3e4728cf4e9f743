"""The group `trueval route`: its commands, each imported when it is asked for."""

from typing import Final

import typer

from trueval.cli.main import command_group

# In the order of the help. Each is a function in the module of its name, in this folder.
COMMANDS: Final = ("check",)


def _root(context: typer.Context) -> None:
    """Watches a router that is served. `trueval frontier --route` writes one.

    Example: trueval route check route.jsonl --router router.toml
    """


route = command_group("route", COMMANDS, _root)
