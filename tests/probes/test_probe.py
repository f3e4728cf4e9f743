"""The probes in one call each: what they find is what their parts find."""

from pathlib import Path

import pytest
from tests.extras import need

import trueval as tv
from trueval.probes.conditions import find_conditions
from trueval.probes.noise import probe_pipelines
from trueval.probes.noise_summary import summarize_noise
from trueval.probes.prediction import PredictionChoices
from trueval.probes.probe_retrieval_correlation import join_probes
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.sample import sample_path

need("bm25s", extra="retrieval")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """BM25 as a file."""
    (tmp_path / "words.toml").write_text("[sparse]\n", encoding="utf-8")
    return tmp_path / "words.toml"


def test_names():
    few = {"queries": 4, "runs": 1, "ablations": ["gibberish_name"], "resamples": 20}
    found = tv.probe_names(tv.ScorerRequest(bm25=True), languages=["en", "fr"], **few).to_dict()
    assert [(each["name"], each["language"]) for each in found["scorers"]] == [("BM25", "en"), ("BM25", "fr")]
    with pytest.raises(tv.errors.PolicyError, match="needs a scorer"):
        tv.probe_names([])


def test_noise(file: Path):
    design = tv.NoiseSettings("fr", levels=(0, 2), queries=5, seed=3)
    found = tv.probe_noise(sample_path(), [file], bm25=True, design=design, measures="R@10", rel=4)
    assert [each.name for each in found.probes] == ["words", "bm25"]
    sample, pipeline = tv.Collection.read(str(sample_path())), Pipeline.of(file)
    parts = summarize_noise(probe_pipelines([pipeline], sample, design, measures="R@10", rel=4), sample).to_dict()
    assert found.to_dict()["models"][0] == parts["models"][0]
    assert found.to_dict()["denoiser"] == parts["denoiser"]


def test_noise_takes_the_seed_of_the_choices(file: Path):
    few = tv.probe_noise(sample_path(), [file], seed=7, design=None, measures="R@10")
    assert (few.probes[0].design.language, few.probes[0].design.seed) == ("en", 7)


def test_join(file: Path):
    choices = {"queries": 8, "k": 5}
    found = tv.probe_join(sample_path(), [file], conditions=["noise-4"], seed=2, measures="R(rel=4)@10", **choices)
    sample, pipeline = tv.Collection.read(str(sample_path())), Pipeline.of(file)
    changes = find_conditions(["noise-4"], "en", seed=2)
    settings = {pipeline.name: pipeline.settings}
    parts = join_probes(sample, settings, changes, "R(rel=4)@10", choices=PredictionChoices(seed=2), **choices)
    assert found.to_dict() == parts.to_dict()


def test_something_must_search():
    for probe in (tv.probe_noise, tv.probe_join):
        with pytest.raises(tv.errors.PolicyError, match="nothing that searches"):
            probe(sample_path())
