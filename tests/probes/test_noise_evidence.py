"""What the rules of denoising do on real queries: clean ones stay; unknown templates show what the rules are worth."""

from pathlib import Path

import pytest

from trueval.collection import read_queries
from trueval.probes.denoising_accuracy import count_changed_queries, measure_denoising_by_level

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "collections"
CLEAN = {"piaf-v1.0-fr": "fr", "cnil-faq-fr": "fr", "scifact-test": "en", "cranfield": "en"}


@pytest.mark.evidence
@pytest.mark.parametrize("name", CLEAN)
def test_real_queries_stay_as_they_are(name: str) -> None:
    path = DATA / name / "queries.jsonl"
    if not path.is_file():
        pytest.skip(f"needs the collection {name} in shared/data/collections")
    queries = list(read_queries(path).values())
    found = count_changed_queries(queries)
    print(name, found)
    assert found.changed <= 0.01 * found.queries
    strips = measure_denoising_by_level(queries[:100], CLEAN[name], (1, 2, 3, 4), ("known", "held-out"), 0)
    for each in strips:
        print(each)
        assert each.question_lost < 0.03
    known, other = ([each.recall for each in strips if each.templates == bank] for bank in ("known", "held-out"))
    # The rules undo what they were written for, and a part of anything else alone.
    assert min(known) > 0.85
    assert max(other) < min(known)
