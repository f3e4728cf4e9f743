"""Contexts: what a RAG system put into its prompts, read from its logs.

One JSON object on each line, or a list of them; files/json/log_keys.py says which names are known::

    {"query": "q1", "ids": ["d7", "d2"], "gold": ["d2"], "correct": true}
    {"query": "q2", "ids": [{"id": "d3", "score": 0.9, "source": "report.pdf"}], "gold": {"d3": 5, "d4": 3}}

The order of a list comes first, since the model read the documents in it. Ids without scores, or with scores that do
not descend, are a strict order, so nothing ties: the score is minus the position. Equal scores tie, and the tie-broken
value takes the order of the list unless a tie order is named. Gold documents (grade 1, or a grade each), sources and
correctness are optional.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from trueval.errors import InputError, PolicyError
from trueval.files import Source, check_rows, id_notes, name_files
from trueval.files.display_names import split_table
from trueval.files.json.context_logs import Log, holds_contexts, read_log
from trueval.files.libraries import library_name
from trueval.files.memory.logs import read_rows
from trueval.files.source.line_parts import open_parts
from trueval.files.source.source_bytes import can_be_read_once, read_content
from trueval.judgments import Judgments
from trueval.rag.answer_accuracy import correctness
from trueval.run import Run

DUPLICATES = ("first", "refuse")


class Contexts(NamedTuple):
    """The content of a context log.

    Attributes:
        run: retrieved documents of each query.
        judgments: gold documents; None if no line names any; with sources if the log has them.
        correct: query → correctness of its answer, where the log has it.
        sources: document → source, where the log has it.
        notes: one-line remarks made while reading.
    """

    run: Run
    judgments: Judgments | None
    correct: Mapping[str, float]
    sources: Mapping[str, str]
    notes: tuple[str, ...] = ()


def looks_like_contexts(path: str) -> bool:
    """Tell whether a file is a context log; do not use it for standard input and pipes, which can be read only once.

    Raises:
        InputError: the file cannot be read.
    """
    return library_name(path) is None and not can_be_read_once(path) and holds_contexts(read_content(path))


def all_contexts(paths: Iterable[str]) -> bool:
    """Tell whether all files are context logs, by their beginnings, so that their own order breaks ties.

    Args:
        paths: paths of runs, or name=path; standard input and pipes, which can be read only once, count as none.
    """
    return all(_begins_as_contexts(path) for _, path in name_files(list(paths)))


def _begins_as_contexts(path: str) -> bool:
    if library_name(path) is not None or split_table(path) is not None or can_be_read_once(path):
        return False
    try:
        with open_parts(path) as parts:
            if parts is not None and not parts.head.data.lstrip().startswith((b"{", b"[")):
                return False
        return looks_like_contexts(path)
    except InputError:  # the reader of the file says what is wrong
        return False


def contexts_or_file(source: Source, *, name: str | None = None) -> Contexts | Source:
    """Read a log of contexts, or give any other source back as a file to read.

    A log is recognized by its content: its first object has a list of documents, and no single document id.

    Args:
        source: a path, "-" for standard input, or an open file.
        name: name of the run in tables; the file name without suffixes if None.

    Raises:
        InputError: the source cannot be read, or a line of the log is bad.
    """
    if library_name(source) is not None or split_table(source) is not None:
        return source
    with open_parts(source) as parts:
        # A large file is classified by its first bytes: one that does not begin as JSON is left unread for the fast
        # readers.
        if parts is not None and not parts.head.data.lstrip().startswith((b"{", b"[")):
            return source
    content = read_content(source)
    return _contexts(read_log(content), name) if holds_contexts(content) else content


def read_contexts(source: Source, *, duplicates: str = "first", name: str | None = None) -> Contexts:
    """Read a log of contexts.

    Args:
        source: a path, "-" for standard input, or an open file.
        duplicates: "first": a document retrieved twice for a query counts once, at its first position, and later
            documents move up; "refuse": it is an error.
        name: name of the run in tables; the file name without suffixes if None.

    Raises:
        InputError: a line is bad, a query is there twice, or a document has two sources; with file and line.
        PolicyError: duplicates is unknown.
    """
    if duplicates not in DUPLICATES:
        raise PolicyError(f"duplicates must be one of {', '.join(DUPLICATES)}. Got {duplicates!r}.")
    return _contexts(read_log(read_content(source), duplicates), name)


def contexts_of(rows: Iterable[object], *, name: str = "run") -> Contexts:
    """Convert a log in memory: dicts, possibly with objects of LangChain, LlamaIndex or Ragas.

    Args:
        rows: one per query, with the keys of a log file.
        name: name of the run in tables.

    Raises:
        InputError: a row is bad, with its number.

    >>> contexts_of([{"question": "q", "retrieved_ids": ["d2", "d1"], "relevant_ids": ["d1"]}]).run.frame.rows()
    [('q', 'd2', -1.0), ('q', 'd1', -2.0)]
    """
    return _contexts(read_rows(rows), name)


def _contexts(log: Log, name: str | None) -> Contexts:
    rows = check_rows(log.run(), "run")
    notes = rows.table.notes + id_notes(rows.table, rows.query_ids)
    lists = rows.documents, rows.query_ids, rows.offsets
    run = Run(*lists, name or log.name, log.source, notes, rows.table.empty, log.in_reading_order)
    judgments = _judgments(log)
    correct = {line.query: correctness(line.correct, line.place) for line in log.lines if line.correct is not None}
    return Contexts(run, judgments, correct, log.sources, notes)


def _judgments(log: Log) -> Judgments | None:
    table = log.judgments()
    if table is None:
        return None
    rows = check_rows(table, "judgments")
    notes = rows.table.notes + id_notes(rows.table, rows.query_ids)
    judgments = Judgments(rows.table.frame, rows.query_ids, rows.offsets, log.source, notes)
    return judgments.with_sources(log.sources) if log.sources else judgments
