"""Efficiency: one number to screen close systems (P-B §3.3)."""

from __future__ import annotations

from collections.abc import Sequence


def efficiency(values: Sequence[float], seconds: float) -> float:
    """Mean of measures divided by latency: for screening only, since it favors small depths.

    Efficiency = mean(N-Recall4+@10, RA-nWG@10, N-Recall4+@30, RA-nWG@30) / latency. P-B §3.3.

    Args:
        seconds: latency of one query; P-B uses the median of the reranker alone.

    >>> round(efficiency([0.835, 0.804, 0.819, 0.810], 0.3329), 3)  # P-B, Table 9, first row
    2.454
    """
    return sum(values) / len(values) / seconds
