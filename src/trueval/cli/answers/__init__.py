"""`trueval answers`: one file per command of the group."""

from trueval.cli.answers.group import answers

__all__ = ["answers"]
