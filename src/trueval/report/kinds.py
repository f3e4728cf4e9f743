"""The kinds of results that the page knows; importing this module registers them."""

from trueval.comparison.views import page as compare
from trueval.evaluation.views import page as evaluate
from trueval.precision.views import page as precision
from trueval.report.directory import read_directory

__all__ = ["compare", "evaluate", "precision", "read_directory"]
