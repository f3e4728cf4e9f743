"""Agreement of labels: a judge with people, raters with each other, judges with each other.

    κ        plain, linear, quadratic                 coefficients.py
    α        nominal, ordinal, interval; any number of raters, labels may be missing
    tables   counts of each pair of grades
    bias     by grade, slot and length                rater_bias.py

An audit oversamples rare and disputed items, so agreement in the sample is not that of the judge. Every item is
therefore weighted by the population of its stratum / its answered items, and tables, coefficients and biases are
estimates for all judged passages; the unweighted ones are reported too. Intervals are over queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from trueval.comparison.labels.audit_sample import SAMPLE
from trueval.errors import InputError, PolicyError
from trueval.files.display_names import name_files
from trueval.golden.build.golden_set import ABOUT, QRELS, GoldenSet
from trueval.golden.validation.agreement_intervals import Resampler
from trueval.golden.validation.agreement_result import (
    AuditDesign,
    LabelAgreement,
    LabelOrigin,
    RaterPair,
    StratumSample,
)
from trueval.golden.validation.audit_labels import FOLDER, PeopleLabels
from trueval.golden.validation.label_files import FileLabels, LabelChoices, read_labels, scale_of
from trueval.golden.validation.rater_pairs import Tell, bias_of_calls, pair_of, together_of
from trueval.golden.validation.ratings import KEYS, Ratings
from trueval.report.number_texts import count_phrase

PEOPLE: Final = "people"
TOO_FEW: Final = 50  # number of labels below which estimates carry a warning, docs/formulas.md §7


def agree(
    judges: Sequence[str | Path],
    people: str | Path | None = None,
    *,
    between_judges: bool = False,
    choices: LabelChoices | None = None,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
    tell: Tell | None = None,
) -> LabelAgreement:
    """Measure the agreement of labels.

    Args:
        judges: files of judgments; without `people`, the first is the folder of a golden set with an audit.
        people: file of people's labels, or the folder of an audit outside a golden set.
        between_judges: whether to compare judges with each other too.
        choices: treatment of invalid labels, which are refused by default.
        tell: called with the name of each compared pair.

    Raises:
        InputError: a file is bad, or holds a label that is refused; with the line.
        PolicyError: a choice is none.
    """
    how, draw = (choices or LabelChoices()).validate(), Resampler(resamples, seed, level).validate()
    if people is None:
        return _golden(judges, between_judges, how, draw, tell)
    if (Path(people) / SAMPLE).is_file():
        audit = _of_audit(Path(people), how)
        return _compare_with_people(audit, read_judges(judges, how, audit.audited.scale), between_judges, draw, tell)
    said = read_labels(people, PEOPLE, how, how.scale)
    scale = how.scale or scale_of(said.frame)
    named = read_judges(judges, how, scale)
    ratings = Ratings.of({each.name: each.frame for each in (said, *named)}, scale)
    pairs = [(0, place) for place in range(1, len(named) + 1)]
    pairs += list(combinations(range(1, len(named) + 1), 2)) if between_judges else []
    found = tuple(pair_of(ratings, *pair, "judges" if pair[0] else "judge and people", draw, tell) for pair in pairs)
    return LabelAgreement(
        scale,
        *draw,
        people=said.describe_source(),
        design=None,
        judges=tuple(each.describe_source() for each in named),
        pairs=found,
        together=together_of(ratings, {"judges": list(range(1, len(named) + 1))}, draw),
        order=None,
        answers=(),
        notes=(*describe_omitted_labels([said, *named]), *_few(found)),
    )


def read_judges(judges: Sequence[str | Path], how: LabelChoices, scale: tuple[float, float]) -> list[FileLabels]:
    """Read the labels of several judges.

    Args:
        judges: paths, or name=path.
        how: treatment of invalid labels.
        scale: lowest and highest grade.

    Raises:
        InputError: there is none, two have one name, or a file is bad.
    """
    if not judges:
        raise InputError("There are no labels of a judge to compare with. Name one file or more.")
    files = name_files([str(each) for each in judges])
    names = [file.name.removesuffix(".qrels") for file in files]
    twice = next((name for name in names if names.count(name) > 1 or name == PEOPLE), None)
    if twice is not None:
        raise InputError(f"Two judges would be called {twice!r}. Give one another name: name=path.")
    return [read_labels(file.path, name, how, scale) for name, file in zip(names, files, strict=True)]


def _golden(
    judges: Sequence[str | Path], between: bool, how: LabelChoices, draw: Resampler, tell: Tell | None
) -> LabelAgreement:
    """Compare the judge of a golden set, and further judges, with the people of its audit."""
    folder = Path(judges[0]) if judges else Path()
    if not (folder / ABOUT).is_file():
        raise InputError(f"{folder}: not a golden set. Name its folder, or labels of people with --people.")
    golden, people = GoldenSet.read(folder), _of_audit(folder / FOLDER, how)
    own = read_labels(folder / QRELS, golden.result.judge.name, how, people.audited.scale)
    others = read_judges(judges[1:], how, people.audited.scale) if len(judges) > 1 else []
    return _compare_with_people(people, [own, *others], between, draw, tell, golden)


def _of_audit(folder: Path, how: LabelChoices) -> PeopleLabels:
    """People's labels in an audit, on the audit's scale."""
    people = PeopleLabels.read(folder)
    low, high = people.audited.scale
    if how.scale not in (None, (low, high)):
        raise PolicyError(f"the scale of an audit is the one it was drawn with, {low:g}-{high:g}. Leave --scale out.")
    return people


def _compare_with_people(
    people: PeopleLabels,
    judges: Sequence[FileLabels],
    between: bool,
    draw: Resampler,
    tell: Tell | None,
    golden: GoldenSet | None = None,
) -> LabelAgreement:
    """Compare judges with the people of an audit, and its raters with each other."""
    raters = people.raters()
    ratings = _ratings(people, judges, raters)
    machines, humans = range(1, 1 + len(judges)), range(1 + len(judges), len(ratings.raters))
    pairs = [(0, place, "judge and people") for place in machines]
    pairs += [(*pair, "raters") for pair in combinations(humans, 2)]
    pairs += [(*pair, "judges") for pair in combinations(machines, 2)] if between else []
    first, *others = (pair_of(ratings, *pair, draw, tell) for pair in pairs)
    if golden is not None:
        first = replace(first, bias=bias_of_calls(first.bias, ratings, golden, people, draw))
    return LabelAgreement(
        people.audited.scale,
        *draw,
        people=LabelOrigin(PEOPLE, FOLDER, people.audited.labels.height, raters=tuple(raters)),
        design=_design(people, ratings),
        judges=tuple(each.describe_source() for each in judges),
        pairs=(first, *others),
        together=together_of(ratings, {"raters": list(humans), "judges": list(machines)}, draw),
        order=people.orders(),
        answers=people.answers(draw),
        notes=(*describe_omitted_labels(judges), *_few([first, *others])),
    )


def _ratings(people: PeopleLabels, judges: Sequence[FileLabels], raters: Mapping[str, pl.DataFrame]) -> Ratings:
    """Ratings by people, judges and single raters, on the passages that people graded."""
    said = people.audited.labels
    labels = {PEOPLE: said, **{each.name: each.frame for each in judges}}
    labels |= {f"rater {name}": frame for name, frame in raters.items()}
    asked = {name: frame.join(said, on=KEYS, how="semi") for name, frame in labels.items()}
    found = Ratings.of(asked, people.audited.scale)
    return replace(found, design=people.design_of(found.items, found.queries))


def _design(people: PeopleLabels, ratings: Ratings) -> AuditDesign:
    design, answered = ratings.design, np.isfinite(ratings.labels[:, 0])
    name, population = people.audited.design, sum(people.audited.population.values())
    if design is None or name == "queries":
        return AuditDesign(name, population, len(np.unique(ratings.queries[answered])), ())
    counts = np.bincount(design.stratum[answered], minlength=len(people.audited.population)).tolist()
    strata = tuple(
        StratumSample(stratum, size, count)
        for (stratum, size), count in zip(people.audited.population.items(), counts, strict=True)
    )
    return AuditDesign(name, population, int(answered.sum()), strata)


def describe_omitted_labels(labels: Sequence[FileLabels]) -> list[str]:
    """One line per kind of label that was left out."""
    told = (
        ("duplicates", "left out, whose query and document are there twice"),
        ("outside", "left out, whose grade is not on the scale"),
        ("unjudged", "left out with a grade below 0: nobody judged them"),
    )
    left = ((each.name, getattr(each, name), words) for each in labels for name, words in told)
    return [f"{name}: {count_phrase(count, 'label', 'labels')} {words}." for name, count, words in left if count]


def _few(pairs: Sequence[RaterPair]) -> list[str]:
    return [
        f"{each.first} and {each.second} share {each.items} items: fewer than {TOO_FEW} say little, and "
        "intervals are too short."
        for each in pairs
        if 0 < each.items < TOO_FEW
    ]
