"""The measures: registered definitions, their text form, and what they compute from standings."""

from trueval.measures.average_precision import AP
from trueval.measures.grammar import parse, parse_list
from trueval.measures.linear import DCG, F1, RBP, Hits, Judged, P, R, Rprec, linear, nDCG
from trueval.measures.measure import Definition, Measure, Parameter, Values, register, registry
from trueval.measures.reciprocal_rank import RR
from trueval.measures.success import Success

__all__ = [
    "AP",
    "DCG",
    "F1",
    "RBP",
    "RR",
    "Definition",
    "Hits",
    "Judged",
    "Measure",
    "P",
    "Parameter",
    "R",
    "Rprec",
    "Success",
    "Values",
    "linear",
    "nDCG",
    "parse",
    "parse_list",
    "register",
    "registry",
]
