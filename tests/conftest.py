"""Where tests find the real data that the repository does not hold, and programs that they start find the package."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests import examples

settings.load_profile(examples.BRIEF)  # --hypothesis-profile is read later, and chooses another

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def dl_hard_folder() -> Path:
    """Six real runs of 50 queries, with graded judgments."""
    path = SHARED / "runs" / "dl-hard-passage"
    if not path.is_dir():
        pytest.skip("real data is absent: ../shared/data/runs/dl-hard-passage")
    return path


@pytest.fixture(scope="session", autouse=True)
def programs_find_the_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A Python that a test starts imports this checkout, installed or not; and no test finds what others kept."""
    source = str(Path(__file__).resolve().parents[1] / "src")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")])))
        patch.setenv("TRUEVAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
