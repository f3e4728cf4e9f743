"""How fast a log is judged: 1,000 answers of 8 passages at 32 calls at once, against what the server allows."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.answers.small import write_lines
from tests.extras import need
from tests.golden import test_throughput
from tests.golden.test_throughput import served

from trueval.answers.judge_answers import judge_answers
from trueval.golden.build.golden_plan import read_judge

need("openai", extra="judge")
ANSWERS, AT_ONCE, SECONDS = 1_000, 32, 1.0


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")  # the notice before calls
def test_own_time_of_1000_answers_is_under_two_percent_of_their_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call takes a second and shows 8 passages of 40 words; from 1 call at once the client goes to 32 by itself.

    Own time is that of the processor: reading the log, the ledger and the table too. The share of what the server
    allows, 32 calls a second, is printed alone: where others work on this machine it is theirs too.
    """
    monkeypatch.setattr(test_throughput, "SERVER", test_throughput.SERVER.replace(" = 0.1\n", f" = {SECONDS}\n"))
    rows = [
        {
            "query_id": f"q{at}",
            "question": f"What is number {at}?",
            "answer": f"Number {at} is whole.",
            "contexts": [f"passage {at} {place} " * 13 for place in range(8)],
        }
        for at in range(ANSWERS)
    ]
    log = write_lines(tmp_path / "log.jsonl", *rows)
    with served() as (url, seen):
        plan = read_judge("served", {"base_url": url, "api_key_env": "", "concurrency": AT_ONCE, "rounds": 1})
        began, worked = time.perf_counter(), time.process_time()
        found = judge_answers(log, tmp_path / "out", plan)
        whole, own = time.perf_counter() - began, (time.process_time() - worked) / ANSWERS
        there = seen()
    share = ANSWERS / whole / (AT_ONCE / SECONDS)
    print(
        f"\n{ANSWERS:,} calls in {whole:.1f} s: {100 * share:.1f} % of what the server allows, {there.most} at once; "
        f"own time {1000 * own:.1f} ms a call, {100 * own / SECONDS:.2f} % of it"
    )
    assert (found.usage.calls, found.missing, there.calls) == (ANSWERS, 0, ANSWERS)
    assert there.most == AT_ONCE
    assert own < 0.02 * SECONDS
