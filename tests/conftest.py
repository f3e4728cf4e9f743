"""Where tests find the real data that the repository does not hold, and programs that they start find the package."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from tests import examples

if TYPE_CHECKING:
    from playwright.sync_api import Browser

settings.load_profile(examples.BRIEF)  # --hypothesis-profile is read later, and chooses another

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection() -> None:
    """Collecting tests makes objects that stay: a search for garbage among them finds nothing."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Tests and the modules that they import stay to the end, so that no search for garbage goes through them again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def dl_hard_folder() -> Path:
    """Six real runs of 50 queries, with graded judgments."""
    path = SHARED / "runs" / "dl-hard-passage"
    if not path.is_dir():
        pytest.skip("real data is absent: ../shared/data/runs/dl-hard-passage")
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, driven by playwright: started once, and each test or module takes a context of its own.

    From here on an event loop of playwright runs in this thread, so that a test that needs another starts a thread.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no Chromium here; Debian has it as the package chromium")
    options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=options)
        yield opened
        opened.close()


@pytest.fixture(scope="session", autouse=True)
def programs_find_the_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A Python that a test starts imports this checkout, installed or not; and no test finds what others kept."""
    source = str(Path(__file__).resolve().parents[1] / "src")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")])))
        patch.setenv("TRUEVAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
