"""The view of brittle answers: what each distractor costs, by kind and place, and where lists should stop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from trueval.answers.generation.brittle_result import (
    ALL,
    BrittleAnswers,
    DosePoint,
    DoseSlope,
    HarmThreshold,
    PlaceEffect,
    SlopeDifference,
)
from trueval.answers.views.dose_plot import dose_plot
from trueval.answers.views.generation import TIMES
from trueval.answers.views.token_plot import token_figure
from trueval.report.formats import slug
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase
from trueval.report.page_content import Figure
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, INTERVAL, NAME, interval_of
from trueval.report.view import Answer, Column, Mark, Quantity, Section, Sentence, Sheet, View, columns_of

CHATTER: Final = "chatter"
QUESTION: Final = "What do passages without the answer cost, and where should lists stop?"
SIGNED: Final = interval_of(DIFFERENCE)
KEY: Final = (("dot", "mean"), ("thin", "interval over questions, with what is not known"))


class _Point(NamedTuple):
    generator: str
    point: DosePoint


class _Slope(NamedTuple):
    generator: str
    slope: DoseSlope


class _Effect(NamedTuple):
    generator: str
    effect: PlaceEffect


class _Threshold(NamedTuple):
    generator: str
    threshold: HarmThreshold


def view(result: BrittleAnswers) -> View:
    """What `trueval answers brittle` shows.

    Args:
        result: of the command.
    """
    slopes = [_Slope(each.name, slope) for each in result.generators for slope in each.slopes]
    thresholds = [_Threshold(each.name, found) for each in result.generators for found in each.thresholds]
    points = [_Point(each.name, point) for each in result.generators for point in each.points]
    effects = [_Effect(each.name, effect) for each in result.generators for effect in each.places]
    place = _place(result)
    kinds = list(dict.fromkeys(each.point.kind for each in points))
    figures = [_figure(result, kind, place) for kind in kinds if _is_shown(points, kind, place)]
    sections = [
        Section("Per distractor", [Sheet("Change per distractor", slopes, SLOPES)], figures=figures[1:], open=True),
        Section("Where they begin to harm", [Sheet("Where distractors harm", thresholds, THRESHOLDS)], open=True),
    ]
    if result.differences:
        sheet = Sheet("Difference of slopes between generators", result.differences, DIFFERENCES)
        sections.append(Section("Between generators", [sheet], open=True))
    if effects:
        sheet_of_places = Sheet("Gold documents first, minus elsewhere", effects, EFFECTS)
        sections.append(Section("Where the answer stands", [sheet_of_places], open=True))
    if times := [Sheet(f"Times of {each.name}", each.times, TIMES) for each in result.generators if each.times]:
        drawn = (token_figure(each.name, each.times) for each in result.generators)
        sections.append(Section("Times by the number of passages", times, figures=[each for each in drawn if each]))
    all_points = Sheet("Values by number of distractors", points, POINTS, only="document")
    page_points = Sheet("Every dose", points, POINTS, only="page")
    sections.append(Section("Every dose", [all_points, page_points]))
    return View(
        title="Brittle answers",
        answer=_answer(result, slopes, place),
        sections=sections,
        csv=Sheet("", points, columns_of(*CSV)),
        lead=figures[0] if figures else None,
        findings=[*_findings(thresholds)],
        marks=[Mark(NOT_AVAILABLE, "not known: too few questions, or no dose that surely harms.")],
        legend=LEGEND,
        notes=result.notes,
    )


def _place(result: BrittleAnswers) -> str:
    places = [point.place for each in result.generators for point in each.points]
    return ALL if ALL in places or not places else places[0]


def _is_shown(points: list[_Point], kind: str, place: str) -> bool:
    return any((each.point.kind, each.point.place) == (kind, place) and each.point.value.questions for each in points)


def _figure(result: BrittleAnswers, kind: str, place: str) -> Figure:
    where = "the mean over places of the gold documents" if place == ALL else f"gold documents {place}"
    about = f"Mean {result.measure} by number of {kind} distractors, {where}, with intervals."
    if kind == CHATTER:
        about = f"Mean {result.measure} by the level of chatter around the question, gold documents alone."
    title = "chatter around the question" if kind == CHATTER else f"{kind} distractors"
    return Figure(f"brittle-{slug(kind)}", title, about, partial(dose_plot, result, kind, place), key=KEY)


def _answer(result: BrittleAnswers, slopes: list[_Slope], place: str) -> Answer:
    known = [each for each in slopes if each.slope.place == place and each.slope.value.value is not None]
    if not known:
        sentence: Sentence = "What distractors cost is not known: no question has gold documents and every dose."
        return Answer(sentence, QUESTION, "", "Longer lists, smaller doses, or judgments of what holds the answer.")
    worst = min(known, key=lambda each: each.slope.value.value or 0.0)
    found = worst.slope.value
    sure = found.high is not None and found.high < 0
    said: Sentence = (
        f"{worst.generator}: each {_dose(worst.slope.kind)} changes {result.measure} by ",
        Quantity(found, "value", DIFFERENCE),
        " [",
        Quantity(found, "low", DIFFERENCE),
        ", ",
        Quantity(found, "high", DIFFERENCE),
        "]." if sure else "]: no harm is separated from none.",
    )
    judged = (
        f"Answers are judged by {result.judge}, and nobody checked its labels here."
        if result.judge
        else f"Answers are compared with references by their words ({result.measure}), without a judge."
    )
    over = count_phrase(found.questions, "question", "questions")
    return Answer(
        said,
        QUESTION,
        f"{judged} Intervals at {result.level:g} are over {over}, paired.",
        "More questions; or another generator, prompt, or order of the passages.",
        "trueval answers generate CONFIG.toml --out DIR",
    )


def _findings(thresholds: list[_Threshold]) -> Iterator[Sentence]:
    for name, found in thresholds:
        if found.dose is not None:
            stop = f" Lists hold fewer than that up to K = {found.k}, in the mean." if found.k is not None else ""
            told = f"{count_phrase(found.dose, 'distractor', 'distractors')} on ({found.kind})"
            told = f"level {found.dose} of chatter on" if found.kind == CHATTER else told
            yield f"{name}: from {told} answers are surely worse.{stop}"


def _dose(kind: str) -> str:
    """One unit of a dose, in words."""
    return "level of chatter" if kind == CHATTER else f"{kind} distractor"


SLOPES: Final[tuple[Column[_Slope], ...]] = (
    Column("generator", lambda row: row.generator, NAME),
    Column("distractors", lambda row: row.slope.kind),
    Column("gold\ndocuments", lambda row: row.slope.place, leaves=3),
    Column("value", lambda row: row.slope.value.value, DIFFERENCE, strong=True),
    Column("interval", lambda row: row.slope.value, SIGNED),
    Column("abstained", lambda row: row.slope.abstained.value, DIFFERENCE, leaves=2),
    Column("abstained\ninterval", lambda row: row.slope.abstained, SIGNED, leaves=1, ends=("abst. low", "abst. high")),
    Column("questions", lambda row: row.slope.value.questions, COUNT, leaves=4),
)
THRESHOLDS: Final[tuple[Column[_Threshold], ...]] = (
    Column("generator", lambda row: row.generator, NAME),
    Column("distractors", lambda row: row.threshold.kind),
    Column("harm from", lambda row: row.threshold.dose, COUNT, strong=True),
    Column("stop at K", lambda row: row.threshold.k, COUNT),
    Column("lost there", lambda row: None if row.threshold.drop is None else row.threshold.drop.value, DIFFERENCE),
    Column("interval", lambda row: row.threshold.drop, SIGNED, leaves=1),
)
DIFFERENCES: Final[tuple[Column[SlopeDifference], ...]] = (
    Column("first", lambda row: row.first, NAME),
    Column("second", lambda row: row.second, NAME),
    Column("distractors", lambda row: row.kind),
    Column("first - second", lambda row: row.value.value, DIFFERENCE, strong=True),
    Column("interval", lambda row: row.value, SIGNED),
    Column("questions", lambda row: row.value.questions, COUNT, leaves=1),
)
EFFECTS: Final[tuple[Column[_Effect], ...]] = (
    Column("generator", lambda row: row.generator, NAME),
    Column("distractors", lambda row: row.effect.kind),
    Column("first minus", lambda row: row.effect.place),
    Column("value", lambda row: row.effect.value.value, DIFFERENCE, strong=True),
    Column("interval", lambda row: row.effect.value, SIGNED),
    Column("questions", lambda row: row.effect.value.questions, COUNT, leaves=1),
)
POINTS: Final[tuple[Column[_Point], ...]] = (
    Column("generator", lambda row: row.generator, NAME),
    Column("distractors", lambda row: row.point.kind),
    Column("gold\ndocuments", lambda row: row.point.place),
    Column("dose", lambda row: row.point.dose, COUNT),
    Column("value", lambda row: row.point.value.value, FRACTION, strong=True),
    Column("interval", lambda row: row.point.value, INTERVAL),
    Column("abstained", lambda row: row.point.abstained.value, FRACTION, leaves=1),
    Column("questions", lambda row: row.point.value.questions, COUNT, leaves=2),
)
CSV: Final = (
    *("generator", "point.kind", "point.place", "point.dose", "point.value.value", "point.value.low"),
    *("point.value.high", "point.value.lowest", "point.value.highest", "point.value.questions"),
)
LEGEND: Final = (
    "distractors: high-scoring, of the system's list, best first; same-topic, those that share most words with the "
    "gold documents; contradicting, as you marked them; bundles, of the names probe, about other works. chatter: its "
    "levels by the noise probe around the question, with gold documents alone.",
    "change per distractor: mean over questions of the least-squares slope over the doses; abstained, of the share of "
    "questions without an answer.",
    "gold documents: first, in the middle, or last among the distractors; all, the mean over places.",
    "harm from: the least dose whose loss is above 0, with intervals that hold for all doses at once; stop at K: the "
    "largest K whose lists hold fewer documents without the answer, in the mean over orders of ties and questions; "
    "what longer lists find is not in it: that is retrieval's loss of trueval answers generate.",
    "interval: over questions (clusters, where the references name them), with everything that is not known.",
)
