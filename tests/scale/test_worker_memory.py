"""The memory that a shard says it needs is within a factor of 1.5 of the peak of the worker that computes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.evidence, pytest.mark.slow]

BOUND = 1.5
TRIAL = Path(__file__).with_name("memory_trial.py")
# Each half in a process of its own, since the command and its worker both load the model.
DRIVER = """
import pickle, sys
import torch
from trueval.models.loading import load_model
from trueval.models.model_settings import settings_of
from trueval.models.model_shards import SharedPart
from trueval.models.output_part import OutputCache, OutputPart
from pathlib import Path

torch.set_num_threads(1)
model, dtype, batch, words, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5])
if model == "large":
    import transformers
    from trueval.models.model_location import find_model
    tokenizer = transformers.AutoTokenizer.from_pretrained(find_model("all-MiniLM-L6-v2").path)
    layers = {"num_hidden_layers": 12, "num_attention_heads": 12, "num_labels": 1}
    config = transformers.BertConfig(hidden_size=768, intermediate_size=3072, **layers)
    transformers.BertForSequenceClassification(config).save_pretrained(folder / "large")
    tokenizer.save_pretrained(folder / "large")
    model = f"cross-encoder:{folder / 'large'}"
loaded = load_model(model, dtype=dtype, device="cpu", batch_size=batch, max_length=256)
text = "the wing keeps the plane in the air by what it does to the flow " * 40
texts = [" ".join([str(i), *text.split()[:words]]) for i in range(4 * batch)]
pairs = hasattr(loaded, "pair_logits")
items = [("what is lift?", each) for each in texts] if pairs else texts
part = OutputPart("pairs" if pairs else "documents", items, texts, loaded.pair_logits if pairs else
                  loaded.embed_documents, lambda item: len(str(item)))
work = SharedPart(OutputCache(folder, "x", part), loaded, settings_of(loaded))
work.missing = [0]
(folder / "shard").write_bytes(pickle.dumps(next(work._jobs(part.forward.__name__, "absent"))))
"""
WORKER = """
import json, pickle, sys
from trueval.models.model_shards import compute_shard

with open(sys.argv[1], "rb") as file:
    shard = pickle.load(file)
compute_shard(shard)
with open("/proc/self/status") as file:  # getrusage has also what the parent took before it became this program
    peak = next(int(line.split()[1]) << 10 for line in file if "VmHWM" in line)
print(json.dumps({"needs": shard.needs.memory, "peak": peak}))
"""


def program(*arguments: object) -> str:
    """What Python printed."""
    command = [sys.executable, "-W", "ignore", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize(
    ("model", "dtype", "batch", "words"),
    [
        ("all-MiniLM-L6-v2", "float32", 8, 5),
        ("all-MiniLM-L6-v2", "float32", 32, 50),
        ("all-MiniLM-L6-v2", "float32", 32, 300),
        ("all-MiniLM-L6-v2", "float32", 128, 300),
        ("all-MiniLM-L6-v2", "bfloat16", 32, 300),
        ("large", "float32", 16, 300),
        ("large", "bfloat16", 16, 300),
    ],
)
def test_the_peak_of_a_worker_is_near_its_estimate(
    model: str, dtype: str, batch: int, words: int, tmp_path: Path
) -> None:
    program("-c", DRIVER, model, dtype, batch, words, tmp_path)
    found = json.loads(program("-c", WORKER, tmp_path / "shard").splitlines()[-1])
    check(f"{model} {dtype}, batches of {batch}, {words} words", found)


@pytest.mark.parametrize(
    ("kind", "documents", "dimension"),
    [
        ("mapped", 140_000, 384),
        ("mapped", 140_000, 1024),
        ("rounded", 140_000, 384),
        ("float8", 140_000, 384),
        ("float16", 140_000, 384),
        ("maxsim", 4_000, 128),
    ],
)
def test_the_peak_of_standings_is_near_their_estimate(
    kind: str, documents: int, dimension: int, tmp_path: Path
) -> None:
    lines = program(TRIAL, "standings", tmp_path, kind, documents, dimension).splitlines()
    assert len(lines) >= 2
    for line in lines:
        found = json.loads(line)
        check(f"{kind} {documents:,} x {dimension}, {found['item']}", found)


@pytest.mark.parametrize("documents", [2_000, 60_000])
@pytest.mark.parametrize(
    "kind", ["dense+sparse+hybrid flat", "dense+sparse hnsw(M=16)", "dense+sparse flat(storage='int8')"]
)
def test_the_peak_of_a_group_of_systems_is_near_its_estimate(kind: str, documents: int, tmp_path: Path) -> None:
    lines = program(TRIAL, "sweep", tmp_path, kind, documents, 384).splitlines()
    assert len(lines) == 2
    for line in lines:
        found = json.loads(line)
        check(f"{kind}, {documents:,} x 384, {found['item']}", found)


def check(name: str, found: dict[str, int]) -> None:
    """Print the estimate and the peak, which are within the bound."""
    ratio = found["needs"] / found["peak"]
    sizes = f"needs {found['needs'] / 2**20:.0f} MiB, peak {found['peak'] / 2**20:.0f} MiB"
    print(f"\n{name}: {sizes}, {ratio:.2f} times")
    assert 1 / BOUND < ratio < BOUND
