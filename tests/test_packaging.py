"""What others install: the sdist holds what is ours, and installs with a compiler, without one, and as a pure wheel."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[1]
SMOKE = ROOT / "tests" / "smoke.py"
HEADER = Path(sysconfig.get_paths()["include"], "Python.h")
CAN_COMPILE = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) is not None and HEADER.exists()
MADE = ("PKG-INFO", "setup.cfg", "src/trueval.egg-info/")  # by setuptools
TALK = r"warning: (no previously-included files|\w+: byte-compiling is disabled)"  # there is nothing to do
LEFT_OUT = (".gitignore", ".github/")  # of use in a checkout only

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="CC names no compiler on Windows")]


def call(*words: object, folder: Path, **variables: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "TRUEVAL_PURE"}}
    command = [sys.executable, *map(str, words)]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8"}
    done = subprocess.run(command, cwd=folder, env=kept | variables, **output)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """A copy of the working tree with files in it that are not ours, and the names of those that are."""
    pytest.importorskip("build")
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout, so nobody says which files are ours")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout.splitlines()
    names = {name for name in listed if (ROOT / name).is_file()}
    folder = tmp_path_factory.mktemp("checkout")
    strays = ("src/trueval/files/_scan.abi3.so", "tests/__pycache__/a.cpython-311.pyc", "dist/old.whl", "notes.txt")
    for name in [*names, *strays]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name in names:
            shutil.copy(ROOT / name, folder / name)
        else:
            (folder / name).write_text("not ours")
    return folder, names


@pytest.fixture(scope="module")
def sdist(checkout: tuple[Path, set[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sdist")
    call("-m", "build", "--sdist", "--no-isolation", "--outdir", out, folder=checkout[0])
    (found,) = out.iterdir()
    return found


def test_the_sdist_holds_what_is_ours_and_nothing_else(checkout: tuple[Path, set[str]], sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        held = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert {name for name in held if not name.startswith(MADE)} == {
        name for name in checkout[1] if not name.startswith(LEFT_OUT)
    }


@pytest.mark.parametrize("kind", ["compiled", "pure"])
def test_the_sdist_installs_with_a_compiler_and_without(kind: str, sdist: Path, tmp_path: Path) -> None:
    """Into a folder of its own, beside what is installed here, so that nothing is fetched."""
    if kind == "compiled" and (not CAN_COMPILE or sysconfig.get_config_var("Py_GIL_DISABLED")):
        pytest.skip("no compiler, no headers of Python or no lock")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir", "--target", tmp_path / "site")
    variables = {} if kind == "compiled" else {"CC": "/nonexistent"}
    call("-m", "pip", "install", *options, sdist, folder=tmp_path, **variables)
    imported = call(SMOKE, kind, folder=tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert Path(imported.strip()).is_relative_to(tmp_path / "site")
    assert not list((tmp_path / "site").rglob("*.[ch]"))


def test_the_pure_wheel_serves_every_platform(checkout: tuple[Path, set[str]], sdist: Path, tmp_path: Path) -> None:
    """Built without a warning, it holds every file of src/ but the sources of the kernels."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    options = ("--wheel", "--no-isolation", "--outdir", tmp_path / "wheel")
    printed = call("-m", "build", *options, folder=source, TRUEVAL_PURE="1").splitlines()
    assert [line for line in printed if "warning" in line.lower() and not re.match(TALK, line)] == []
    (wheel,) = (tmp_path / "wheel").iterdir()
    assert wheel.name.endswith("-py3-none-any.whl")
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("trueval/")}
        archive.extractall(tmp_path / "site")
    ours = {name.removeprefix("src/") for name in checkout[1] if name.startswith("src/")}
    assert held == {name for name in ours if not name.endswith((".c", ".h"))}
    call(SMOKE, "pure", folder=tmp_path, PYTHONPATH=str(tmp_path / "site"))


def test_readme_of_the_package_leads_somewhere_from_an_index(sdist: Path) -> None:
    """Every link and image has a whole address, and those of the repository name files that are there."""
    with tarfile.open(sdist) as packed:
        (name,) = (each for each in packed.getnames() if each.count("/") == 1 and each.endswith("PKG-INFO"))
        text = packed.extractfile(name).read().decode()  # type: ignore[union-attr]
    addresses = re.findall(r"\]\(([^)]+)\)", text)
    assert len(addresses) > 20
    assert not [each for each in addresses if not each.startswith(("https://", "#"))]
    ours = [re.sub(r"^https://github.com/OWNER/trueval/(?:blob|raw)/main/|#.*", "", each) for each in addresses]
    assert not [each for each in ours if not each.startswith("https:") and each and not (ROOT / each).exists()]
