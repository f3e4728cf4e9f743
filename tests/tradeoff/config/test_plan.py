"""Plans: which systems a file makes, what they are called, and what is said of a file that is wrong."""

import itertools
from pathlib import Path

import pytest
from tests.tradeoff.made import LARGE

from trueval.errors import InputError
from trueval.tradeoff.config.plan import SweepPlan

LEAST = '[corpus]\npath = "c"\n[sparse]\n'


def read(place: Path, text: str) -> SweepPlan:
    file = place / "s.toml"
    file.write_text(text)
    return SweepPlan.read(file)


def test_lists_make_a_grid_of_what_decides_each_method(tmp_path: Path):
    plan = read(tmp_path, LARGE)
    dims, specs, depths = ("24d", "16d"), ("flat", "hnsw(M=4)"), ("top5", "top10")
    vectors = [" ".join(each) for each in itertools.product(dims, specs)]
    expected = [f"dense {each}" for each in vectors] + ["sparse"] + [f"hybrid {each}" for each in vectors]
    for method in ("dense+rerank", "hybrid+rerank"):
        expected += [f"{method} {each} {depth}" for each in vectors for depth in depths]
    assert [each.name for each in plan.systems] == expected
    by_name = {each.name: each for each in plan.systems}
    assert set(by_name["sparse"].settings) == {"sparse"}
    assert set(by_name["hybrid 16d flat"].settings) == {"pipeline", "embed", "index", "sparse", "fuse"}
    assert by_name["dense 16d flat"].settings["embed"]["dimension"] == 16
    assert by_name["sparse"].values == {
        "method": "sparse",
        "embed.dimension": None,
        "index.spec": None,
        "rerank.depth": None,
    }
    assert plan.configurations == 9 * 2 + 8 * 1 + 8 * 2
    assert [axis.key for axis in plan.axes] == ["method", "embed.dimension", "index.spec", "rerank.depth", "K"]
    assert plan.axes[-1].values == (3, 10)


def test_contexts_above_the_pool_are_left_out_with_the_reason(tmp_path: Path):
    plan = read(tmp_path, LARGE)
    assert len(plan.left_out) == 8
    assert plan.left_out[0].name == "dense+rerank 24d flat top5 K=10"
    assert "its last stage gives 5 documents, and K is 10" in plan.left_out[0].reason
    assert {each.contexts for each in plan.systems if each.name.endswith("top5")} == {(3,)}
    deep = LEAST.replace("[sparse]", '[embed]\nmodel="m"\n[index]\ndepth=10\n[sparse]\ndepth=20\n[fuse]\ndepth=50')
    (system,) = read(tmp_path, deep).systems
    assert system.pool == 30  # two lists have no more, however deep fusion is


def test_values_that_are_lists_by_themselves_are_no_axis(tmp_path: Path):
    text = LEAST + '[embed]\nmodel = "m"\n[fuse]\nmethod = "weighted"\nweights = [1, 2]\n'
    (system,) = read(tmp_path, text).systems
    assert system.settings["fuse"]["weights"] == (1, 2)
    systems = read(tmp_path, text.replace("[1, 2]", "[[1, 2], [2, 1]]")).systems
    assert [each.settings["fuse"]["weights"] for each in systems] == [(1, 2), (2, 1)]


def test_scoring_of_stages_decides_nothing_where_words_are_searched(tmp_path: Path):
    text = LEAST + '[embed]\nmodel = "m"\n[pipeline]\nscoring = ["high", "low"]\nmethods = ["dense", "sparse"]\n'
    assert [each.name for each in read(tmp_path, text).systems] == [
        "dense scoring=high",
        "dense scoring=low",
        "sparse",
    ]
    with pytest.raises(InputError, match=r"s\.toml:7: scoring = 'both' makes two runs"):
        read(tmp_path, text.replace('["high", "low"]', '"both"'))


def test_configurations_overlay_the_tables_of_the_file(tmp_path: Path):
    text = (
        LEAST
        + '[[configuration]]\nname = "short"\nsparse.depth = 30\n'
        + '[[configuration]]\nname = "vectors"\nqueries.rewrite = "normalised"\n'
        + '[configuration.pipeline]\nmethods = "dense"\n[configuration.embed]\nmodel = "m"\n'
    )
    plan = read(tmp_path, text)
    short, vectors = plan.systems
    assert (short.name, short.method, short.settings["sparse"]["depth"]) == ("short", "sparse", 30)
    assert (vectors.name, vectors.method, vectors.rewrite) == ("vectors", "dense", "normalised")
    assert [axis.key for axis in plan.axes] == ["method", "queries.rewrite"]
    with pytest.raises(InputError, match=r"s\.toml:8: two configurations are called 'short'"):
        read(tmp_path, text.replace('"vectors"', '"short"'))


def test_a_reranker_that_is_to_score_more_than_it_gets_is_told(tmp_path: Path):
    text = LEAST + "depth = 30\n[rerank]\nmodel = 'm'\ndepth = [20, 50]\n"
    assert read(tmp_path, text).notes == (
        "[rerank] depth is 50, and the stages before give at most 30 documents: 30 are reranked.",
    )


def test_a_configuration_with_lists_is_a_grid_of_its_own(tmp_path: Path):
    text = LEAST + '[embed]\nmodel = "m"\n[rerank]\nmodel = "r"\n[[configuration]]\nname = "search"\n'
    text += 'pipeline.methods = ["sparse", "dense"]\nembed.dimension = [9, 8]\n'
    text += '[[configuration]]\nname = "best"\npipeline.methods = "dense+rerank"\nembed.dimension = 9\n'
    plan = read(tmp_path, text)
    assert [each.name for each in plan.systems] == ["sparse", "dense 9d", "dense 8d", "best"]
    text += (
        '[[configuration]]\nname = "again"\npipeline.methods = "dense"\nembed.dimension = [9, 8]\nindex.depth = 50\n'
    )
    text = text.replace('"best"\n', '"best"\nindex.depth = 50\n')
    assert [each.name for each in read(tmp_path, text).systems] == [
        "sparse",
        "dense 9d depth=100",
        "dense 8d depth=100",
        "best",
        "dense 9d depth=50",
        "dense 8d depth=50",
    ]


def test_names_are_different_also_where_the_ends_of_models_are_not(tmp_path: Path):
    text = '[corpus]\npath = "c"\n[embed]\nmodel = ["one/m", "other/m"]\n'
    assert len({each.name for each in read(tmp_path, text).systems}) == 2


def test_limits_of_what_the_sweep_will_not_know_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"s\.toml:5: nothing has a cost here.*\[prices\] generator = \"gpt-5-mini\""):
        read(tmp_path, LEAST + "[limits]\ncost = 2.5\n")
    assert (
        read(tmp_path, LEAST + '[limits]\ncost = 2.5\n[prices]\ngenerator = "gpt-5"\n').tables["limits"]["cost"] == 2.5
    )
    hosted = LEAST.replace("[sparse]", '[embed]\nmodel = "voyage:voyage-3.5"\n[limits]\ncost = 1\nsure = 0.9\n')
    limits = read(tmp_path, hosted).tables["limits"]
    assert (limits["cost"], limits["sure"], limits["quality"], limits["latency_ms"]) == (1, 0.9, None, None)
    with pytest.raises(InputError, match=r"s\.toml:7: \[latency\] queries is 0"):
        read(tmp_path, LEAST + "[latency]\nqueries = 0\n[limits]\nlatency_ms = 500\n")


def test_files_and_folders_are_found_beside_the_file(tmp_path: Path):
    (tmp_path / "models" / "mine").mkdir(parents=True)
    text = (
        '[corpus]\npath = "c"\n[queries]\nrewrite = ["as is", "asked.jsonl"]\n[sparse]\n'
        '[deduplicate]\nsources = "s.tsv"\n'
        '[rerank]\nmodel = "cross-encoder:models/mine"\n[measure]\njudgments = "q.trec"\n[prices]\nbook = "p.toml"\n'
    )
    (tmp_path / "p.toml").write_text('date = "2026-11"\ncurrency = "EUR"\nsource = "a list"\n')
    plan = read(tmp_path, text)
    settings = plan.systems[0].settings
    assert settings["rerank"]["model"] == f"cross-encoder:{tmp_path / 'models' / 'mine'}"
    assert settings["deduplicate"]["sources"] == str(tmp_path / "s.tsv")
    assert plan.collection == str(tmp_path / "c")
    assert plan.rewrites == {"as is": "as is", "asked.jsonl": str(tmp_path / "asked.jsonl")}
    assert plan.measuring.judgments == str(tmp_path / "q.trec")
    assert plan.tables["prices"]["book"] == str(tmp_path / "p.toml")
    assert [each.name for each in plan.systems] == ["sparse+rerank", "sparse+rerank asked.jsonl"]


REPAIRED = (
    '[corpus]\npath = "c"\n[pipeline]\nmethods = {methods}\n[embed]\nmodel = "m"\n[sparse]\n{rerank}'
    '[repair]\nwithin = ["bfloat16", "0.01"]\n'
)


@pytest.mark.parametrize(
    ("methods", "rerank", "repaired"),
    [
        ('["dense", "hybrid"]', "", {"dense": 2, "hybrid": 0}),
        ('["sparse", "hybrid+rerank"]', '[rerank]\nmodel = "r"\n', {"sparse": 0, "hybrid+rerank": 2}),
    ],
)
def test_only_methods_that_end_with_scores_of_a_model_are_repaired(
    tmp_path: Path, methods: str, rerank: str, repaired: dict[str, int]
):
    plan = read(tmp_path, REPAIRED.format(methods=methods, rerank=rerank))
    for method, count in repaired.items():
        systems = [each for each in plan.systems if each.method == method]
        assert len(systems) == max(count, 1)
        assert sum("repair" in each.settings for each in systems) == count


def test_a_repair_that_no_method_takes_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"\[repair\].*no method here ends with those. Add dense"):
        read(tmp_path, REPAIRED.format(methods='["hybrid"]', rerank=""))


def test_a_file_without_lists_is_a_sweep_of_one_with_defaults(tmp_path: Path):
    plan = read(tmp_path, LEAST)
    assert [each.name for each in plan.systems] == ["sparse"]
    assert (plan.axes, plan.sample, plan.measuring.names) == ((), None, ("nDCG@K", "R@K"))
    assert plan.systems[0].contexts == (10,)
    assert plan.tables["latency"]["queries"] == 30
    assert not {"tune", "route"} & set(plan.tables)
    assert read(tmp_path, LEAST + "[tune]\n").tables["tune"] == {"within": 0.02}


def test_measures_take_every_number_of_contexts_and_the_choices_of_evaluate(tmp_path: Path):
    text = LEAST + '[measure]\nnames = "nDCG(gain=\'exp\')@K, AP"\nrel = 2\nmissing = "skip"\nseed = 7\n'
    text += 'tie_order = "docid-asc"\n'
    measuring = read(tmp_path, text).measuring
    assert [str(each) for each in measuring.at(5)] == ["nDCG(gain='exp')@5", "AP"]
    assert (measuring.policy.rel, measuring.policy.missing, measuring.policy.seed, measuring.seed) == (2, "skip", 7, 7)
    assert measuring.policy.tie_order == "docid-asc"


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("[measur]\n", 4, r"no table \[measur\].*Did you mean measure"),
        ("depht = 3\n", 4, r"\[sparse\] has no key 'depht'.*Did you mean depth"),
        (
            "# a comment\n\ndepth = [\n  10, # deep\n  0,\n]\n",
            6,
            r"depth of \[sparse\] must be an integer >= 1, or a list of different ones. Got 0",
        ),
        ("depth = []\n", 4, r"depth of \[sparse\] .* or a list of different ones. Got \[\]"),
        ("depth = [3, 3]\n", 4, r"depth of \[sparse\] .* or a list of different ones. Got \[3, 3\]"),
        ('index = ["bm25", "bn25"]\n', 4, "No index is called bn25.*Did you mean bm25"),
        ("[pipeline]\nmethods = ['sparse', 'dens']\n", 5, "methods of"),
        ("[pipeline]\nmethods = 'dense'\n", 5, r"the method dense needs \[embed\]"),
        ("[generate]\ncontexts = [10, 200.5]\n", 5, "contexts of"),
        ("[generate]\ncontexts = 200\n", 5, "no system gives so many documents: sparse K=200"),
        ("[queries]\nsample = 0\n", 5, "sample of"),
        ("[queries]\nrewrite = ['as is', 'model']\n", 5, "'model' is written by a language model. Name it as judge"),
        ("measure.names = 3\n", 4, r"measure.*Did you mean|\[sparse\] has no"),
        ("[measure]\n\nnames = ['nDGC@K']\n", 6, "Did you mean nDCG"),
        ("[measure]\nnames = ['Harm@K', 'AP']\n", 5, "where higher is better"),
        ("[measure]\nmissing = 'wors'\n", 5, "missing must be one of worst"),
        ("[measure]\nunjudgd = 1\n", 5, "Did you mean unjudged"),
        ("[measure]\ngrades = '1;2'\n", 5, "old:new pairs"),
        ("[limits]\npercentile = 'p90'\n", 5, "'p50' or 'p95' or 'p99'"),
        ("[latency]\nrepeats = 0\n", 5, "repeats of"),
        ("[route]\ndepths = [50]\n", 5, "depths of"),
        ("[route]\ndepths = [5, 10, 15]\n", 5, "depths of .* a list of 2"),
        ("[[configuration]]\nsparse.depth = 3\n", 4, r"\[\[configuration\]\] needs name"),
        ("[[configuration]]\nname = 'a'\nsparse = { dept = 3 }\n", 6, "Did you mean depth"),
        ("[[configuration]]\nname = 'a'\n[configuration.spars]\n", 6, "Did you mean sparse"),
        ("[[configuration]]\nname = 'a'\n[[configuration]]\nname = 'b'\nsparse.depth = -1\n", 8, "depth of"),
        (
            "[[configuration]]\nname = 'a'\nqueries.sample = 3\n",
            6,
            r"have the same queries.sample: write it once, for the file",
        ),
        (
            "[[configuration]]\nname = 'a'\nqueries.path = 'q'\n",
            6,
            r"have the same queries.path: write it once, for the file",
        ),
        ("[[configuration]]\nname = 'a'\nqueries = 3\n", 6, r"queries of \[\[configuration\]\] must be a table"),
        (
            "[[configuration]]\nname = 'a'\ncorpus.path = 'b'\n",
            6,
            r"All configurations have the same corpus: write it once, for the file",
        ),
        ("[generate]\ncontext = [3]\n", 5, r"\[generate\] has no key 'context'.*Did you mean contexts"),
        ("[measure]\nrel = 'two'\n", 5, "rel of"),
        (
            "[embed]\nmodel = 'm'\n[fuse]\nweights = [1, -1]\n",
            7,
            r"weights of \[fuse\] must be a list of 2, each a number > 0, .* Got -1",
        ),
        ("[embed]\nmodel = 'm'\n[fuse]\nweights = [0, 0.0]\n", 7, "each a number > 0.* Got 0"),
        ("[embed]\nmodel = 'm'\n[fuse]\nweights = [nan, 1]\n", 7, "each a number > 0.* Got nan"),
        ("[embed]\nmodel = 'm'\n[fuse]\nweights = [1, inf]\n", 7, "each a number > 0.* Got inf"),
        ("[route]\ndrop = true\n", 4, r"\[route\] needs depths: fewer and more candidates of the reranker"),
        ("[embed]\nmodel = 'm'\ndimension = [24, -1]\n[pipeline]\nmethods = 'sparse'\n", 6, "dimension of"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, line: int, told: str):
    with pytest.raises(InputError, match=told) as error:
        read(tmp_path, LEAST + text)
    assert str(error.value).startswith(f"{tmp_path / 's.toml'}:{line}: ")
    assert error.value.line == line


def test_a_file_that_is_no_toml_or_not_there_is_told(tmp_path: Path):
    with pytest.raises(InputError, match="not TOML"):
        read(tmp_path, "[corpus\n")
    with pytest.raises(InputError, match="must be the TOML file of a sweep"):
        SweepPlan.read(tmp_path / "none.toml")
    with pytest.raises(InputError, match=r"the file needs \[corpus\]: what is searched"):
        read(tmp_path, "[sparse]\n")


def test_a_grid_without_end_is_counted_and_refused_before_it_is_made(tmp_path: Path, monkeypatch):
    deep = (
        LEAST + "depth = [" + ", ".join(map(str, range(10, 410))) + "]\n[queries]\nrewrite = ['as is', 'normalised']\n"
    )
    generate = "[generate]\ncontexts = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]\n"
    monkeypatch.setattr("trueval.tradeoff.config.plan.systems_of", lambda *given: pytest.fail("made"))
    with pytest.raises(InputError, match=r"the lists make 10,400 configurations\. They must be at most 10,000"):
        read(tmp_path, deep + generate)
    endless = deep.replace(
        "[queries]",
        '[embed]\nmodel = "m"\n[index]\ndepth = [' + ", ".join(map(str, range(1, 4001))) + "]\n[queries]",
    )
    with pytest.raises(InputError, match=r"s\.toml:\d+: the lists make [\d,]+ configurations"):
        read(tmp_path, endless + "[limits]\nconfigurations = 20\n")


def test_lines_are_looked_up_only_where_something_is_wrong(tmp_path: Path, monkeypatch):
    text = LARGE + "[[configuration]]\nname = 'a'\n[[configuration]]\nname = 'b'\nsparse.depth = 9\n"
    monkeypatch.setattr("trueval.files.toml._statements", lambda text: pytest.fail("indexed"))
    assert read(tmp_path, text).systems


def test_the_size_of_a_grid_is_what_it_makes(tmp_path: Path):
    plan = read(tmp_path, LARGE + "\n[limits]\nconfigurations = 50\n")
    assert plan.configurations + len(plan.left_out) == 50
    with pytest.raises(InputError, match="make 50 configurations"):
        read(tmp_path, LARGE + "\n[limits]\nconfigurations = 49\n")
