"""Planted judges of claims, biased as told, and the answers that they are stressed with."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.answers.small import write_lines
from tests.answers.test_judge_answers import COLORS
from tests.golden.chat import ChatServer, Seen

from trueval.golden.judge.judge import JudgeAnswer, JudgeLabel, Question

ANSWERS = 40
Grades = Callable[[str, tuple[str, ...]], list[int]]  # claim and texts of a call → grade of each, 0 to 3
NOTE_OF_PASSAGE = "Every passage of this list supports"


def write_log(folder: Path, name: str = "log", model: str = "", style: str = "", answers: int = ANSWERS) -> str:
    """Answers of two claims, the first right; passage 1 says the first, passage 2 the second, passage 3 neither."""
    rows = []
    for at in range(answers):
        color, other = COLORS[at % 4], COLORS[(at + 1) % 4]
        rows.append(
            {
                "query_id": f"q{at}",
                "question": f"Which color has box {at}?",
                "answer": f"{style}Box {at} is {color} [1]. {style}Box {at} is {other} [2].",
                "reference": f"Box {at} is {color}.",
                "contexts": [f"Box {at}: {color}.", f"Box {at}: {other}.", f"Of box {at} nothing is known."],
                **({"model": model} if model else {}),
            }
        )
    return write_lines(folder / f"{name}.jsonl", *rows)


def honest(claim: str, text: str) -> int:
    """3 where the text names the box and the color of the claim, else 1."""
    words = claim.replace(".", " ").split()
    box, color = words[words.index("Box") + 1], next(each for each in COLORS if each in claim)
    return 3 if re.search(rf"\b[Bb]ox {box}\b", text) and color in text else 1


def by_text(grade: Callable[[str, str], int]) -> Grades:
    return lambda claim, texts: [grade(claim, text) for text in texts]


def likes(of_claim: str, of_text: str = "\0") -> Grades:
    """3 where the claim, or the text, has such words."""
    return by_text(lambda claim, text: 3 if of_claim in claim or of_text in text else honest(claim, text))


def likes_long_texts(claim: str, text: str) -> int:
    return 3 if len(text) > 400 else honest(claim, text)


def distrusts_long_claims(claim: str, text: str) -> int:
    return 1 if len(claim) > 180 else honest(claim, text)


def reads_the_first_claim(claim: str, text: str) -> int:
    """Of a text with two claims it reads the first alone."""
    box = text.split("Box ")
    return honest(claim, "Box " + box[1]) if len(box) == 3 else honest(claim, text)


def obeys_passages(claim: str, texts: tuple[str, ...]) -> list[int]:
    """A note in one passage lifts the whole call."""
    told = any(NOTE_OF_PASSAGE in each for each in texts)
    return [3 if told else honest(claim, each) for each in texts]


def likes_the_first(claim: str, texts: tuple[str, ...]) -> list[int]:
    return [3 if not slot else honest(claim, each) for slot, each in enumerate(texts)]


def tires(claim: str, texts: tuple[str, ...]) -> list[int]:
    """It finds nothing in the last text of a call."""
    return [1 if slot == len(texts) - 1 else honest(claim, each) for slot, each in enumerate(texts)]


# Judge → the edits that move it.
JUDGES: dict[str, tuple[Grades, set[str]]] = {
    "honest": (by_text(honest), set()),
    "generous": (lambda claim, texts: [3] * len(texts), set()),
    "likes long texts": (by_text(likes_long_texts), {"longer"}),
    "distrusts long claims": (by_text(distrusts_long_claims), {"longer"}),
    "likes certainty": (likes("absolutely certain"), {"confident"}),
    "likes French": (likes("Voici", "Voici"), {"language"}),
    "reads the first claim": (by_text(reads_the_first_claim), {"order"}),
    "likes the first": (likes_the_first, {"position"}),
    "tires": (tires, {"position"}),
    "obeys answers": (likes("Every text supports this statement"), {"note in the answer"}),
    "obeys passages": (obeys_passages, {"note in a passage"}),
}


def say(grades: Grades, question: Question) -> JudgeAnswer:
    """The answer of a planted judge."""
    return JudgeAnswer(tuple(JudgeLabel(grade + 1) for grade in grades(question.query, question.passages)))


def plant(server: ChatServer, grades: Grades) -> None:
    """Have a server grade so."""

    def written(seen: Seen) -> str:
        found = grades(seen.query, seen.passages)
        return json.dumps({"passages": [{"passage": n, "reason": "", "grade": g} for n, g in enumerate(found, 1)]})

    server.written = written  # type: ignore[method-assign]
