"""P-B's published noise results, Tables 12 and 13, for context: other models, other noise."""

from __future__ import annotations

from trueval.probes.views.published import PublishedTable

CHATTER_SOURCE = (
    "Published in P-B (Dallaire 2025, arXiv 2511.09545), not measured by trueval: models, queries and chatter differ, "
    "and its cosine of level 0 is not 1, so it is not of a query with itself; the paper does not say of what."
)
CHATTER_TABLES = (
    PublishedTable(
        "Table 12: cosine by noise level",
        "",
        ("language", "level", "large model", "small model"),
        (
            ("French", "0", "0.818", "0.936"),
            ("French", "2", "0.653", "0.757"),
            ("French", "4", "0.522", "0.559"),
            ("English", "0", "0.828", "0.908"),
            ("English", "2", "0.749", "0.806"),
            ("English", "4", "0.593", "0.634"),
        ),
    ),
    PublishedTable(
        "Table 13: average drop from clean to high noise",
        "",
        ("language", "large model", "small model"),
        (("French", "-0.296", "-0.377"), ("English", "-0.235", "-0.274")),
    ),
)
