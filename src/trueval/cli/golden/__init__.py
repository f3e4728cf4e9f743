"""`trueval golden`: one file per command of the group."""

from trueval.cli.golden.group import golden

__all__ = ["golden"]
