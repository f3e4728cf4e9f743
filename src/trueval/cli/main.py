"""The command `trueval`: its subcommands, error messages and exit statuses."""

import errno
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, NoReturn

import typer

from trueval.cli import streams
from trueval.cli.faults import forget_faults, report_fault, with_faults
from trueval.cli.output import show_legend
from trueval.cli.short_help import CommandWithShortHelp, GroupWithNestedHelp, show_all
from trueval.errors import MeasureError, PolicyError, TruevalError
from trueval.logging import log_to_stderr
from trueval.printable import printable_message
from trueval.version import __version__

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BAD_INPUT = 1
MISUSE = 2
FULL: Final = (errno.ENOSPC, errno.EDQUOT)  # errors of a disk without room
# Commands by panel of the help. Each is a function in the module of its name, or a group of commands.
PANELS: Final = {
    "Results": ("evaluate", "compare", "leaderboard", "power", "budget", "explain", "check", "measures", "report"),
    "Answers": ("answers",),
    "Models and retrieval": ("chunk", "retrieve", "cuts", "precision", "probe"),
    "Costs": ("sweep", "frontier", "route"),
    "Judgments": ("golden",),
    "This installation": ("init", "demo", "doctor", "cache", "schema", "help"),
}
COMMANDS: Final = tuple(name for names in PANELS.values() for name in names)
# Other packages add commands by entry points of this group: name = "module:function", or a typer.Typer for several.
PLUGINS: Final = "trueval.commands"
# Output of `trueval` without arguments.
START: Final = """\
trueval tells whether a retrieval result can be believed. What do you have?

runs and judgments   trueval evaluate qrels.trec run.trec         values, and what ties could make of them
                     trueval compare qrels.trec a.trec b.trec     whether a difference is real
a corpus             trueval retrieve corpus --index bm25         a run, and what each stage wins or loses
                     trueval sweep sweep.toml                     which configuration to ship
no judgments         trueval golden build golden.toml             by a language model, audited by people
nothing yet          trueval demo                                 what ties do, in a minute

All commands: trueval --help. A word, an error, a measure: trueval help WORDS."""
CONTEXT = {"help_option_names": ["-h", "--help"]}


class LazyCommands(GroupWithNestedHelp):
    """Commands that are imported on demand, so that none waits for the imports of others.

    Entry points are searched only for names that are not ours, and for lists of all names: the search takes as long as
    the start of a command.

    Attributes:
        panels: panel of the help → names of its commands, in order.
        home: package with a module per command.
        plugins: group of the entry points that add commands; None for none.
    """

    panels: ClassVar[Mapping[str, tuple[str, ...]]] = PANELS
    home: str = "trueval.cli"
    plugins: str | None = PLUGINS

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.panel_of = {name: panel for panel, names in self.panels.items() for name in names}
        names: Any = dict.fromkeys(self.panel_of)
        self.commands = names  # typer looks here for the nearest name

    def list_commands(self, ctx: object) -> list[str]:  # noqa: D102  click says what it is
        ours = [whole for name in self.panel_of for whole in self._with_nested(name, ctx)]
        if self.plugins is None:
            return ours
        from importlib.metadata import entry_points

        return [*ours, *sorted(set(entry_points(group=self.plugins).names) - set(self.panel_of))]

    def _with_nested(self, name: str, ctx: object) -> list[str]:
        """The name of a command, or for a group in the help the full names of its commands."""
        found = self.get_command(ctx, name) if self.shows_nested else None
        return [f"{name} {each}" for each in found.panel_of] if isinstance(found, LazyCommands) else [name]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: D102
        # A group has no option that its help leaves out, so both helps are one.
        parsed: list[str] = super().parse_args(ctx, ["--help", *args[1:]] if args[:1] == ["--help-all"] else args)
        return parsed

    def invoke(self, ctx: Any) -> Any:  # noqa: D102
        try:
            return super().invoke(ctx)
        except EOFError as error:  # of a file that ends too early; typer would take it for Ctrl-D, and say "Aborted."
            raise RuntimeError("a file ends too early") from error

    def get_command(self, ctx: object, cmd_name: str) -> Any:  # noqa: D102
        group, _, inside = cmd_name.partition(" ")
        if inside and group in self.panel_of:
            made = self.get_command(ctx, group).get_command(ctx, inside)
            made.name, made.rich_help_panel = cmd_name, self.panel_of[group]
            return made
        if cmd_name in self.panel_of:
            made = as_command(cmd_name, command_function(cmd_name, self.home))
            made.rich_help_panel = self.panel_of[cmd_name]
            return made
        if self.plugins is None:
            return None
        from importlib.metadata import entry_points

        found = entry_points(group=self.plugins, name=cmd_name)
        if not found:
            return None
        plugin = next(iter(found))
        try:
            return as_command(cmd_name, plugin.load())
        except Exception as error:  # noqa: BLE001  whatever a package does when it is imported must not stop the others
            return broken_command(cmd_name, plugin, error)


def command_group(name: str, commands: Sequence[str], about: Callable[[typer.Context], None]) -> typer.Typer:
    """A command with commands of its own, each imported when it is asked for.

    Args:
        name: of the group, and of the folder beside this module that has a module for each command.
        commands: their names, in the order of the help.
        about: whose docstring is the help of the group.
    """

    class Commands(LazyCommands):
        """The commands of the group."""

        panels: ClassVar = {"Commands": tuple(commands)}
        home = f"trueval.cli.{name}"
        plugins = None

    group = typer.Typer(
        name=name,
        cls=Commands,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        context_settings=CONTEXT,
    )
    group.callback()(about)
    return group


def command_function(name: str, home: str = "trueval.cli") -> Any:
    """Return the function behind a command of ours, or the typer.Typer of a group.

    Args:
        name: name of the command.
        home: the package with the module of that name.
    """
    return getattr(import_module(f"{home}.{name}"), name)


def as_command(name: str, function: object) -> Any:
    """Make a command from a function, or from a typer.Typer.

    Args:
        name: name of the command.
        function: object in a plugin or in a module of ours.

    Raises:
        TypeError: it is neither.
    """
    common: tuple[str, ...] = ()
    if not isinstance(function, typer.Typer):
        if not callable(function):
            raise TypeError(f"a command must be a function or a typer.Typer, not {type(function).__name__}")
        app = typer.Typer(add_completion=False, rich_markup_mode="rich", context_settings=CONTEXT)
        settings = getattr(function, "settings", {})
        app.command(name, cls=CommandWithShortHelp, context_settings=settings)(function)
        common, function = getattr(function, "common", ()), app
    made = typer.main.get_command(function)
    made.name = name
    if isinstance(made, CommandWithShortHelp):
        made.common = common
    if not isinstance(made, typer.core.TyperGroup):
        made.params.extend(_common_options())
    return made


def _common_options() -> list[Any]:
    """The options that every command has, created through typer, whose classes change between versions."""

    def switch_on(wanted: bool) -> bool:
        if wanted:
            log_to_stderr()
        return wanted

    def flag(name: str, callback: Callable[..., object], words: str) -> Any:
        return typer.Option(
            f"--{name}", is_eager=True, expose_value=False, callback=callback, help=words, rich_help_panel="Output"
        )

    def carrier(legend: bool = False, verbose: bool = False, help_all: bool = False) -> None:
        """Carry the options; it is never called."""

    carrier.__annotations__ |= {
        "legend": Annotated[bool, flag("legend", show_legend, "Explain the columns below the tables.")],
        "verbose": Annotated[
            bool, flag("verbose", switch_on, "Log to stderr what is done, and tracebacks of what fails.")
        ],
        "help_all": Annotated[bool, flag("help-all", show_all, "Show every option and exit.")],
    }
    alone = typer.Typer(add_completion=False)
    alone.command("carrier")(carrier)
    return [each for each in typer.main.get_command(alone).params if each.name in ("legend", "verbose", "help_all")]


def broken_command(name: str, plugin: "EntryPoint", error: Exception) -> Any:
    """A command that reports why a plugin's command cannot be loaded, so that help and other commands still work.

    Args:
        name: name of the command.
        plugin: its entry point.
        error: error raised on loading.
    """
    package = plugin.dist.name if plugin.dist else "a package"
    line = f"The command {name} of {package} ({plugin.value}) cannot be loaded: {type(error).__name__}: {error}"

    def report_load_failure(arguments: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> None:
        _leave(f"{line}. Update or uninstall {package}.", BAD_INPUT)

    alone = typer.Typer(add_completion=False)
    alone.command(name, help=line, context_settings={"ignore_unknown_options": True})(report_load_failure)
    return typer.main.get_command(alone)


app = typer.Typer(
    name="trueval",
    cls=LazyCommands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings=CONTEXT,
    epilog="Exit status: 0 fine, 1 a gate failed or the input is bad, 2 misuse, 70 a fault of trueval. Data goes to "
    "stdout, talk to stderr.",
)


def main() -> NoReturn:
    """Run the command line and exit with its status.

    Exit status 0: fine. 1: a gate failed, or the input is bad. 2: misuse. 70: a fault of trueval.

    Raises:
        SystemExit: always.
    """
    forget_faults()
    streams.prepare()
    status, message = _run()
    lost = streams.flush()
    if lost is not None:  # results that did not arrive are a failure in any case
        status, message = status or BAD_INPUT, message or lost
    if message:
        _say(message)
    sys.exit(with_faults(status))


def _run() -> tuple[int, str]:
    """The exit status of the command, and a message if any."""
    try:
        app()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None), ""
    except (MeasureError, PolicyError) as error:
        return MISUSE, str(error)
    except TruevalError as error:
        return BAD_INPUT, str(error)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        cure = " Make room, and run the same command again." if error.errno in FULL and error.filename else ""
        return BAD_INPUT, f"{where}{error.strerror or error}.{cure}"
    except Exception as error:  # noqa: BLE001  a traceback is no answer; it goes where it can be reported from
        report_fault("the command could not go on", error)
    return 0, ""


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trueval {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Tells whether a retrieval result can be believed: ranked lists measured exactly under ties."""
    if context.invoked_subcommand is None:
        typer.echo(START)
        raise typer.Exit(MISUSE)


def _leave(message: str, status: int) -> NoReturn:
    _say(message)
    sys.exit(status)


def _say(message: str) -> None:
    typer.echo(f"trueval: {printable_message(message, lines=True)}", err=True)
