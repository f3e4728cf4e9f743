"""The sample collection keeps what its README promises."""

import json
import unicodedata
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from trueval.sample import sample_path

FOLDER = sample_path()


def read_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def read_judgments() -> list[tuple[str, str, int]]:
    rows = [line.split() for line in (FOLDER / "qrels.trec").read_text(encoding="utf-8").splitlines()]
    return [(query, document, int(grade)) for query, _, document, grade in rows]


CORPUS = {passage["_id"]: passage for passage in read_lines("corpus.jsonl")}
QUERIES = {query["_id"]: query for query in read_lines("queries.jsonl")}
JUDGMENTS = read_judgments()
POOLS: dict[str, dict[str, int]] = defaultdict(dict)
for _query, _document, _grade in JUDGMENTS:
    POOLS[_query][_document] = _grade
AUTHORS = {author for passage in CORPUS.values() for author in passage["authors"]}
AUTHOR_QUERIES = [query for query, entry in QUERIES.items() if entry["kind"] == "author-topic"]


def edit_distance(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        above, row[0] = row[0], i
        for j, other in enumerate(second, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (letter != other))
    return row[-1]


NEAR_NAMES = {frozenset(pair) for pair in combinations(sorted(AUTHORS), 2) if edit_distance(*pair) == 1}


def asked_author(query: str) -> str:
    [author] = [author for author in AUTHORS if author in QUERIES[query]["text"]]
    return author


def near_names_of(author: str) -> set[str]:
    return {other for pair in NEAR_NAMES if author in pair for other in pair - {author}}


def test_counts_are_those_of_the_readme() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"{len(CORPUS)} short research notes" in readme
    assert f"{len(QUERIES)} queries and {len(JUDGMENTS)} graded pairs" in readme
    assert len(CORPUS) >= 90
    assert len(QUERIES) == 24


def test_the_readme_names_the_queries_without_a_grade_five() -> None:
    without = sorted(query for query, pool in POOLS.items() if 5 not in pool.values())
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"with none ({', '.join(without)})" in readme


def test_no_id_title_or_text_repeats() -> None:
    for name, entries in (("corpus.jsonl", CORPUS), ("queries.jsonl", QUERIES)):
        assert len(read_lines(name)) == len(entries)
        assert len({entry["text"] for entry in entries.values()}) == len(entries)
    assert len({passage["title"] for passage in CORPUS.values()}) == len(CORPUS)
    assert len({(query, document) for query, document, _ in JUDGMENTS}) == len(JUDGMENTS)


def test_judgments_name_existing_queries_and_passages() -> None:
    assert {query for query, _, _ in JUDGMENTS} == set(QUERIES)
    assert {document for _, document, _ in JUDGMENTS} <= set(CORPUS)


def test_grades_are_those_of_the_rubric() -> None:
    assert {grade for _, _, grade in JUDGMENTS} == {1, 2, 3, 4, 5}


def test_judgments_are_sorted_by_query_then_document() -> None:
    keys = [(query, document) for query, document, _ in JUDGMENTS]
    assert keys == sorted(keys)


def test_document_ids_do_not_follow_the_labels() -> None:
    by_query = [spearmanr(range(len(pool)), list(pool.values())).statistic for pool in POOLS.values()]
    assert abs(np.mean(by_query)) < 0.1
    assert not any(list(pool.values()) == sorted(pool.values(), reverse=True) for pool in POOLS.values())


def test_languages_are_mixed() -> None:
    passages = Counter(passage["language"] for passage in CORPUS.values())
    queries = Counter(query["language"] for query in QUERIES.values())
    assert passages == {"en": 66, "fr": 34}
    assert queries == {"en": 14, "fr": 10}


def test_some_queries_are_answered_in_the_other_language() -> None:
    crossing = {
        query
        for query, document, grade in JUDGMENTS
        if grade >= 4 and CORPUS[document]["language"] != QUERIES[query]["language"]
    }
    assert len(crossing) >= 8


@pytest.mark.parametrize("query", QUERIES)
def test_a_pool_holds_relevant_passages_and_clear_misses(query: str) -> None:
    grades = Counter(POOLS[query].values())
    assert 16 <= grades.total() <= 24
    assert grades[1] >= 8
    assert grades[2] + grades[3] >= 1
    assert grades[3] + grades[4] + grades[5] >= 2


def test_queries_differ_in_their_mix_of_grades() -> None:
    fives = Counter(min(Counter(pool.values())[5], 2) for pool in POOLS.values())
    assert fives[0] >= 5
    assert fives[1] >= 5
    assert fives[2] >= 5
    assert sum(Counter(pool.values())[3] >= 3 for pool in POOLS.values()) >= 4
    assert any(max(pool.values()) == 3 for pool in POOLS.values())
    assert len({tuple(sorted(pool.values())) for pool in POOLS.values()}) >= 18


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.trec", "README.md"])
def test_files_are_utf8_in_normal_form_c_with_plain_line_ends(name: str) -> None:
    data = (FOLDER / name).read_bytes()
    text = data.decode("utf-8")
    assert unicodedata.is_normalized("NFC", text)
    assert text.endswith("\n")
    assert b"\r" not in data
    assert not data.startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize("identifier", CORPUS)
def test_a_passage_has_its_fields(identifier: str) -> None:
    passage = CORPUS[identifier]
    assert list(passage) == ["_id", "title", "text", "authors", "topics", "language"]
    assert 1 <= len(passage["authors"]) == len(set(passage["authors"])) <= 3
    assert passage["topics"]
    assert 150 <= len(passage["text"]) <= 800


def test_queries_have_their_fields() -> None:
    for query in QUERIES.values():
        assert list(query) == ["_id", "text", "language", "kind"]
        assert query["kind"] in {"question", "author-topic"}


def test_fifteen_pairs_of_authors_differ_by_one_letter() -> None:
    assert len(NEAR_NAMES) == 15
    assert frozenset({"Nguyễn Thị Lanh", "Nguyễn Thị Lành"}) in NEAR_NAMES


def test_author_queries_come_in_both_languages() -> None:
    assert len(AUTHOR_QUERIES) >= 5
    assert {QUERIES[query]["language"] for query in AUTHOR_QUERIES} == {"en", "fr"}


@pytest.mark.parametrize("query", AUTHOR_QUERIES)
def test_above_grade_two_only_the_asked_author_stands(query: str) -> None:
    author = asked_author(query)
    for document, grade in POOLS[query].items():
        written = author in CORPUS[document]["authors"]
        assert written or grade <= 2, document
        assert grade >= 2 or not written, document


@pytest.mark.parametrize("query", AUTHOR_QUERIES)
def test_author_queries_have_near_misses(query: str) -> None:
    author = asked_author(query)
    near = {document: CORPUS[document]["authors"] for document, grade in POOLS[query].items() if grade in {2, 3}}
    assert any(author in authors for authors in near.values())
    assert any(author not in authors for authors in near.values())
    assert any(near_names_of(author) & set(authors) for authors in near.values())


@pytest.mark.parametrize("query", AUTHOR_QUERIES)
def test_every_work_by_the_asked_author_is_pooled(query: str) -> None:
    works = {document for document, passage in CORPUS.items() if asked_author(query) in passage["authors"]}
    assert works <= set(POOLS[query])


def test_some_passages_are_near_duplicates() -> None:
    def words(text: str) -> Counter[str]:
        return Counter(text.lower().split())

    bags = {document: words(passage["text"]) for document, passage in CORPUS.items()}
    shared = [(bags[a] & bags[b]).total() / (bags[a] | bags[b]).total() for a, b in combinations(CORPUS, 2)]
    assert sum(value >= 0.4 for value in shared) >= 6
    assert np.median(shared) < 0.25


def test_the_path_is_a_folder_of_the_package() -> None:
    assert isinstance(FOLDER, Path)
    assert FOLDER.is_absolute()
    assert (FOLDER / "__init__.py").is_file()
