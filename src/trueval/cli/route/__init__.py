"""`trueval route`: one file per command of the group."""

from trueval.cli.route.group import route

__all__ = ["route"]
