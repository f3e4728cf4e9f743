"""Makes the two runs of the embedded sample that `trueval demo` evaluates, from the sample's own texts.

`bm25` scores words with BM25 and keeps float32. `ngrams-bf16` scores character 4-grams with BM25, standardizes the
scores of a query to z-scores, turns them into probabilities with a sigmoid, as rerankers do, and stores those in
bfloat16, which holds 128 values between one half and one.

Run it with: python examples/make_sample_runs.py
"""

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import ml_dtypes
import numpy as np

SAMPLE = Path(__file__).resolve().parents[1] / "src" / "trueval" / "sample"
K1, B = 1.2, 0.75  # Robertson & Zaragoza 2009, section 3.5: 1.2 < k1 < 2 and 0.5 < b < 0.8
DEPTH = 1000
GRAM = 4

Scores = dict[str, float]
Terms = Callable[[str], list[str]]


def read_texts(path: Path) -> dict[str, str]:
    """Id → title and text of every line of a BEIR-shaped jsonl file."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["_id"]: f"{row.get('title', '')} {row['text']}".strip() for row in rows}


def words(text: str) -> list[str]:
    """The words of a text in lower case, without accents."""
    plain = "".join(char for char in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(char))
    return re.findall(r"\w+", plain)


def grams(text: str) -> list[str]:
    """The character 4-grams of a text's words, each word with a blank on both sides."""
    padded = [f" {word} " for word in words(text)]
    return [word[at : at + GRAM] for word in padded for at in range(max(1, len(word) - GRAM + 1))]


def bm25(query: str, documents: Mapping[str, Counter[str]], terms: Terms) -> Scores:
    """The BM25 score of every document that shares a term with the query."""
    lengths = {name: counts.total() for name, counts in documents.items()}
    mean_length = sum(lengths.values()) / len(lengths)
    scores: Scores = Counter()
    for term in sorted(set(terms(query))):
        holders = [name for name, counts in documents.items() if term in counts]
        idf = math.log(1 + (len(documents) - len(holders) + 0.5) / (len(holders) + 0.5))
        for name in holders:
            count = documents[name][term]
            scores[name] += idf * count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[name] / mean_length))
    return dict(scores)


def probabilities(scores: Scores) -> Scores:
    """The sigmoid of the z-scores of one query, stored in bfloat16."""
    values = np.fromiter(scores.values(), dtype=np.float64)
    z = (values - values.mean()) / values.std()
    stored = (1 / (1 + np.exp(-z))).astype(np.float32).astype(ml_dtypes.bfloat16)
    return dict(zip(scores, stored.astype(np.float64).tolist(), strict=True))


def lines(query_id: str, scores: Scores, tag: str) -> list[str]:
    """The TREC lines of one query: best first; equal scores keep the order of the corpus."""
    best = sorted(scores.items(), key=lambda item: -item[1])[:DEPTH]
    return [
        f"{query_id} Q0 {name} {rank} {np.float32(score)!s} {tag}" for rank, (name, score) in enumerate(best, start=1)
    ]


def make(tag: str, terms: Terms, finish: Callable[[Scores], Scores]) -> str:
    """The text of one run file."""
    documents = {name: Counter(terms(text)) for name, text in read_texts(SAMPLE / "corpus.jsonl").items()}
    queries = read_texts(SAMPLE / "queries.jsonl")
    order = list(documents)
    rows: list[str] = []
    for query_id, query in queries.items():
        scores = finish(bm25(query, documents, terms))
        rows += lines(query_id, {name: scores[name] for name in order if name in scores}, tag)
    return "".join(f"{row}\n" for row in rows)


def make_runs() -> dict[str, str]:
    """File name → text of both runs."""
    return {
        "bm25.trec": make("bm25", words, lambda scores: scores),
        "ngrams-bf16.trec": make("ngrams-bf16", grams, probabilities),
    }


def main() -> None:
    """Writes the run files and says where."""
    for name, text in make_runs().items():
        path = SAMPLE / "runs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        print(path.relative_to(SAMPLE.parents[2]))


if __name__ == "__main__":
    main()
