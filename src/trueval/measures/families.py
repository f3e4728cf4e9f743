"""Families of measures: which module registers which names, so that an evaluation loads only what it computes."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final

# In the order of the registry.
FAMILIES: Final = {
    "all_gold": ("AllGold",),
    "average_precision": ("AP",),
    "linear": ("Hits", "P", "R", "F1", "Rprec", "nDCG", "DCG", "RBP", "RBP-residual", "Judged"),
    "bpref": ("bpref",),
    "cascade": ("ERR",),
    "evidence": ("RA-nWG", "nWG", "N-Recall4+", "N-Recall5", "P4+", "Harm"),
    "ceilings": ("PROC", "pPROC", "retrieval_headroom", "ordering_headroom"),
    "diversity": ("alpha_nDCG", "NRBP"),
    "geometric": ("gm",),
    "interpolated_precision": ("IPrec", "IPrec11"),
    "novelty": ("novelty",),
    "reciprocal_rank": ("RR",),
    "success": ("Success",),
    "utility": ("UDCG-proxy",),
}
NAMES: Final = tuple(name for names in FAMILIES.values() for name in names)


def load_families(name: str | None = None) -> list[ModuleType]:
    """Import the module that registers a measure of ours, or all of them.

    Args:
        name: name of the measure; None for all. A name that is not ours loads nothing.
    """
    wanted = [family for family, names in FAMILIES.items() if name is None or name in names]
    return [import_module(f"trueval.measures.{family}") for family in wanted]
