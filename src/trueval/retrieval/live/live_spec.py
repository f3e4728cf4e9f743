"""Live specs: how people name a retriever that answers.

http://localhost:8080/search?q={text}&k={k}     a URL that is got
qdrant.toml                                     a URL with a body, headers and paths (live_tables.py), or a command
python search.py {k}                            a program that reads the query and prints JSON
my_app.search:retriever                         an object of Python, found from the working folder
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from trueval.errors import InputError, Place, PolicyError
from trueval.files.toml import Toml
from trueval.retrieval.live.engine_answer import Fields
from trueval.retrieval.live.engine_command import EngineCommand
from trueval.retrieval.live.engine_url import EngineUrl
from trueval.retrieval.live.retriever import LiveRetriever, of_object

TIMEOUT: Final = 60.0  # seconds
AT_ONCE: Final = 8  # calls to an engine over HTTP
_OBJECT: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


class LiveSource(NamedTuple):
    """A retriever, and where its answers have what counts."""

    retriever: LiveRetriever
    fields: Fields


def open_live(given: object, timeout: float | None = None) -> LiveSource:
    """The retriever that somebody means.

    Args:
        given: an object or a function of Python; a spec; the path of a TOML file; or a dict of its keys.
        timeout: seconds that an answer may take; None for what the file says, or 60. It does not end calls of Python.

    Raises:
        InputError: a file or module is bad, or a key is not set.
        MissingExtraError: the library of HTTP is not installed.
        PolicyError: the spec is none.
    """
    if isinstance(given, Mapping):
        return _of_tables({"live": dict(given)}, None, timeout)
    if isinstance(given, Path) or (isinstance(given, str) and given.endswith(".toml")):
        file = Toml.read(Path(given), "the TOML file of a live retriever")
        return _of_tables(file.tables, file, timeout)
    if not isinstance(given, str):
        return LiveSource(of_object(given), Fields())
    if given.startswith(("http://", "https://")):
        return _of_tables({"live": {"url": given}}, None, timeout)
    if _OBJECT.fullmatch(given):
        return LiveSource(of_object(_import_object(given))._replace(key=given), Fields())
    return _of_tables({"live": {"command": given}}, None, timeout)


def _import_object(spec: str) -> object:
    """The object that "module:name" means."""
    module, _, name = spec.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:  # a console script has its own folder there
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"{spec}: cannot be imported ({error}). It must be module:name of a retriever, found from the working "
            "folder or installed."
        ) from error
    return found


def _of_tables(given: Mapping[str, object], file: Toml | None, timeout: float | None) -> LiveSource:
    from trueval.files.toml_tables import read_tables  # late: pydantic takes a tenth of a second
    from trueval.retrieval.live.live_tables import LiveFile

    place = file.place if file is not None else lambda *_: Place("live")
    live = read_tables(LiveFile, given, place).live
    if bool(live.url) == bool(live.command):
        raise place("live").error("[live] must have a url or a command, and not both.")
    seconds = live.timeout if timeout is None else timeout
    fields = Fields(live.hits or "", live.id or "", live.score or "")
    key = hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()
    if live.command:
        command = EngineCommand(live.command, seconds)
        name = next((each for each in reversed(command.arguments) if not each.startswith(("-", "{"))), "command")
        return LiveSource(LiveRetriever(Path(name).stem, key, command.answer, live.at_once or 1), fields)
    if "{text}" not in live.url and "{text}" not in json.dumps(live.body):
        raise PolicyError(f"url or body must have {{text}} where the query belongs. Got {live.url!r}.")
    engine = EngineUrl(
        live.url, live.body, live.method or "", live.headers or {}, live.api_key_env or "", live.api_key_header
    )
    client = engine.connect(seconds)
    return LiveSource(LiveRetriever(engine.name, key, client.answer, live.at_once or AT_ONCE), fields)
