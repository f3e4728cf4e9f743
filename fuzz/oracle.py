"""Which rows a text holds, told by slow and plain Python; a RefusalError where it must not be read.

Nothing here uses the readers of trueval, NumPy or polars.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
SPECIAL = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
INTEGER = re.compile(r"[+-]?[0-9]+")
BLANKS = re.compile(r"[ \t\r\v\f]+")


class RefusalError(Exception):
    """The text must not be read."""


class Row(NamedTuple):
    """One row, and the line (from 1) on which it starts."""

    line: int
    query: str
    document: str
    value: float


def lines_of(data: bytes, *, is_json: bool = False) -> list[str]:
    """Decode a text and split it at newlines."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise RefusalError("UTF-16")
    if any(code < 32 and code not in b"\t\n\v\f\r" for code in data):
        raise RefusalError("control character")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise RefusalError("no UTF-8") from None
    if "\ufeff" in text:
        raise RefusalError("byte order mark inside")
    if not is_json:
        text = text if "\n" in text else text.replace("\r", "\n")
        if "\r" in text.replace("\r\n", ""):
            raise RefusalError("lone carriage return")
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def number(text: str, kind: str) -> float:
    """Read a score or grade."""
    if not NUMBER.fullmatch(text) and not SPECIAL.fullmatch(text):
        raise RefusalError(f"{text!r} is not a number")
    value = float(text)
    if math.isnan(value) or (math.isinf(value) and (kind == "judgments" or not SPECIAL.fullmatch(text))):
        raise RefusalError(f"{text!r} is not finite")
    return value


def grouped(rows: Sequence[Row]) -> list[Row]:
    """Check ids, and bring the rows of each query together."""
    if not rows:
        raise RefusalError("no rows")
    pairs = [(row.query, row.document) for row in rows]
    if len(set(pairs)) < len(pairs) or any("" in pair for pair in pairs):
        raise RefusalError("a document twice, or an empty id")
    order = {query: place for place, query in reversed(list(enumerate(row.query for row in rows)))}
    return sorted(rows, key=lambda row: order[row.query])


def trec_rows(data: bytes, kind: str) -> list[Row]:
    """Rows of a run or of judgments without a header line."""
    lines = lines_of(data)
    split = [(place, [field for field in BLANKS.split(line) if field]) for place, line in enumerate(lines, start=1)]
    rows = [(place, fields) for place, fields in split if fields and not fields[0].startswith("#")]
    if not rows:
        raise RefusalError("no rows")
    width = len(rows[0][1])
    if kind == "run" and 5 <= width <= 64:
        _check_run(rows, lines, data)
        return grouped([Row(place, f[0], f[2], number(f[4], kind)) for place, f in rows])
    if width != 3 and not (kind == "judgments" and width == 4):
        raise RefusalError("another number of columns")
    if any(len(fields) != width for _, fields in rows):
        raise RefusalError("wrong width")
    values = [number(fields[-1], kind) for _, fields in rows]
    if width == 3:
        values = _third_column(rows, values, kind)
    return grouped([Row(place, f[0], f[-2], value) for (place, f), value in zip(rows, values, strict=True)])


def _check_run(rows: Sequence[tuple[int, list[str]]], lines: Sequence[str], data: bytes) -> None:
    second = rows[0][1][1]
    shortest = min(len(fields) for _, fields in rows)
    if shortest < 5 or max(len(fields) for _, fields in rows) > 64:
        raise RefusalError("wrong width")
    for _, fields in rows:
        tag_is_number = len(fields) > 5 and NUMBER.fullmatch(fields[5])
        if tag_is_number and (len(fields) > 6 or shortest == 5 or not NUMBER.fullmatch(fields[3])):
            raise RefusalError("shifted fields")
        for at in range(6, len(fields) - 3):
            if fields[at] == second and INTEGER.fullmatch(fields[at + 2]) and NUMBER.fullmatch(fields[at + 3]):
                raise RefusalError("two rows on a line")
    cut = not data.endswith((b"\n", b"\r") if b"\n" not in data else b"\n")
    if cut and rows[-1][0] == len(lines) and len(rows[0][1]) > 5 and len(rows[-1][1]) == 5:
        raise RefusalError("cut line")


def _third_column(rows: Sequence[tuple[int, list[str]]], values: list[float], kind: str) -> list[float]:
    lists: dict[str, list[float]] = {}
    for (_, fields), value in zip(rows, values, strict=True):
        lists.setdefault(fields[0], []).append(value)
    if kind == "judgments":
        counts = all(listed == list(range(1, len(listed) + 1)) for listed in lists.values())
        if counts and max(values) > 3:
            raise RefusalError("ranks of a run")
        return values
    if any(math.isinf(value) or value != round(value) for value in values):
        return values
    if all(min(listed) in (0, 1) and len(set(listed)) == len(listed) for listed in lists.values()):
        return [-value for value in values]
    raise RefusalError("integers that are not ranks")


def csv_rows(data: bytes, kind: str, delimiter: str, columns: Sequence[int], width: int) -> list[Row]:
    """Rows of a text with a header line; columns are those of query, document and value."""
    text = "".join(line + "\n" for line in lines_of(data))
    rows = []
    records = _records(text, delimiter)
    next(records)
    for line, fields in records:
        if len(fields) != width:
            raise RefusalError("wrong width")
        query, document, value = (fields[column] for column in columns)
        rows.append(Row(line, query, document, number(value.strip(" \t\r"), kind)))
    return grouped(rows)


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    at, line = 0, 1
    while at < len(text):
        start, fields = line, []
        while True:
            field, at, lines = _field(text, at, delimiter)
            line += lines
            fields.append(field)
            if text[at] != delimiter:
                break
            at += 1
        at = text.index("\n", at) + 1
        line += 1
        if fields != [""] or text[at - 2] == '"':
            yield start, fields


def _field(text: str, at: int, delimiter: str) -> tuple[str, int, int]:
    """The field, where it ends, and the newlines in it (RFC 4180)."""
    if text[at] != '"':
        end = at
        while text[end] not in (delimiter, "\n") and text[end : end + 2] != "\r\n":
            end += 1
        if '"' in text[at:end]:
            raise RefusalError("quote inside a field")
        return text[at:end], end, 0
    end, field = at + 1, ""
    while True:
        close = text.find('"', end)
        if close < 0:
            raise RefusalError("quote never closed")
        field += text[end:close]
        if text[close + 1 : close + 2] != '"':
            break
        field, end = field + '"', close + 2
    if text[close + 1] not in (delimiter, "\n") and text[close + 1 : close + 3] != "\r\n":
        raise RefusalError("text behind a quote")
    return field, close + 1, field.count("\n")


class Literal(str):
    """A number of JSON as written."""


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is there twice."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise RefusalError("a key twice")
    return dict(pairs)


def decoded(text: str) -> Any:
    """Read JSON, numbers as they are written."""
    try:
        return json.loads(
            text, object_pairs_hook=unique_keys, parse_int=Literal, parse_float=Literal, parse_constant=Literal
        )
    except (ValueError, RecursionError):
        raise RefusalError("not JSON") from None


def jsonl_rows(data: bytes, kind: str) -> list[Row]:
    """Rows of objects with the keys query_id, doc_id and score."""
    rows = []
    for place, line in enumerate(lines_of(data, is_json=True), start=1):
        if not line.strip(" \t\r"):
            continue
        value = decoded(line)
        if not isinstance(value, dict):
            raise RefusalError("no object")
        query, document, score = (value.get(key) for key in ("query_id", "doc_id", "score"))
        if not isinstance(score, str):
            raise RefusalError("no score")
        rows.append(Row(place, json_id(query), json_id(document), number(score.strip(" \t\r"), kind)))
    return grouped(rows)


def json_id(value: Any) -> str:
    """A string without half a surrogate pair, or an integer as it is written."""
    if not isinstance(value, str) or (isinstance(value, Literal) and not re.fullmatch(r"-?[0-9]+", value)):
        raise RefusalError("no id")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise RefusalError("half a surrogate pair")
    return str(value)


def json_rows(data: bytes, kind: str) -> list[Row] | None:
    """Rows of {query: {document: number}}; None where the JSON has another shape."""
    value = decoded("\n".join(lines_of(data, is_json=True)))
    if not isinstance(value, dict) or not all(isinstance(listed, dict) for listed in value.values()):
        return None
    numbers = [number for listed in value.values() for number in listed.values()]
    if not all(isinstance(number, Literal) for number in numbers):
        return None
    for query in value:
        json_id(query)  # also where it lists nothing
    rows = [
        Row(0, json_id(q), json_id(d), number(text, kind)) for q, listed in value.items() for d, text in listed.items()
    ]
    return grouped(rows)


def context_rows(data: bytes) -> tuple[list[Row], list[Row]]:
    """Retrieved and gold documents of a log with the keys query, ids and gold."""
    listed, gold, queries = [], [], set()
    for place, line in enumerate(lines_of(data, is_json=True), start=1):
        if not line.strip(" \t\r"):
            continue
        value = decoded(line)
        if not isinstance(value, dict):
            raise RefusalError("no object")
        query, ids = full_id(value.get("query", value.get("query_id"))), value.get("ids")
        if not isinstance(ids, list) or query in queries:
            raise RefusalError("no list, or a query twice")
        queries.add(query)
        listed += _retrieved(place, query, ids)
        gold += _gold(place, query, value.get("gold"))
    if not listed:
        raise RefusalError("nothing retrieved")
    return listed, gold


def full_id(value: Any) -> str:
    """An id of JSON that is not empty."""
    if not json_id(value):
        raise RefusalError("empty id")
    return str(value)


def _retrieved(place: int, query: str, ids: list[Any]) -> list[Row]:
    rows, scored = {}, set()
    for position, item in enumerate(ids):
        document, score = item, None
        if isinstance(item, list) and len(item) == 2:
            document, score = item
        elif isinstance(item, dict):
            document, score = item.get("id", item.get("doc_id")), item.get("score")
        if score is not None and not isinstance(score, Literal):
            raise RefusalError("a score that is not a number")
        scored.add(score is not None)
        rows.setdefault(full_id(document), (position, score))
    if len(scored) > 1:
        raise RefusalError("some have scores and some do not")
    return [
        Row(place, query, document, -1.0 - rank if score is None else number(score, "run"))
        for rank, (document, (_, score)) in enumerate(rows.items())
    ]


def _gold(place: int, query: str, gold: Any) -> list[Row]:
    if isinstance(gold, list):
        return [Row(place, query, document, 1.0) for document in dict.fromkeys(map(full_id, gold))]
    if gold is None:
        return []
    if not isinstance(gold, dict) or not all(isinstance(grade, Literal) for grade in gold.values()):
        raise RefusalError("no gold")
    return [Row(place, query, full_id(document), number(grade, "judgments")) for document, grade in gold.items()]


def answers(data: bytes, separator: str) -> dict[str, float]:
    """Correctness of each query; the separator is a brace where the lines are JSON, a space where spaces separate."""
    found: dict[str, float] = {}
    for line in lines_of(data, is_json=separator == "{"):
        if not line.strip(" \t\r"):
            continue
        query, value = _answer(decoded(line)) if separator == "{" else _two_fields(line, separator)
        if (query, value) == ("query", "correct") and not found:
            continue
        if query in found:
            raise RefusalError("a query twice")
        found[query] = _correctness(value)
    return found


def _answer(value: Any) -> tuple[str, Any]:
    if not isinstance(value, dict) or "correct" not in value:
        raise RefusalError("no answer")
    return full_id(value.get("query", value.get("query_id"))), value["correct"]


def _two_fields(line: str, separator: str) -> tuple[str, str]:
    rest, fields = line.strip(" \r" if separator == "\t" else " \t\r"), []
    marks = " \t" if separator == " " else separator
    while True:
        quoted = rest.startswith('"')
        field, rest = _quoted(rest) if quoted else _until(rest, marks)
        fields.append(field if quoted else field.strip(" \t\r"))
        if not rest:
            break
        if rest[0] not in marks:
            raise RefusalError("text behind a quote, or a quote inside")
        rest = rest.lstrip(marks) if separator == " " else rest[1:]
        if not rest:
            fields.append("")
            break
    if len(fields) != 2 or "" in fields:
        raise RefusalError("not two fields")
    return fields[0], fields[1]


def _quoted(text: str) -> tuple[str, str]:
    field, at = "", 1
    while at < len(text):
        if text[at] == '"' and text[at + 1 : at + 2] != '"':
            return field, text[at + 1 :]
        field += text[at]
        at += 2 if text[at] == '"' else 1
    raise RefusalError("quote never closed")


def _until(text: str, marks: str) -> tuple[str, str]:
    at = next((at for at, character in enumerate(text) if character in marks + '"'), len(text))
    return text[:at], text[at:]


def _correctness(value: Any) -> float:
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        raise RefusalError("no number")
    if value.lower() in ("true", "false"):
        return float(value.lower() == "true")
    if not NUMBER.fullmatch(value) or not 0 <= float(value) <= 1:
        raise RefusalError("not from 0 to 1")
    return float(value)
