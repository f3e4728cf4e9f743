"""Files that are written whole: an error of a full disk names the place, whichever library met it."""

import errno
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from trueval.errors import InputError
from trueval.files.atomic_files import name_file_in_errors, write_whole

FULL = Path("/dev/full")
FRAME = pl.DataFrame({"a": list(range(100_000))})


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "write",
    [lambda: FULL.write_bytes(b"x"), lambda: FRAME.write_csv(FULL), lambda: FRAME.write_parquet(FULL)],
    ids=["python", "polars csv", "polars parquet"],
)
def test_a_full_disk_names_the_place(tmp_path: Path, write: Callable[[], object]) -> None:
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_whole(tmp_path / "x.json", lambda path: write())
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "x.json"))
    assert list(tmp_path.iterdir()) == []


def test_other_errors_stay_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^a value\.$"), name_file_in_errors(tmp_path):
        raise InputError("a value.")
    with pytest.raises(FileNotFoundError) as caught, name_file_in_errors(tmp_path):
        (tmp_path / "none").read_text()
    assert caught.value.filename == str(tmp_path / "none")
