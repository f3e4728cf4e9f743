"""Router: how many candidates the reranker gets for a query, from scores alone; `trueval frontier --route` writes it.

    need = constant + sum of weight x feature;  `more` candidates if need >= threshold, else `fewer`

Features of the list of the first search, best first, with K = fewer, and of the reranker's scores of the first K:

    margin    score of the first document - score of the 10th
    gap       score at rank K - score at rank K + 1
    tied      other documents with the score at rank K / K
    nqc       standard deviation of the first K scores / absolute value of their mean (after Shtok, Kurland, Carmel,
              Raiber & Markovits 2012, "Predicting query performance by query-drift estimation", which divides by the
              score of the corpus instead; dense search has none)
    entropy   -sum p ln p / ln n of the softmax p over the reranker's logits; log odds where it gives probabilities

This module imports nothing but the standard library, so that production needs no dependency of trueval
(`pip install --no-deps trueval`).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from typing import Final, NamedTuple

from trueval.errors import InputError, Place, PolicyError

# Rank of the second score of the margin.
TOP: Final = 10
# Probabilities closer to 1 round to 1 in float32; smaller ones than TINY are subnormal there.
NEAR_ONE: Final = 1 - 2.0**-25
TINY: Final = 2.0**-126
FEATURES: Final = ("margin", "gap", "tied", "nqc", "entropy")
PROBABILITY, LOGIT = "probability", "logit"
# 1: first version.
FORMAT: Final = 1


class Routed(NamedTuple):
    """The choice for one query; as JSON on a line it is what `trueval route check` reads.

    Attributes:
        candidates: number of candidates for the reranker.
        need: what is compared with the threshold; larger for harder queries.
    """

    candidates: int
    need: float


@dataclass(frozen=True)
class Router:
    """A rule that chooses the number of candidates per query.

    Attributes:
        fewer: number of candidates of most queries.
        more: number of candidates of hard queries.
        threshold: least need of a hard query; inf for none.
        weights: feature → weight.
        constant: added to the weighted features.
        top: rank of the second score of the margin.
        scale: what the reranker's scores are, "probability" or "logit".
        source: its file.
    """

    fewer: int
    more: int
    threshold: float
    weights: Mapping[str, float]
    constant: float = 0.0
    top: int = TOP
    scale: str = LOGIT
    source: str = "router"

    @classmethod
    def load(cls, path: str | Path) -> Router:
        """Read router.toml.

        Raises:
            InputError: it cannot be read, or is not what `trueval frontier --route` writes.
        """
        place = Place(str(path))
        try:
            found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
            if found["format"] != FORMAT:
                raise place.error(f"format {found['format']!r}; this version reads {FORMAT}. Update trueval.")
            rule, weights = found["router"], {name: float(value) for name, value in found["weights"].items()}
            made = cls(
                int(rule["fewer"]),
                int(rule["more"]),
                float(rule["threshold"]),
                weights,
                float(rule["constant"]),
                int(rule["top"]),
                str(rule["scale"]),
                str(path),
            )
        except InputError:
            raise
        except OSError as error:
            raise place.error(f"cannot be read ({error.strerror}). Name the file of frontier --route.") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            told = f"not a router: {type(error).__name__} {error}. Write it again by trueval frontier --route."
            raise place.error(told) from None
        made._check(place)
        return made

    def _check(self, place: Place) -> None:
        unknown = [name for name in self.weights if name not in FEATURES]
        if unknown:
            raise place.error(f"there is no feature {unknown[0]}. Features are {', '.join(FEATURES)}.")
        if not 1 <= self.fewer < self.more or self.top < 2 or self.scale not in (PROBABILITY, LOGIT):
            raise place.error("1 <= fewer < more, top >= 2 and a scale are needed. Write it by frontier --route.")

    @property
    def reads_reranker(self) -> bool:
        """Whether it needs the reranker's scores of the first candidates, beside those of the search."""
        return "entropy" in self.weights

    def choose(self, scores: Sequence[float], reranked: Sequence[float] | None = None) -> int:
        """The number of candidates for one query.

        Args:
            scores: [document] scores of the first search, best first, at least `fewer` + 1 where there are so many.
            reranked: [document] reranker's scores of the first `fewer` candidates, in any order.

        Raises:
            InputError: scores are not best first, or the reranker's are missing or on another scale.

        >>> router = Router(50, 100, -0.2, {"margin": -1.0})
        >>> router.choose([0.9, 0.8, 0.4]), router.choose([0.9, 0.8])
        (50, 100)
        """
        return self.route(scores, reranked).candidates

    def route(self, scores: Sequence[float], reranked: Sequence[float] | None = None) -> Routed:
        """The choice for one query with its need, for the log that `trueval route check` reads.

        Raises:
            InputError: as in `choose`.
        """
        if len(scores) and scores[0] < scores[-1]:
            raise InputError("The scores of a search must be best first. Sort them before the router reads them.")
        need, lists = self.constant, _as_doubles(scores, reranked)
        for name, weight in self.weights.items():
            need += weight * self._feature(name, *lists)
        # A need that is not a number is no reason to save: NaN is below nothing.
        return Routed(self.fewer if need < self.threshold else self.more, need)

    def features(self, scores: Sequence[float], reranked: Sequence[float] | None = None) -> dict[str, float]:
        """Every feature that the scores give; entropy only with those of the reranker."""
        names, lists = FEATURES if reranked is not None else FEATURES[:-1], _as_doubles(scores, reranked)
        return {name: self._feature(name, *lists) for name in names}

    def _feature(self, name: str, scores: Sequence[float], reranked: Sequence[float] | None) -> float:
        if name == "margin":
            return span(scores[: self.top])
        if name == "gap":
            return gap(scores, self.fewer)
        if name == "tied":
            return tied_share(scores, self.fewer)
        if name == "nqc":
            return relative_spread(scores[: self.fewer])
        if reranked is None:
            raise InputError(
                f"{self.source} reads the entropy of the reranker's scores of the first {self.fewer} candidates. Pass "
                "them as reranked, or certify a router without it: trueval frontier --route --features margin."
            )
        if self.scale == PROBABILITY and len(reranked) and not (min(reranked) >= 0 and max(reranked) <= 1):
            raise InputError(
                f"{self.source} was certified on probabilities from 0 to 1, and a score is outside. Pass the "
                "reranker's probabilities, not its logits, or certify a router on these scores."
            )
        return normalised_entropy(reranked, odds=self.scale == PROBABILITY)


def _as_doubles(
    scores: Sequence[float], reranked: Sequence[float] | None
) -> tuple[Sequence[float], Sequence[float] | None]:
    """Both lists as doubles, in which the router was certified: arrays in float32 or float16 round in between."""
    return list(map(float, scores)), None if reranked is None else list(map(float, reranked))


def span(scores: Sequence[float]) -> float:
    """First score - last score; 0 for none.

    >>> span([0.75, 0.5])
    0.25
    """
    return float(scores[0] - scores[-1]) if len(scores) else 0.0


def gap(scores: Sequence[float], k: int) -> float:
    """Score at rank k - score at rank k + 1; 0 for a list that ends before.

    >>> gap([3.0, 2.0, 0.5], 2), gap([3.0, 2.0], 2)
    (1.5, 0.0)
    """
    return float(scores[k - 1] - scores[k]) if len(scores) > k else 0.0


def tied_share(scores: Sequence[float], k: int) -> float:
    """Other documents with the score at rank k, or at the last of a shorter list, as a share of k.

    >>> tied_share([3.0, 2.0, 2.0, 2.0], 2)
    1.0
    """
    if not len(scores):
        return 0.0
    same = scores[min(k, len(scores)) - 1]
    return (list(scores).count(same) - 1) / k


def relative_spread(scores: Sequence[float]) -> float:
    """Standard deviation of scores / absolute value of their mean; 0 where that is 0.

    >>> relative_spread([3.0, 1.0])
    0.5
    """
    if not len(scores):
        return 0.0
    mean = sum(scores) / len(scores)
    if mean == 0:
        return 0.0
    moved = [each - mean for each in scores]
    return math.sqrt(sum(map(mul, moved, moved)) / len(scores)) / abs(mean)


def normalised_entropy(scores: Sequence[float], *, odds: bool) -> float:
    """Entropy of the softmax over logits, as a share of the maximum; 0 for fewer than two.

    Args:
        scores: [document] logits.
        odds: whether they are probabilities instead, whose log odds are the logits.

    >>> normalised_entropy([0.5, 0.5], odds=True)
    1.0
    """
    if len(scores) < 2:
        return 0.0
    if odds:
        if min(scores) < TINY or max(scores) > NEAR_ONE:
            scores = [min(max(each, TINY), NEAR_ONE) for each in scores]
        weights = [each / (1.0 - each) for each in scores]
        logits: Sequence[float] = list(map(math.log, weights))
    else:
        largest = max(scores)
        logits = [each - largest for each in scores]
        weights = list(map(math.exp, logits))
    total = float(sum(weights))
    # -sum p ln p = ln sum w - sum p ln w: no logarithm of a share that underflows.
    found = math.log(total) - float(sum(map(mul, weights, logits))) / total
    return min(max(found / math.log(len(scores)), 0.0), 1.0)


def check_features(names: Sequence[str]) -> tuple[str, ...]:
    """The names, if each is a feature.

    Raises:
        PolicyError: one is not.
    """
    unknown = next((name for name in names if name not in FEATURES), None)
    if unknown is not None:
        raise PolicyError(f"A router reads {', '.join(FEATURES)}. Got {unknown!r}.")
    return tuple(names)
