"""Leaderboards: many systems over queries and over tasks, with the ranks that each may have. The verb: leaderboard."""
