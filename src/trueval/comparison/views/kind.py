"""The kinds of result that `trueval compare`, `trueval power` and `trueval golden correct` give."""

from trueval.report.kinds import kind_of_view

COMPARE = kind_of_view(
    "compare",
    "trueval.comparison.comparison:Comparison",
    "trueval.comparison.views.compare:view",
    format=2,
    order=9,  # whether a lead can be believed comes before the values
    stem="comparison",
    options=["pairs"],
)

POWER = kind_of_view(
    "power",
    "trueval.comparison.power.power_result:Power",
    "trueval.comparison.views.power:view",
    format=1,
    order=25,
    stem="power",
)

BUDGET = kind_of_view(
    "budget",
    "trueval.comparison.budget.budget_result:Budget",
    "trueval.comparison.views.budget:view",
    format=1,
    order=27,
    stem="budget",
)

# `trueval power --value`, without runs.
PUBLISHED = kind_of_view(
    "published",
    "trueval.comparison.gate.published_means:PublishedMean",
    "trueval.comparison.views.published:view",
    format=1,
    order=26,
    stem="published",
)

LEADERBOARD = kind_of_view(
    "leaderboard",
    "trueval.comparison.leaderboard.leaderboard_result:LeaderboardResult",
    "trueval.comparison.views.leaderboard:view",
    format=1,
    order=8,
    stem="leaderboard",
)

# `trueval golden correct`.
CORRECTION = kind_of_view(
    "corrected",
    "trueval.comparison.labels.correction:Corrected",
    "trueval.comparison.views.correction:view",
    format=1,
    order=22,
    stem="corrected",
)
