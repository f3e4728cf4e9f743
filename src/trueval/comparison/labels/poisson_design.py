"""Corrections from batches of single passages, each drawn with its own chance given what earlier batches told.

In batch t every passage i that has no label yet is drawn independently with the chance pi_ti, which may depend on all
that earlier batches told. With a_i the worth of the passage, g_i the gain of people's grade and m_ti a prediction of
it, the sum of a_i g_i over all passages is estimated by

    theta_t = sum over i labeled before t of a_i g_i
            + sum over the others of a_i (m_ti + [i in batch t] (g_i - m_ti) / pi_ti)
    theta   = sum over t of l_t theta_t,   sum of l_t = 1

    m_ti    = mean gain, by people's labels up to batch t without i, of the passages with the same grade by the judge;
              the judge's own gain counts like one more label

Within a batch draws are independent, so m_ti is independent of whether i is drawn: given the past each theta_t is
unbiased, and theta is, where the l_t are fixed before the first label. They are proportional to 1 / V_t with the
variances V_t that were expected then; for equal chances these are the LURE weights, l_t proportional to
1 / N_t - 1 / N_(t-1) with N_t passages left after batch t. The errors of the theta_t are uncorrelated, hence

    variance  sum over t of l_t^2 sum over i in batch t of (1 - pi_ti) / pi_ti^2 a_i^2 (g_i - m_ti)^2

and its degrees of freedom are 2 (sum of z)^2 / (sum of z^2) of the terms z. For new queries the variance of the mean is
the larger of this one and S^2(T) / N of the estimated values T of queries: the sample adds to the differences between
queries what it adds to their mean.

Sources: docs/design/audit.md, design `poisson`; Farquhar, Gal & Rainforth 2021; Kossen, Farquhar, Gal & Rainforth 2021;
Wu & Gagnon-Bartsch 2018 (predictions that leave out their own unit). tests/comparison/labels/test_poisson_design.py
enumerates all samples in fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.labels.audit_batches import KEYS, AuditBatches
from trueval.comparison.labels.both_labels import LabelSets
from trueval.comparison.labels.design_estimate import NEW, DesignEstimate, interval
from trueval.comparison.labels.document_design import degrees_of_spread
from trueval.comparison.labels.gain_weights import GainWeights, scale_of
from trueval.comparison.labels.prediction_powered import degrees_of_sum
from trueval.evaluation.corrected_values import EstimateWithInterval
from trueval.judgments import Judgments
from trueval.measures.span import ANYTHING, ValueRange
from trueval.standings.standings import Bools, Floats, Ints, sum_by

# Labels that the judge's own gain counts for in a prediction.
OWN_GAIN: Final = 1.0


class LabeledBatches(NamedTuple):
    """People's labels of passages drawn in batches.

    Attributes:
        rows: [label] row of the passage.
        batch: [label] its batch, from 0.
        chance: [label] chance with which it was drawn, given the past.
        shares: [batch] l_t; they sum to 1.
    """

    rows: Ints
    batch: Ints
    chance: Floats
    shares: Floats


@dataclass(frozen=True, eq=False)
class GainPrediction:
    """How the gain of a passage is predicted from the judge's grade.

    Attributes:
        classes: [row] index of the judge's grade.
        gains: [class] gain that is predicted without labels.
        strength: number of labels that it counts for; infinite where labels do not change it.
    """

    classes: Ints
    gains: Floats
    strength: float = OWN_GAIN

    def means(self, of_class: Ints, gains: Floats) -> tuple[Floats, Floats, Floats]:
        """[class] the predicted gain from some labels; and the sums and counts behind it.

        Args:
            of_class: [label] class of its passage.
            gains: [label] gain of people's grade.
        """
        number = len(self.gains)
        sums, counts = sum_by(of_class, gains, number), np.bincount(of_class, minlength=number).astype(np.float64)
        return self._mean(self.gains, sums, counts), sums, counts

    def without_own(self, of_class: Ints, gains: Floats) -> Floats:
        """[label] the predicted gain from all labels but this one.

        Args:
            of_class: [label] class of its passage.
            gains: [label] gain of people's grade.
        """
        _, sums, counts = self.means(of_class, gains)
        return self._mean(self.gains[of_class], sums[of_class] - gains, counts[of_class] - 1)

    def _mean(self, own: Floats, sums: Floats, counts: Floats) -> Floats:
        if np.isinf(self.strength):
            return own
        return np.asarray((self.strength * own + sums) / (self.strength + counts))


class PoissonEstimate(NamedTuple):
    """An estimate of the sum of worth times gain over all passages.

    Attributes:
        values: [row] expected part of each passage; their sum is the estimate.
        parts: [label] its term of the variance.
        residual: [label] difference of its part from the prediction, by its chance.
    """

    values: Floats
    parts: Floats
    residual: Floats

    @property
    def variance(self) -> float:
        """Variance of the estimate over all samples that could have been drawn."""
        return float(self.parts.sum())

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the variance."""
        return degrees_of_sum(self.parts, self.parts**2, float(max(len(self.parts) - 1, 1)))


def poisson_estimate(
    worth: Floats, gains: Floats, drawn: LabeledBatches, prediction: GainPrediction
) -> PoissonEstimate:
    """Estimate the sum of worth times gain over all passages.

    Args:
        worth: [row] what the passage is worth times its gain.
        gains: [label] gain of people's grade.
        drawn: the labels and their chances.
        prediction: how gains are predicted.

    >>> drawn = LabeledBatches(np.array([0]), np.array([0]), np.array([0.5]), np.array([1.0]))
    >>> trusted = GainPrediction(np.array([0, 0]), np.array([1.0]), np.inf)
    >>> poisson_estimate(np.array([1.0, 1.0]), np.array([0.0]), drawn, trusted).values.tolist()
    [-1.0, 1.0]
    """
    values, parts, residual = np.zeros(len(worth)), np.zeros(len(gains)), np.zeros(len(gains))
    of_class, own = prediction.classes[drawn.rows], worth[drawn.rows]
    for batch, share in enumerate(drawn.shares.tolist()):
        until, now = np.flatnonzero(drawn.batch <= batch), drawn.batch == batch
        means = prediction.means(of_class[until], gains[until])[0]
        predicted = worth * means[prediction.classes]
        predicted[drawn.rows[until]] = own[until] * gains[until]
        without = np.zeros(len(gains))
        without[until] = prediction.without_own(of_class[until], gains[until])
        apart = own[now] * (gains[now] - without[now])
        predicted[drawn.rows[now]] = own[now] * without[now] + apart / drawn.chance[now]
        values += share * predicted
        parts[now] = share**2 * (1 - drawn.chance[now]) * (apart / drawn.chance[now]) ** 2
        residual[now] = share * apart / drawn.chance[now]
    return PoissonEstimate(values, parts, residual)


class PoissonSample(NamedTuple):
    """A sample for one measure of a run, or for a difference of two.

    Attributes:
        worth: [row] what the passage is worth times its gain, of all queries that count.
        gains: [label] gain of people's grade.
        drawn: the labels and their chances.
        prediction: how gains are predicted.
        owner: [row] index of its query.
        constant: [query] value that does not depend on labels.
        there: [query] whether the query counts.
        population: number of passages that can be drawn.
    """

    worth: Floats
    gains: Floats
    drawn: LabeledBatches
    prediction: GainPrediction
    owner: Ints
    constant: Floats
    there: Bools
    population: int

    @property
    def number(self) -> int:
        """Number of queries that count."""
        return int(self.there.sum())


@dataclass(frozen=True, eq=False)
class BatchLabels:
    """People's labels of the batches that are answered as a whole.

    Attributes:
        batches: the batches.
        number: number of batches that are answered as a whole.
        reached: [row of the judgments] whether the passage can be drawn.
        classes: [row of the judgments] index of the judge's grade on the scale; one more where it gave none.
        rows: [label] row of the judgments.
        batch: [label] its batch, from 0.
        chance: [label] chance with which it was drawn.
        grade: [label] index of people's grade on the scale.
    """

    batches: AuditBatches
    number: int
    reached: Bools
    classes: Ints
    rows: Ints
    batch: Ints
    chance: Floats
    grade: Ints

    @classmethod
    def of(cls, labels: LabelSets, batches: AuditBatches) -> BatchLabels:
        """Join labels with their chances.

        Args:
            labels: labels of judge and people; every passage that can be drawn is in the judge's.
            batches: chances of the passages of the sample.
        """
        audited, frame, keys = labels.audited, labels.judge.frame, list(KEYS)
        members = batches.members.with_columns(reached=True)
        reached = frame.join(members, on=keys, how="left", maintain_order="left")["reached"].is_not_null()
        number = batches.whole_batches(audited.labels, audited.skipped)
        said = audited.labels.join(batches.until(number).chances, on=keys, how="inner")
        rows = frame.select(keys).with_row_index("row").join(said, on=keys, how="inner", maintain_order="left")
        scale, given = scale_of(labels), frame["grade"].to_numpy()
        return cls(
            batches,
            number,
            reached.to_numpy(),
            np.where(given < 0, len(scale), np.searchsorted(scale, given)).astype(np.int64),
            rows["row"].to_numpy().astype(np.int64),
            rows["batch"].to_numpy() - 1,
            rows["chance"].to_numpy(),
            np.searchsorted(scale, rows["grade"].to_numpy()),
        )

    def refuse(self, worth: GainWeights, judgments: Judgments) -> str | None:
        """Why the sample does not serve a measure; None where it does.

        Args:
            worth: what passages are worth to the run, or to the first less the second.
            judgments: the judge's, with every passage that can be drawn.
        """
        outside = (worth.expected != 0) & worth.there[worth.owner] & ~self.reached
        if not outside.any():
            return None
        query, document = judgments.frame.select(KEYS).row(int(np.argmax(outside)))
        return (
            f"{int(outside.sum())} passages weigh in it that could not be drawn, such as {document!r} of query "
            f"{query!r}: the sample was drawn for other runs, or another measure or cutoff. Draw one with these: "
            "trueval golden next"
        )

    def sample(self, worth: GainWeights, until: int) -> PoissonSample:
        """The sample for one measure.

        Args:
            worth: what passages are worth to the run, or to the first less the second.
            until: number of batches that count.
        """
        kept = self.batch < until
        drawn = LabeledBatches(self.rows[kept], self.batch[kept], self.chance[kept], self.batches.shares(until))
        # A passage that the judge did not grade adds nothing to its value.
        prediction = GainPrediction(self.classes, np.append(worth.gains, 0.0))
        own = np.where(worth.there[worth.owner], worth.expected, 0.0)
        return PoissonSample(
            own,
            worth.gains[self.grade[kept]],
            drawn,
            prediction,
            worth.owner,
            worth.constant,
            worth.there,
            len(self.batches.members),
        )


def by_chances(sample: PoissonSample, target: str, level: float, span: ValueRange = ANYTHING) -> DesignEstimate:
    """Correct the mean of a measure over queries.

    Args:
        sample: the labels, and what passages are worth.
        target: one of TARGETS.
        level: level of the intervals.
        span: range of the values of queries.
    """
    own = sample.prediction
    none = GainPrediction(own.classes, np.zeros(len(own.gains)), np.inf)
    judge = GainPrediction(own.classes, own.gains, np.inf)
    people, found, untuned = (mean_estimate(sample, kind, target) for kind in (none, own, judge))
    labels, population = len(sample.gains), float(sample.population)
    factor = population * (population - labels) / max(labels, 1)
    return DesignEstimate(
        people=people.with_interval(level, span),
        corrected=found.with_interval(level, span),
        untuned=untuned.with_interval(level, span),
        weight=math.nan,  # what the judge's grades are worth is estimated grade by grade
        correlation=_correlation(sample.gains, own.gains[own.classes[sample.drawn.rows]]),
        queries=sample.number,
        population=np.array([population]),
        drawn=np.array([float(labels)]),
        spread=np.array([found.of_labels / factor if factor else 0.0]),
        parts=np.array([found.of_labels]),
        fixed=found.of_queries,
        residual=found.residual,
        of_query=sample.owner[sample.drawn.rows],
    )


class BatchEstimate(NamedTuple):
    """An estimate of the mean over queries, and the parts of its variance.

    Attributes:
        mean: estimated mean.
        of_labels: variance over all samples that could have been drawn.
        of_queries: part of the variance between queries; 0 for these queries.
        degrees: degrees of freedom of the whole variance.
        residual: [label] its part in the estimate that was not predicted.
    """

    mean: float
    of_labels: float
    of_queries: float
    degrees: float
    residual: Floats

    @property
    def variance(self) -> float:
        """The whole variance."""
        return self.of_labels + self.of_queries

    def with_interval(self, level: float, span: ValueRange = ANYTHING) -> EstimateWithInterval:
        """The estimate with its interval.

        Args:
            level: level of the interval.
            span: range of the values of queries.
        """
        return interval(self.mean, self.variance, self.degrees, level, span)


def mean_estimate(sample: PoissonSample, kind: GainPrediction, target: str) -> BatchEstimate:
    """The mean over queries under one way of prediction.

    Args:
        sample: the labels, and what passages are worth.
        kind: how gains are predicted.
        target: one of TARGETS.
    """
    number = sample.number
    found = poisson_estimate(sample.worth, sample.gains, sample.drawn, kind)
    values = (sum_by(sample.owner, found.values, len(sample.there)) + sample.constant)[sample.there]
    variance, degrees, between = found.variance / number**2, found.degrees, 0.0
    if target == NEW:
        spread = float(values.var(ddof=1))
        between = max(0.0, spread / number - variance)
        degrees = degrees_of_spread(values, spread) if between else min(degrees, degrees_of_spread(values, spread))
    return BatchEstimate(float(values.mean()), variance, between, degrees, found.residual / number)


def _correlation(people: Floats, judge: Floats) -> float:
    """Correlation of people's and the judge's gains over labeled passages; NaN where one does not vary."""
    if len(people) < 2 or not np.ptp(people) or not np.ptp(judge):
        return math.nan
    return float(np.corrcoef(people, judge)[0, 1])
