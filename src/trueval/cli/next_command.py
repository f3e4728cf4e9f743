"""The next command with the files of the one that ran: `trueval explain q.trec "my run.trec"` for QRELS RUN."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

OPTIONS: Final[Mapping[str, Sequence[str]]] = {
    "qrels": ("QRELS",),
    "runs": ("RUN",),
    "run": ("RUN",),
    "out": ("DIR",),
    "pipeline": ("FILE",),
}
LONGEST: Final = 1000  # characters of a command that anybody copies
STDIN: Final = "-"  # which cannot be read again
_NAME: Final = re.compile(r"[A-Z]+_DIR|CONFIG\.toml|[A-Z]{3,}")
_PLACE: Final = re.compile(
    r'"[^"]*"|\b(RUN RUN|LOG LOG|RUN|QRELS|[A-Z]+_DIR|COLLECTION|DIR|FILE|CONFIG\.toml)(\.\.\.)?(?=[ /]|$)'
)


def fill_places(command: str, given: Mapping[str, Sequence[str]]) -> str:
    """A command with words in the places that have a name; places without words stay as they are.

    Args:
        command: with QRELS, RUN, RUN RUN and others, outside quotes.
        given: words by name of the place, before they are quoted for a shell.

    >>> print(fill_places('trueval compare QRELS RUN... -m "RR"', {"QRELS": ["q"], "RUN": ["a.trec", "my b.trec"]}))
    trueval compare q a.trec 'my b.trec' -m "RR"
    >>> fill_places("trueval explain QRELS RUN", {"QRELS": ["-"], "RUN": ["a.trec", "b.trec"]})
    'trueval explain QRELS a.trec'
    """

    def words(found: re.Match[str]) -> str:
        name, dots = found[1], found[2]
        known = [] if name is None else given.get(name.partition(" ")[0], [])
        if not known or STDIN in known or (" " in name and len(known) < 2):
            return found[0]
        return " ".join(map(shlex.quote, known if dots or " " in name else known[:1]))

    return _PLACE.sub(words, command)


_given: dict[str, list[str]] = {}  # of the command of this process


def remember_arguments(parameters: Sequence[Any], values: Mapping[str, object]) -> None:
    """Keep the arguments of a command and its options --qrels and --runs by the names of their places.

    Args:
        parameters: of the command, as click has them.
        values: by the names of parameters.
    """
    _given.clear()
    for each in sorted(parameters, key=lambda one: one.param_type_name != "argument"):
        value, names = values.get(each.name), [*OPTIONS.get(each.name, ())]
        if each.param_type_name == "argument":
            names = _NAME.findall(each.metavar or "")
        if value and names:
            some = value if isinstance(value, list | tuple) else [value]
            either = each.nargs == 1 and " | " in (each.metavar or "")  # RUN | COLLECTION, one argument that is either
            for name in names if either else names[:1]:
                _given.setdefault(name, [str(one) for one in some])
    baseline = str(values.get("baseline") or "")
    if baseline and baseline not in _given.get("RUN", [baseline]) and Path(baseline).is_file():  # a run beside those
        _given["RUN"].append(baseline)


def next_command(command: str, given: Mapping[str, Sequence[str]] | None = None) -> str:
    """The next command with what the user gave to the one that runs.

    Args:
        given: further words by name, before those.
    """
    filled = fill_places(command, {**_given, **(given or {})})
    return filled if len(filled) <= LONGEST else command
