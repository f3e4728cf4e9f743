"""Claims judged against what a server allows: calls per second of `judge_answers` through a server of planted delays.

Run it with: python benchmarks/judged.py [--answers 1000] [--passages 8] [--seconds 0.5] [--at-once 32]
The server is a process of its own, answers after a fixed time, and takes any number of calls at once, so it allows
at-once / seconds calls per second. The bare loop posts as many bodies of about that size from as many threads of
http.client and does nothing with the answers: what it lacks to the allowed rate, this machine lacks. Ours counts from
the start of the judge to its last answer in the ledger: reading the log, making questions and the first calls, in which
the throttle learns, are within it.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

from support.apart import machine

from trueval.answers.judge_answers import judge_answers
from trueval.errors import TruevalWarning
from trueval.golden.build.golden_plan import read_judge

_PASSAGE = re.compile(rb"=== passage (\d+) [0-9a-f]{16} ===")
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Answers(asyncio.Protocol):
    """Answers a chat completion after some seconds: every passage supports the claim."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self.transport, self.held = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer where a request ends."""
        self.held += data
        while b"\r\n\r\n" in self.held:
            head, _, rest = self.held.partition(b"\r\n\r\n")
            found = _LENGTH.search(head)
            length = int(found[1]) if found else 0
            if len(rest) < length:
                return
            body, self.held = rest[:length], rest[length:]
            asyncio.get_running_loop().call_later(self.seconds, self.answer, body)

    def answer(self, body: bytes) -> None:
        """Write what a model would say."""
        numbers = sorted({int(each) for each in _PASSAGE.findall(body)})
        said = json.dumps({"passages": [{"passage": each, "reason": "it says so", "grade": 3} for each in numbers]})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        usage = {"prompt_tokens": len(body) // 4, "completion_tokens": len(said) // 4}
        whole = {"id": "1", "object": "chat.completion", "model": "served-1", "choices": [choice], "usage": usage}
        data = json.dumps(whole).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        self.transport.write(head.encode() + data)  # type: ignore[attr-defined]


async def serve(seconds: float) -> None:
    """Print the port, and answer until the process ends."""
    server = await asyncio.get_running_loop().create_server(lambda: Answers(seconds), "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def write_log(path: Path, answers: int, passages: int) -> None:
    """Answers of two claims, references of one, passages of about 100 words."""
    with path.open("w", encoding="utf-8") as file:
        for at in range(answers):
            texts = [
                f"Shelf {place} holds box {at}. " + "It stands among other boxes. " * 20 for place in range(passages)
            ]
            row = {
                "query_id": f"q{at}",
                "question": f"Where is box {at}?",
                "answer": f"Box {at} is on shelf 1. Box {at} is not empty.",
                "reference": f"Box {at} stands on shelf 1.",
                "contexts": texts,
            }
            file.write(json.dumps(row) + "\n")


def bare(port: int, calls: int, passages: int, at_once: int) -> float:
    """Calls per second of threads that post and read, and do nothing else."""
    said = "It stands among other boxes. " * 20 * passages
    body = json.dumps({"model": "served", "messages": [{"role": "user", "content": said}]}).encode()
    left = iter(range(calls))

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for _ in left:
            connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
            connection.getresponse().read()
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(at_once)]
    begin = time.perf_counter()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return calls / (time.perf_counter() - begin)


def measure(port: int, answers: int, passages: int, at_once: int) -> tuple[int, int, float, float, float]:
    """Calls, missing labels, seconds until the last answer and until the table, processor milliseconds of a call."""
    with tempfile.TemporaryDirectory() as folder:
        log, last, used = Path(folder) / "log.jsonl", [0.0], time.process_time()
        write_log(log, answers, passages)
        url = f"http://127.0.0.1:{port}/v1"
        prices = {"price_per_million_input": 1.0, "price_per_million_output": 2.0}
        plan = read_judge(
            "served", {"base_url": url, "api_key_env": "", "concurrency": at_once, "rounds": 1, "batch": 10, **prices}
        )

        def note(_: str, count: int, total: int) -> None:
            if count == total:
                last[0] = time.perf_counter()

        begin, used = time.perf_counter(), time.process_time()
        found = judge_answers(str(log), Path(folder) / "out", plan, begin=lambda _: note)
        whole, worked = time.perf_counter() - begin, time.process_time() - used
        calls = found.usage.calls
        return calls, found.missing, last[0] - begin, whole, 1000 * worked / calls


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--passages", type=int, default=8, help="of each answer")
    parser.add_argument("--seconds", type=float, default=0.5, help="that the server takes")
    parser.add_argument("--at-once", type=int, default=32, help="calls at once")
    parser.add_argument("--serve", action="store_true", help="be the server")
    chosen = parser.parse_args()
    if chosen.serve:
        asyncio.run(serve(chosen.seconds))
        return
    warnings.simplefilter("ignore", TruevalWarning)  # the notice before calls
    line = [sys.executable, __file__, "--serve", "--seconds", str(chosen.seconds)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        try:
            print(machine(), f"{chosen.seconds * 1000:g} ms a call, {chosen.passages} passages", sep="\n")
            calls, missing, last, whole, used = measure(port, chosen.answers, chosen.passages, chosen.at_once)
            allowed = chosen.at_once / chosen.seconds
            loop = bare(port, calls, chosen.passages, chosen.at_once)
            print(
                "| calls at once | calls | no label | allowed, calls/s | bare loop | ours | of allowed | of the loop |"
            )
            print("|---|---|---|---|---|---|---|---|")
            rate = calls / last
            rates = f"{allowed:g} | {loop:.1f} | {rate:.1f} | {rate / allowed:.1%} | {rate / loop:.1%}"
            print(f"| {chosen.at_once} | {calls} | {missing} | {rates} |")
            print(f"until the table {calls / whole / allowed:.1%} of allowed; {used:.2f} ms of processors a call")
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
