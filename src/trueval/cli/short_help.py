"""Help that fits a screen: `--help` shows the common options of a command, `--help-all` every one.

    @common_options("measures", "out")
    @with_groups
    def evaluate(...)

Without the decorator a command shows all its options.
"""

from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, TypeVar

import typer
from typer.core import TyperCommand

Function = TypeVar("Function", bound=Callable[..., Any])
ALL = "trueval.help_all"


def common_options(*names: str) -> Callable[[Function], Function]:
    """Declare which options of a command `--help` shows; completion and `--help-all` know the others too.

    Args:
        names: parameters of the command or of its groups.
    """

    def declare(function: Function) -> Function:
        vars(function)["common"] = names
        return function

    return declare


class CommandWithShortHelp(TyperCommand):
    """A command whose help omits rarely used options.

    Attributes:
        common: names of the options that its help shows; empty for all.
    """

    common: tuple[str, ...] = ()

    def invoke(self, ctx: Any) -> Any:  # noqa: D102  click says what it is
        from trueval.cli.next_command import remember_arguments

        remember_arguments(self.params, ctx.params)
        return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: D102  click says what it is
        if not self.common or ctx.meta.get(ALL):
            super().format_help(ctx, formatter)
            return
        shown = copy(self)
        shown.params = [each for each in self.params if each.param_type_name == "argument" or each.name in self.common]
        shown.add_help_option = False
        hidden = len(self.params) - len(shown.params)
        shown.epilog = f"{hidden} more options: {ctx.command_path} --help-all"
        shown.common = ()
        shown.format_help(ctx, formatter)


class GroupWithNestedHelp(typer.core.TyperGroup):
    """Commands whose help lists those of its groups too, with full names."""

    shows_nested: ClassVar[bool] = False

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: D102
        shown = copy(self)
        vars(shown)["shows_nested"] = True
        typer.core.TyperGroup.format_help(shown, ctx, formatter)


def show_all(context: typer.Context, wanted: bool) -> None:
    """Print the complete help of a command and exit, for `--help-all`."""
    if wanted:
        context.meta[ALL] = True
        typer.echo(context.get_help(), nl=False)
        raise typer.Exit
