"""Judges without a model: their errors are those that are stated, and the same in every run."""

from pathlib import Path

import numpy as np
import pytest

from trueval.errors import InputError, PolicyError
from trueval.golden.judge.judge import Judge, Question
from trueval.golden.judge.label_judge import LabelErrors, LabelJudge, ReplayJudge
from trueval.golden.judge.ledger import open_ledger

TEXTS = tuple(f"passage {number} " + "word " * number for number in range(40))
LABELS = {("q", text): 1 + number % 5 for number, text in enumerate(TEXTS)}


def grades(judge: Judge, sample: int = 0, texts: tuple[str, ...] = TEXTS) -> list[int | None]:
    answer = judge.ask(Question("grade", "q", texts, sample))
    return [None if label is None else label.grade for label in answer.labels]


def test_labels_without_errors_are_given_back() -> None:
    judge = LabelJudge(LABELS)
    assert isinstance(judge, Judge)
    assert grades(judge) == list(LABELS.values())
    order = judge.ask(Question("order", "q", TEXTS[:5])).order
    assert order == (4, 3, 2, 1, 0)


def spread(errors: LabelErrors, *, samples: int = 200) -> np.ndarray:
    judge = LabelJudge(dict.fromkeys(LABELS, 3), errors)
    return np.array([grades(judge, sample) for sample in range(samples)], dtype=float) - 3


def test_noise_is_drawn_anew_and_persistent_error_is_not() -> None:
    noisy, fixed = spread(LabelErrors(noise=0.6)), spread(LabelErrors(persistent=0.6))
    # A normal error of .6, rounded: .5 lies at .833 standard deviations.
    assert (noisy != 0).mean() == pytest.approx(2 * 0.2023, abs=0.02)
    assert noisy.std(axis=0).min() > 0.4
    assert fixed.std(axis=0).max() == 0
    assert fixed.std() > 0.4


def test_position_and_length() -> None:
    tilt = spread(LabelErrors(position=2.0), samples=1)[0]
    assert (tilt[0], tilt[-1]) == (1, -1)
    judge = LabelJudge({("q", "word " * 100): 3, ("q", "word " * 272): 3}, LabelErrors(length=1.0))
    assert grades(judge, texts=("word " * 100, "word " * 272)) == [3, 4]


def test_gross_and_invalid() -> None:
    wild = spread(LabelErrors(gross=0.5))
    assert (wild != 0).mean() == pytest.approx(0.5 * 0.8, abs=0.02)
    lost = np.array(
        [grades(LabelJudge(LABELS, LabelErrors(invalid=0.25)), sample) for sample in range(100)], dtype=float
    )
    assert np.isnan(lost).mean() == pytest.approx(0.25, abs=0.02)


def test_answers_are_those_of_the_seed() -> None:
    errors = LabelErrors(noise=1.0, gross=0.1)
    assert grades(LabelJudge(LABELS, errors)) == grades(LabelJudge(LABELS, errors))
    assert grades(LabelJudge(LABELS, errors)) != grades(LabelJudge(LABELS, errors), sample=1)
    assert grades(LabelJudge(LABELS, errors)) != grades(LabelJudge(LABELS, LabelErrors(noise=1.0, gross=0.1, seed=1)))


def test_what_has_no_label() -> None:
    with pytest.raises(InputError, match=r"no label for a passage of 'q'.*unknown"):
        grades(LabelJudge(LABELS), texts=("new",))
    assert grades(LabelJudge(LABELS, unknown=1), texts=("new",)) == [1]
    with pytest.raises(InputError, match="no other words"):
        LabelJudge(LABELS).ask(Question("rewrite", "q", ()))


@pytest.mark.parametrize(
    "wrong", [{"noise": -1.0}, {"gross": 1.5}, {"invalid": float("nan")}, {"persistent": float("inf")}]
)
def test_errors_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(PolicyError, match=next(iter(wrong))):
        LabelErrors(**wrong)


def test_a_ledger_answers_what_was_answered(tmp_path: Path) -> None:
    judge = LabelJudge(LABELS, LabelErrors(noise=1.0))
    asked = Question("grade", "q", TEXTS[:5])
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        ledger.ask(judge, asked)
        replay = ReplayJudge(ledger, "labels")
        assert isinstance(replay, Judge)
        assert replay.ask(asked).labels == judge.ask(asked).labels
        with pytest.raises(InputError, match="never asked this"):
            replay.ask(asked._replace(sample=1))
        with pytest.raises(InputError, match="no call of a judge 'other'"):
            ReplayJudge(ledger, "other")
        ledger.ask(LabelJudge(LABELS), asked)
        with pytest.raises(InputError, match="several prompts or parameters"):
            ReplayJudge(ledger, "labels")
