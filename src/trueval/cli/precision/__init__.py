"""`trueval precision`: one file per command of the group."""

from trueval.cli.precision.group import precision

__all__ = ["precision"]
