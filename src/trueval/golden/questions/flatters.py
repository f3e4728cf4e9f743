"""What written questions flatter: their words, lexical search, and the order of systems.

    gain(Q)   mean over Q of (lexical system - mean of all others), in the measure
    excess    gain(written) - gain(real)
    rise      slope of the least-squares line of the gain of a written question on its overlap
    tau       Kendall's tau-b between the mean values of systems on written and on real questions

Overlap is that of wording.py. Intervals are percentiles of a bootstrap that draws written and real questions, each set
anew, every question with the values of all systems (Efron & Tibshirani 1993, sections 8.3 and 16), at the tails of
bootstrap_intervals.py. Of pairs of systems all intervals hold together, on both sets: D -+ c s, with s the standard
error and c the quantile of the largest |D* - D| / s over all pairs and both sets (Romano & Wolf 2005). A pair is in the
same or the reversed order where both of its intervals exclude 0, so the sentence about all pairs errs in at most
1 - level of cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.bootstrap_intervals import tail
from trueval.comparison.resampling.resampled_sums import bootstrap_sums, to_grid
from trueval.comparison.resampling.simultaneous import few_units
from trueval.errors import InputError, PolicyError, nearest
from trueval.evaluation.evaluate import evaluate
from trueval.files.display_names import name_files
from trueval.golden.questions.flattery_result import (
    Flattery,
    LexicalGain,
    OverlapWithPassages,
    PairOrder,
    SystemValues,
)
from trueval.golden.questions.question_sets import QuestionSet
from trueval.golden.validation.agreement_intervals import Resampler, ValueWithInterval, percentile_interval
from trueval.golden.validation.system_rankings import tau_b
from trueval.measures.grammar import parse
from trueval.report.number_texts import count_phrase
from trueval.run import Run
from trueval.standings.standings import Floats

LEXICAL: Final = "bm25"  # what the name of the lexical system has in it, where none is named
NO_REAL: Final = ValueWithInterval(None, reason="no real questions")


class MeasuredSet(NamedTuple):
    """The values of all systems on one set of questions, with resampled means.

    Attributes:
        values: [query, system] values, higher is better.
        overlaps: [query] overlap; NaN where unknown.
        drawn: [system, resample] means of resampled questions.
        draws: settings of the bootstrap.
    """

    values: Floats
    overlaps: Floats
    drawn: Floats
    draws: Resampler

    @classmethod
    def of(cls, values: Floats, overlaps: Floats, draws: Resampler) -> MeasuredSet:
        """Resample the questions of a set.

        Args:
            values: [query, system] values.
            overlaps: [query] overlap; NaN where unknown.
        """
        sums = bootstrap_sums(to_grid(values), draws.resamples, draws.seed, threads=1)
        return cls(values, overlaps, sums / len(values), draws)

    @property
    def means(self) -> Floats:
        """[system] means."""
        found: Floats = self.values.mean(axis=0)
        return found

    @property
    def units(self) -> int:
        """Number of questions."""
        return len(self.values)

    def contrast(self, weights: Floats) -> tuple[float, Floats]:
        """A weighted sum of means, and of resampled ones.

        Args:
            weights: [system] weights.
        """
        return float(weights @ self.means), weights @ self.drawn

    def overlap(self) -> tuple[float, Floats] | None:
        """Mean overlap, and means of resampled questions; None with fewer than two known ones."""
        known = self.overlaps[np.isfinite(self.overlaps)][:, None]
        if len(known) < 2:
            return None
        sums = bootstrap_sums(to_grid(known), self.draws.resamples, self.draws.seed, threads=1)[0]
        return float(known.mean()), sums / len(known)

    def rise(self, weights: Floats) -> ValueWithInterval:
        """Slope of a weighted sum of values on the overlap.

        Args:
            weights: [system] weights.
        """
        known = np.isfinite(self.overlaps)
        x, y = self.overlaps[known], self.values[known] @ weights

        def slope(sums: Floats) -> dict[str, Floats]:
            n, sx, sy, sxy, sxx = np.moveaxis(sums, -1, 0)
            spread = n * sxx - sx**2
            return {
                "rise": np.divide(n * sxy - sx * sy, spread, out=np.full(np.shape(spread), np.nan), where=spread > 1e-9)
            }

        if len(x) < 2:
            return ValueWithInterval(None, reason="the overlap is not known")
        return self.draws.values(np.stack([np.ones_like(x), x, y, x * y, x * x], axis=1), slope)["rise"]


def flatters(
    questions: str | Path,
    runs: Sequence[str | Path],
    real: str | Path | None = None,
    real_runs: Sequence[str | Path] = (),
    *,
    measure: str = "nDCG@10",
    lexical: str | None = None,
    language: str | None = "en",
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> Flattery:
    """Measure what written questions flatter, and how far the order of systems on them can be believed.

    Args:
        questions: folder of `trueval golden questions`, or what else `QuestionSet.read` takes.
        runs: runs of two systems or more on the written questions, as paths or name=path.
        real: real questions with judgments, as `QuestionSet.read` takes them; None where there are none.
        real_runs: runs of the same systems, in the same order, on the real questions; the same files by default.
        measure: measure of both.
        lexical: name of the lexical system; by default the only one with "bm25" in its name.
        language: whose stop words and stems overlaps of a collection are counted by.

    Raises:
        InputError: a file is bad, or a run has none of the questions.
        PolicyError: a choice is none.
    """
    draws = Resampler(resamples, seed, level).validate()
    names = [file.name for file in name_files([str(each) for each in runs])]
    _check(names, real, real_runs)
    sign = 1.0 if parse(measure).better == "higher" else -1.0
    written = _measure(QuestionSet.read(questions, language), runs, names, measure, sign, draws)
    found = None
    if real is not None:
        others = draws._replace(seed=seed + 1)
        found = _measure(QuestionSet.read(real, language), real_runs or runs, names, measure, sign, others)
    place = _lexical_place(names, lexical)
    weights = None if place is None else _against_all(len(names), place)
    gain = None if weights is None else _gain("", weights, written, found)
    gains = (
        []
        if place is None
        else [
            _gain(name, _against_one(len(names), place, at), written, found)
            for at, name in enumerate(names)
            if at != place
        ]
    )
    pairs = () if found is None else _pairs(names, written, found)
    order = np.argsort(-written.means, kind="stable").tolist()
    return Flattery(
        questions=str(questions),
        real=None if real is None else str(real),
        measure=measure,
        lexical=None if place is None else names[place],
        level=level,
        resamples=resamples,
        seed=seed,
        written_queries=written.units,
        real_queries=0 if found is None else found.units,
        systems=tuple(
            SystemValues(
                names[at], sign * float(written.means[at]), None if found is None else sign * float(found.means[at])
            )
            for at in order
        ),
        overlap=_overlap(written, found),
        rise=ValueWithInterval(None, reason="no lexical system") if weights is None else written.rise(weights),
        gain=gain,
        gains=tuple(gains),
        tau=NO_REAL if found is None else _tau(written, found),
        pairs=pairs,
        flattered=_describe_flattery(gain),
        believed=_describe_belief(pairs),
        notes=tuple(_notes(written, found, place)),
    )


def _check(names: Sequence[str], real: object, real_runs: Sequence[object]) -> None:
    if len(names) < 2:
        raise PolicyError(f"an order takes runs of two systems at least. Got {len(names)}.")
    if real is None and real_runs:
        raise PolicyError("runs on real questions need judgments of these questions. Give them as real (--real).")
    if real_runs and len(real_runs) != len(names):
        raise PolicyError(
            f"runs on real questions must be of the same systems, in the same order. Got {len(real_runs)} for "
            f"{count_phrase(len(names), 'system', 'systems')}."
        )


def _measure(
    asked: QuestionSet, runs: Sequence[str | Path], names: Sequence[str], measure: str, sign: float, draws: Resampler
) -> MeasuredSet:
    """The values of all systems; questions for which the measure is undefined are left out."""
    columns = []
    for file, name in zip(name_files([str(each) for each in runs]), names, strict=True):
        scores = evaluate(Run.read(file.path, name=name), asked.judgments, [measure])
        columns.append(scores.expected[:, 0])
    values = np.stack(columns, axis=1)
    known = np.isfinite(values).all(axis=1)
    if known.sum() < 2:
        raise InputError(f"{asked.source}: {measure} has a value for fewer than two questions. There must be more.")
    ids = asked.judgments.query_ids.to_list()
    overlaps = np.array([asked.overlaps.get(query, np.nan) for query in ids])
    return MeasuredSet.of(sign * values[known], overlaps[known], draws)


def _lexical_place(names: Sequence[str], lexical: str | None) -> int | None:
    if lexical is not None:
        if lexical not in names:
            raise PolicyError(f"lexical must be one of {', '.join(names)}. Got {lexical!r}.{nearest(lexical, names)}")
        return names.index(lexical)
    found = [place for place, name in enumerate(names) if LEXICAL in name.casefold()]
    return found[0] if len(found) == 1 else None


def _against_one(count: int, place: int, other: int) -> Floats:
    weights = np.zeros(count)
    weights[place], weights[other] = 1.0, -1.0
    return weights


def _against_all(count: int, place: int) -> Floats:
    weights = np.full(count, -1.0 / (count - 1))
    weights[place] = 1.0
    return weights


def _interval(value: float, drawn: Floats, count: int, level: float) -> ValueWithInterval:
    return percentile_interval(value, drawn, tail(count, level))


def _both(
    written: MeasuredSet, real: MeasuredSet | None, of: Callable[[MeasuredSet], tuple[float, Floats] | None]
) -> tuple[ValueWithInterval, ValueWithInterval, ValueWithInterval]:
    """A number on written and on real questions, and their difference."""
    level, first, second = written.draws.level, of(written), None if real is None else of(real)
    unknown = NO_REAL if real is None else ValueWithInterval(None, reason="not known")
    one = ValueWithInterval(None, reason="not known") if first is None else _interval(*first, written.units, level)
    if real is None or second is None:
        return one, unknown, unknown
    other = _interval(*second, real.units, level)
    if first is None:
        return one, other, unknown
    fewer = min(written.units, real.units)
    return one, other, _interval(first[0] - second[0], first[1] - second[1], fewer, level)


def _gain(other: str, weights: Floats, written: MeasuredSet, real: MeasuredSet | None) -> LexicalGain:
    return LexicalGain(other, *_both(written, real, lambda measured: measured.contrast(weights)))


def _overlap(written: MeasuredSet, real: MeasuredSet | None) -> OverlapWithPassages | None:
    found = _both(written, real, MeasuredSet.overlap)
    return None if found[0].value is None and found[1].value is None else OverlapWithPassages(*found)


def _tau(written: MeasuredSet, real: MeasuredSet) -> ValueWithInterval:
    value = float(tau_b(written.means, real.means))
    drawn = tau_b(written.drawn.T, real.drawn.T)  # NaN where all systems are equal on a set of questions
    return _interval(value, drawn, min(written.units, real.units), written.draws.level)


def _pairs(names: Sequence[str], written: MeasuredSet, real: MeasuredSet) -> tuple[PairOrder, ...]:
    places = np.array(list(combinations(range(len(names)), 2))).T
    parts = [_deviations(measured, places) for measured in (written, real)]
    largest = np.maximum(parts[0].largest, parts[1].largest)  # the sets are drawn independently
    critical = float(np.quantile(largest, written.draws.level))
    found = []
    for at, (first, second) in enumerate(places.T.tolist()):
        ends = [
            ValueWithInterval(part.value[at], part.value[at] - reach, part.value[at] + reach)
            for part, measured in zip(parts, (written, real), strict=True)
            for reach in [critical * few_units(measured.units, written.draws.level) * part.error[at]]
        ]
        found.append(PairOrder(names[first], names[second], ends[0], ends[1], _verdict(*ends)))
    return tuple(found)


class _Deviations(NamedTuple):
    """Differences of pairs, their standard errors, and the largest deviation of each resample in units of these."""

    value: list[float]
    error: list[float]
    largest: Floats


def _deviations(measured: MeasuredSet, places: Floats) -> _Deviations:
    first, second = places
    apart = measured.values[:, first] - measured.values[:, second]
    error = apart.std(axis=0) / np.sqrt(measured.units)
    moved = np.abs(measured.drawn[first] - measured.drawn[second] - apart.mean(axis=0)[:, None])
    scaled = np.divide(moved, error[:, None], out=np.zeros_like(moved), where=error[:, None] > 1e-12)
    return _Deviations(apart.mean(axis=0).tolist(), error.tolist(), scaled.max(axis=0))


def _verdict(written: ValueWithInterval, real: ValueWithInterval) -> str:
    signs = [_sign(each) for each in (written, real)]
    if 0 in signs:
        return "undecided"
    return "same" if signs[0] == signs[1] else "reversed"


def _sign(interval: ValueWithInterval) -> int:
    """1 above 0 for sure, -1 below; 0 if neither."""
    if interval.low is not None and interval.low > 0:
        return 1
    return -1 if interval.high is not None and interval.high < 0 else 0


def _describe_flattery(gain: LexicalGain | None) -> str:
    if gain is None or gain.excess.value is None:
        return "not known"
    if gain.excess.high is not None and gain.excess.high <= 0:
        return "no"
    return "yes" if _sign(gain.excess) > 0 else "undecided"


def _describe_belief(pairs: Sequence[PairOrder]) -> str:
    verdicts = {pair.verdict for pair in pairs}
    if not verdicts:
        return "not known"
    if "reversed" in verdicts:
        return "no"
    return "yes" if verdicts == {"same"} else "undecided"


def _notes(written: MeasuredSet, real: MeasuredSet | None, place: int | None) -> list[str]:
    notes = []
    if place is None:
        notes.append("No gain of lexical search: name the system, --lexical NAME.")
    few = [
        f"{count_phrase(each.units, 'question', 'questions')} {what}"
        for each, what in ((written, "written"), (real, "real"))
        if each is not None and each.units < 30
    ]
    return [*notes, *([f"{' and '.join(few)}: intervals of fewer than 30 questions are too short."] if few else [])]
