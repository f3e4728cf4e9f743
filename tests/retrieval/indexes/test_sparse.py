"""BM25 against its formula, and the words that it counts."""

import math
import unicodedata
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from tests.extras import need

from trueval.errors import InputError
from trueval.files.texts.lazy_list import LazyList
from trueval.retrieval.indexes import analysis, postings
from trueval.retrieval.indexes.index import load_index, make_index

need("bm25s", extra="retrieval")

WORDS = ["wing", "flow", "heat", "shock", "layer", "plate"]


def made_texts(rng: np.random.Generator, documents: int) -> list[str]:
    """Texts of few words, so that many share some; the third is empty."""
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 12))) for _ in range(documents)]
    texts[2] = ""
    return texts


def naive(texts: list[str], query: str, k1: float, b: float) -> dict[int, float]:
    """BM25 by its formula, document by document."""
    bags = [Counter(text.split()) for text in texts]
    lengths = [sum(bag.values()) for bag in bags]
    mean = sum(lengths) / len(texts)
    found: dict[int, float] = {}
    for term in query.split():
        having = sum(term in bag for bag in bags)
        idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for place, bag in enumerate(bags):
            if bag[term]:
                part = idf * bag[term] / (bag[term] + k1 * (1 - b + b * lengths[place] / mean))
                found[place] = found.get(place, 0.0) + part
    return found


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.2, 0.75), (2.0, 0.0), (0.0, 1.0)])
def test_scores_are_those_of_the_formula(k1: float, b: float):
    rng = np.random.default_rng(int(10 * k1))
    texts = made_texts(rng, 60)
    index = make_index(f"bm25(k1={k1}, b={b}, language=None)")
    index.build(texts)
    queries = ["wing", "heat heat flow", "unknown plate", "unknown", ""]
    hits = index.search(queries, 100)
    for place, query in enumerate(queries):
        rows = slice(*hits.offsets[place : place + 2])
        found = dict(zip(hits.places[rows].tolist(), hits.scores[rows].tolist(), strict=True))
        assert found == pytest.approx(naive(texts, query, k1, b), abs=1e-9)
        assert (np.diff(hits.scores[rows]) <= 0).all()


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often the words of documents were looked for."""
    sparse = import_module("trueval.retrieval.indexes.sparse")
    monkeypatch.setattr(sparse, "_KEPT", type(sparse._KEPT)())
    times, documents = [], analysis.Analyzer.documents
    monkeypatch.setattr(analysis.Analyzer, "documents", lambda self, texts: times.append(1) or documents(self, texts))
    return times


def built(texts: list[str], spec: str) -> tuple[object, ...]:
    index = make_index(spec)
    index.build(texts)
    hits = index.search(["wing flow", "heat", "plate's"], 100)
    return hits.places.tolist(), hits.scores.tolist(), index.size(), index.notes


def test_indexes_of_other_k1_and_b_count_the_words_once(analysed: list[int]):
    texts = made_texts(np.random.default_rng(0), 50)
    specs = ("bm25", "bm25(k1=2)", "bm25(k1=1.2, b=1)", "bm25(b=0)", "bm25")
    shared = [built(texts, spec) for spec in specs]
    assert len(analysed) == 1
    apart = []
    for spec in specs:
        built(["another corpus"], spec)
        apart.append(built(texts, spec))
    assert shared == apart
    assert shared[0] == shared[-1] != shared[1]


def test_other_texts_and_another_analysis_are_counted_anew(analysed: list[int]):
    texts = made_texts(np.random.default_rng(0), 50)
    built(texts, "bm25")
    for others in ([*texts[:-1], "new"], [*texts[:-2], *texts[:-3:-1]], texts[:-1]):
        assert built(others, "bm25(k1=2)") == built(list(others), "bm25(k1=2)")
    assert len(analysed) == 4
    for spec in ("bm25(language=None)", "bm25(language=None, normalise=False)", "bm25(language='fr')"):
        built(texts, spec)
    assert len(analysed) == 7


def test_counts_that_are_too_large_are_not_kept(analysed: list[int], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trueval.retrieval.indexes.sparse.COUNTS_KEPT", 11)
    texts = made_texts(np.random.default_rng(0), 50)
    assert built(texts, "bm25") == built(texts, "bm25")
    assert len(analysed) == 2


def test_the_time_of_building_has_what_counting_took_before(analysed: list[int], monkeypatch: pytest.MonkeyPatch):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    seconds = []
    for spec in ("bm25", "bm25(k1=2)"):
        index = make_index(spec)
        index.build(["one text"])
        seconds.append(index.build_seconds)
    assert seconds == [30, 20]  # began, counting from 10 to 20, ended; then began and ended, and 10 s of before
    assert len(analysed) == 1


@pytest.mark.parametrize(
    ("at_once", "taken", "in_memory"), [(1, 1, 0), (40, 100, 0), (40, 7, 1 << 20), (9999, 9999, 0)]
)
def test_postings_are_those_that_bm25s_makes_however_many_are_counted_at_once_and_wherever_they_are(
    at_once: int, taken: int, in_memory: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(analysis, "TERMS", at_once)
    monkeypatch.setattr(postings, "TAKEN", taken)
    monkeypatch.setattr(postings, "IN_MEMORY", in_memory)
    texts = [*made_texts(np.random.default_rng(4), 90), "", "rare", ""]
    index = make_index("bm25(k1=1.3, b=0.6, language=None)")
    index.build(iter_once(texts))
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys(" ".join(texts).split()))}
    theirs = pytest.importorskip("bm25s").BM25(k1=1.3, b=0.6, method="lucene", dtype="float64", backend="numpy")
    tokens = [[vocabulary[word] for word in text.split()] for text in texts]
    theirs.index((tokens, vocabulary), show_progress=False, create_empty_token=False)
    for name in ("indptr", "indices"):
        assert np.array_equal(index.scorer.scores[name], theirs.scores[name])
    assert index.scorer.scores["data"] == pytest.approx(theirs.scores["data"], rel=1e-15)
    assert index.scorer.scores["num_docs"] == theirs.scores["num_docs"] == 93
    index.save(tmp_path / "bm25")
    again = load_index(tmp_path / "bm25")
    for one, other in zip(index.search(WORDS, 50), again.search(WORDS, 50), strict=True):
        assert np.array_equal(one, other)
    assert index.describe().notes == ("3 of 93 documents have no term, and no query finds them.",)


def iter_once(texts: list[str]) -> LazyList[str]:
    """Texts as a corpus on disk gives them: a sequence that holds none."""
    return LazyList(len(texts), texts.__getitem__)


def test_documents_of_equal_words_tie_exactly():
    index = make_index("bm25")
    index.build(["The wings of a plane", "plane wing", "planes: a wing!", "Nothing here"])
    hits = index.search(["plane wings"], 10)
    assert hits.places.tolist() == [0, 1, 2]
    assert len(set(hits.scores.tolist())) == 1


def test_a_saved_index_finds_the_same(tmp_path: Path):
    texts = made_texts(np.random.default_rng(1), 40)
    index = make_index("bm25(k1=1.2)")
    index.build(texts)
    index.save(tmp_path / "bm25")
    again = load_index(tmp_path / "bm25")
    assert again.describe() == index.describe()
    assert "1 of 40 documents have no term" in again.describe().notes[0]
    for one, other in zip(index.search(WORDS, 7), again.search(WORDS, 7), strict=True):
        assert np.array_equal(one, other)


def test_a_corpus_without_words_is_refused():
    with pytest.raises(InputError, match="No document has a word"):
        make_index("bm25").build(["", "  ", "the of"])


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("fr", "L’élève qu’aujourd’hui", "élève aujourd'hui"),
        ("fr", "caf\u00e9", "cafe\u0301"),
        ("fr", "12\u202f000 euros", "12 000 euros"),
        ("en", "Darwin’s flights", "darwin flight"),
        ("en", "U.S. pay: 1,000", "u.s pay 1,000"),
        ("en", "soft\u00adware", "software"),
        (None, "Groß UND klein", "groß und klein"),
    ],
)
def test_ways_of_writing_the_same_are_one_term(language: str | None, one: str, other: str):
    index = make_index(f"bm25(language={language!r})")
    index.build([one, other, "zzz"])
    scores = index.search([other], 3).scores
    assert len(scores) == 2
    assert scores[0] == scores[1]


def test_normalisation_can_be_switched_off():
    index = make_index("bm25(normalise=False, language=None)")
    index.build(["cafe\u0301", "caf\u00e9"])
    assert index.search(["caf\u00e9"], 3).places.tolist() == [1]


@pytest.mark.parametrize("signs", ["ab_1'", "a1.,;:'", "aZ9 .'`:", "".join(map(chr, range(128)))])
def test_words_of_ascii_are_those_of_unicode(signs: str):
    """What holds of the shorter way through ASCII: the same words, and the same writing."""
    rng = np.random.default_rng(len(signs))
    for _ in range(2_000):
        text = "".join(rng.choice(list(signs), 12))
        assert analysis.ASCII_WORD.findall(text) == analysis.word_pattern().findall(text)
        assert analysis.one_writing(text) == unicodedata.normalize("NFC", text).translate(analysis.SAME)


@pytest.mark.parametrize(("word", "others"), [("हिन्दी", "हिन दी"), ("كِتَابٌ", "ك ت اب")])
def test_marks_do_not_cut_a_word(word: str, others: str):
    index = make_index("bm25(language=None)")
    index.build([word, others])
    assert index.search([word], 3).places.tolist() == [0]
