"""The group `trueval precision`: its commands, each imported when it is asked for."""

from typing import ClassVar, Final

import typer

from trueval.cli.main import CONTEXT, LazyCommands

# In the order of the help. Each is a function in the module of its name, in this folder.
COMMANDS: Final = ("audit", "runs")


class PrecisionCommands(LazyCommands):
    """The commands of the group."""

    panels: ClassVar = {"Commands": COMMANDS}
    home = "trueval.cli.precision"
    plugins = None


precision = typer.Typer(
    name="precision",
    cls=PrecisionCommands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings=CONTEXT,
)


@precision.callback()
def root(context: typer.Context) -> None:
    """Says what number formats do to a result: of models that run now, or of runs that you have.

    Example: trueval precision audit collection --model bge-reranker-v2-m3 --dtype bfloat16,float32 -m nDCG@10
    """
