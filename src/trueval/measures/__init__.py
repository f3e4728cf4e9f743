"""Measures: registered definitions, their text form, and their computation from standings."""

from trueval.measures.all_gold import AllGold
from trueval.measures.average_precision import AP
from trueval.measures.bpref import bpref
from trueval.measures.cascade import ERR
from trueval.measures.ceilings import PROC, ordering_headroom, pPROC, retrieval_headroom
from trueval.measures.diversity import NRBP, alpha_nDCG
from trueval.measures.evidence import P4, Harm, N_Recall4, N_Recall5, RA_nWG, nWG
from trueval.measures.geometric import gm
from trueval.measures.grammar import parse, parse_list
from trueval.measures.interpolated import IPrec, IPrec11, interpolated_curve
from trueval.measures.linear import DCG, F1, RBP, Hits, Judged, P, R, RBP_residual, Rprec, linear, nDCG
from trueval.measures.measure import Definition, Measure, Values, register, registry
from trueval.measures.novelty import novelty
from trueval.measures.reciprocal_rank import RR
from trueval.measures.success import Success
from trueval.measures.utility import UDCG_proxy
from trueval.specs import Parameter

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
