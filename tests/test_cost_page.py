"""docs/cost.md: the files that it shows, in a project with the sample, give the dry runs that it shows."""

import re
import shutil
from pathlib import Path

import pytest
from docs.make_cost import PAGE, filled
from tests.extras import need

from trueval.sample import sample_path


@pytest.mark.slow
def test_the_page_of_costs_shows_what_dry_runs_print(tmp_path: Path) -> None:
    need("faiss", "bm25s", extra="retrieval")
    need("openai", extra="hosted")
    shutil.copytree(sample_path(), tmp_path / "corpus")
    text = PAGE.read_text(encoding="utf-8")
    assert len(re.findall(r"^\$ trueval .*--dry-run", text, flags=re.MULTILINE)) == 3
    assert filled(text, tmp_path) == text, "run: python docs/make_cost.py"
