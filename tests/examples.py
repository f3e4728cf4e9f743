"""How many examples hypothesis draws: in `make test` a fifth, the same each time; in `make evidence` all, new ones.

`make evidence` runs the tests of hypothesis with --hypothesis-profile=thorough; tests/conftest.py chooses the other.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings

BRIEF, THOROUGH = "brief", "thorough"
FEWEST = 30

settings.register_profile(BRIEF, deadline=None, derandomize=True)
settings.register_profile(THOROUGH, deadline=None)


def examples(number: int, **others: Any) -> settings:
    """Settings of a test that draws so many examples when there is time."""
    thorough = settings.get_current_profile_name() == THOROUGH
    return settings(max_examples=number if thorough else max(FEWEST, number // 5), **others)
