"""Writes docs/commands.md: the help of every command, as the program prints it.

Run it with: python docs/make_commands.py
"""

import os
import subprocess
import sys
from pathlib import Path

from trueval.cli.main import COMMANDS, LazyCommands, as_command, command_function

PAGE = Path(__file__).with_name("commands.md")
WIDTH = 100
HEAD = """# Commands

What `--help-all` says; `--help` shows the common options alone. This
page is made by `python docs/make_commands.py`, and a test compares it with the program.
"""


def commands() -> list[str]:
    """The program itself, as "", and its commands in the order of its help; after a group, the commands in it."""
    found = [""]
    for name in COMMANDS:
        command = as_command(name, command_function(name))
        inside = command.panel_of if isinstance(command, LazyCommands) else ()
        found += [name, *(f"{name} {each}" for each in inside)]
    return found


def help_of(command: str) -> str:
    """The help of a command, without the blanks at the end of its lines."""
    plain = {
        "TERMINAL_WIDTH": str(WIDTH),
        "COLUMNS": str(WIDTH),
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PYTHONIOENCODING": "utf-8",
    }
    code = "import sys; sys.argv[0] = 'trueval'; from trueval.cli.main import main; main()"
    option = "--help" if command in ("", "golden", "precision", "probe") else "--help-all"
    program = [sys.executable, "-c", code, *command.split(), option]
    printed = subprocess.run(program, env=os.environ | plain, capture_output=True, encoding="utf-8", check=True).stdout
    return "\n".join(line.rstrip() for line in printed.strip().splitlines())


def page() -> str:
    """The whole page."""
    parts = [f"## trueval {command}".rstrip() + f"\n\n```text\n{help_of(command)}\n```\n" for command in commands()]
    return "\n".join([HEAD, *parts])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    print(f"docs/{PAGE.name}")
