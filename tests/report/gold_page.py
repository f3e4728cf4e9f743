"""The gold page: how it is made from the files beside it, and what of it changes from one version to the next.

Make it anew, after looking at the difference, with: PYTHONPATH=src python -m tests.report.gold_page
"""

import re
from pathlib import Path

from trueval.report.kinds import read_directory
from trueval.report.page import page

FOLDER = Path(__file__).with_name("gold")
FILE = FOLDER / "page.html"


def gold_page() -> str:
    return scrubbed(page(read_directory(FOLDER), live=False))


def scrubbed(text: str) -> str:
    """Without versions, dates, and the style and scripts that stand in files of their own."""
    text = re.sub(r"(<style>).*?(</style>)", r"\1\2", text, flags=re.DOTALL)
    text = re.sub(r"(<script>).*?(</script>)", r"\1\2", text, flags=re.DOTALL)
    text = re.sub(r"sha256-[\w+/=]+", "sha256-", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "DATE", text)
    return re.sub(r"trueval \d+\.\d+\.\d+(\w+|\.dev\d+)*", "trueval VERSION", text)


if __name__ == "__main__":
    FILE.write_text(gold_page(), encoding="utf-8", newline="\n")
