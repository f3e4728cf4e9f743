"""The tables of P-B (Dallaire 2025, arXiv 2511.09545), as the paper prints them.

A dagger of Table 15, which marks latencies that the paper itself doubts, is left out.
"""

from __future__ import annotations

from typing import Final, NamedTuple

HEAD: Final = tuple(f"{name}@{k}" for k in (10, 20, 30) for name in ("N-Recall4+", "N-Recall5", "RA-nWG"))


class Embedder(NamedTuple):
    """A row of most tables.

    Attributes:
        model: the embedder.
        dimension: of its vectors.
    """

    model: str
    dimension: int


def rows_of(text: str) -> dict[Embedder, tuple[float, ...]]:
    """Lines such as `voyage-3.5 (1024d) 0.799 0.772`."""
    found = {}
    for line in text.strip().splitlines():
        model, dimension, *values = line.split()
        found[Embedder(model, int(dimension.strip("(d)")))] = tuple(map(float, values))
    return found


TABLE_1: Final = rows_of("""
voyage-3-large 512 0.458 0.482 0.450 0.628 0.679 0.625 0.740 0.762 0.727 38.3 134.0
voyage-3-large 1024 0.616 0.612 0.591 0.662 0.691 0.653 0.700 0.718 0.684 50.1 137.7
voyage-3-large 2048 0.616 0.626 0.594 0.656 0.691 0.639 0.786 0.801 0.765 71.9 141.2
voyage-3.5 512 0.547 0.556 0.529 0.647 0.706 0.644 0.688 0.763 0.692 35.4 134.0
voyage-3.5 1024 0.592 0.596 0.566 0.636 0.677 0.625 0.798 0.808 0.785 47.6 138.8
voyage-3.5 2048 0.625 0.642 0.610 0.644 0.712 0.647 0.706 0.743 0.692 72.7 149.2
voyage-3.5-lite 512 0.509 0.478 0.497 0.520 0.551 0.516 0.559 0.577 0.552 38.2 133.0
voyage-3.5-lite 1024 0.502 0.469 0.483 0.541 0.563 0.537 0.591 0.611 0.578 48.8 133.7
voyage-3.5-lite 2048 0.505 0.499 0.497 0.562 0.596 0.560 0.591 0.613 0.580 71.0 140.8
""")
"""Measures of HEAD, median latency of retrieval and of embedding in ms."""

TABLE_15: Final = rows_of("""
voyage-3-large (1024d) 330.9 469.9 582.2 667.9
voyage-3.5 (1024d) 332.9 494.1 2720.7 2931.1
voyage-3.5 (2048d) 338.8 478.1 751.1 2970.7
voyage-3.5 (512d) 337.2 483.1 925.7 2904.2
voyage-3.5-lite (1024d) 330.8 476.0 615.6 2940.1
""")
"""Median latency of rerank-2.5 in ms, K 50, 100, 150, 200."""

TABLE_16: Final = rows_of("""
voyage-3-large (1024d) 369.3 415.5 537.3 639.2
voyage-3.5 (1024d) 352.2 413.9 515.9 644.8
voyage-3.5 (2048d) 405.4 474.6 611.7 715.3
voyage-3.5 (512d) 339.5 418.2 557.3 694.0
voyage-3.5-lite (1024d) 403.8 411.3 530.5 695.8
""")
"""Likewise, of rerank-2.5-lite."""

LITE: Final = {
    50: rows_of("""
voyage-3-large (1024d) 0.779 0.762 0.746 0.780 0.796 0.762 0.798 0.802 0.781 369.3
voyage-3.5 (1024d) 0.799 0.772 0.767 0.791 0.821 0.784 0.814 0.824 0.799 352.2
voyage-3.5 (2048d) 0.792 0.766 0.759 0.780 0.812 0.776 0.813 0.832 0.804 405.4
voyage-3.5 (512d) 0.799 0.779 0.769 0.793 0.837 0.792 0.817 0.848 0.811 339.5
voyage-3.5-lite (1024d) 0.710 0.732 0.692 0.711 0.780 0.713 0.737 0.776 0.732 403.8
"""),
    100: rows_of("""
voyage-3-large (1024d) 0.772 0.766 0.749 0.751 0.786 0.744 0.801 0.821 0.792 415.5
voyage-3.5 (1024d) 0.792 0.766 0.759 0.760 0.787 0.750 0.801 0.800 0.782 413.9
voyage-3.5 (2048d) 0.785 0.782 0.765 0.758 0.803 0.756 0.802 0.823 0.795 474.6
voyage-3.5 (512d) 0.792 0.772 0.760 0.766 0.802 0.760 0.807 0.819 0.794 418.2
voyage-3.5-lite (1024d) 0.730 0.756 0.714 0.708 0.771 0.709 0.738 0.788 0.737 411.3
"""),
    150: rows_of("""
voyage-3-large (1024d) 0.792 0.789 0.771 0.758 0.801 0.755 0.805 0.830 0.797 537.3
voyage-3.5 (1024d) 0.785 0.782 0.764 0.754 0.799 0.753 0.797 0.816 0.788 515.9
voyage-3.5 (2048d) 0.779 0.776 0.759 0.751 0.793 0.749 0.794 0.810 0.784 611.7
voyage-3.5 (512d) 0.792 0.789 0.770 0.758 0.805 0.757 0.801 0.821 0.791 557.3
voyage-3.5-lite (1024d) 0.765 0.769 0.747 0.738 0.785 0.738 0.787 0.800 0.779 530.5
"""),
    200: rows_of("""
voyage-3-large (1024d) 0.792 0.789 0.771 0.758 0.801 0.755 0.796 0.817 0.786 639.2
voyage-3.5 (1024d) 0.785 0.782 0.764 0.754 0.799 0.753 0.803 0.813 0.792 644.8
voyage-3.5 (2048d) 0.785 0.782 0.764 0.754 0.799 0.753 0.795 0.813 0.785 715.3
voyage-3.5 (512d) 0.792 0.789 0.770 0.758 0.805 0.757 0.799 0.819 0.788 694.0
voyage-3.5-lite (1024d) 0.772 0.769 0.751 0.744 0.785 0.741 0.794 0.800 0.782 695.8
"""),
}
"""Tables 17 to 20: K → measures of HEAD with rerank-2.5-lite, and its median latency in ms."""

CEILINGS: Final = {
    50: rows_of("""
voyage-3-large (1024d) 0.919 0.860 0.875 0.839 0.846 0.829 0.839 0.826 0.813
voyage-3.5 (1024d) 0.944 0.883 0.906 0.852 0.871 0.851 0.852 0.857 0.837
voyage-3.5 (2048d) 0.944 0.890 0.911 0.852 0.878 0.856 0.852 0.861 0.840
voyage-3.5 (512d) 0.944 0.910 0.921 0.851 0.897 0.861 0.851 0.884 0.847
voyage-3.5-lite (1024d) 0.870 0.867 0.851 0.795 0.830 0.796 0.759 0.797 0.755
"""),
    100: rows_of("""
voyage-3-large (1024d) 0.946 0.897 0.911 0.868 0.888 0.871 0.868 0.879 0.859
voyage-3.5 (1024d) 0.982 0.917 0.942 0.892 0.909 0.899 0.892 0.904 0.889
voyage-3.5 (2048d) 0.982 0.933 0.953 0.896 0.926 0.909 0.896 0.919 0.898
voyage-3.5 (512d) 0.976 0.923 0.942 0.895 0.914 0.903 0.895 0.910 0.892
voyage-3.5-lite (1024d) 0.893 0.900 0.887 0.837 0.897 0.852 0.837 0.879 0.836
"""),
    150: rows_of("""
voyage-3-large (1024d) 0.979 0.960 0.959 0.901 0.950 0.921 0.901 0.943 0.910
voyage-3.5 (1024d) 0.989 0.940 0.956 0.911 0.931 0.920 0.911 0.929 0.911
voyage-3.5 (2048d) 0.989 0.947 0.964 0.907 0.939 0.923 0.907 0.937 0.914
voyage-3.5 (512d) 0.989 0.947 0.957 0.918 0.937 0.927 0.918 0.934 0.918
voyage-3.5-lite (1024d) 0.967 0.947 0.962 0.896 0.940 0.918 0.896 0.931 0.906
"""),
    200: rows_of("""
voyage-3-large (1024d) 0.979 0.960 0.959 0.905 0.950 0.923 0.905 0.946 0.913
voyage-3.5 (1024d) 1.000 0.953 0.976 0.933 0.944 0.944 0.933 0.944 0.936
voyage-3.5 (2048d) 0.989 0.953 0.965 0.922 0.944 0.933 0.922 0.944 0.926
voyage-3.5 (512d) 0.989 0.967 0.967 0.929 0.956 0.941 0.929 0.956 0.933
voyage-3.5-lite (1024d) 0.980 0.960 0.975 0.913 0.953 0.935 0.913 0.951 0.927
"""),
}
"""Tables 21 to 24: K → ceilings (PROC) of HEAD in dense pools of K."""

WITH_RERANKER: Final = {
    (Embedder("voyage-3.5", 512), 50): {"RA-nWG@10": 0.805, "RA-nWG@30": 0.817},
    (Embedder("voyage-3.5", 512), 100): {"N-Recall4+@10": 0.822, "RA-nWG@10": 0.793, "RA-nWG@30": 0.824},
    (Embedder("voyage-3.5", 512), 150): {"RA-nWG@10": 0.798},
    (Embedder("voyage-3.5", 512), 200): {"RA-nWG@10": 0.805},
    (Embedder("voyage-3.5", 1024), 50): {
        "N-Recall4+@10": 0.835,
        "N-Recall5@10": 0.810,
        "RA-nWG@10": 0.804,
        "N-Recall4+@20": 0.799,
        "N-Recall5@20": 0.834,
        "RA-nWG@20": 0.794,
        "N-Recall4+@30": 0.819,
        "N-Recall5@30": 0.833,
        "RA-nWG@30": 0.810,
    },
    (Embedder("voyage-3.5", 1024), 100): {"RA-nWG@30": 0.819},
    (Embedder("voyage-3.5", 1024), 200): {"N-Recall4+@10": 0.815, "RA-nWG@10": 0.792, "RA-nWG@30": 0.818},
    (Embedder("voyage-3.5", 2048), 100): {"N-Recall4+@10": 0.815, "RA-nWG@10": 0.791, "RA-nWG@30": 0.828},
    (Embedder("voyage-3-large", 1024), 150): {"RA-nWG@10": 0.795},
}
"""What the paper states of rerank-2.5, which has no table of its own (Tables 2, 5, 6, 8): embedder, K → measures."""

TABLE_4: Final = {
    "RA-nWG@10": (0.852, 1.000, 0.852),
    "RA-nWG@30": (0.918, 0.988, 0.929),
    "N-Recall4+@10": (0.882, 1.000, 0.882),
    "N-Recall4+@30": (0.930, 0.985, 0.944),
}
"""Actual, PROC and %PROC of the reference pipeline."""

TOP_10: Final = (
    (Embedder("voyage-3.5", 512), 50, 0.805, 0.921),
    (Embedder("voyage-3.5", 512), 200, 0.805, 0.967),
    (Embedder("voyage-3.5", 1024), 50, 0.804, 0.906),
    (Embedder("voyage-3.5", 512), 150, 0.798, 0.957),
    (Embedder("voyage-3-large", 1024), 150, 0.795, 0.959),
)
"""Table 5: embedder, K, RA-nWG@10 and its ceiling."""

TOP_30: Final = (
    (Embedder("voyage-3.5", 2048), 100, 0.828, 0.898),
    (Embedder("voyage-3.5", 512), 100, 0.824, 0.892),
    (Embedder("voyage-3.5", 1024), 100, 0.819, 0.889),
    (Embedder("voyage-3.5", 1024), 200, 0.818, 0.936),
    (Embedder("voyage-3.5", 512), 50, 0.817, 0.847),
)
"""Table 6: likewise at 30."""

FLAT: Final = (0.592, 0.596, 0.566, 0.636, 0.677, 0.625, 47.6)
"""Table 7, exact search: six measures at 10 and 20, and milliseconds."""

TABLE_7: Final = {
    "hnsw-f32": (
        (0.592, 0.596, 0.566, 0.594, 0.616, 0.580, 35.4),
        (0.0, 0.0, 0.0, 0.8, -0.7, 0.6, -25.6),
    ),
    "hnsw-int8-fast50": (
        (0.521, 0.507, 0.497, 0.526, 0.555, 0.522, 35.0),
        (-12.0, -14.9, -12.1, -17.3, -18.1, -16.5, -26.3),
    ),
}
"""Table 7: values, and the changes in percent that the paper prints beside them."""

TABLE_8: Final = {
    "baseline": (Embedder("voyage-3.5", 1024), "rerank-2.5", 50, 1.25, 332.9, 0.835, 0.804, 0.810),
    "cost saver": (Embedder("voyage-3.5-lite", 1024), "rerank-2.5-lite", 50, 0.50, 403.8, 0.710, 0.692, 0.732),
    "quality push": (Embedder("voyage-3.5", 2048), "rerank-2.5", 100, 2.50, 478.1, 0.815, 0.791, 0.828),
    "efficient small-dim": (Embedder("voyage-3.5", 512), "rerank-2.5", 100, 2.50, 483.1, 0.822, 0.793, 0.824),
    "high-K check": (Embedder("voyage-3.5", 1024), "rerank-2.5", 200, 5.00, 2931.1, 0.815, 0.792, 0.818),
}
"""Scenario → embedder, reranker, K, cost, ms, N-Recall4+@10, RA-nWG@10, RA-nWG@30."""

TABLE_9: Final = (
    (Embedder("voyage-3.5", 1024), "rerank-2.5", 2.454, 0.817, 332.9),
    (Embedder("voyage-3.5", 512), "rerank-2.5", 2.426, 0.818, 337.2),
    (Embedder("voyage-3.5", 2048), "rerank-2.5", 2.397, 0.812, 338.8),
    (Embedder("voyage-3-large", 1024), "rerank-2.5", 2.362, 0.782, 330.9),
    (Embedder("voyage-3.5", 512), "rerank-2.5-lite", 2.353, 0.799, 339.5),
)
"""At K 50: embedder, reranker, efficiency, mean performance, ms."""
