"""Margins of names on a collection: which queries have a trial, what its documents are, and margins against cosines by
hand; the join with a table of authors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from tests.tradeoff import made

import trueval as tv
from trueval.collection import Collection
from trueval.errors import InputError
from trueval.probes.authors import Authors, AuthorWork, Name
from trueval.probes.collection_margins import trials_of
from trueval.probes.conditions import find_conditions
from trueval.probes.mentions import Mentions
from trueval.probes.prediction import PredictionChoices
from trueval.probes.probe_retrieval_correlation import join_probes
from trueval.probes.probe_systems import systems

# The words that the model counts are names, so that a name that goes moves the vector.
AUTHORS = [Name("", word) for word in made.WORDS[:8]]
MENTIONS = Mentions(Authors(tuple(AuthorWork(name, f"t{at}", f"t{at}") for at, name in enumerate(AUTHORS)), "test"))


def collection() -> Collection:
    rng = np.random.default_rng(5)
    documents = {f"d{at}": " ".join(rng.choice(made.WORDS, 12)) for at in range(80)}
    queries = {f"q{at}": f"{made.WORDS[at % 10]} {made.WORDS[10 + at % 14]}" for at in range(30)}
    grades = {
        query: {name: 1 + (at + int(name[1:])) % 3 for name in list(documents)[at : at + 6]}
        for at, query in enumerate(queries)
    }
    return Collection("made", "made", documents, queries, tv.Judgments.from_dict(grades))


def test_a_trial_is_a_relevant_document_under_other_names() -> None:
    texts = collection()
    trials = trials_of(texts, MENTIONS, 0)
    grades = texts.graded.frame
    assert 0 < len(trials.places) < len(texts.queries)
    for query, text in texts.queries.items():
        name = text.split()[0]
        at = made.WORDS.index(name)
        relevant = grades.filter(grades["query_id"] == query).sort("grade", descending=True, maintain_order=True)
        holding = [each for each in relevant["doc_id"].to_list() if name in texts.documents[each].split()]
        if at >= len(AUTHORS) or not holding:
            assert query not in trials.places
            continue
        right, *others = (trials.documents[each].split() for each in trials.places[query])
        assert right == texts.documents[holding[0]].split()
        impostors = []
        for other in others:
            (by,) = {new for old, new in zip(right, other, strict=True) if old == name}
            assert all(old == new for old, new in zip(right, other, strict=True) if old != name)
            impostors.append(by)
        assert len({name, *impostors}) == 3
        assert set(impostors) <= set(made.WORDS[: len(AUTHORS)])
    # A query has the same impostors whatever others there are, and others for another seed.
    kept = dict(list(texts.queries.items())[:20])
    fewer = trials_of(replace(texts, queries=kept), MENTIONS, 0)
    for query, places in fewer.places.items():
        for one, other in zip(places, trials.places[query], strict=True):
            assert fewer.documents[one] == trials.documents[other]
    assert trials_of(texts, MENTIONS, 1).documents != trials.documents


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_the_join_says_what_margins_of_names_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss", reason='needs the extra "retrieval"')
    pytest.importorskip("safetensors", reason='needs the extra "models"')
    seen: list[Any] = []
    made.use(monkeypatch, seen)
    texts = collection()
    (dense, words) = systems(["counts"], "flat", language="en", bm25=True, hybrid=False, depth=20)
    chosen = find_conditions(["noise-1", "hard_name_mask", "initials_form"], "en", mentions=MENTIONS)
    found = join_probes(
        texts,
        {each.name: each.settings for each in (dense, words)},
        chosen,
        "R@10",
        mentions=MENTIONS,
        choices=PredictionChoices(resamples=50, threads=1),
        cache=tmp_path / "cache",
    )
    asked = {query: text for query, text in texts.queries.items() if made.WORDS.index(text.split()[0]) < len(AUTHORS)}
    assert found.queries == len(asked) < len(texts.queries)
    assert any(f"{len(asked)} of 30 judged queries name an author" in note for note in found.notes)
    rows = {(each.name, each.condition, each.signal): each for each in found.models}
    assert not [key for key in rows if key[0] == "bm25" and key[2].startswith("name")]
    trials = trials_of(texts, MENTIONS, 0)
    model = made.Model("counts", [])

    def margin(text: str, query: str) -> float:
        right, *others = [trials.documents[each] for each in trials.places[query]]
        vector, *vectors = model.embed_documents([text, right, *others], None)
        first, *rest = np.array(vectors) @ vector
        return float(first - max(rest))

    with_trial = [query for query in asked if query in trials.places]
    clean = np.array([margin(asked[query], query) for query in with_trial])
    masked = np.array([margin(chosen[1].change(asked[query]), query) for query in with_trial])
    assert np.abs(masked).max() > 0  # the mask leaves what the impostors' own names weigh
    told = rows["counts", "hard_name_mask", "name drop"]
    assert told.found.queries == len(with_trial)
    assert told.danger == pytest.approx((clean - masked).mean(), abs=1e-6)
    assert rows["counts", "hard_name_mask", "name margin"].danger == pytest.approx(-clean.mean(), abs=1e-6)
    losses = found_losses(texts, asked, chosen[1].change, tmp_path, dense)
    both = [losses[query] for query in with_trial]
    # Margins of few words are often equal but for a rounding, which ranks see.
    assert told.found.spearman.value == pytest.approx(spearmanr(clean - masked, both).statistic, abs=0.05)
    # Names of one word have no initials: the condition reaches nobody, and says so.
    unreached = rows["counts", "initials_form", "drop"].found
    assert (unreached.queries, unreached.reason.split(":")[0]) == (0, "no query has both values")


def found_losses(texts: Collection, asked: dict[str, str], change: Any, place: Path, dense: Any) -> dict[str, float]:
    scores = []
    for queries in (asked, {query: change(text) for query, text in asked.items()}):
        run = dense.retrieve(replace(texts, queries=queries, judgments=None)).run
        scores.append(tv.evaluate(run, texts.restrict(frozenset(asked)).graded, ["R@10"]))
    return {
        query: scores[0].expected[scores[0].query_ids.index(query), 0]
        - scores[1].expected[scores[1].query_ids.index(query), 0]
        for query in asked
    }


def test_a_table_of_other_people_is_refused() -> None:
    other = Mentions(Authors((AuthorWork(Name("Ann", "Lee"), "t", "t"),), "test"))
    with pytest.raises(InputError, match=r"0 of 30 judged queries name an author of the table \(Ann Lee, \.\.\.\)"):
        join_probes(collection(), {"bm25": {}}, find_conditions(["noise-1"], "en"), "R@10", mentions=other)


def test_impostors_are_named_neither_in_the_query_nor_in_the_document_and_have_another_family_name() -> None:
    authors = [Name("Manon", "Lefèvre"), Name("Marie", "Lefèvre"), Name("Ann", "Lee"), Name("Bo", "Hof")]
    documents = {"d": "Manon Lefe\u0300vre found it; Lefèvre was there, and so was Lee"}
    queries = {"q": "what did Manon Lefèvre find?", "r": "Manon Lefèvre or Bo Hof?"}
    judged = tv.Judgments.from_dict({query: {"d": 1} for query in queries})
    texts = Collection("made", "made", documents, queries, judged)

    def tried(*more: Name) -> dict[str, set[str]]:
        people = Authors(tuple(AuthorWork(name, "t", "t") for name in (*authors, *more)), "test")
        trials = trials_of(texts, Mentions(people), 0)
        return {query: {trials.documents[each] for each in places} for query, places in trials.places.items()}

    assert tried() == {}  # Marie shares the family name, Lee is in the document: Hof is the only one left
    right = "Manon Lefèvre found it; Lefèvre was there, and so was Lee"
    fox = "Pia Fox found it; Fox was there, and so was Lee"
    hof = "Bo Hof found it; Hof was there, and so was Lee"
    assert tried(Name("Pia", "Fox")) == {"q": {right, fox, hof}}  # of r Hof is asked for, and is no impostor
    assert tried(Name("Pia", "Fox"), Name("", "Zed"))["r"] == {
        right,
        fox,
        "Zed found it; Zed was there, and so was Lee",
    }
