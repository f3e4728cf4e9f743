"""The end of every page: the choices behind the numbers, and their provenance."""

from __future__ import annotations

import json
from collections.abc import Mapping

from trueval.policy.policy import OPTIONS
from trueval.report.number_texts import NOT_AVAILABLE
from trueval.report.page_content import Block, PageColumn, Table, counts, rows_of
from trueval.report.result_directory import ResultFile

DEFAULTS: Mapping[str, str] = {"convention": "our own", "tie_precision": "as read", "depth": "no limit"}


def format_choice(value: object) -> str:
    """A choice as text; clusters are a count and a file.

    >>> format_choice({"count": 12, "source": "topics.tsv"})
    '12 (topics.tsv)'
    """
    if isinstance(value, Mapping):
        return f"{value['count']:,} ({value['source']})"
    return NOT_AVAILABLE if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def provenance_block(file: ResultFile) -> Block:
    """Files, versions, command, date.

    Args:
        file: details of an evaluation.

    Returns:
        A table of files, and facts.
    """
    data = file.data
    columns = (
        PageColumn("role", "/role"),
        PageColumn("file", "/path", show=lambda path: "standard input" if path == "-" else path),
        counts("bytes", "/bytes"),
        PageColumn("SHA-256", "/sha256", show=lambda digest: digest or NOT_AVAILABLE),
    )
    rows = rows_of(file, columns, "files")
    table = Table("files", ("The files that were read.",), file.name, columns, rows)
    versions = ", ".join(f"{name} {number}" for name, number in data["versions"].items())
    told = {"Written": data["written"], "Command": data["command"], "Versions": versions}
    facts = tuple((term, (words,)) for term, words in told.items())
    return Block("provenance", "Provenance", tables=(table,), facts=facts)


def describe_choice(name: str, value: object) -> tuple[str, str, str]:
    """A choice of the policy in words: its name, its value and what it means.

    Args:
        name: attribute of the policy.
        value: value in the JSON.
    """
    # Results of a newer version may hold a choice that this one does not know: its name and value are shown alone.
    option = OPTIONS.get(name)
    meaning = option.about if option is not None else ""
    if option is not None and isinstance(value, str) and value in option.words:
        meaning += f": {option.words[value]}"
    if value is None:
        shown = DEFAULTS.get(name, "none")
    elif isinstance(value, bool):  # before the numbers: Python counts True as one of them
        shown = "yes" if value else "no"
    elif isinstance(value, float | int):
        shown = f"{value:g}"
    else:
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return name.replace("_", " "), shown, meaning
