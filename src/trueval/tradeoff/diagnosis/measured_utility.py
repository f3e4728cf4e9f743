"""UDCG with utilities that brittleness measures, for the contexts that the generators of a sweep read.

    UDCG-measured@K = sigmoid((1/K) [u R - h (n - R)])

for each question, R of the n documents in its context being judged to hold the answer: u is what the answer from those
documents alone is worth, h what each document without the answer takes away (`QuestionUtility`, trueval answers
brittle). Published UDCG (Trappolini et al. 2025) takes utilities from a model too, of each document alone; here they
are of each question, which is what brittleness measures, by the same measure of answers. Where ties leave several
contexts it is the mean over those that were answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np

from trueval.answers.answer_logs import read_answers
from trueval.answers.generation.brittle_result import BrittleAnswers, QuestionUtility
from trueval.errors import InputError
from trueval.standings.standings import Floats
from trueval.tradeoff.quality.sweep_loader import SweepArrays

NAME: Final = "UDCG-measured@K"
FILE: Final = "brittle-answers.json"
VARIANTS: Final = "variants"


def read_brittle(brittle: BrittleAnswers | str | PathLike[str]) -> BrittleAnswers:
    """A result of `brittle_answers`, or the one in a file or a folder of results.

    Raises:
        InputError: there is none.
    """
    if isinstance(brittle, BrittleAnswers):
        return brittle
    from trueval.report.result_inputs import read_result

    return read_result(brittle, FILE, BrittleAnswers, "trueval answers brittle")


def measured_utility(measured: SweepArrays, brittle: BrittleAnswers) -> Floats:
    """[query, configuration] UDCG with measured utilities; NaN where nothing is measured or answered.

    Raises:
        InputError: no generator of the sweep was tried, another measure was, or an older version wrote no utilities.
    """
    if brittle.measure != measured.result["quality"]:
        raise InputError(
            f"Brittleness was measured by {brittle.measure}, and the sweep's quality is {measured.result['quality']}. "
            "Set the same measure in both files."
        )
    by_model = {each.model: {one.query: one for one in each.utilities} for each in brittle.generators}
    models = [(measured.systems[each["system"]].get("answers") or {}).get("model") for each in measured.configurations]
    if not {*models} & {*by_model}:
        told = f"Brittleness was measured of {', '.join(map(repr, by_model))}"
        raise InputError(f"{told}, and the sweep asked {', '.join(sorted({repr(each) for each in models if each}))}.")
    if not any(by_model.values()):
        raise InputError("The result of brittleness holds no utilities. Run trueval answers brittle again: it is paid.")
    found = np.full((len(measured.query_ids), len(models)), np.nan)
    place = {query: at for at, query in enumerate(measured.query_ids)}
    for at, (each, model) in enumerate(zip(measured.configurations, models, strict=True)):
        if model not in by_model:
            continue
        about = measured.systems[each["system"]]["answers"]
        for query, contexts in _contexts(measured.folder / about["file"]).items():
            utility = by_model[model].get(query)
            if query in place and utility is not None and utility.harms is not None:
                found[place[query], at] = np.mean([udcg(utility, context, int(each["K"])) for context in contexts])
    return found


def udcg(utility: QuestionUtility, context: tuple[str, ...], k: int) -> float:
    """UDCG of one context.

    >>> of_one = QuestionUtility("q", ("a",), helps=1.0, harms=0.1)
    >>> round(udcg(of_one, ("b", "a"), 2), 4)  # sigmoid((1 - .1) / 2)
    0.6106
    """
    held = len({*context} & {*utility.gold})
    return float(1 / (1 + np.exp(-(utility.helps * held - (utility.harms or 0.0) * (len(context) - held)) / k)))


def _contexts(path: Path) -> Mapping[str, set[tuple[str, ...]]]:
    """Query -> ids of each context that was answered."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for each in _logs(path):
        for answer in read_answers(str(each)).answers:
            found.setdefault(answer.query, set()).add(tuple(passage.id for passage in answer.passages or ()))
    return found


def _logs(path: Path) -> Iterator[Path]:
    for each in (path, *sorted((path.parent / VARIANTS).glob(f"{path.stem}-*{path.suffix}"))):
        if each.is_file() and each.stat().st_size:
            yield each
