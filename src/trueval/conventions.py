"""Policies: every choice that changes a number, and the named presets of other tools.

What the tools do is written in the documentation page on conventions, with the versions it was read from.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Final

from trueval.errors import PolicyError
from trueval.tie_order import check_tie_order

EMPTY: Final = ("zero", "skip", "error")
MISSING: Final = ("worst", "skip", "error")
BASES: Final = ("judgments", "list")


@dataclass(frozen=True)
class Policy:
    """Every choice that changes a number.

    Attributes:
        convention: the preset it began from; None for ours.
        tie_order: order of tied documents behind the oblivious value (tie_order.TIE_ORDERS).
        tie_precision: number format or grid width that decides what is tied; None as read, float64.
        rel: threshold of relevance for measures that do not name their own.
        base: "judgments" or "list", for measures that do not name their own.
        empty: a query without relevant documents: "zero" counts it as 0, "skip" leaves it out, "error" stops.
        missing: a judged query that the run lacks: "worst" value, "skip" or "error".
        depth: ranks past this one count for nothing; None for no limit.
        judged_only: leave documents without a grade out of the lists.
        seed: of the random tie order.
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

    def __post_init__(self) -> None:
        check_tie_order(self.tie_order)
        _check_choice("empty", self.empty, EMPTY)
        _check_choice("missing", self.missing, MISSING)
        _check_choice("base", self.base, BASES)
        if not 0 <= self.rel < math.inf:
            raise PolicyError(f"rel must be a number of at least 0: a grade below 0 means unjudged. Got {self.rel!r}.")
        if self.depth is not None and self.depth < 1:
            raise PolicyError(f"depth must be an integer >= 1. Got {self.depth!r}.")

    def to_dict(self) -> dict[str, object]:
        """The policy as it stands in the JSON of results."""
        return asdict(self)


def _check_choice(name: str, value: str, accepted: tuple[str, ...]) -> None:
    if value not in accepted:
        raise PolicyError(f"{name} must be one of {', '.join(accepted)}. Got {value!r}.")


# trueval's own: FORMULAS §2-3, with the tie order that most tools use.
OURS: Final = Policy()

CONVENTIONS: Final[Mapping[str, Policy]] = MappingProxyType(
    {
        # trec_eval 10.0-rc3: doubles; a judged query that the run lacks is an error unless told otherwise.
        "trec_eval": Policy("trec_eval", tie_order="docid-desc", missing="error"),
        # pytrec_eval-terrier 0.5.11, around trec_eval 9: stores scores as float32, so it also creates ties.
        "pytrec_eval": Policy("pytrec_eval", tie_order="docid-desc", tie_precision="float32", missing="skip"),
    }
)


def policy(convention: str | None = None, **choices: object) -> Policy:
    """Our policy, or that of a named convention, with the choices that are given.

    Args:
        convention: name of a preset in CONVENTIONS; None for ours.
        choices: attributes of Policy; None means as the preset has it.

    Raises:
        PolicyError: an unknown preset or value.

    >>> policy("pytrec_eval", rel=2).tie_precision
    'float32'
    """
    if convention is not None and convention not in CONVENTIONS:
        close = difflib.get_close_matches(convention, CONVENTIONS, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise PolicyError(f"Convention must be one of {', '.join(CONVENTIONS)}. Got {convention!r}.{hint}")
    base = OURS if convention is None else CONVENTIONS[convention]
    return replace(base, **{name: value for name, value in choices.items() if value is not None})  # type: ignore[arg-type]
