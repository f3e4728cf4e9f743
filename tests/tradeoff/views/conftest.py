"""The browser that tests of pages share."""

from tests.report.conftest import tab

__all__ = ["tab"]
