"""`trueval probe`: one file per command of the group."""

from trueval.cli.probe.group import probe

__all__ = ["probe"]
