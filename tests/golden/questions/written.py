"""A small corpus of towns, and a model behind a loopback server that writes questions from what it reads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.golden.chat import ChatServer, Seen

from trueval.golden.build.golden_plan import JudgePlan, read_judge

TOWNS = ("Arlen", "Bexhill", "Corrie", "Dunmore", "Elgin", "Falkirk", "Girvan", "Hawick", "Irvine", "Keith")
SYNONYMS = {"bridge": "crossing", "built": "made", "stone": "rock"}


def corpus(folder: Path) -> Path:
    """Write a corpus of ten towns, with a copy of the first and a heading."""
    folder.mkdir(exist_ok=True)
    texts = {
        town: f"{town} has a stone bridge over the river that was built in {1700 + place} by order of the council."
        for place, town in enumerate(TOWNS)
    }
    texts |= {"copy": texts["Arlen"], "heading": "Contents"}
    rows = ({"_id": name, "text": text} for name, text in texts.items())
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def town_of(text: str) -> str:
    return text.split(maxsplit=1)[0]


def write(seen: Seen) -> str:
    """A question in words of the passage; in other words where it is told which to avoid."""
    towns, system = [town_of(text) for text in seen.passages], seen.body["messages"][0]["content"]
    if "admits that it has no answer" in system:
        asked, answer = f"who paid for the bridge of {towns[0]}", "the payer"
    elif "what the passages say together" in system:
        asked, answer = f"is the bridge of {towns[0]} older than that of {towns[1]}", "yes"
    else:
        asked, answer = f"when was the stone bridge of {towns[0]} built", re.findall(r"\d{4}", seen.passages[0])[0]
    avoided = [each.strip() for each in seen.query.split(",")]
    for word, other in SYNONYMS.items():
        asked = asked.replace(word, other) if word in avoided else asked
    return json.dumps({"question": asked, "answer": answer})


def judge(server: ChatServer, **given: Any) -> JudgePlan:
    """The plan of a model behind the server."""
    server.write = write
    prices = {"price_per_million_input": 1.0, "price_per_million_output": 2.0}
    return read_judge("served", {"base_url": server.url, "api_key_env": "", "concurrency": 2, **prices, **given})
