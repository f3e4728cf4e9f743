"""Pruning by buckets of grades."""

from trueval.golden.build.prune import Candidate, prune_pool

POOL = [Candidate("a", 3, 3.0), Candidate("b", 5, 4.5), Candidate("c", None, 0.0), Candidate("d", 3, 3.5),
        Candidate("e", 5, 5.0), Candidate("f", 3, 3.0), Candidate("g", 1, 1.0)]  # fmt: skip


def kept(**options: object) -> str:
    return "".join(each.doc_id for each in prune_pool(POOL, **options))  # type: ignore[arg-type]


def test_best_grades_first_then_means_then_the_pool() -> None:
    assert kept() == "ebdafg"
    assert kept(keep=4) == "ebda"
    assert kept(keep=0) == ""


def test_a_bucket_may_have_a_limit() -> None:
    assert kept(most={3: 1}) == "ebdg"
    assert kept(most={5: 0, 3: 2}, keep=2) == "da"
