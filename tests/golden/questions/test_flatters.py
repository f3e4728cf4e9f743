"""Planted worlds: where questions copy their passages BM25 is flattered, and found to be; where they do not, not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need

from trueval.errors import InputError, PolicyError
from trueval.golden.questions.flatters import flatters
from trueval.golden.questions.flattery_result import Flattery
from trueval.golden.questions.question_sets import QuestionSet

need("bm25s", extra="retrieval")

CONTENT = ("alpha", "bravo", "carrot", "dolmen", "ember", "fjord", "gravel", "harbor", "indigo", "juniper")


def world(
    folder: Path, name: str, *, questions: int, copied: float, quality: dict[str, float], seed: int
) -> tuple[Path, list[str]]:
    """Questions with judgments, and a run of each system on them: their places are planted.

    Args:
        copied: mean share of a question's words that are its passage's.
        quality: mean of the hidden quality of each system; that of "bm25" rises with the words that are copied.
    """
    rng = np.random.default_rng(seed)
    place = folder / name
    place.mkdir(parents=True)
    documents, queries, qrels = [], [], []
    lines: dict[str, list[str]] = {system: [] for system in quality}
    for number in range(questions):
        shared = rng.binomial(len(CONTENT), copied)
        words = [f"{word}{number}" for word in CONTENT]
        asked = words[:shared] + [f"other{word}{number}" for word in CONTENT[shared:]]
        documents.append({"_id": f"d{number}", "text": " ".join(words)})
        queries.append({"_id": f"{name}{number}", "text": " ".join(asked)})
        qrels.append(f"{name}{number} 0 d{number} 1\n")
        ease = rng.normal(0, 0.8)  # common to all systems
        for system, mean in quality.items():
            lexical = 4.0 * (shared / len(CONTENT) - 0.5) if system == "bm25" else 0.0
            rank = 1 + int(np.clip(np.exp(1.2 - mean - ease - lexical + rng.normal(0, 0.5)), 0, 30))
            found = [f"x{at}" if at != rank else f"d{number}" for at in range(1, 11)]
            lines[system] += [f"{name}{number} Q0 {each} {at} {11 - at} s\n" for at, each in enumerate(found, 1)]
    for file, rows in (("corpus", documents), ("queries", queries)):
        (place / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (place / "qrels.trec").write_text("".join(qrels))
    runs = []
    for system, text in lines.items():
        (place / f"{system}.trec").write_text("".join(text))
        runs.append(f"{system}={place / f'{system}.trec'}")
    return place, runs


QUALITY = {"bm25": 0.0, "dense": 0.6, "small": -0.6}


def measured(folder: Path, copied: float, *, seed: int, real: bool = True, **choices: Any) -> Flattery:
    """Written questions that copy a share of their passages, against real ones that copy half."""
    written, runs = world(folder, "w", questions=150, copied=copied, quality=QUALITY, seed=seed)
    if not real:
        return flatters(written, runs, **choices)
    asked, others = world(folder, "r", questions=150, copied=0.5, quality=QUALITY, seed=seed + 1000)
    return flatters(written, runs, asked, others, **choices)


def test_a_world_of_copies_flatters_bm25_and_turns_the_order(tmp_path: Path) -> None:
    found = measured(tmp_path, 0.9, seed=1)
    assert found.flattered == "yes"
    assert found.gain is not None
    assert found.gain.excess.low is not None
    assert found.gain.excess.low > 0
    assert found.believed == "no"
    turned = [(each.first, each.second) for each in found.pairs if each.verdict == "reversed"]
    assert turned == [("bm25", "dense")]
    assert [each.name for each in found.systems] == ["bm25", "dense", "small"]
    assert found.tau.value == pytest.approx(1 / 3)
    assert found.overlap is not None
    assert found.overlap.written.value == pytest.approx(0.9, abs=0.02)
    assert found.overlap.real.value == pytest.approx(0.5, abs=0.03)
    assert found.rise.low is not None
    assert found.rise.low > 0
    assert Flattery.from_dict(found.to_dict()) == found


def test_a_world_of_questions_like_the_real_ones_flatters_nobody(tmp_path: Path) -> None:
    found = measured(tmp_path, 0.5, seed=2)
    assert found.flattered == "undecided"
    assert found.believed == "yes"
    assert {each.verdict for each in found.pairs} == {"same"}
    assert found.tau.value == 1.0


def test_without_real_questions_it_is_not_known(tmp_path: Path) -> None:
    found = measured(tmp_path, 0.9, seed=1, real=False)
    assert (found.believed, found.flattered) == ("not known", "not known")
    assert found.pairs == ()
    assert found.tau.value is None
    assert found.rise.low is not None  # what words are worth to BM25 is known all the same
    assert found.rise.low > 0


def test_few_real_questions_decide_nothing(tmp_path: Path) -> None:
    written, runs = world(tmp_path, "w", questions=100, copied=0.6, quality=QUALITY, seed=3)
    asked, others = world(tmp_path, "r", questions=8, copied=0.5, quality=QUALITY, seed=4)
    found = flatters(written, runs, asked, others)
    assert found.believed == "undecided"
    assert any("fewer than 30" in note for note in found.notes)


@pytest.mark.evidence
def test_false_alarms_and_power_over_planted_worlds(tmp_path: Path) -> None:
    """Of worlds that flatter nobody at most 1 in 20 may be called flattered; no order of equals is called reversed."""
    worlds = 400
    false = reversed_orders = hits = 0
    for number in range(worlds):
        calm = measured(tmp_path / f"calm{number}", 0.5, seed=10 + number)
        false += calm.flattered == "yes"
        reversed_orders += calm.believed == "no"
        if number < 50:
            hits += measured(tmp_path / f"flat{number}", 0.75, seed=5000 + number).flattered == "yes"
    print(f"flattered in {false} of {worlds} calm worlds, reversed in {reversed_orders}; found in {hits} of 50")
    # The upper tail is 2.5 %; 20 of 400 has a chance of .2 % above at that rate.
    assert false <= 20
    assert reversed_orders <= 20
    assert hits >= 45


def test_judgments_alone_have_no_overlap_and_the_lexical_system_may_be_named(tmp_path: Path) -> None:
    written, runs = world(tmp_path, "w", questions=40, copied=0.7, quality=QUALITY, seed=5)
    asked, others = world(tmp_path, "r", questions=40, copied=0.5, quality=QUALITY, seed=6)
    found = flatters(written / "qrels.trec", runs, asked / "qrels.trec", others, lexical="small")
    assert found.overlap is None
    assert found.rise.value is None
    assert found.lexical == "small"
    assert [each.other for each in found.gains] == ["bm25", "dense"]
    renamed = [each.replace("bm25=", "words=") for each in runs]
    nobody = flatters(written, renamed)
    assert (nobody.lexical, nobody.gain, nobody.gains) == (None, None, ())
    assert nobody.notes == ("No gain of lexical search: name the system, --lexical NAME.",)


def test_the_interval_of_a_gain_is_that_of_a_paired_bootstrap(tmp_path: Path) -> None:
    """The same differences, drawn by numpy itself, have the same spread."""
    written, runs = world(tmp_path, "w", questions=120, copied=0.7, quality=QUALITY, seed=7)
    found = flatters(written, runs, resamples=20_000)
    gain = next(each for each in found.gains if each.other == "dense")
    from trueval.evaluation.evaluate import evaluate

    values = [evaluate(run.partition("=")[2], written / "qrels.trec", ["nDCG@10"]).expected[:, 0] for run in runs[:2]]
    apart, rng = values[0] - values[1], np.random.default_rng(8)
    drawn = np.array([apart[rng.integers(0, 120, 120)].mean() for _ in range(20_000)])
    assert gain.written.value == pytest.approx(apart.mean())
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert gain.written.low == pytest.approx(low, abs=0.004)
    assert gain.written.high == pytest.approx(high, abs=0.004)


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    written, runs = world(tmp_path, "w", questions=5, copied=0.7, quality=QUALITY, seed=9)
    for given, told in (
        (([runs[0]], None, ()), "two systems at least"),
        ((runs, None, runs), "need judgments"),
        ((runs, written, runs[:2]), "Got 2 for 3 systems"),
    ):
        with pytest.raises(PolicyError, match=told):
            flatters(written, given[0], given[1], given[2])
    with pytest.raises(PolicyError, match="lexical must be one of bm25, dense, small"):
        flatters(written, runs, lexical="bm52")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "questions.json").write_text('{"kind": "golden"}')
    with pytest.raises(InputError, match="not the result of trueval golden questions"):
        QuestionSet.read(tmp_path / "odd", "en")
