"""A small corpus whose labels are known, and the file of a golden set over it, for a judge behind a loopback server."""

from __future__ import annotations

import json
from pathlib import Path

TOPICS = ("wings", "boilers", "bridges")
WORDS = ("lift", "drag", "steam", "heat", "steel", "span", "load", "flow")
# Documents of a topic have a grade in their text: what a judge reads, it can grade.
GRADES = (5, 4, 4, 3, 3, 2, 1, 1)


def corpus(folder: Path, *, queries: int = 3) -> dict[tuple[str, str], int]:
    """Write a collection; query and document id → grade."""
    documents, labels = [], {}
    for place, topic in enumerate(TOPICS):
        for number, grade in enumerate(GRADES):
            text = f"{topic} {WORDS[number]} {'study ' * number}of {topic}, worth {grade} stars"
            documents.append({"_id": f"{topic}-{number}", "text": text})
            labels[f"q{place}", f"{topic}-{number}"] = grade
    folder.mkdir(exist_ok=True)
    asked = [{"_id": f"q{place}", "text": f"what about {topic}"} for place, topic in enumerate(TOPICS)][:queries]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents))
    (folder / "queries.jsonl").write_text("".join(json.dumps(each) + "\n" for each in asked))
    lines = [f"{query} 0 {document} {grade}\n" for (query, document), grade in labels.items()]
    (folder / "labels.trec").write_text("".join(lines))
    return labels


def stars(query: str, text: str) -> int:
    """The grade of a passage, as its text has it; 1 where it is about another topic."""
    return int(text.rsplit("worth ", 1)[1][0]) if query.rsplit(" ", 1)[1] in text else 1


def plan_text(judge: str, *, extra: str = "") -> str:
    """The TOML of a golden set over the corpus beside it."""
    return (
        '[corpus]\npath = "c"\n[sparse]\n[pool]\ndepth = 8\n'
        f"[judge]\n{judge}\nbatch = 3\nconcurrency = 4\n"
        "[prune]\nkeep = 6\n[refine]\ntop = 3\nbatch = 3\nparallel = 2\ncalls = 4\n" + extra
    )


def written(folder: Path, judge: str, *, extra: str = "", queries: int = 3) -> Path:
    """Write corpus and plan; the path of the plan."""
    folder.mkdir(exist_ok=True)
    corpus(folder / "c", queries=queries)
    (folder / "golden.toml").write_text(plan_text(judge, extra=extra))
    return folder / "golden.toml"


LABELS = 'model = "labels:c/labels.trec"'


def served(url: str) -> str:
    """[judge] of a model behind a loopback server."""
    return (
        f'model = "served"\nbase_url = "{url}"\napi_key_env = "TEST_JUDGE_KEY"\n'
        "price_per_million_input = 1.0\nprice_per_million_output = 2.0"
    )
