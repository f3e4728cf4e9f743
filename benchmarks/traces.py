"""Reading traces as a run: megabytes per second of a processor of JSON lines of spans, in three shapes.

Run it with: python benchmarks/traces.py [--spans 4000] [--documents 10] [--characters 500] [--rounds 5]
Each file has spans of retrievers with so many documents, whose texts have so many characters, and as many other spans;
the fastest of the rounds is shown, in processor
time, which others' work on the machine changes less than the clock. "json.loads" decodes the lines that name a
retriever, and does nothing else.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from support.apart import machine

import trueval

WORDS = ["lift", "drag", "wing", "flow", "body", "of", "the", "in", "boundary", "layer", "supersonic", "'tests'", "é"]


def flat(question: str, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """OpenInference as exporters of OpenTelemetry write it."""
    found = {"openinference.span.kind": "RETRIEVER", "input.value": question}
    for place, document in enumerate(documents):
        found |= {f"retrieval.documents.{place}.document.{name}": value for name, value in document.items()}
    return found


def nested(question: str, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """OpenInference as Phoenix exports it."""
    listed = [{"document": document} for document in documents]
    return {
        "openinference": {"span": {"kind": "RETRIEVER"}},
        "input": {"value": question},
        "retrieval": {"documents": listed},
    }


def gen_ai(question: str, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """OpenTelemetry."""
    names = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": question}
    return {**names, "gen_ai.retrieval.documents": documents}


SHAPES: dict[str, Callable[[str, list[dict[str, Any]]], dict[str, Any]]] = {
    "OpenInference, flat": flat,
    "OpenInference, nested": nested,
    "gen_ai documents": gen_ai,
}


def lines(shape: str, spans: int, documents: int, characters: int) -> Iterator[str]:
    """The lines of a file."""
    rng = random.Random(1)
    for number in range(spans):
        listed = [
            {
                "id": f"document-{rng.randrange(10**6)}-{rank}",
                "score": rng.random(),
                "content": " ".join(rng.choices(WORDS, k=characters // 5))[:characters],
                "metadata": json.dumps({"source": "corpus", "page": rank}),
            }
            for rank in range(documents)
        ]
        about = {"context": {"trace_id": f"0x{number:032x}"}, "parent_id": None, "start_time": "2026-01-05T10:00:00Z"}
        end = f"2026-01-05T10:00:{number % 60:02}.{number:06}Z"
        attributes = SHAPES[shape](f"question {number}", listed)
        yield json.dumps({"name": "search", **about, "end_time": end, "attributes": attributes})
        other = {"openinference.span.kind": "LLM", "output.value": "an answer"}
        yield json.dumps({"name": "answer", **about, "end_time": end, "attributes": other})


def fastest(call: Callable[[], object], rounds: int) -> float:
    """Processor seconds of the fastest of some calls."""
    found = []
    for _ in range(rounds):
        begin = time.process_time()
        call()
        found.append(time.process_time() - begin)
    return min(found)


def decode(path: Path) -> None:
    """Decode the lines of retrievers."""
    for line in path.read_bytes().splitlines():
        if b"retriev" in line:
            json.loads(line)


def main() -> None:
    """Print a line for each shape."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("spans", 4000), ("documents", 10), ("characters", 500), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    print(machine(), "| shape | MB | ours, MB/s | json.loads, MB/s |\n|---|---|---|---|", sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        for shape in SHAPES:
            path = Path(folder) / "spans.jsonl"
            path.write_text("\n".join(lines(shape, chosen.spans, chosen.documents, chosen.characters)) + "\n")
            size = path.stat().st_size / 1e6
            ours = fastest(lambda path=path: trueval.Run.read(path), chosen.rounds)
            theirs = fastest(lambda path=path: decode(path), chosen.rounds)
            print(f"| {shape} | {size:.1f} | {size / ours:.1f} | {size / theirs:.1f} |", flush=True)


if __name__ == "__main__":
    main()
