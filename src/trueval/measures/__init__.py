"""Measures: registered definitions, their text form, and their computation from standings."""

from typing import TYPE_CHECKING

# Modules that share their name with what they define are imported here, so that the name is not the module's.
from trueval.measures.bpref import bpref
from trueval.measures.families import load_families
from trueval.measures.grammar import parse, parse_list
from trueval.measures.linear import DCG, F1, RBP, Hits, Judged, P, R, RBP_residual, Rprec, linear, nDCG
from trueval.measures.measure import Definition, Measure, Values, register, registry
from trueval.measures.novelty import novelty
from trueval.specs import Parameter

if TYPE_CHECKING:
    from trueval.measures.all_gold import AllGold
    from trueval.measures.average_precision import AP
    from trueval.measures.cascade import ERR
    from trueval.measures.ceilings import PROC, ordering_headroom, pPROC, retrieval_headroom
    from trueval.measures.diversity import NRBP, alpha_nDCG
    from trueval.measures.evidence import P4, Harm, N_Recall4, N_Recall5, RA_nWG, nWG
    from trueval.measures.geometric import gm
    from trueval.measures.interpolated_precision import IPrec, IPrec11, interpolated_curve
    from trueval.measures.reciprocal_rank import RR
    from trueval.measures.success import Success
    from trueval.measures.utility import UDCG_proxy

__all__ = [
    "AP",
    "DCG",
    "ERR",
    "F1",
    "NRBP",
    "P4",
    "PROC",
    "RBP",
    "RR",
    "AllGold",
    "Definition",
    "Harm",
    "Hits",
    "IPrec",
    "IPrec11",
    "Judged",
    "Measure",
    "N_Recall4",
    "N_Recall5",
    "P",
    "Parameter",
    "R",
    "RA_nWG",
    "RBP_residual",
    "Rprec",
    "Success",
    "UDCG_proxy",
    "Values",
    "alpha_nDCG",
    "bpref",
    "gm",
    "interpolated_curve",
    "linear",
    "nDCG",
    "nWG",
    "novelty",
    "ordering_headroom",
    "pPROC",
    "parse",
    "parse_list",
    "register",
    "registry",
    "retrieval_headroom",
]


def __getattr__(name: str) -> object:
    """A measure or function of a family that is not loaded yet (PEP 562)."""
    if name in __all__:
        for family in load_families():
            if name in vars(family):
                return vars(family)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
