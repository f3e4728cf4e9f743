"""What high-precision scoring costs: against low-precision scoring, the forward pass, a request and a training step.

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


def serving(torch: Any, candidates: int = 30, length: int = 128, requests: int = 20) -> None:
    """A request as a service answers it: one pass over its candidates, scoring in turns low and high, and the measure.

    The measure is nDCG@10 with its tie range, of the one list, as a service that watches its own lists computes it.
    """
    from trueval import evaluate

    model = reranker(torch, torch.bfloat16)
    rng = np.random.default_rng(0)
    names = [f"d{place}" for place in range(candidates)]
    grades = {"q": {name: int(rng.integers(0, 3)) for name in names}}
    taken: dict[str, list[float]] = {"forward": [], "low": [], "high": [], "measure": []}
    for _ in range(requests):
        ids = torch.randint(1000, 20000, (candidates, length))
        with torch.inference_mode():
            begin = time.perf_counter()
            logits = model(input_ids=ids).logits
            taken["forward"].append(time.perf_counter() - begin)
        for name, dtype in (("low", "bfloat16"), ("high", "float32")):
            begin = time.perf_counter()
            scores = softmax(logits, dtype)
            taken[name].append(time.perf_counter() - begin)
        run = {"q": dict(zip(names, scores.float().tolist(), strict=True))}
        begin = time.perf_counter()
        evaluate(run, grades, "nDCG@10")
        taken["measure"].append(time.perf_counter() - begin)
    shares = {
        name: statistics.median(t / f for t, f in zip(times, taken["forward"], strict=True))
        for name, times in taken.items()
    }
    middle = {name: 1e3 * statistics.median(times) for name, times in taken.items()}
    print(
        f"a request of {candidates} candidates of {length} tokens: forward {middle['forward']:.1f} ms; scoring low "
        f"{middle['low']:.3f} ms ({shares['low']:.4%}), high {middle['high']:.3f} ms ({shares['high']:.4%}); "
        f"a tie-aware measure of its list {middle['measure']:.3f} ms ({shares['measure']:.3%})"
    )


def training(torch: Any, queries: int = 500, batch: int = 16, length: int = 128, steps: int = 10) -> None:
    """Steps of training, and an evaluation between them: that of sentence-transformers, and the tie-aware one.

    Scores are drawn, so that only what an evaluator does besides the model's passes is timed.
    """
    try:
        from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator as Theirs

        from trueval.integrations.sentence_transformers import CrossEncoderRerankingEvaluator as Ours
    except ImportError as error:
        print(f"an evaluation between steps: {error}; not measured")
        return
    model = reranker(torch, torch.float32).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def step() -> None:
        ids, labels = torch.randint(1000, 20000, (batch, length)), torch.randint(0, LABELS, (batch,))
        model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    class Drawn:
        """A model whose scores take no time, in steps of bfloat16 so that some tie."""

        def __init__(self) -> None:
            self.model_card_data = self

        def set_evaluation_metrics(self, *_: Any) -> None:
            """Take what an evaluator writes into a card."""

        def predict(self, pairs: list[Any], **_: Any) -> Any:
            return rng.integers(100, 200, len(pairs)).astype(np.float32) / 256

    rng = np.random.default_rng(0)
    samples = [
        {"query": f"q{at}", "positive": [f"p{at}"], "negative": [f"n{at}-{other}" for other in range(9)]}
        for at in range(queries)
    ]
    per_step = statistics.median(seconds(step, steps))
    print(f"a step of training, {batch} pairs of {length} tokens in float32: {1e3 * per_step:.0f} ms")
    for name, kind in (("sentence-transformers", Theirs), ("tie-aware", Ours)):
        evaluator = kind(samples, write_csv=False, show_progress_bar=False)
        taken = statistics.median(seconds(lambda evaluator=evaluator: evaluator(Drawn()), 5))
        told = f"{1e3 * taken:.0f} ms, {taken / per_step:.2f} of a step"
        print(f"an evaluation of {queries} queries of 10 candidates, {name}: {told}, without its passes")


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
    serving(torch)
    training(torch)


if __name__ == "__main__":
    main()
