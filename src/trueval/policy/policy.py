"""Policy: all choices that affect a number, each a named option with its accepted values in words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from trueval.errors import PolicyError, nearest

TIE_ORDERS: Final = {
    "input": "as the run lists them",
    "rank": "by the rank column, then as the run lists them",
    "docid-desc": "document id descending by bytes, as trec_eval",
    "docid-asc": "document id ascending by bytes",
    "random": "by a hash of seed, query id and document id",
    # Choices that describe tools in conventions; not meant for users.
    "input-below-16": "as the run lists them in lists of fewer than 16 documents, not known in longer ones, as ranx",
    "average": "none: the tool itself reports the mean over all orders",
    "unspecified": "not known: where the order matters no tie-broken value is given",
}

CHOICES: Final = ("docid-desc", "docid-asc", "input", "rank", "random")


class Option(NamedTuple):
    """One choice, with its question and accepted values.

    Attributes:
        topic: topic, in the words of `trueval explain`: tie, normalizer, base, gain, label, query, ...
        about: the question it answers.
        words: what each accepted value means; empty where any number or name is accepted.
    """

    topic: str
    about: str
    words: Mapping[str, str] = MappingProxyType({})


OPTIONS: Final[Mapping[str, Option]] = MappingProxyType(
    {
        "tie_order": Option("tie", "order of equal scores", TIE_ORDERS),
        "tie_precision": Option("tie", "number format or grid width in which scores are equal; None as read"),
        "gain": Option(
            "gain",
            "gain of nDCG and DCG",
            {
                "linear": "the grade",
                "exp": "2^grade - 1",
                "binary": "1 for any grade above 0",
                "rubric": "1, .5, .1, 0 and 0 of grades 5 to 1",
            },
        ),
        "base": Option(
            "base",
            "what ideals and the number of relevant documents count",
            {"judgments": "all judged documents", "list": "the documents that the run lists"},
        ),
        "norm": Option(
            "normalizer",
            "what AP@k is divided by",
            {
                "R": "all R relevant documents",
                "min": "min(R, k)",
                "hits": "the relevant documents in the top k",
                "threshold": "R, tied documents entering together, one threshold for each distinct score",
            },
        ),
        "short": Option(
            "normalizer",
            "what P@k of a list shorter than k is divided by",
            {"k": "k", "listed": "the documents listed, min(k, listed)"},
        ),
        "rounding": Option(
            "recall",
            "how IPrec makes recall x N+ a whole number of relevant documents",
            {"up": "rounded up, trec_eval 9", "nearest": "rounded to the nearest, trec_eval 10"},
        ),
        "unopposed": Option(
            "normalizer",
            "what bpref is where a relevant document is listed and nothing judged is not relevant",
            {"one": "each such document counts 1, trec_eval", "undefined": "0 divided by 0, not available"},
        ),
        "rel": Option("label", "grade from which a document is relevant, where the measure does not say"),
        "labels": Option(
            "label",
            "what grades mean to a binary measure that names no threshold",
            {
                "threshold": "relevant from rel on",
                "positive": "relevant above 0",
                "binary": "only 0 and 1 are accepted",
            },
        ),
        "float_grades": Option(
            "label",
            "grades that are not whole numbers",
            {"keep": "kept", "truncate": "cut to whole numbers", "error": "refused"},
        ),
        "nonpositive": Option(
            "score <= 0",
            "documents with a score of 0 or less",
            {
                "retrieved": "retrieved like any other",
                "not-retrieved": "not retrieved, though they take up their ranks",
            },
        ),
        "empty": Option(
            "empty query",
            "a query without a relevant document",
            {"zero": "counts as 0", "one": "counts as 1", "skip": "is left out", "error": "is refused"},
        ),
        "missing": Option(
            "missing query",
            "a judged query that the run lacks",
            {"worst": "gets the worst value", "skip": "is left out", "error": "is refused"},
        ),
        "skip_first": Option("first result", "whether the first result of every query is dropped"),
        "depth": Option("depth", "rank at which lists end; None for no limit"),
        "judged_only": Option("judged only", "whether documents without a grade are left out of the lists"),
        "seed": Option("tie", "of the random tie order"),
    }
)

# Accepted words of each option; checked whenever a policy is created.
WORDED: Final = tuple((name, option.words) for name, option in OPTIONS.items() if option.words)

# A tie order that names its seed.
SEEDED: Final = re.compile(r"random\((\d+)\)")

# A grade above 0 is at least this: what "relevant above 0" means as a threshold.
LEAST_POSITIVE: Final = math.ulp(0.0)


class Exceptional(NamedTuple):
    """Choices that a tool makes for only some measures.

    Attributes:
        measures: names of the measures.
        choices: pairs of option and value.
    """

    measures: tuple[str, ...]
    choices: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Policy:
    """All choices that affect a number; OPTIONS explains each value.

    Attributes:
        convention: the preset it started from; None for the default.
        tie_order: order of tied documents for the tie-broken value (TIE_ORDERS).
        tie_precision: number format or grid width that defines ties; None as read, float64.
        rel: threshold of relevance for measures that do not name their own.
        base: "judgments" or "list", for measures that do not name their own.
        empty: a query without relevant documents: "zero" counts it as 0, "one" as 1, "skip" drops it, "error" stops.
        missing: a judged query that the run lacks: "worst" value, "skip" or "error".
        depth: the rank at which lists end, under any tie order; None for no limit.
        judged_only: remove documents without a grade from the lists.
        seed: seed of the random tie order.
        gain: gain of nDCG and DCG that do not name their own: "linear", "exp", "binary" or "rubric".
        norm: norm of AP that does not name its own: "R", "min", "hits" or "threshold".
        short: denominator of P that does not name its own: "k" or "listed".
        rounding: rounding of IPrec and IPrec11 that do not name their own: "up" or "nearest".
        unopposed: value of bpref that does not name its own: "one" or "undefined".
        labels: grades in binary measures that name no threshold: "threshold" (rel), "positive" or "binary".
        float_grades: "keep", "truncate" or "error".
        nonpositive: documents with a score <= 0 are "retrieved", or "not-retrieved".
        skip_first: drop the first result of every query, by score, then input order.
        exceptions: the preset's different choices for some measures; an explicit choice overrides these too.
    """

    convention: str | None = None
    tie_order: str = "docid-desc"
    tie_precision: str | float | None = None
    rel: float = 1
    base: str = "judgments"
    empty: str = "zero"
    missing: str = "worst"
    depth: int | None = None
    judged_only: bool = False
    seed: int = 0
    gain: str = "linear"
    norm: str = "R"
    short: str = "k"
    rounding: str = "up"
    unopposed: str = "one"
    labels: str = "threshold"
    float_grades: str = "keep"
    nonpositive: str = "retrieved"
    skip_first: bool = False
    exceptions: tuple[Exceptional, ...] = ()

    def __post_init__(self) -> None:
        if self.tie_order not in TIE_ORDERS:
            raise PolicyError(f"Tie order must be one of {', '.join(CHOICES)}. Got {self.tie_order!r}.")
        for name, words in WORDED:
            value = getattr(self, name)
            if value not in words:
                raise PolicyError(f"{name} must be one of {', '.join(words)}. Got {value!r}.")
        seed: object = self.seed
        if not isinstance(seed, int) or not -(2**63) <= seed < 2**63:
            raise PolicyError(f"seed must be an integer of 64 bits. Got {self.seed!r}.")
        if not 0 <= self.rel < math.inf:
            raise PolicyError(f"rel must be a number of at least 0: a grade below 0 means unjudged. Got {self.rel!r}.")
        if self.depth is not None and self.depth < 1:
            raise PolicyError(f"depth must be an integer >= 1. Got {self.depth!r}.")

    def but(self, **choices: object) -> Policy:
        """This policy with some choices changed, which override its exceptions; a threshold overrides `labels`.

        Args:
            choices: attributes of Policy; None keeps the value. The tie order "random(3)" is random with seed 3.

        Raises:
            PolicyError: an unknown choice, or a value that it does not accept.

        >>> Policy().but(tie_order="random(3)").seed
        3
        """
        unknown = next((name for name in choices if name not in Policy.__dataclass_fields__), None)
        if unknown is not None:
            raise PolicyError(f"Unknown choice {unknown!r}.{nearest(unknown, Policy.__dataclass_fields__)}")
        # A NumPy number becomes a Python number. NumPy itself is not imported, since the help only needs the words
        # above.
        plain = {name: value.item() if hasattr(value, "item") else value for name, value in choices.items()}
        given: dict[str, Any] = {name: value for name, value in plain.items() if value is not None}
        if seeded := SEEDED.fullmatch(str(given.get("tie_order"))):
            given |= {"tie_order": "random", "seed": int(seeded[1])}
        if "rel" in given:
            given = {"labels": "threshold", **given}
        kept = [each._replace(choices=tuple(c for c in each.choices if c[0] not in given)) for each in self.exceptions]
        return replace(self, **given, exceptions=tuple(each for each in kept if each.choices))

    def of(self, measure: str) -> Policy:
        """The choices for one measure, by its name: its exceptions applied, and all exceptions removed."""
        if not self.exceptions:
            return self
        choices: dict[str, Any] = {}
        for exception in self.exceptions:
            if measure in exception.measures:
                choices |= dict(exception.choices)
        return replace(self, **choices, exceptions=())

    @cached_property
    def counting(self) -> Policy:
        """The choices that affect standings, others at their defaults: policies that count alike are equal."""
        return Policy(
            tie_order="unspecified" if self.tie_order == "average" else self.tie_order,
            tie_precision=self.tie_precision,
            depth=self.depth,
            judged_only=self.judged_only,
            seed=self.seed,
            float_grades=self.float_grades,
            nonpositive=self.nonpositive,
            skip_first=self.skip_first,
        )

    @cached_property
    def parameters(self) -> Mapping[str, str | float]:
        """Parameters for measures that leave them open: those that differ from defaults, and those always set."""
        always: dict[str, str | float] = {
            "rel": LEAST_POSITIVE if self.labels == "positive" else self.rel,
            "base": self.base,
        }
        own: dict[str, str] = {name: getattr(self, name) for name in ("gain", "norm", "short", "rounding", "unopposed")}
        return always | {name: value for name, value in own.items() if value != getattr(OURS, name)}

    def to_dict(self) -> dict[str, object]:
        """The policy as a dict, as in the JSON of results; exceptions by measure, or null."""
        entry: dict[str, object] = asdict(self)
        by_measure = {name: dict(each.choices) for each in self.exceptions for name in each.measures}
        return entry | {"exceptions": by_measure or None}

    @staticmethod
    def from_dict(entry: Mapping[str, object]) -> Policy:
        """The policy from the dict of `to_dict`; its exceptions are one per measure.

        Raises:
            PolicyError: a choice is unknown, or has a value that is not accepted.

        >>> Policy.from_dict(Policy(rel=2).to_dict()) == Policy(rel=2)
        True
        """
        unknown = next((name for name in entry if name not in Policy.__dataclass_fields__), None)
        if unknown is not None:
            raise PolicyError(f"Unknown choice {unknown!r}.{nearest(unknown, Policy.__dataclass_fields__)}")
        read: dict[str, Any] = dict(entry)
        own = read.get("exceptions") or {}
        exceptions = tuple(Exceptional((name,), tuple(choices.items())) for name, choices in own.items())
        return Policy(**{**read, "exceptions": exceptions})


# trueval's own: docs/formulas.md §2-3, with the tie order that most tools use.
OURS: Final = Policy()
