"""PyTerrier with our values: an experiment whose winner turns, and the range that it hides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

pt = pytest.importorskip("pyterrier", reason="pyterrier is not installed: make integrations")
from ir_measures import AP, RR, Judged, infAP, nDCG
from tests.integrations.pairs import PLANTED

from trueval.errors import PolicyError
from trueval.integrations.ir_measures import RR_highest, RR_lowest
from trueval.integrations.pyterrier import Experiment, install
from trueval.judgments import Judgments
from trueval.run import Run
from trueval.sample import sample_path

NAMES = ["bm25", "ngrams"]
# On the rubric of the sample, 4 and 5 are relevant.
MRR = RR(rel=4) @ 10


def frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(dict(columns))


@pytest.fixture(scope="module")
def sample() -> tuple[list[pd.DataFrame], pd.DataFrame, pd.DataFrame]:
    """The runs of the embedded sample, its topics and its judgments, as frames of PyTerrier."""
    graded = Judgments.read(sample_path() / "qrels.trec").frame
    qrels = frame({"qid": graded["query_id"], "docno": graded["doc_id"], "label": graded["grade"].cast(int)})
    runs = []
    for name in ("bm25", "ngrams-bf16"):
        run = Run.read(sample_path() / "runs" / f"{name}.trec").frame
        columns = {"qid": "query_id", "docno": "doc_id", "score": "score", "rank": "rank"}
        runs.append(frame({ours: run[theirs] for ours, theirs in columns.items()}))
    topics = frame({"qid": qrels["qid"].unique()}).assign(query="x")
    return runs, topics, qrels


def test_the_winner_of_an_experiment_turns(sample: Any) -> None:
    runs, topics, qrels = sample
    theirs = pt.Experiment(runs, topics, qrels, [MRR], names=NAMES)[str(MRR)]
    assert theirs.round(3).tolist() == [0.764, 0.743]
    with install():
        ours = pt.Experiment(runs, topics, qrels, [MRR, RR_lowest(rel=4) @ 10, RR_highest(rel=4) @ 10], names=NAMES)
    assert ours[str(MRR)].round(3).tolist() == [0.764, 0.775]
    assert (ours["RR_lowest(rel=4)@10"] <= theirs).all()
    assert (ours["RR_highest(rel=4)@10"] >= theirs).all()
    again = pt.Experiment(runs, topics, qrels, [MRR], names=NAMES)[str(MRR)]
    assert again.tolist() == theirs.tolist()


def test_our_experiment_has_a_column_with_the_range_that_theirs_hides() -> None:
    run, qrels = PLANTED
    scored = frame({"qid": "q", "docno": list(run["q"]), "score": list(run["q"].values()), "rank": [0, 1, 2]})
    judged = frame({"qid": "q", "docno": list(qrels["q"]), "label": list(qrels["q"].values())})
    topics = frame({"qid": ["q"], "query": ["x"]})
    given = ([scored], topics, judged, [RR, "recip_rank", "map", infAP])
    # recip_rank is RR by another name, and the second of equal columns.
    found = Experiment(*given, names=["a"], dataframe=False)["a"]
    assert found == pytest.approx(
        {"recip_rank": 3 / 4, "RR_range": 1 / 2, "map": 17 / 24, "AP_range": 1 / 4, "infAP": found["infAP"]}
    )
    assert Experiment(*given, names=["a"], ties="lowest", ranges=False, dataframe=False)["a"]["map"] == pytest.approx(
        7 / 12
    )


def test_baselines_queries_batches_and_plans(sample: Any) -> None:
    runs, topics, qrels = sample
    systems = [pt.Transformer.from_df(run) for run in runs]
    metrics = [MRR, nDCG @ 10, AP(rel=4)]
    with install():
        whole = pt.Experiment(runs, topics, qrels, metrics, names=NAMES, baseline=0)
        averages, values = Experiment(runs, topics, qrels, metrics, NAMES, perquery="both", ranges=False)
    assert whole[f"{MRR} p-value"].notna().tolist() == [False, True]
    assert averages[str(MRR)].tolist() == pytest.approx(whole[str(MRR)].tolist())
    mean = values[values["measure"] == str(MRR)].groupby("name")["value"].mean()
    assert mean[NAMES].tolist() == pytest.approx(whole[str(MRR)].tolist())
    for options in ({"batch_size": 5}, {"plan": "tree"}, {"filter_by_qrels": True}):
        found = Experiment(systems, topics, qrels, metrics, NAMES, validate="ignore", **options)
        assert found[str(MRR)].tolist() == pytest.approx(whole[str(MRR)].tolist()), options
        assert "RR_range(rel=4)@10" in found.columns
    tested = Experiment(runs, topics, qrels, metrics, NAMES, baseline=0)
    assert tested.columns.tolist() == whole.columns.tolist()
    assert tested[str(MRR)].tolist() == whole[str(MRR)].tolist()


def test_without_ties_the_values_are_theirs(sample: Any) -> None:
    runs, topics, qrels = sample
    untied = [run.assign(score=-run["rank"].astype(float)) for run in runs]
    metrics = [MRR, RR(rel=4), nDCG @ 5, AP(rel=4), Judged @ 10]
    theirs = pt.Experiment(untied, topics, qrels, metrics, names=NAMES)
    ours = Experiment(untied, topics, qrels, metrics, NAMES)
    for metric in map(str, metrics):
        assert ours[metric].tolist() == pytest.approx(theirs[metric].tolist(), abs=1e-12)
    assert ours["RR_range(rel=4)"].tolist() == [0, 0]


def test_a_query_without_results_counts_as_theirs(sample: Any) -> None:
    runs, topics, qrels = sample
    some = [run[run["qid"] != "q01"] for run in runs]
    untied = [run.assign(score=-run["rank"].astype(float)) for run in some]
    theirs = pt.Experiment(untied, topics, qrels, [MRR], names=NAMES)
    with pytest.warns(UserWarning, match="judged and missing from the run: 1 query, 'q01'"):
        ours = Experiment(untied, topics, qrels, [MRR], NAMES)
    assert ours[str(MRR)].tolist() == pytest.approx(theirs[str(MRR)].tolist(), abs=1e-12)


def test_bad_input_is_one_sentence(sample: Any) -> None:
    runs, topics, qrels = sample
    with pytest.raises(PolicyError, match="ties must be one of expected, lowest, highest, tie-broken"):
        Experiment(runs, topics, qrels, [MRR], NAMES, ties="mean")
