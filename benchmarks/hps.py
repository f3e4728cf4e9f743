"""What high-precision scoring costs: against low-precision scoring, and against the forward pass.

Run it with: python benchmarks/hps.py [--batches 1,8,32] [--lengths 32,128,256]
The model is a BERT of MiniLM's size (6 layers of 384) with random weights in bfloat16 and two labels: time does not
depend on what the weights are. It needs the extra models.
"""

import argparse
import os
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from trueval.numerics import storage_dtype
from trueval.scoring import softmax

LABELS = 2


def seconds(call: Callable[[], Any], least: int, budget: float = 0.5) -> list[float]:
    """Seconds of each call, after one to warm up: so many at least, and more while the budget lasts."""
    call()
    found: list[float] = []
    while len(found) < least or sum(found) < budget:
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return found


def reranker(torch: Any, dtype: Any) -> Any:
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, num_labels=LABELS
    )
    torch.manual_seed(0)
    return BertForSequenceClassification(config).to(dtype).eval()


def overhead(torch: Any, batches: list[int], lengths: list[int]) -> None:
    """One line for each batch size and length: medians in microseconds, and high-precision scoring as a share.

    CPUs without bfloat16 arithmetic run float32 faster, so the share is that of the faster forward pass.
    """
    model, wide = (reranker(torch, dtype) for dtype in (torch.bfloat16, torch.float32))
    heads = ("forward bf16", "forward fp32", "low", "high", "high/forward")
    print(f"{'batch':>5} {'tokens':>6} ", *(f"{head:>12}" for head in heads))
    for batch in batches:
        for length in lengths:
            ids = torch.randint(1000, 20000, (batch, length))
            with torch.inference_mode():
                forward = [seconds(lambda ids=ids, each=each: each(input_ids=ids), 3) for each in (model, wide)]
                logits = model(input_ids=ids).logits
                low = seconds(lambda logits=logits: softmax(logits, "bfloat16"), 50)
                high = seconds(lambda logits=logits: softmax(logits, "float32"), 50)
            medians = [1e6 * statistics.median(times) for times in (*forward, low, high)]
            print(f"{batch:5} {length:6} ", *(f"{each:12.1f}" for each in medians), end=" ")
            print(f"{medians[3] / min(medians[:2]):12.4%}")


def memory(pairs: int) -> None:
    """Peak memory of scoring stored logits, beside what the logits themselves take."""
    logits = np.zeros((pairs, LABELS), dtype=storage_dtype("bfloat16"))
    for name in ("bfloat16", "float32"):
        tracemalloc.start()
        softmax(logits, name)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"{pairs} pairs scored in {name}: {peak / pairs:.1f} bytes a pair at peak, logits {LABELS * 2}")


def main() -> None:
    options = argparse.ArgumentParser(description="The cost of high-precision scoring.")
    options.add_argument("--batches", default="1,8,32")
    options.add_argument("--lengths", default="32,128,256")
    options.add_argument("--pairs", type=int, default=1_000_000)
    chosen = options.parse_args()
    try:
        import torch
        import transformers
    except ImportError:
        print("needs the extra models; nothing measured")
        return
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    print(f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, {versions}")
    overhead(torch, *([int(one) for one in text.split(",")] for text in (chosen.batches, chosen.lengths)))
    memory(chosen.pairs)


if __name__ == "__main__":
    main()
