"""A log of answers, and a server on this machine that judges it for tools whose own prompts it knows nothing of.

It reads claims ("Box 3 is red.") and facts ("box 3: red.") out of any prompt, and answers in the form that is asked
for.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from trueval.answers.answer_logs import read_answers
from trueval.answers.claim_table import cells_of, texts_of

COLORS = ("red", "blue", "green", "black")
# Schemas of answers, of Ragas and of DeepEval: their names stand in what is sent.
FORMS = ("StatementGeneratorOutput", "NLIStatementOutput", "Truths", "Claims", "Verdicts")
_CLAIM, _FACT = re.compile(r"Box \d+ is \w+\."), re.compile(r"box \d+: \w+\.")


def rows(questions: int) -> list[dict[str, Any]]:
    """Two to four claims a question, each in the context with the chance of its question."""
    rng, found = np.random.default_rng(5), []
    for at in range(questions):
        chance = rng.random()
        claims = [(10 * at + number, COLORS[int(rng.integers(4))]) for number in range(int(rng.integers(2, 5)))]
        facts = [f"box {box}: {color if rng.random() < chance else 'white'}." for box, color in claims]
        found.append(
            {
                "user_input": f"Which colors have the boxes of shelf {at}?",
                "response": " ".join(f"Box {box} is {color}." for box, color in claims),
                "retrieved_contexts": facts,
            }
        )
    return found


def holds(claim: str, text: str) -> bool:
    _, box, _, color = claim.rstrip(".").split()
    return f"box {box}: {color}." in text


def write_log(folder: Path, questions: int) -> tuple[str, str]:
    """The log in the keys of Ragas, and its judged table by the same truth."""
    log, table = folder / "log.jsonl", folder / "table.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows(questions)))
    labels = [
        {**cell._asdict(), "label": "supported" if holds(*texts_of(answer, cell)) else "not"}
        for answer in read_answers(str(log)).answers
        for cell in cells_of(answer)
    ]
    table.write_text("".join(json.dumps(row) + "\n" for row in labels))
    return str(log), str(table)


def judge(form: str, prompt: str) -> dict[str, Any]:
    """What a faithful judge says.

    Args:
        form: name of the answer's schema.
    """
    claims, facts = (list(dict.fromkeys(each.findall(prompt))) for each in (_CLAIM, _FACT))
    right = [holds(claim, " ".join(facts)) for claim in claims]
    answers: dict[str, Any] = {
        "StatementGeneratorOutput": {"statements": claims},
        "NLIStatementOutput": {
            "statements": [
                {"statement": claim, "reason": "", "verdict": int(ok)} for claim, ok in zip(claims, right, strict=True)
            ]
        },
        "Truths": {"truths": facts},
        "Claims": {"claims": claims},
        "Verdicts": {"verdicts": [{"verdict": "yes" if ok else "no", "reason": None} for ok in right]},
    }
    return dict(answers[form])


@contextmanager
def judge_server() -> Iterator[str]:
    """The URL of the server."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            prompt = "\n".join(str(each["content"]) for each in body["messages"])
            form = next(each for each in FORMS if f'"{each}"' in json.dumps(body).replace("\\", ""))
            message = {"role": "assistant", "content": json.dumps(judge(form, prompt))}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            about = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
            data = json.dumps({**about, "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
