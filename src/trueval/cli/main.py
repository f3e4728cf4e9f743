"""The command `trueval`: its subcommands, and what an error looks like and exits with."""

import sys
from typing import Annotated, NoReturn

import typer

from trueval import __version__
from trueval.cli.compare import compare
from trueval.cli.demo import demo
from trueval.cli.evaluate import evaluate
from trueval.cli.explain import explain
from trueval.cli.measures import measures
from trueval.cli.precision import precision
from trueval.cli.report import report
from trueval.errors import MeasureError, PolicyError, TruevalError

BAD_INPUT = 1
MISUSE = 2

app = typer.Typer(
    name="trueval",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 fine, 1 a gate failed or the input is bad, 2 misuse. Data goes to stdout, talk to stderr.",
)
for command in (evaluate, compare, explain, measures, precision, report, demo):
    app.command()(command)


def main() -> NoReturn:
    """Runs the command line and leaves with its exit status.

    Exit status 0: fine. 1: a gate failed, or the input is bad. 2: misuse.

    Raises:
        SystemExit: always.
    """
    try:
        app()
    except (MeasureError, PolicyError) as error:
        _leave(str(error), MISUSE)
    except TruevalError as error:
        _leave(str(error), BAD_INPUT)
    except OSError as error:
        _leave(f"{error.filename}: {error.strerror}." if error.filename else str(error), BAD_INPUT)
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
