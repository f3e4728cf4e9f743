"""What high-precision scoring costs on an accelerator, with the architecture of Qwen3-Reranker-0.6B and random weights.

Run it with: python benchmarks/hps_gpu.py [--batches 1,8,32] [--lengths 128,512,2048]
It compares the forward pass in bfloat16 and float32, and low and high scoring of the same bfloat16 logits, in time and
in peak memory of the device. It needs the extra models and a CUDA device; without one it says so and measures nothing.
"""

import argparse
import statistics
from collections.abc import Callable
from typing import Any

from trueval.scoring import softmax

# Qwen/Qwen3-Reranker-0.6B, config.json.
SIZES = {
    "vocab_size": 151669,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40960,
    "rope_theta": 1_000_000,
    "tie_word_embeddings": True,
}
ANSWERS = (2152, 9693)  # tokens of "no" and "yes"; with random weights any two would do
REPEATS = 20


def timed(torch: Any, call: Callable[[], Any]) -> tuple[float, int]:
    """Median milliseconds on the device, and the bytes that the call adds to the peak."""
    call()
    torch.cuda.synchronize()
    held = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(REPEATS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times), torch.cuda.max_memory_allocated() - held


def language_model(torch: Any, dtype: Any) -> Any:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    with torch.device("cuda"):
        return Qwen3ForCausalLM(Qwen3Config(**SIZES)).to(dtype).eval()


def measure(torch: Any, batches: list[int], lengths: list[int]) -> None:
    print(f"{'dtype':>9} {'batch':>5} {'tokens':>6} {'step':>8} {'ms':>10} {'of forward':>11} {'peak bytes':>13}")
    for dtype in (torch.bfloat16, torch.float32):
        model = language_model(torch, dtype)
        for batch in batches:
            for length in lengths:
                row(torch, model, dtype, batch, length)
        del model
        torch.cuda.empty_cache()


def row(torch: Any, model: Any, dtype: Any, batch: int, length: int) -> None:
    """The forward pass, and both scorings of its logits."""
    ids = torch.randint(1000, 150000, (batch, length), device="cuda")
    answers = list(ANSWERS)

    def forward() -> Any:
        return model(input_ids=ids, logits_to_keep=1, use_cache=False).logits[:, -1, answers]

    with torch.inference_mode():
        logits = forward()
        name = str(dtype).removeprefix("torch.")
        steps: dict[str, Callable[[], Any]] = {"forward": forward}
        steps |= {"low": lambda: softmax(logits, name), "high": lambda: softmax(logits, "float32")}
        whole = None
        for step, call in steps.items():
            milliseconds, peak = timed(torch, call)
            whole = whole or milliseconds
            share = f"{milliseconds / whole:.4%}"
            print(f"{name:>9} {batch:5} {length:6} {step:>8} {milliseconds:10.4f} {share:>11} {peak:13}")


def main() -> None:
    options = argparse.ArgumentParser(description="The cost of high-precision scoring on an accelerator.")
    options.add_argument("--batches", default="1,8,32")
    options.add_argument("--lengths", default="128,512,2048")
    chosen = options.parse_args()
    try:
        import torch
        import transformers
    except ImportError:
        print("needs the extra models; nothing measured")
        return
    if not torch.cuda.is_available():
        print("no CUDA device here; nothing measured")
        return
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, transformers {transformers.__version__}")
    measure(torch, *([int(one) for one in text.split(",")] for text in (chosen.batches, chosen.lengths)))


if __name__ == "__main__":
    main()
