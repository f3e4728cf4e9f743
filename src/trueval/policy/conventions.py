"""Conventions: each tool's choices, as a policy under which the tie-broken value is the tool's own number.

The documentation page on conventions says what was read and measured, with versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trueval.errors import PolicyError, nearest
from trueval.policy.policy import OURS, Exceptional, Policy

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.policy.policy_choices import PolicyChoices

__all__ = ["CONVENTIONS", "OURS", "TOOLS", "Policy", "Tool", "choose", "convention"]

_TREC_MEASURES: Final = {
    **dict.fromkeys(("nDCG", "RR", "AP", "P", "R", "F1", "Hits"), "optional"),
    "Success": "required",
    **dict.fromkeys(("Rprec", "bpref", "IPrec", "IPrec11"), "none"),
}
_TOP_K_MEASURES: Final = dict.fromkeys(("nDCG", "AP", "RR", "P", "R", "Success"), "required")


class Tool(NamedTuple):
    """Another tool.

    Attributes:
        version: version that was read and tested.
        measures: our measures that it has, and whether with a cutoff: "required", "optional" or "none".
        order: why its order of equal scores is unknown, where it is.
    """

    policy: Policy
    version: str
    measures: Mapping[str, str]
    order: str = ""

    def has(self, measure: str, cutoff: int | None) -> bool:
        """Whether the tool has a measure of this name with this cutoff, or without one."""
        use = self.measures.get(measure)
        return use is not None and not (use == "required" and not cutoff) and not (use == "none" and cutoff)


TOOLS: Final[Mapping[str, Tool]] = MappingProxyType(
    {
        # Scores stay doubles; a judged query that the run lacks is an error unless told otherwise.
        "trec_eval": Tool(
            Policy("trec_eval", tie_order="docid-desc", missing="error", float_grades="truncate", rounding="nearest"),
            "trec_eval 10.0-rc3",
            _TREC_MEASURES,
        ),
        # Around trec_eval 9: stores scores as float32, so it also creates ties.
        "pytrec_eval": Tool(
            Policy(
                "pytrec_eval", tie_order="docid-desc", tie_precision="float32", missing="skip", float_grades="error"
            ),
            "pytrec_eval-terrier 0.5.11",
            _TREC_MEASURES,
        ),
        # Qrels and Run objects; pairs of dicts are matched by position and reversed. Its rbp multiplies by the grade.
        "ranx": Tool(
            Policy("ranx", tie_order="input-below-16", missing="error", float_grades="truncate", unopposed="undefined"),
            "ranx 0.3.21",
            {
                **dict.fromkeys(("nDCG", "DCG", "AP", "RR", "P", "R", "F1", "Hits", "Success"), "optional"),
                "Rprec": "none",
                "bpref": "none",
            },
            "ranx sorts lists of 16 documents and more by an unstable sort",
        ),
        # InformationRetrievalEvaluator, given the documents with a grade above 0 as relevant_docs.
        "sentence-transformers": Tool(
            Policy(
                "sentence-transformers",
                tie_order="docid-asc",
                gain="binary",
                norm="min",
                labels="positive",
                empty="skip",
            ),
            "sentence-transformers 6.2.0",
            _TOP_K_MEASURES,
        ),
        # Its nDCG is the mean over tied documents; the rest sorts by topk or argsort, and makes predictions float32.
        "torchmetrics": Tool(
            Policy(
                "torchmetrics",
                tie_order="unspecified",
                tie_precision="float32",
                base="list",
                norm="hits",
                labels="binary",
                missing="skip",
                exceptions=(
                    Exceptional(("nDCG",), (("tie_order", "average"),)),
                    Exceptional(("AP", "RR", "P", "R"), (("nonpositive", "not-retrieved"),)),
                ),
            ),
            "torchmetrics 1.9.0",
            {**dict.fromkeys(("nDCG", "AP", "RR", "P", "R", "Success"), "optional"), "Rprec": "none"},
            "torch.topk and argsort leave the order of equal scores open",
        ),
        # ndcg_score and dcg_score with ignore_ties=False; average_precision_score.
        "sklearn": Tool(
            Policy(
                "sklearn",
                tie_order="unspecified",
                base="list",
                labels="binary",
                missing="skip",
                exceptions=(
                    Exceptional(("nDCG", "DCG"), (("tie_order", "average"),)),
                    Exceptional(("AP",), (("norm", "threshold"),)),
                ),
            ),
            "scikit-learn 1.9.1",
            {"nDCG": "optional", "DCG": "optional", "AP": "none"},
            "scikit-learn has no such measure",
        ),
        # CrossEncoderRerankingEvaluator of sentence-transformers: its nDCG and AP are scikit-learn's, on float32.
        "cross-encoder": Tool(
            Policy(
                "cross-encoder",
                tie_order="unspecified",
                tie_precision="float32",
                gain="binary",
                base="list",
                labels="positive",
                missing="skip",
                exceptions=(
                    Exceptional(("nDCG",), (("tie_order", "average"),)),
                    Exceptional(("AP",), (("norm", "threshold"),)),
                ),
            ),
            "sentence-transformers 6.2.0",
            {"nDCG": "required", "RR": "required", "AP": "none"},
            "it reads NumPy's argsort backwards: the last listed document is first, or another, as the processor sorts",
        ),
        # pytrec_eval, beside its own MRR on doubles.
        "mteb": Tool(
            Policy(
                "mteb",
                tie_order="docid-desc",
                tie_precision="float32",
                missing="skip",
                float_grades="error",
                exceptions=(Exceptional(("RR",), (("tie_precision", None),)),),
            ),
            "mteb 2.26.24",
            _TOP_K_MEASURES,
        ),
        # P-A (Yang et al. 2026, arXiv 2508.03306): complete candidate lists.
        "paper": Tool(
            Policy("paper", tie_order="input", base="list"),
            "arXiv 2508.03306",
            dict.fromkeys(("nDCG", "AP", "RR", "P", "R", "F1", "Hits"), "optional"),
        ),
    }
)

CONVENTIONS: Final[Mapping[str, Policy]] = MappingProxyType({name: tool.policy for name, tool in TOOLS.items()})


def convention(name: str | Policy | None = None, **choices: Unpack[PolicyChoices]) -> Policy:
    """The default policy, or that of a named convention, with the given choices.

    Args:
        name: name of a preset in CONVENTIONS; None for the default policy.
        choices: attributes of Policy; None keeps the preset's value.

    Raises:
        PolicyError: an unknown preset, choice or value.

    >>> convention("pytrec_eval", rel=2).tie_precision
    'float32'
    """
    if isinstance(name, Policy):
        raise PolicyError("convention names a preset. Give a whole Policy as policy=.")
    if name is not None and name not in CONVENTIONS:
        raise PolicyError(
            f"Convention must be one of {', '.join(CONVENTIONS)}. Got {name!r}.{nearest(name, CONVENTIONS)}"
        )
    return (OURS if name is None else CONVENTIONS[name]).but(**choices)


def choose(policy: Policy | None, choices: Mapping[str, Any]) -> Policy:
    """The policy of a call: a given one, a convention's or the default, overridden by single choices.

    Args:
        policy: policy to start from; None for the convention among the choices, or the default.
        choices: attributes of Policy; "convention" names a preset.

    Raises:
        PolicyError: a policy and a convention are given, or a choice is unknown.
    """
    single = dict(choices)
    name = single.pop("convention", None)
    if policy is None:
        return convention(name, **single)
    if name is not None:
        raise PolicyError("policy and convention are both given, and each sets every choice. Give one of them.")
    return policy.but(**single)
