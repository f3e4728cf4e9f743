"""The version, which every result file carries."""

__version__ = "0.1.0"
