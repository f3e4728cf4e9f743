"""Answers over real texts, and from a real model: French questions of the CNIL and of PIAF, and a tiny transformer."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from tests.answers.generation.planted_corpus import write_corpus
from tests.models import tiny

from trueval.answers.generation.brittle_answers import brittle_answers
from trueval.answers.generation.generate_answers import generate_answers

COLLECTIONS = Path(__file__).parents[3].parent / "shared" / "data" / "collections"


@pytest.fixture(scope="module", params=["cnil-faq-fr", "piaf-v1.0-fr"])
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 questions; lists by the number of shared words, which ties often; references are the gold documents."""
    source = COLLECTIONS / request.param
    if not source.is_dir():
        pytest.skip(f"shared/data/collections/{request.param} is not here")
    folder = tmp_path_factory.mktemp(request.param)
    read = {
        name: [json.loads(line) for line in (source / f"{name}.jsonl").read_text("utf-8").splitlines()]
        for name in ("corpus", "queries")
    }
    words = {each["_id"]: Counter(re.findall(r"\w+", each["text"].lower())) for each in read["corpus"]}
    texts = {each["_id"]: each["text"] for each in read["corpus"]}
    gold = {row.split()[0]: row.split()[2] for row in (source / "qrels.trec").read_text().splitlines()}
    rows = []
    for query in read["queries"][:120]:
        asked = {*re.findall(r"\w{4,}", query["text"].lower())}
        score = {id: len(asked & found.keys()) for id, found in words.items()}
        best = sorted(score, key=lambda id: -score[id])[:20]
        rows += [f"{query['_id']} Q0 {id} {rank} {score[id]} words\n" for rank, id in enumerate(best)]
    (folder / "run.trec").write_text("".join(rows))
    lines = [{"query_id": query, "reference": texts[document]} for query, document in gold.items()]
    (folder / "references.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    (folder / "answers.toml").write_text(
        f'[corpus]\npath = "{source}"\n[answers]\nrun = "run.trec"\nreferences = "references.jsonl"\norders = 2\n'
        '[generate]\nmodel = "extractive"\ncontexts = 3\n'
    )
    return folder


@pytest.mark.slow
def test_extracts_of_real_texts_lose_in_retrieval_and_by_ties(real: Path) -> None:
    """A sentence of the gold document shares words with it; one of another document fewer."""
    found = generate_answers(real / "answers.toml", real / "out")
    assert found.questions == 120
    assert found.ties.questions > 60, "shared words are few numbers"
    assert found["none"].value < found["system"].value < found["gold"].value
    assert found["retrieval"].low > 0
    assert found["retrieval"].value + found["reading"].value == pytest.approx(1 - found["system"].value)
    system = next(each for each in found.contexts if each.mean.name == "system")
    assert system.tie_lowest < system.mean.value < system.tie_highest


@pytest.mark.slow
def test_distractors_of_real_texts_mislead_an_extract(real: Path) -> None:
    found = brittle_answers(real / "answers.toml", real / "brittle")
    slope = found.slope("extractive", "high-scoring")
    assert slope.questions > 100
    assert slope.high < 0


@pytest.mark.slow
def test_a_tiny_model_of_transformers_answers_for_real(tmp_path: Path) -> None:
    """Its words are random, its tokens and times are not."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    tiny.qwen(tmp_path / "model", causal=True)
    every = list(range(json.loads((tmp_path / "model/config.json").read_text())["vocab_size"]))
    ends = {"eos_token_id": every}  # any token ends an answer, which would else be cut off, and so not known
    (tmp_path / "model/generation_config.json").write_text(json.dumps(ends))
    generate = {"model": "local:model", "max_tokens": 4, "contexts": 1}
    asked = {"contexts": ["none", "system", "gold"]}
    config = write_corpus(tmp_path, 2, generate=generate, asked=asked)
    found = generate_answers(config, tmp_path / "out")
    assert [each.passages for each in found.times] == [0, 1]
    assert all(0 < each.first["p50"].value <= each.whole["p50"].value for each in found.times)
    assert all(each.tokens_out <= 4 for each in found.times)
    assert found.usage.tokens_in > 100
    assert generate_answers(config, tmp_path / "out") == found
