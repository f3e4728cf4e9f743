"""The sections of the page; importing this package registers them."""

from trueval.report.directory import read_directory
from trueval.report.sections import compare, evaluate, precision

__all__ = ["compare", "evaluate", "precision", "read_directory"]
