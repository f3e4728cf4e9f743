"""One example of each measure that a reader can check by hand: docs/measures.md shows them, a test computes them.

All are of one list of five documents with the grades 3, 1, 5, 4, 1, of which the second and the third have equal
scores. So it is read as 3, 1, 5, 4, 1 or as 3, 5, 1, 4, 1, each half of the time. Relevant are grades from 3 on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

SCORES = (4.0, 3.0, 3.0, 2.0, 1.0)
GRADES = (3, 1, 5, 4, 1)
RELEVANT = 3
NAMES = "abcde"


class Example(NamedTuple):
    """What a measure is for each of the two orders, as arithmetic of Python with log2 and exp.

    Attributes:
        measure: with its cutoff and parameters.
        first: for the order 3, 1, 5, 4, 1.
        second: for 3, 5, 1, 4, 1.
    """

    measure: str
    first: str
    second: str


EXAMPLES: Mapping[str, Example] = {
    "AllGold": Example("AllGold(rel=5)@2", "0", "1"),
    "AP": Example("AP", "(1/1 + 2/3 + 3/4) / 3", "(1/1 + 2/2 + 3/4) / 3"),
    "Hits": Example("Hits@2", "1", "2"),
    "P": Example("P@2", "1 / 2", "2 / 2"),
    "R": Example("R@2", "1 / 3", "2 / 3"),
    "F1": Example("F1@2", "2 * 1 / (2 + 3)", "2 * 2 / (2 + 3)"),
    "Rprec": Example("Rprec(rel=4)", "0 / 2", "1 / 2"),
    "nDCG": Example("nDCG@2", "(3 + 1 / log2(3)) / (5 + 4 / log2(3))", "(3 + 5 / log2(3)) / (5 + 4 / log2(3))"),
    "DCG": Example("DCG@2", "3 + 1 / log2(3)", "3 + 5 / log2(3)"),
    "RBP": Example("RBP@2", "0.2 * 1", "0.2 * (1 + 0.8)"),
    "RBP-residual": Example("RBP-residual@2", "1 - 0.2 * (1 + 0.8)", "1 - 0.2 * (1 + 0.8)"),
    "Judged": Example("Judged@2", "2 / 2", "2 / 2"),
    "bpref": Example("bpref", "(1 + (1 - 1/2) + (1 - 1/2)) / 3", "(1 + 1 + (1 - 1/2)) / 3"),
    "ERR": Example("ERR(gmax=5)@2", "7/32 + 1/2 * 1/32 * (1 - 7/32)", "7/32 + 1/2 * 31/32 * (1 - 7/32)"),
    "RA-nWG": Example("RA-nWG@2", "0.1 / (1 + 0.5)", "(0.1 + 1) / (1 + 0.5)"),
    "nWG": Example("nWG@2", "0.1 / (1 + 0.5)", "(0.1 + 1) / (1 + 0.5)"),
    "N-Recall4+": Example("N-Recall4+@2", "0 / 2", "1 / 2"),
    "N-Recall5": Example("N-Recall5@2", "0 / 1", "1 / 1"),
    "P4+": Example("P4+@2", "0 / 2", "1 / 2"),
    "Harm": Example("Harm@2", "1 / 2", "0 / 2"),
    "PROC": Example("PROC(RA-nWG, pool=3)@2", "(1 + 0.1) / (1 + 0.5)", "(1 + 0.1) / (1 + 0.5)"),
    "pPROC": Example("pPROC(RA-nWG, pool=3)@2", "0.1 / (1 + 0.1)", "(0.1 + 1) / (1 + 0.1)"),
    "retrieval_headroom": Example("retrieval_headroom(RA-nWG, pool=3)@2", "1 - (1 + 0.1) / 1.5", "1 - (1 + 0.1) / 1.5"),
    "ordering_headroom": Example(
        "ordering_headroom(RA-nWG, pool=3)@2", "(1 + 0.1) / 1.5 - 0.1 / 1.5", "(1 + 0.1) / 1.5 - (0.1 + 1) / 1.5"
    ),
    "alpha_nDCG": Example("alpha_nDCG@2", "1 / (1 + 0.5 / log2(3))", "(1 + 0.5 / log2(3)) / (1 + 0.5 / log2(3))"),
    "NRBP": Example("NRBP@2", "(1 - 0.5 * 0.5) * 1", "(1 - 0.5 * 0.5) * (1 + 0.5 * 0.5)"),
    "gm": Example("gm(AP)", "(1/1 + 2/3 + 3/4) / 3", "(1/1 + 2/2 + 3/4) / 3"),
    "IPrec": Example("IPrec", "3 / 4", "2 / 2"),
    "IPrec11": Example("IPrec11(rel=5)", "11 * 1/3 / 11", "11 * 1/2 / 11"),
    "novelty": Example("novelty(RA-nWG)@2", "0.1 / (1 + 0.5)", "(0.1 + 1) / (1 + 0.5)"),
    "RR": Example("RR(rel=5)", "1 / 3", "1 / 2"),
    "Success": Example("Success(rel=5)@2", "0", "1"),
    "UDCG-proxy": Example("UDCG-proxy@2", "1 / (1 + exp((1/6 + 0) / 2))", "1 / (1 + exp((1/6 - 1) / 2))"),
}
