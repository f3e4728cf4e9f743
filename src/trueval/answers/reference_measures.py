"""Measures of an answer against its reference without a judge: exact match, token F1, and numbers.

Source of the first two: SQuAD, Rajpurkar et al. 2016 (arXiv 1606.05250) §5; texts are compared after SQuAD's
normalization: lower case, no punctuation, no English articles, single blanks.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable
from typing import Final

import numpy as np

from trueval.answers.answer import AnswerLog
from trueval.answers.claim_measures import AnswerValues, Bounds

ARTICLES: Final = re.compile(r"\b(a|an|the)\b")
PUNCTUATION: Final = str.maketrans("", "", string.punctuation + "«»“”‘’…")
NUMBER: Final = re.compile(r"(?<![\w.,])[-−]?\d+(?:[.,\u00a0\u202f ]\d{3}(?!\d))*(?:[.,]\d+)?(?!\w)")
MARKS: Final = re.compile(r"\[\d{1,4}(?:\s*[,;]\s*\d{1,4})*\]")


def normalize(text: str) -> str:
    """A text as SQuAD compares it; marks of citations are left out.

    >>> normalize("The  Eiffel-Tower [2]!")
    'eiffeltower'
    """
    plain = MARKS.sub(" ", text).lower().translate(PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", plain).split())


def exact_match(answer: str, reference: str) -> float:
    """1 where both are equal after normalization, else 0.

    >>> exact_match("The Nile.", "Nile"), exact_match("the river Nile", "Nile")
    (1.0, 0.0)
    """
    return float(normalize(answer) == normalize(reference))


def token_f1(answer: str, reference: str) -> float:
    """Harmonic mean of the shares of common tokens: 2 c / (tokens of the answer + tokens of the reference).

    c counts common tokens with repetitions. Where one has no tokens, 1 if the other has none either, else 0.

    >>> token_f1("the river Nile", "Nile")  # c = 1, tokens 2 + 1
    0.6666666666666666
    """
    one, other = normalize(answer).split(), normalize(reference).split()
    if not one or not other:
        return float(one == other)
    return 2 * (Counter(one) & Counter(other)).total() / (len(one) + len(other))


def numbers_in(text: str) -> frozenset[float]:
    """The numbers of a text: digits, with separators of thousands, and a decimal point or comma.

    A comma or point before exactly three digits separates thousands unless a further one follows as the decimal mark:
    1,250 and 1.250 are 1250; 0.125 is below one.

    >>> sorted(numbers_in("1,250 people in 2019, 3.5 % more; 12 000,5 [3]"))
    [3.5, 1250.0, 2019.0, 12000.5]
    """
    found = set()
    for text_of_number in NUMBER.findall(MARKS.sub(" ", text)):
        sign = -1.0 if text_of_number[0] in "-−" else 1.0
        parts = re.split(r"[.,\u00a0\u202f ]", text_of_number.lstrip("-−"))
        marks = re.findall(r"[.,\u00a0\u202f ]", text_of_number)
        decimal = (
            len(parts) > 1
            and marks[-1] in ".,"
            and (len(parts[-1]) != 3 or parts[0] == "0" or (len(marks) > 1 and marks[-1] != marks[0]))
        )
        whole, end = ("".join(parts[:-1]), parts[-1]) if decimal else ("".join(parts), "0")
        found.add(sign * float(f"{whole}.{end}"))
    return frozenset(found)


def number_recall(answer: str, reference: str) -> float:
    """Share of the reference's numbers, each once, that the answer has; NaN if it has none.

    >>> number_recall("In 1889, 300 m high.", "It was 330 m high in 1889.")
    0.5
    """
    wanted = numbers_in(reference)
    return len(wanted & numbers_in(answer)) / len(wanted) if wanted else np.nan


def best_of_references(log: AnswerLog, formula: Callable[[str, str], float]) -> AnswerValues:
    """[query] the best value over the references of each question.

    Args:
        formula: from answer and reference to a value.
    """
    value = np.full(len(log.answers), np.nan)
    for at, answer in enumerate(log.answers):
        found = [formula(answer.text, reference) for reference in answer.references]
        known = [each for each in found if not np.isnan(each)]
        value[at] = max(known, default=np.nan)
    unknown = np.array([not answer.references for answer in log.answers], dtype=bool)
    return AnswerValues(Bounds(value, value), unknown)
