"""The probe of noise against the pipeline, the evaluation and the lists by themselves."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.retrieval import models

import trueval as tv
from trueval.collection import Collection
from trueval.comparison.resampling.reshuffle import Reshuffle
from trueval.errors import InputError
from trueval.policy.policy import Policy
from trueval.probes.conditions import find_conditions
from trueval.probes.denoising_accuracy import measure_denoising
from trueval.probes.noise import NoiseProbe, default_measures, draw_queries, probe_pipelines, raw_texts, texts_of
from trueval.probes.noise_result import NoiseSummary
from trueval.probes.noise_settings import CLEAN, JUDGE, NoiseCondition, NoiseSettings
from trueval.probes.noise_summary import means, summarize_noise
from trueval.probes.prediction import PredictionChoices
from trueval.probes.probe_retrieval_correlation import join_probes
from trueval.probes.probe_systems import systems
from trueval.probes.query_noise import noisy
from trueval.retrieval.indexes.analysis import one_writing
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.denoise import denoise
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.sample import sample_path

need("faiss", "bm25s", extra="retrieval")

WORDS = ["hi", "question", "thanks", "the", "of", "what", "how", "is", "a", "in", "you", "water", "um"]


class Counts:
    """Embeds a text as the counts of some words; remembers the texts."""

    name, batch_size, dtype, scoring = "counts", 64, "float32", "product"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def settings(self) -> dict[str, Any]:
        return {"model": self.name, "path": "nowhere", "dtype": self.dtype, "scoring": self.scoring}

    def embed_documents(self, texts: Sequence[str], names: Sequence[str]) -> Any:
        self.seen += texts
        counts = np.array([[1 + text.lower().count(word) for word in WORDS] for text in texts], dtype=np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    embed_queries = embed_documents


@pytest.fixture(scope="module")
def sample() -> Collection:
    return Collection.read(str(sample_path()))


DESIGN = NoiseSettings("en", levels=(0, 2, 4), queries=8, seed=5)


@pytest.fixture(scope="module")
def probe(sample: Collection) -> NoiseProbe:
    (bm25,) = systems((), "flat", language="en", bm25=True, hybrid=False)
    return probe_pipelines([bm25], sample, DESIGN, measures="nDCG@10 R(rel=4)@10")[0]


def test_the_clean_condition_is_the_pipeline_itself(probe: NoiseProbe, sample: Collection) -> None:
    (bm25,) = systems((), "flat", language="en", bm25=True, hybrid=False)
    chosen = draw_queries(sample, DESIGN)
    run = bm25.retrieve(replace(chosen, judgments=None)).run
    scores = tv.evaluate(run, chosen.graded, "nDCG@10 R(rel=4)@10")
    for name in ("nDCG@10", "R(rel=4)@10"):
        assert probe.worth[name][0].mean() == pytest.approx(scores[name].expected)
    assert list(probe.query_ids) == list(scores.query_ids)
    assert probe.cosines is None


def test_a_noisy_condition_is_the_pipeline_with_the_noisy_texts(probe: NoiseProbe, sample: Collection) -> None:
    condition = NoiseCondition(4, "held-out", "rules", True)
    chosen, at = draw_queries(sample, DESIGN), probe.row(condition)
    written = {
        query: denoise(noisy(text, 4, "en", seed=5, bank="held-out").text) for query, text in chosen.queries.items()
    }
    (bm25,) = systems((), "flat", language="en", bm25=True, hybrid=False)
    runs = [bm25.retrieve(replace(chosen, judgments=None, queries=each)).run for each in (chosen.queries, written)]
    scores = tv.evaluate(runs[1], chosen.graded, "R(rel=4)@10")
    assert probe.worth["R(rel=4)@10"][at].mean() == pytest.approx(scores["R(rel=4)@10"].expected)
    pair = tv.compare({"clean": runs[0], "noisy": runs[1]}, chosen.graded, "R(rel=4)@10", resamples=1000).reshuffle
    assert [float(each[at].mean()) for each in probe.lists] == pytest.approx(
        [pair.pairs[0].overlap, pair.pairs[0].tau, pair.pairs[0].rbo]
    )


def test_the_guard_writes_one_way_at_the_end_and_denoising_does_not() -> None:
    design = replace(DESIGN, language="fr", levels=(4,))
    conditions = (CLEAN, NoiseCondition(4, "known", "rules", False), NoiseCondition(4, "known", "rules", True))
    queries = {f"q{at}": f"Qu'est-ce que l'été {at} ?" for at in range(20)}
    _, cut, guarded = texts_of(conditions, queries, design, None).texts
    assert any(one_writing(text) != text for text in cut)
    assert [one_writing(text) for text in cut] == list(guarded)


def test_conditions_are_every_way_once_the_clean_one_first() -> None:
    found = list(DESIGN.conditions())
    assert found[0] == CLEAN
    assert len(found) == len(set(found)) == 4 + 2 * 2 * 2 * 2  # level 0 has no templates
    assert list(NoiseSettings("en", levels=(3,), denoised=("rules",), normalised=(True,)).conditions()) == [
        CLEAN,
        NoiseCondition(3, "known", "rules", True),
        NoiseCondition(3, "held-out", "rules", True),
    ]


def test_each_different_text_is_embedded_once_and_cosines_are_of_the_texts(
    sample: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Counts()
    models.use(monkeypatch, lambda name: made)
    dense = Pipeline(settings_of_tables({"embed": {"model": "m"}, "index": {"spec": "flat"}}, "test"), "m")
    (found,) = probe_pipelines([dense], sample, DESIGN)
    texts = texts_of(found.conditions, draw_queries(sample, DESIGN).queries, DESIGN, None).texts
    different = {text for row in texts for text in row}
    assert sorted(set(made.seen) - set(sample.documents.values())) == sorted(different - set(sample.documents.values()))
    assert len(made.seen) == len(sample.documents) + len(different)
    assert found.cosines is not None
    assert found.cosines.shape == (len(found.conditions), 8)
    # To the last bit, also of other texts that have the same vector.
    assert set(found.cosines[0].tolist()) == {1.0} == {found.cosines.max()}
    vectors = [made.embed_queries([row[3]], ["q"])[0] for row in (texts[0], texts[-1])]
    assert found.cosines[-1, 3] == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-6)


def test_systems_of_one_model_embed_texts_once_without_a_cache(
    sample: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Counts()
    models.use(monkeypatch, lambda name: made)
    several = systems(["m", "m@3"], "flat", language="en", bm25=True, hybrid=True)
    together = probe_pipelines(several, sample, DESIGN)
    assert [each.name for each in together] == ["m", "m@3", "bm25", "m + bm25", "m@3 + bm25"]
    assert len(made.seen) == len(set(made.seen))
    alone = probe_pipelines([several[3]], sample, DESIGN)[0]
    assert alone.cosines is not None
    assert together[3].cosines is not None
    assert (alone.cosines == together[3].cosines).all()
    for one, other in zip(alone.lists, together[3].lists, strict=True):
        assert (one == other).all()


def test_a_judge_sees_each_different_text_once_and_may_answer_nothing(sample: Collection) -> None:
    design = replace(DESIGN, levels=(0, 1), denoised=("none", JUDGE), normalised=(False, True))
    queries = draw_queries(sample, design).queries
    asked: list[str] = []

    def rewriter(texts: Sequence[str]) -> list[str]:
        asked.extend(texts)
        return ["" if text.endswith("?") else text.upper() for text in texts]

    conditions = tuple(design.conditions())
    written = texts_of(conditions, queries, design, rewriter).texts
    assert len(asked) == len(set(asked))
    assert set(asked) == set(raw_texts(queries, design))
    at = conditions.index(NoiseCondition(1, "known", JUDGE, False))
    for text, query in zip(written[at], queries.values(), strict=True):
        given = noisy(query, 1, "en", seed=5).text
        assert text == (given if given.endswith("?") else given.upper())
    (bm25,) = systems((), "flat", language="en", bm25=True, hybrid=False)
    with pytest.raises(InputError, match="needs a judge"):
        probe_pipelines([bm25], sample, design)


def test_the_result_has_paired_changes_and_keeps_ties(probe: NoiseProbe, sample: Collection) -> None:
    summary = summarize_noise([probe], sample).result()
    first = summary.models[0].levels[:2]
    assert [(each.condition.description, each.is_clean) for each in first] == [
        ("clean", True),
        ("clean, normalised", False),
    ]
    result = summary.to_dict()
    assert NoiseSummary.from_dict(result).to_dict() == result
    (model,) = result["models"]
    at = probe.row(NoiseCondition(4, "known", "none", False))
    level, worth = model["levels"][at], probe.worth["R(rel=4)@10"]
    change = level["measures"]["R(rel=4)@10"]
    assert change["change"] == pytest.approx((worth[at] - worth[0]).mean())
    assert change["low"] <= change["change"] <= change["high"]
    # Counts of queries are there since a mean does not tell many small losses from few large ones.
    assert (change["queries"], change["lost"]) == (len(probe.query_ids), (worth[at] < worth[0]).sum())
    assert level["cosine"] is None
    assert level["variety"] > 1_000_000 > model["levels"][0]["variety"] == 1
    assert 0.3 < level["added"] < 0.9
    assert {each["level"] for each in result["denoiser"]["stripped"]} == {2, 4}
    assert result["denoiser"]["clean"]["queries"] == len(sample.queries)


def test_means_leave_out_queries_without_a_value_column_by_column() -> None:
    columns = {
        (0, "a"): np.array([1.0, 3.0, np.nan]),
        (0, "b"): np.array([1.0, 2.0, 6.0]),
        (0, "c"): np.full(3, np.nan),
    }
    found = means(columns, 0)
    assert (found[0, "a"].mean, found[0, "b"].mean) == (2.0, 3.0)
    assert np.isnan(found[0, "c"].mean)
    assert found[0, "b"].low < 3 < found[0, "b"].high


def test_a_seed_draws_the_same_queries_and_only_judged_ones(sample: Collection) -> None:
    first, again, other = (tuple(draw_queries(sample, replace(DESIGN, seed=seed)).queries) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 8
    with pytest.raises(InputError, match="judgments"):
        draw_queries(replace(sample, judgments=None), DESIGN)


def test_default_measures_follow_the_grades(sample: Collection) -> None:
    assert default_measures(sample.graded) == "nDCG@10 R@10 N-Recall4+@10"
    binary = tv.Judgments.from_dict({"q": {"a": 1}})
    assert default_measures(binary) == "nDCG@10 R@10"


def test_a_policy_reaches_the_measures(sample: Collection) -> None:
    (bm25,) = systems((), "flat", language="en", bm25=True, hybrid=False)
    found = [
        probe_pipelines([bm25], sample, replace(DESIGN, levels=(0,)), measures="R@10", policy=Policy(rel=rel))[0]
        for rel in (1, 4)
    ]
    one, other = (each.worth["R@10"][0] for each in found)
    assert any("every judged document for relevant" in note for note in found[0].notes)
    assert one.mean() != other.mean()


def test_stripped_counts_characters() -> None:
    """Hello! is 6 characters of chatter, all taken; the question loses nothing."""
    found = measure_denoising([noisy("Are forests cool?", 1, "en", seed=seed) for seed in range(3)])
    assert found.taken == found.chatter > 0
    assert (found.question, found.lost) == (3 * len("Areforestscool?"), 0)


def test_bad_designs() -> None:
    for options, words in (
        ({"denoised": ("rule",)}, "Did you mean rules"),
        ({"levels": (7,)}, "from 0 to 4"),
        ({"queries": 1}, "at least 2"),
        ({"templates": ()}, "templates must name one"),
        ({"denoised": ()}, "denoise must name one"),
    ):
        with pytest.raises(InputError, match=words):
            NoiseSettings("en", **options)  # type: ignore[arg-type]


def test_unknown_conditions_of_a_probe_are_refused(probe: NoiseProbe) -> None:
    assert isinstance(probe.lists, Reshuffle)
    with pytest.raises(InputError, match="no condition"):
        probe.row(NoiseCondition(1, "known", "none", False))


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_a_query_that_loses_all_results_keeps_nothing() -> None:
    """By words, a query of one word that gets a typo may find nothing."""
    words = [*"alpine glacier meltwater budget snowfield climate".split()]  # noqa: SIM905
    words += [*"forest economy railway network portrait museum".split()]  # noqa: SIM905
    collection = Collection(
        "words",
        "words",
        {word: f"{word} {other}" for word, other in zip(words, words[1:] + words[:1], strict=True)},
        {word: word for word in words},
        tv.Judgments.from_dict({word: {word: 1} for word in words}),
    )
    (bm25,) = systems((), "flat", language="en", bm25=True, hybrid=False)
    design = NoiseSettings("en", (4,), ("known",), ("none",), (False,))
    (found,) = probe_pipelines([bm25], collection, design, measures="R@10 N-Recall4+@10")
    lost = found.worth["R@10"][1] == 0
    assert 0 < lost.sum() < len(words)
    for values, least in zip(found.lists, (0, -1, 0), strict=True):
        assert (values[1] == np.where(lost, least, values[0])).all()
    level = summarize_noise([found], collection).to_dict()["models"][0]["levels"][1]
    assert level["overlap"]["mean"] == pytest.approx(1 - lost.mean())
    first = found.query_ids[int(np.flatnonzero(lost)[0])]
    assert any(note.endswith(f"find nothing, such as '{first} (level 4, known templates)'.") for note in found.notes)
    assert set(level["measures"]["N-Recall4+@10"].values()) == {None}  # no grade is 4
    (skipped,) = probe_pipelines([bm25], collection, design, measures="nDCG@10", policy=Policy(missing="skip"))
    change = summarize_noise([skipped], collection).to_dict()["models"][0]["levels"][1]["measures"]["nDCG@10"]
    assert change["change"] == pytest.approx(change["noisy"] - change["clean"])
    joined = join_probes(
        collection,
        {"bm25": bm25.settings},
        find_conditions(["noise-4"], "en"),
        "R@10",
        choices=PredictionChoices(resamples=50),
    )
    overlap = next(each for each in joined.models if each.signal == "overlap")
    assert overlap.found.spearman.value == pytest.approx(1)  # who loses all loses most


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_a_condition_under_which_no_query_finds_anything_is_a_result() -> None:
    greetings = " ".join(noisy(query, 1, "en").text for query in ("zebra", "xylophone"))
    documents = {f"d{at}": greetings.replace("zebra", "").replace("xylophone", "") for at in range(3)}
    judged = tv.Judgments.from_dict({"q": {"d0": 1}, "r": {"d1": 1}})
    collection = Collection("made", "made", documents, {"q": "zebra", "r": "xylophone"}, judged)
    (bm25,) = systems((), "flat", language="en", bm25=True, hybrid=False)
    design = NoiseSettings("en", (1,), ("known",), ("none",), (False,))
    (found,) = probe_pipelines([bm25], collection, design, measures="R@10")
    assert found.worth["R@10"].tolist() == [[0, 0], [1, 1]]
    assert np.isnan(found.lists.overlap[0]).all()
    assert (found.lists.overlap[1] == 0).all()
