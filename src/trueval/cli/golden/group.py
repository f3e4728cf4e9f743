"""The group `trueval golden`: its commands, each imported when it is asked for."""

from typing import ClassVar, Final

import typer

from trueval.cli.main import CONTEXT, LazyCommands

# In the order of the help. Each is a function in the module of its name, in this folder.
COMMANDS: Final = ("build", "grade", "anchor", "audit", "agree", "correct", "stress")


class GoldenCommands(LazyCommands):
    """The commands of the group."""

    panels: ClassVar = {"Commands": COMMANDS}
    home = "trueval.cli.golden"
    plugins = None


golden = typer.Typer(
    name="golden",
    cls=GoldenCommands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings=CONTEXT,
)


@golden.callback()
def root(context: typer.Context) -> None:
    """Builds golden sets with a judge that errs and a budget that ends, and has people audit them.

    Example: trueval golden build golden.toml --out golden --dry-run
    """
