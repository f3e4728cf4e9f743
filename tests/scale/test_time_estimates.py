"""Estimates of time are within a factor of 1.5 of what was measured: a dry run's, and the time left at half of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.evidence, pytest.mark.slow]

BOUND = 1.5
CLOCK = {"threads": "the processor's clock", "processes": "the clock"}
DRIVER = """
import json, random, sys, tempfile, time
from pathlib import Path

def main(kind, on, count):
    if on == "threads":  # by the processor's clock, since other work on this machine would be in that of the wall
        time.perf_counter = time.process_time
    import numpy as np
    import torch
    torch.set_num_threads(1)
    from trueval.cli.progress import Heartbeat
    from trueval.models.loading import load_model
    from trueval.models.missing_work import MissingPart
    from trueval.models.model_settings import settings_of
    from trueval.models.model_speed import expected_seconds
    from trueval.models.output_part import OutputPart
    from trueval.models.outputs import part_outputs
    from trueval.threads import Processes
    words = "the wing of a plane pushes air down so lift keeps it up while drag slows each part".split()
    rng = random.Random(7)
    length = (lambda: rng.randint(3, 60)) if kind == "even" else (lambda: min(200, int(rng.lognormvariate(3, .8)) + 1))
    texts = [f"{i} " + " ".join(rng.choices(words, k=length())) for i in range(count)]
    model = load_model("all-MiniLM-L6-v2", dtype="float32", device="cpu", batch_size=8)
    part = OutputPart("documents", texts, texts, model.embed_documents, len)
    dry = expected_seconds(MissingPart("documents", model, part, np.arange(count)))
    steps = []
    with tempfile.TemporaryDirectory() as folder, Processes(2 if on == "processes" else 1) as executor:
        began, beat = time.perf_counter(), Heartbeat()
        def step(name, done, of):
            beat.tell(name, done, of)
            now = time.perf_counter()
            steps.append((now - began, done, beat.seconds_left(now)))
        part_outputs(model, part, settings_of(model), folder=Path(folder), step=step,
                     executor=None if on == "threads" else executor)
        took = time.perf_counter() - began
    at, _, left = next(each for each in steps if each[1] >= count / 2)
    print(json.dumps({"dry": dry, "took": took, "at": at, "left": left}))

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
"""


@pytest.mark.parametrize("on", ["threads", "processes"])
@pytest.mark.parametrize("kind", ["even", "skewed"])
def test_estimates_of_time(kind: str, on: str, tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), kind, on, "4000"],
        env={**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    left = found["left"] / (found["took"] - found["at"])
    print(
        f"\n{kind} lengths, {on}: {found['took']:.0f} s by {CLOCK[on]}; a dry run said {found['dry']:.0f} s of one "
        f"process; after {found['at']:.0f} s {found['left']:.0f} s were left by the speed so far, "
        f"{left:.2f} times what it took"
    )
    assert 1 / BOUND < left < BOUND
    if on == "threads":
        assert 1 / BOUND < found["dry"] / found["took"] < BOUND
