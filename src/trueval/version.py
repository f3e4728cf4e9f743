"""The version, recorded in every result file."""

__version__ = "0.2.0"
