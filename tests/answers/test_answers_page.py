"""docs/answers.md: its example by hand is what the package computes; and the page that people open."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.answers.small import write_lines

from trueval.answers.answer_measures import MEASURES
from trueval.answers.answers_evaluation import AnswersEvaluation, Losses
from trueval.answers.evaluate_answers import evaluate_answers
from trueval.answers.views.answers import view
from trueval.evaluation.corrected_values import EstimateWithInterval

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "answers.md").read_text(encoding="utf-8")
NAMES = {"supp.": "supported"}


@pytest.fixture
def example(tmp_path: Path) -> tuple[str, str]:
    """Log and table of the example, read from the page."""
    text = PAGE[PAGE.index("## The measures, by hand") :]
    block = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert block is not None
    sayings = dict(re.findall(r"\b([ar]\d) (.+?)(?= {2,}|\n)", block[1].split("against")[0]))
    passages = re.search(r"passages +1 +(.+?) {2,}2 +(.+)", block[1])
    assert passages is not None
    claims = []
    for number in (1, 2, 3):
        said, _, cited = sayings[f"a{number}"].partition(" [")
        claims.append({"text": said.rstrip(".") + ".", "citations": [int(cited[0])] if cited else []})
    row = {
        "query_id": "q1",
        "question": re.findall(r"^question +(.+)$", block[1], re.MULTILINE)[0],
        "answer": " ".join(claim["text"] for claim in claims),
        "claims": claims,
        "contexts": list(passages.groups()),
        "reference": " ".join(sayings[f"r{number}"] for number in (1, 2, 3)),
        "nuggets": [
            {"text": sayings[f"r{number}"], "importance": "okay" if number == 3 else "vital"} for number in (1, 2, 3)
        ],
    }
    labels = []
    for side, number, *found in re.findall(r"\b([ar])(\d) +(\w+\.?) +(\w+\.?) +(\w+\.?)(?: +(\w+))?", block[1]):
        of, other = ("answer", "reference") if side == "a" else ("reference", "answer")
        names = [NAMES.get(name, name) for name in found if name]
        against = (other, 1, 2, "question")[: 4 if side == "a" else 3]
        labels += [
            {"query": "q1", "of": of, "claim": int(number), "against": each, "label": name}
            for each, name in zip(against, names, strict=False)
            if name in ("supported", "partly", "not")
        ]
    return write_lines(tmp_path / "log.jsonl", row), write_lines(tmp_path / "table.jsonl", *labels)


def test_the_example_of_the_page_is_what_is_computed(example: tuple[str, str]) -> None:
    found = evaluate_answers(*example)
    assert found.missing == 0
    rows = dict(re.findall(r"^\| `([\w-]+)` \| .* \|.*?(\d\.\d{4}) \|$", PAGE, re.MULTILINE))
    wanted = {name: f"{each.value:.4f}" for name, each in found.by_name.items() if each.value is not None}
    assert rows == wanted
    assert rows.keys() | {"abstention-right", "abstention-wrong"} == MEASURES.keys()


def test_the_page_has_at_most_1500_words() -> None:
    assert len(PAGE.split()) <= 1_500


def _result(retrieval: int, reading: int, undecided: int, ends: tuple[float, float]) -> AnswersEvaluation:
    gap = EstimateWithInterval(sum(ends) / 2, *ends, 1.0, 9.0)
    losses = Losses(10, reading, retrieval, undecided, gap)
    return AnswersEvaluation("log", "table", 0.95, 20, 40, 0, 0, losses, (), (), "", ())


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (_result(9, 2, 0, (0.1, 0.5)), "Retrieval limits log most"),
        (_result(2, 9, 1, (-0.5, -0.1)), "Reading limits log most"),
        (_result(5, 4, 1, (-0.2, 0.3)), "Whether retrieval or reading limits log more is not separated"),
        (_result(2, 1, 7, (0.1, 0.2)), "Missing labels limit what can be said of log"),
        (_result(0, 0, 0, (0.0, 0.0)), "Nothing limits log: its answers contain all 10 claims of the references."),
    ],
)
def test_the_sentence_names_what_limits_only_where_questions_tell(result: AnswersEvaluation, said: str) -> None:
    assert str(view(result).answer.sentence).startswith(said)


def test_json_of_the_example_holds_every_claim_with_its_passages(example: tuple[str, str]) -> None:
    found = json.loads(json.dumps(evaluate_answers(*example).to_dict()))
    (question,) = found["listed"]
    assert [each["claim"] for each in question["claims"]][:2] == ["Built in 1889.", "Painted in 1899."]
    assert question["claims"][0]["texts"][1] == {
        "against": "1",
        "label": "supported",
        "text": "Built in 1889, 330 m high.",
    }
