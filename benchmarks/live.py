"""Live retrieval against what a server allows: calls per second of `retrieve_live` and of a bare loop of http.client.

Run it with: python benchmarks/live.py [--calls 2000] [--rounds 5] [--seconds 0.02] [-k 100]
The server is a process of its own, answers after a fixed time with k documents, and takes any number of calls at once.
The bare loop sends the same requests from as many threads and reads the bytes of the answers; ours also decodes them,
finds the documents and keeps each answer in a ledger. The two are called in turn in each round, after one call of both
that is not counted. "kept" is the median over rounds of ours as a share of the bare loop in the same round.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote

from support.apart import machine

from trueval.retrieval.live.live import retrieve_live

AT_ONCE = (1, 8, 32)


class Answers(asyncio.Protocol):
    """Answers every request with the same bytes after some seconds."""

    def __init__(self, answer: bytes, seconds: float) -> None:
        self.answer, self.seconds = answer, seconds

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self.transport, self.held = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer where a request ends."""
        self.held += data
        while b"\r\n\r\n" in self.held:
            self.held = self.held.partition(b"\r\n\r\n")[2]
            asyncio.get_running_loop().call_later(self.seconds, self.transport.write, self.answer)  # type: ignore[attr-defined]


async def serve(seconds: float, k: int) -> None:
    """Print the port, and answer until the process ends."""
    body = json.dumps({"hits": [{"id": f"document-{rank:06}", "score": 1 / (rank + 1)} for rank in range(k)]}).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Answers(head.encode() + body, seconds), "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def bare(port: int, calls: int, at_once: int) -> float:
    """Calls per second of threads that send and read, and do nothing else."""
    left = iter(range(calls))

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for number in left:
            connection.request("GET", f"/search?q={quote(f'question {number}')}&k=100")
            connection.getresponse().read()
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(at_once)]
    begin = time.perf_counter()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return calls / (time.perf_counter() - begin)


def ours(port: int, calls: int, at_once: int, k: int) -> tuple[float, float]:
    """Calls per second until the last answer, and until the result; processor milliseconds of a call until then."""
    url = f"http://127.0.0.1:{port}/search?q={{text}}&k={{k}}"
    queries = {f"q{number}": f"question {number}" for number in range(calls)}
    last = [0.0, 0.0]

    def note(_: str, count: int, total: int) -> None:
        if count == total:
            last[:] = time.perf_counter(), time.process_time()

    with tempfile.TemporaryDirectory() as folder:
        begin, used = time.perf_counter(), time.process_time()
        retrieve_live(url, queries, k, at_once=at_once, ledger=Path(folder) / "ledger.jsonl", done=note)
        return calls / (last[0] - begin), 1000 * (last[1] - used) / calls


def main() -> None:
    """Print a line for each number of calls at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000, help="of each contender in a round; 1 at once makes a tenth")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.02, help="that the server takes")
    parser.add_argument("-k", type=int, default=100, help="documents of an answer")
    parser.add_argument("--at-once", type=int, nargs="+", default=AT_ONCE, help="calls at once")
    parser.add_argument("--serve", action="store_true", help="be the server")
    chosen = parser.parse_args()
    if chosen.serve:
        asyncio.run(serve(chosen.seconds, chosen.k))
        return
    line = [sys.executable, __file__, "--serve", "--seconds", str(chosen.seconds), "-k", str(chosen.k)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        try:
            print(machine(), f"{chosen.seconds * 1000:g} ms a call, {chosen.k} documents", sep="\n")
            print(
                "| calls at once | bare loop, calls/s | ours | kept | our processor ms a call |\n|---|---|---|---|---|"
            )
            for at_once in chosen.at_once:
                calls = max(chosen.calls // (10 if at_once == 1 else 1), 1)
                bare(port, calls, at_once), ours(port, calls, at_once, chosen.k)
                rounds = [
                    (bare(port, calls, at_once), *ours(port, calls, at_once, chosen.k)) for _ in range(chosen.rounds)
                ]
                allowed, reached, used = (statistics.median(column) for column in zip(*rounds, strict=True))
                kept = statistics.median(each[1] / each[0] for each in rounds)
                print(f"| {at_once} | {allowed:.1f} | {reached:.1f} | {kept:.1%} | {used:.3f} |", flush=True)
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
