"""Bytes turned into files that are nearly in order: rows, then a few small faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from fuzz.checks import ANSWERS, HEADERS, PIECES

T = TypeVar("T")

SCORES = ["0.5", "2", "-1", "1e5", "0", ".5", "1.", "7", "3", "+4", "1e-3", "12.25"]
RARE_SCORES = ["1e400", "-1e999", "nan", "inf", "-Infinity", "1e-400", "5e-324", "0x1p3", "1_0", "+-1", "٣", "", "null"]
IDS = ["a", "007", "7", "é", "e\u0301", "x#1", "null", "NaN", "-", "d\u00a0x", "1.0", "'", "Q0"]
RARE_IDS = ["", " ", "#a", '"', "a b", "\ufeff", "\u2028", "\x01", "a,b", "a\tb", "a;b", "a\nb", "{", "\\", "a\rb"]
BLANKS = [" ", "\t", "  ", " \t", "\v", "\f"]
ENDS = ["\n", "\n", "\n", "\n", "\r\n", "\n\n", " \n", "\n# note\n"]


class Choices:
    """Decisions read from bytes; the first of each where the bytes are spent."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def below(self, bound: int) -> int:
        """A number from 0 up to a bound."""
        self.at += 1
        return self.data[self.at - 1] % bound if self.at <= len(self.data) else 0

    def of(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def rarely(self) -> bool:
        """True about once in thirty times."""
        return self.below(30) == 29


def _score(choices: Choices) -> str:
    return choices.of(RARE_SCORES) if choices.rarely() else choices.of(SCORES)


def _id(choices: Choices, row: int) -> str:
    if choices.rarely():
        return choices.of(RARE_IDS)
    return f"d{row}" if choices.below(4) else choices.of(IDS)


def _query(choices: Choices) -> str:
    return choices.of(RARE_IDS) if choices.rarely() else choices.of(["q1", "q1", "q1", "q2", "q3", "é"])


def trec_file(choices: Choices) -> str:
    """A run, judgments, or ranks, separated by spaces."""
    shape, main, end, text = choices.below(8), choices.of(BLANKS), choices.of(ENDS), ""
    for row in range(1 + choices.below(6)):
        fields = [_query(choices), "Q0" if shape < 5 else "0", _id(choices, row), str(row + 1), _score(choices)]
        if shape >= 5:
            fields = [*fields[:3], str(choices.below(3))] if shape < 7 else [fields[0], fields[2], str(row + 1)]
        if shape < 4 and not choices.rarely():
            fields.append(choices.of(["tag", "bm25", "t", "7", "my tag", "run 0 of 10 20"] if shape < 2 else ["tag"]))
        text += fields[0] + "".join((choices.of(BLANKS) if choices.rarely() else main) + f for f in fields[1:])
        text += choices.of(ENDS) if choices.rarely() else end
    return text


def csv_file(choices: Choices) -> str:
    """Rows for one of the header lines; the first character says which."""
    which, end, text = choices.below(len(HEADERS)), choices.of(["\n", "\n", "\n", "\r\n", "\n\n"]), ""
    _, delimiter, columns, width = HEADERS[which]
    for row in range(1 + choices.below(6)):
        fields = ["text"] * width
        for column, field in zip(columns, (_query(choices), _id(choices, row), _score(choices)), strict=True):
            fields[column] = field
        quoted = [f'"{f}"' if choices.below(6) == 5 else f for f in fields]
        text += delimiter.join(quoted) + (choices.of(ENDS) if choices.rarely() else end)
    return chr(which) + text


def _json_text(text: str, choices: Choices) -> str:
    return '"' + text.replace('"', '\\"' if choices.below(4) else '"').replace("\n", "\\n").replace("\t", "\\t") + '"'


def jsonl_file(choices: Choices) -> str:
    """Objects in one of several spellings."""
    gap, end, text = choices.of(["", " ", "\t"]), choices.of(["\n", "\n", "\r\n", "\n\n", " \n"]), ""
    for row in range(1 + choices.below(6)):
        query, document = _json_text(_query(choices), choices), _json_text(_id(choices, row), choices)
        members = [("query_id", query), ("doc_id", document), ("score", _score(choices))]
        if choices.rarely():
            members.append(choices.of([("score", "1"), ("note", '"x"'), ("m", "[1, {}]"), ("doc\\u005fid", "1.5")]))
        if choices.rarely():
            members.reverse()
        if choices.rarely():
            members[1] = ("doc_id", choices.of(["7", "-0", "1.5", "null", "true", '"\\u00e9"', '"\\ud800"', "[1]"]))
        text += "{" + f",{gap}".join(f'"{name}":{gap}{value}' for name, value in members) + "}" + end
    return text


def json_file(choices: Choices) -> str:
    """{query: {document: number}}."""
    queries = []
    for _ in range(1 + choices.below(3)):
        rows = [f"{_json_text(_id(choices, row), choices)}: {_score(choices)}" for row in range(choices.below(5))]
        queries.append(f"{_json_text(_query(choices), choices)}: {{{', '.join(rows)}}}")
    return "{" + choices.of([", ", ",\n"]).join(queries) + "}"


def _entry(choices: Choices, row: int, shape: int) -> str:
    document = _json_text(_id(choices, row), choices)
    if choices.rarely():
        document = choices.of(["7", "-0", "1.5", "null", "true", '"\\u00e9"', '"\\ud800"', "[1]", "[]"])
    if shape == 0:
        return document
    score = _score(choices)
    return f"[{document}, {score}]" if shape == 1 else f'{{"id": {document}, "score": {score}}}'


def contexts_file(choices: Choices) -> str:
    """A log: ids with or without scores, and gold."""
    end, text = choices.of(["\n", "\n", "\r\n", "\n\n", " \n"]), ""
    for row in range(1 + choices.below(4)):
        shape = choices.below(3)
        entries = [_entry(choices, each, 0 if choices.rarely() else shape) for each in range(choices.below(5))]
        query = _json_text(_query(choices) if choices.rarely() else f"q{row}", choices)
        members = [f'"query": {query}', f'"ids": [{", ".join(entries)}]']
        if choices.below(2):
            graded = ", ".join(f"{_json_text(_id(choices, each), choices)}: {_score(choices)}" for each in range(2))
            members.append(choices.of(['"gold": ["a", "é", "a"]', '"gold": []', f'"gold": {{{graded}}}']))
        if choices.rarely():
            members.append(
                choices.of(['"ids": ["b"]', '"note": {}', '"gold": [null]', '"gold": "a"', '"m": "\\ud800"'])
            )
        text += "{" + ", ".join(members) + "}" + end
    return text


def answers_file(choices: Choices) -> str:
    """Answers behind one of several first lines; the first character says which."""
    which, end, text = choices.below(len(ANSWERS)), choices.of(["\n", "\n", "\r\n", "\n\n"]), ""
    separator = ANSWERS[which][1]
    for row in range(1 + choices.below(5)):
        query = _query(choices) if choices.rarely() else choices.of([f"q{row}", f"é{row}", f"{row}"])
        value = (
            _score(choices) if choices.below(8) == 7 else choices.of(["1", "0", "0.5", "true", "FALSE", ".25", "1e-3"])
        )
        if separator == "{":
            quoted = value if choices.below(3) else _json_text(value, choices)
            text += f'{{"query": {_json_text(query, choices)}, "correct": {quoted}}}'
        else:
            fields = [f'"{field}"' if choices.below(6) == 5 else field for field in (query, value)]
            text += (choices.of(BLANKS) if choices.rarely() else separator).join(fields)
        text += choices.of(ENDS) if choices.rarely() else end
    return chr(which) + text


FILES: dict[str, Callable[[Choices], str]] = {
    "trec": trec_file,
    "csv": csv_file,
    "jsonl": jsonl_file,
    "json": json_file,
    "contexts": contexts_file,
    "answers": answers_file,
}


def build(name: str, data: bytes) -> bytes:
    """Build a file for a check, with up to three faults: a piece put in, a stretch taken out, or a byte changed."""
    choices = Choices(data)
    name = "trec" if name == "parts" else name
    file = FILES[name if name in FILES else choices.of(list(FILES))](choices).encode(errors="surrogatepass")
    for _ in range(max(0, choices.below(8) - 4)):
        at = (choices.below(256) * 256 + choices.below(256)) % (len(file) + 1)
        kind = choices.below(3)
        if kind == 0:
            file = file[:at] + choices.of(PIECES).encode() + file[at:]
        elif kind == 1:
            file = file[:at] + file[at + 1 + choices.below(12) :]
        else:
            file = file[:at] + bytes([choices.below(256)]) + file[at + 1 :]
    return file
