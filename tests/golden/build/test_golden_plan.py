"""Files of golden sets: what is wrong in one is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden import small

from trueval.comparison.resampling.resampled_sums import sample
from trueval.errors import InputError, TruevalWarning
from trueval.golden.build.golden_plan import GoldenPlan, read_judge
from trueval.golden.build.grade import GradingSettings

JUDGE = 'model = "m"'


def plan_of(tmp_path: Path, text: str) -> GoldenPlan:
    (tmp_path / "g.toml").write_text(text)
    return GoldenPlan.read(tmp_path / "g.toml")


def test_a_whole_file(tmp_path: Path) -> None:
    plan = GoldenPlan.read(small.written(tmp_path, small.LABELS))
    assert plan.settings == {"sparse": {"index": "bm25", "depth": 8}}
    assert plan.judge.model == f"labels:{tmp_path}/c/labels.trec"
    assert (plan.judge.grading.batch, plan.judge.grading.rounds, plan.keep) == (3, 2, 6)
    assert (plan.refining.top, plan.refining.calls, plan.refining.seed) == (3, 4, 0)
    assert (plan.rewrite, plan.collection) == ("as is", f"{tmp_path}/c")


def test_a_file_that_names_no_aggregate_gets_that_of_the_library(tmp_path: Path) -> None:
    """A file had the median, which the library and the docs left long ago for the posterior."""
    file = small.written(tmp_path, small.LABELS)
    assert "aggregate" not in file.read_text()
    given, default = GoldenPlan.read(file).judge.grading, GradingSettings()
    assert (given.mode, given.rounds, given.aggregate) == (default.mode, default.rounds, "posterior")


def test_the_pool_is_all_that_either_search_found(tmp_path: Path) -> None:
    text = (
        f'[corpus]\npath = "c"\n[embed]\nmodel = "all-MiniLM-L6-v2"\n[sparse]\n[pool]\ndepth = 30\n[judge]\n{JUDGE}\n'
    )
    settings = plan_of(tmp_path, text).settings
    assert [settings[name]["depth"] for name in ("index", "sparse", "fuse")] == [30, 30, 60]
    assert settings["fuse"]["method"] == "rrf"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[corpus]\npath='c'\n[sparse]\n", r"g\.toml: the file needs \[judge\]: who grades"),
        ("[sparse]\n[judge]\nmodel='m'\n", r"g\.toml: the file needs \[corpus\]: what is searched"),
        ("[corpus]\npath='c'\n[sparse]\n[judge]\n", r"g\.toml:4: \[judge\] needs model"),
        ("[corpus]\npath='c'\n[sparse]\n[rerank]\n", r"g\.toml:4: there is no table \[rerank\]"),
        ("[corpus]\npath='c'\n[sparse]\n[juge]\n", r"g\.toml:4: there is no table \[juge\].*Did you mean judge\?"),
        ("[corpus]\npath='c'\n[sparse]\ndepth=9\n[judge]\nmodel='m'\n", r"g\.toml:4: .*Remove depth from \[sparse\]"),
        ("[corpus]\npath='c'\n[sparse]\n[judge]\nmodel='m'\nround=2\n", r"g\.toml:6: .*Did you mean rounds\?"),
        ("[corpus]\npath='c'\n[sparse]\n[judge]\nmodel='m'\nnoise=1\n", r"g\.toml:6: m has no noise"),
        ("[corpus]\npath='c'\n[sparse]\n[judge]\nmodel='labels:q'\nprompt='p'\n", r"g\.toml:6: labels:q has no prompt"),
        (
            "[corpus]\npath='c'\n[sparse]\n[judge]\nmodel='m'\nmode='all'\n",
            r"g\.toml:6: mode of \[judge\] must be 'batch'",
        ),
        (
            "[corpus]\npath='c'\n[sparse]\n[judge]\nmodel='m'\nbase_url='http://u:key@h/v1'\n",
            "must hold no user, password",
        ),
        ("[corpus]\npath='c'\n[judge]\nmodel='m'\n", "nothing retrieves"),
        ("[corpus]\npath='c'\n[sparse]\n[judge]\nmodel='m'\n[refine]\nbatch=1\n", r"g\.toml:7: .*integer >= 2"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        plan_of(tmp_path, text)
    assert "\n" not in str(error.value)


def test_a_judge_by_name_or_by_file(tmp_path: Path) -> None:
    assert read_judge("gpt", {"rounds": 3}).grading.rounds == 3
    (tmp_path / "j.toml").write_text('[judge]\nmodel = "labels:q.trec"\nrounds = 4\nbatch = 2\n')
    found = read_judge(str(tmp_path / "j.toml"), {"batch": 5})
    assert (found.model, found.grading.rounds, found.grading.batch) == (f"labels:{tmp_path}/q.trec", 4, 5)
    assert read_judge("labels:q.trec", {}).model == "labels:q.trec"
    assert read_judge("gpt", {}).grading.seed == 0
    (tmp_path / "j.toml").write_text('[golden]\nseed = 7\n[judge]\nmodel = "gpt"\n')
    assert read_judge(str(tmp_path / "j.toml"), {}).grading.seed == 7


def test_queries_are_drawn_as_a_sweep_draws_them(tmp_path: Path) -> None:
    path = small.written(tmp_path, small.LABELS)
    plan = GoldenPlan.read(path)
    all_queries = list(plan.read_collection().queries)
    path.write_text(path.read_text() + "[queries]\nsample = 2\n[golden]\nseed = 7\n")
    found = GoldenPlan.read(path).read_collection()
    assert list(found.queries) == sample(all_queries, 2, 7)
    assert found.documents == plan.read_collection().documents
    path.write_text(path.read_text().replace("sample = 2", "sample = 20"))
    with pytest.warns(TruevalWarning, match="sample is 20, and there are only 3 queries: all are taken"):
        assert list(GoldenPlan.read(path).read_collection().queries) == all_queries
