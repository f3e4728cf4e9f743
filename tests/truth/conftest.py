"""Where the truth suites find real data and each other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# pytest's importlib mode leaves sys.path alone, and the suites share the twin and the generated lists
sys.path.insert(0, str(Path(__file__).parent))

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def folder(name: str) -> Path:
    path = SHARED / name
    if not path.is_dir():
        pytest.skip(f"real data is absent: ../shared/data/{name}")
    return path


@pytest.fixture(scope="session")
def trec_eval_data() -> Path:
    """trec_eval's own test inputs and printed outputs."""
    return folder("trec_eval")


@pytest.fixture(scope="session")
def dl_hard() -> Path:
    """Six real runs with graded judgments and their trec_eval outputs."""
    return folder("runs/dl-hard-passage")


@pytest.fixture(scope="session")
def askubuntu() -> Path:
    """BM25 scores of 20 candidates for each of 375 queries, many of them tied."""
    return folder("runs/askubuntu-bm25")
