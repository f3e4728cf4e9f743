"""`cuts`: the audit of cuts in one call, of a search and of runs."""

import pytest

import trueval as tv
from trueval.judgments import Judgments
from trueval.sample import sample_path

RUNS = ({"q": {"a": 3.0, "b": 2.0}}, {"q": {"a": 3.0, "c": 2.0}})


def test_runs_of_the_same_call():
    found = tv.cuts(runs=RUNS, k=2, judgments={"q": {"b": 1}}, measures="R@2")
    assert [cut.documents for cut in found.inside] == [("b", "c")]
    assert found.calls is not None
    assert found.calls.by_ties.tolist() == [1]
    assert (found.scores["R@2"].lowest, found.scores["R@2"].highest) == (0, 1)
    assert found.causes == ()


def test_files_are_named_and_texts_tell_why_runs_tie(tmp_path):
    tv.Run.from_dict({"q": {"a": 2.0, "b": 2.0, "c": 1.0}}).write(tmp_path / "run.trec")
    texts = tv.Collection("c", "c", {"a": "same", "b": "same", "c": "other"}, {})
    found = tv.cuts(texts, 1, runs=[tmp_path / "run.trec"])
    assert found.about == {"runs": "run.trec"}
    assert [cause.name for cause in found.causes] == ["identical texts"]


def test_a_collection_is_judged_by_its_own_judgments():
    pytest.importorskip("bm25s", reason='needs the extra "retrieval"')
    options = {"index": "bm25", "repeats": 1, "tie_precision": 1}
    found = tv.cuts(sample_path(), 3, **options)
    assert list(found.scores.means()) == ["R@3", "nDCG@3", "RA-nWG@3"]
    assert found.scores.policy.tie_precision == 1
    query = found.scores.query_ids[0]
    other = tv.cuts(sample_path(), 3, judgments=Judgments.from_dict({query: {"none": 1}}), **options)
    assert other.scores.query_ids == (query,)


def test_a_search_and_runs_are_not_both():
    with pytest.raises(tv.errors.PolicyError, match="and not both"):
        tv.cuts(runs=RUNS, index="bm25")
    with pytest.raises(tv.errors.PolicyError, match="Name a pipeline or an index"):
        tv.cuts(sample_path())
