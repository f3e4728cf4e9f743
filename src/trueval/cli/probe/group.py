"""The group `trueval probe`: its commands, each imported when it is asked for."""

from typing import ClassVar, Final

import typer

from trueval.cli.main import CONTEXT, LazyCommands

# In the order of the help. Each is a function in the module of its name, in this folder.
COMMANDS: Final = ("names", "noise", "join")


class ProbeCommands(LazyCommands):
    """The commands of the group."""

    panels: ClassVar = {"Commands": COMMANDS}
    home = "trueval.cli.probe"
    plugins = None


probe = typer.Typer(
    name="probe",
    cls=ProbeCommands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings=CONTEXT,
)


@probe.callback()
def root(context: typer.Context) -> None:
    """Tests scorers with small constructed cases: whether they keep names apart, and what chatter does to them.

    Example: trueval probe names --model all-MiniLM-L6-v2 --bm25 --language en,fr
    """
