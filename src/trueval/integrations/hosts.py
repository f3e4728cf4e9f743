"""The tools that integrations stand in: whether they are installed, and new enough."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from packaging.version import Version

from trueval.errors import MissingExtraError, PolicyError

# Statistics that can stand where a tool has one number.
TIES: Final = {
    "expected": "expected",
    "lowest": "lowest",
    "highest": "highest",
    "tie-broken": "tie_broken",
}


def need_host(package: str, oldest: str) -> None:
    """Check that a tool is installed, in a release that the integration was written for.

    Args:
        package: its name for pip.
        oldest: the oldest release that is tried (tests/integrations/environments.py).

    Raises:
        MissingExtraError: it is not there, or too old.

    >>> need_host("no-such-tool", "1.0")
    Traceback (most recent call last):
    trueval.errors.MissingExtraError: Values inside no-such-tool need the package "no-such-tool>=1.0". Install it
    with: pip install "no-such-tool>=1.0"
    """
    wanted = f'"{package}>={oldest}"'
    try:
        installed = version(package)
    except PackageNotFoundError as error:
        raise MissingExtraError(f"Values inside {package}", package=wanted) from error
    if Version(installed) < Version(oldest):
        raise MissingExtraError(f"Values inside {package}, of which {installed} is installed,", package=wanted)


def statistic(ties: str) -> str:
    """The attribute of Scores and Estimates for a choice of `ties`.

    Raises:
        PolicyError: it is no such choice.

    >>> statistic("tie-broken")
    'tie_broken'
    """
    if ties not in TIES:
        raise PolicyError(f"ties must be one of {', '.join(TIES)}. Got {ties!r}.")
    return TIES[ties]
