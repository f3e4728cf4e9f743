"""The command `trueval`: its subcommands, and what an error looks like and exits with."""

import gc
import sys
from importlib import import_module
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from trueval.errors import MeasureError, PolicyError, TruevalError
from trueval.version import __version__

BAD_INPUT = 1
MISUSE = 2
# In the order of the help. The function of that name stands in the module of that name.
COMMANDS: Final = ("evaluate", "compare", "explain", "measures", "precision", "report", "demo")
# New objects that set off a collection of cycles. By default importing alone sets off hundreds, and finds none.
OBJECTS = 100_000
CONTEXT = {"help_option_names": ["-h", "--help"]}


class LazyCommands(TyperGroup):
    """Commands that are imported when they are asked for: a command should not wait for the others."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        names: Any = dict.fromkeys(COMMANDS)
        self.commands = names  # typer looks here for the nearest name

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: D102  click says what it is
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: D102
        if cmd_name not in COMMANDS:
            return None
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich", context_settings=CONTEXT)
        alone.command(cmd_name)(command_function(cmd_name))
        return typer.main.get_command(alone)


def command_function(name: str) -> Any:
    """Gives the function behind a command."""
    return getattr(import_module(f"trueval.cli.{name}"), name)


app = typer.Typer(
    name="trueval",
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings=CONTEXT,
    epilog="Exit status: 0 fine, 1 a gate failed or the input is bad, 2 misuse. Data goes to stdout, talk to stderr.",
)


def main() -> NoReturn:
    """Runs the command line and leaves with its exit status.

    Exit status 0: fine. 1: a gate failed, or the input is bad. 2: misuse.

    Raises:
        SystemExit: always.
    """
    gc.set_threshold(OBJECTS)
    try:
        app()
    except (MeasureError, PolicyError) as error:
        _leave(str(error), MISUSE)
    except TruevalError as error:
        _leave(str(error), BAD_INPUT)
    except OSError as error:
        _leave(f"{error.filename}: {error.strerror}." if error.filename else str(error), BAD_INPUT)
    finally:
        gc.freeze()  # Python would look for cycles once more before it gives everything back to the system
    sys.exit(0)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trueval {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Tells whether a retrieval result can be believed: ranked lists measured exactly under ties."""


def _leave(message: str, status: int) -> NoReturn:
    typer.echo(f"trueval: {message}", err=True)
    sys.exit(status)
