"""mteb with our values: its own under its order, the range beside them, and intervals of ranks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

mteb = pytest.importorskip("mteb", reason="mteb is not installed: make integrations")
from datasets import Dataset
from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores
from mteb.abstasks import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.model_meta import ModelMeta
from tests.integrations.pairs import FOLDERS, PLANTED, Graded, Scored, read

from trueval.errors import InputError, MeasureError
from trueval.integrations.mteb import METRICS, TieAware, compare_predictions, compare_results, tie_aware, write_page

# Its wrappers of models and its dates warn of what is theirs to change.
pytestmark = pytest.mark.filterwarnings("ignore:::mteb", "ignore:::datasets", "ignore::DeprecationWarning")


def task_of(name: str, qrels: Graded, documents: list[str]) -> AbsTaskRetrieval:
    """A retrieval task that loads nothing."""

    class Task(AbsTaskRetrieval):
        metadata = TaskMetadata(
            name=name,
            dataset={"path": "not/there", "revision": "1"},
            description="planted",
            type="Retrieval",
            category="t2t",
            eval_splits=["test"],
            eval_langs=["eng-Latn"],
            main_score="ndcg_at_10",
        )
        k_values = (1, 3, 10)

        def load_data(self, *args: Any, **kwargs: Any) -> None:
            texts = [{"id": each, "text": each, "title": ""} for each in documents]
            asked = [{"id": query, "text": query} for query in qrels]
            self.dataset = {
                "default": {
                    "test": {
                        "corpus": Dataset.from_list(texts),
                        "queries": Dataset.from_list(asked),
                        "relevant_docs": {q: dict(row) for q, row in qrels.items()},
                        "top_ranked": None,
                    }
                }
            }
            self.data_loaded = True

    return Task()


class Search:
    """A model that knows its results."""

    def __init__(self, name: str, runs: Mapping[str, Scored]) -> None:
        self.runs = runs
        self.mteb_model_meta = ModelMeta.create_empty({"name": f"own/{name}", "revision": "1"})

    def index(self, corpus: Any, **options: Any) -> None:
        pass

    def search(self, queries: Any, *, task_metadata: Any, **options: Any) -> Scored:
        return {query: dict(row) for query, row in self.runs[task_metadata.name].items()}


def evaluated(model: Search, task: Any, folder: Path, **options: Any) -> Any:
    cache = mteb.ResultCache(folder / "cache")
    return mteb.evaluate(model, task, cache=cache, prediction_folder=folder / model.mteb_model_meta.name, **options)


def test_a_task_has_the_range_beside_the_numbers_that_hide_it(tmp_path: Path) -> None:
    run, qrels = PLANTED
    task = task_of("Planted", qrels, list(run["q"]))
    with tie_aware(task):
        result = evaluated(Search("a", {"Planted": run}), task, tmp_path)
    assert "task_specific_scores" not in vars(task)
    (found,) = result.task_results[0].scores["test"]
    assert (found["mrr_at_10"], found["main_score"]) == (0.5, found["ndcg_at_10"])
    assert [found[f"mrr_at_10_{each}"] for each in ("expected", "lowest", "highest")] == [0.75, 0.5, 1.0]
    low, high = (Fraction(1, 2) + Fraction(2, 3)) / 2, (1 + Fraction(2, 3)) / 2
    assert found["map_at_10_lowest"] == pytest.approx(float(low))
    assert found["map_at_10_highest"] == pytest.approx(float(high))
    assert found["hit_rate_at_1_expected"] == 0.5
    # It is in the file that mteb keeps, too.
    (path,) = (tmp_path / "cache").rglob("Planted.json")
    assert json.loads(path.read_text())["scores"]["test"][0]["mrr_at_10_expected"] == 0.75
    assert task.tie_scores["default", "test"]["AP@10"].tie_broken == pytest.approx(float(low))
    plain = evaluated(Search("b", {"Planted": run}), task, tmp_path).task_results[0].scores["test"][0]
    assert plain.keys() < found.keys()
    assert {name: found[name] for name in plain} == plain


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
@pytest.mark.parametrize("name", FOLDERS)
def test_every_value_of_mteb_is_ours_under_its_order(name: str) -> None:
    for run, graded in read(name):
        qrels = {q: {d: max(g, 0) for d, g in row.items()} for q, row in graded.items()}
        listed = {query: row for query, row in run.items() if query in qrels}
        task = task_of("Real", qrels, [])
        _, ndcg, ap, recall, precision, _, mrr, _, hits = calculate_retrieval_scores(listed, qrels, list(task.k_values))
        with tie_aware(task):
            found = task.task_specific_scores({}, qrels, listed, "test", "default")
        scores = task.tie_scores["default", "test"]
        theirs = {**ndcg, **ap, **recall, **precision, **mrr, **hits}
        names = {"NDCG": "nDCG", "MAP": "AP", "Recall": "R", "P": "P", "MRR": "RR", "HitRate": "Success"}
        assert len(theirs) == len(names) * len(task.k_values)
        for key, value in theirs.items():
            metric, _, k = key.partition("@")
            estimate = scores[f"{names[metric]}@{k}"]
            assert estimate.tie_broken == pytest.approx(value, abs=1e-5), key  # rounded to five digits
            assert found[f"{METRICS[names[metric]]}_at_{k}_expected"] == estimate.expected


def test_a_task_with_scores_of_its_own_keeps_them_and_skips_first_results() -> None:
    class Own(TieAware, type(task_of("Own", {"q": {"a": 1}}, ["a"]))):  # type: ignore[misc]
        skip_first_result = True

    class Base:
        k_values = (1,)
        skip_first_result = True

        def task_specific_scores(self, *args: Any) -> dict[str, float]:
            return {"own": 1.0}

    class Mixed(TieAware, Base):
        pass

    run, qrels = {"q": {"z": 9.0, "a": 1.0, "b": 1.0}}, {"q": {"a": 1}}
    found = Mixed().task_specific_scores({}, qrels, run, "test", "default")
    assert (found["own"], found["mrr_at_1_expected"]) == (1.0, 0.5)
    assert Own().task_specific_scores({}, qrels, run, "test", "default")["mrr_at_1_highest"] == 1.0


def models() -> tuple[list[AbsTaskRetrieval], dict[str, dict[str, Scored]]]:
    """Six tasks of four queries: models with the relevant document first, tied for the second place, and last."""
    documents = [f"d{i}" for i in range(5)]
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(4)}
    tasks = [task_of(f"Task{i}", qrels, documents) for i in range(6)]
    good = {q: {d: float(d in row) + 0.1 * i for i, d in enumerate(documents)} for q, row in qrels.items()}
    bad = {q: {d: -value for d, value in row.items()} for q, row in good.items()}
    tied = {}
    for query, row in qrels.items():
        above, beside, *others = (d for d in documents if d not in row)
        tied[query] = {above: 3.0, beside: 2.0, **dict.fromkeys(row, 2.0), **dict.fromkeys(others, 1.0)}
    runs = {"good": good, "bad": bad, "tied": tied}
    return tasks, {name: {task.metadata.name: run for task in tasks} for name, run in runs.items()}


def test_models_are_ranked_with_intervals_over_tasks_and_over_queries(tmp_path: Path) -> None:
    tasks, runs = models()
    for name, each in runs.items():
        for task in tasks:
            with tie_aware(task):
                evaluated(Search(name, each), task, tmp_path)
    cache = mteb.ResultCache(tmp_path / "cache")
    over_tasks = compare_results(cache, "RR@10", seed=1)
    folders = {name: tmp_path / f"own/{name}" for name in runs}
    over_queries = compare_predictions(folders, tasks, "RR@10", seed=1)
    for comparison, units in ((over_tasks, 6), (over_queries, 24)):
        (board,) = comparison.leaderboards
        ranks = {each.run.removeprefix("own/"): each.rank_interval for each in board.ranking}
        assert ranks == {"good": (1, 1), "tied": (2, 2), "bad": (3, 3)}
        values = {each.run.removeprefix("own/"): each for each in board.ranking}
        half, third = Fraction(1, 2), Fraction(1, 3)
        found = (values["tied"].expected, values["tied"].lowest, values["tied"].highest)
        assert found == pytest.approx([float(each) for each in ((half + third) / 2, third, half)])
        assert board.queries == units
    single = compare_predictions(folders, tasks[:1], "P@1")
    assert single.leaderboards[0].queries == 4
    write_page(over_queries, tmp_path / "ranks.html")
    page = (tmp_path / "ranks.html").read_text()
    assert all(name in page for name in runs)
    assert "<html" in page


def test_published_results_without_ties_are_compared_with_a_note(tmp_path: Path) -> None:
    tasks, runs = models()
    for name, each in runs.items():
        for task in tasks:
            evaluated(Search(name, each), task, tmp_path)
    found = compare_results(mteb.ResultCache(tmp_path / "cache"), "RR@10")
    assert any("own/tied: the ties of 6 tasks are not known, the first Task0" in note for note in found.notes)
    tied = next(each for each in found.leaderboards[0].ranking if each.run == "own/tied")
    assert tied.lowest == tied.highest


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    run, qrels = PLANTED
    task = task_of("Planted", qrels, list(run["q"]))
    model = Search("a", {"Planted": run})
    cache = mteb.ResultCache(tmp_path / "cache")
    with pytest.raises(InputError, match=r"Two models or more belong here\. Got 0\."):
        compare_results(cache)
    evaluated(model, task, tmp_path)
    with pytest.raises(InputError, match=r"Two models or more belong here\. Got 1\."):
        compare_results(cache)
    with pytest.raises(MeasureError, match=r"^mteb reports nDCG@k, AP@k, R@k, P@k, RR@k, Success@k\. Got bpref\.$"):
        compare_results(cache, "bpref")
    evaluated(Search("b", {"Planted": run}), task, tmp_path)
    with pytest.raises(InputError, match=r"^own/. has no mrr_at_7 of Planted, and 1 more are absent\."):
        compare_results(cache, "RR@7")
    other = task_of("Other", qrels, list(run["q"]))
    folders = {name: tmp_path / f"own/{name}" for name in ("a", "b")}
    with pytest.raises(InputError, match=r"Other_predictions.json: there is no such file\. Evaluate the task"):
        compare_predictions(folders, [other])
    (tmp_path / "own/a/Empty_predictions.json").write_text("{}")
    with pytest.raises(InputError, match=r"^Empty has no judgments of default, test"):
        compare_predictions(folders, [task_of("Empty", {"q": {}}, [])])
    (tmp_path / "own/a/Planted_predictions.json").write_text("{}")
    with pytest.raises(InputError, match="Planted has no predictions of default, test"):
        compare_predictions(folders, [task])
    (tmp_path / "own/a/Planted_predictions.json").write_text("{")
    with pytest.raises(InputError, match="no JSON"):
        compare_predictions(folders, [task])
    with pytest.raises(InputError, match=r"is no retrieval or reranking task, and only these rank documents"):
        tie_aware(mteb.get_task("STS12"))
