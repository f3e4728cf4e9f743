import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import trueval

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FACE = [
    "Audited",
    "Estimate",
    "Judgments",
    "Measure",
    "Policy",
    "Run",
    "Scores",
    "__version__",
    "compare",
    "convention",
    "correct",
    "errors",
    "evaluate",
    "evaluate_arrays",
    "explain",
    "frontier",
    "gate",
    "parse",
    "power",
    "published",
    "registry",
    "self_test",
    "sweep",
]
HEAVY = ("torch", "scipy", "sklearn", "ml_dtypes", "pandas", "pyarrow")


def python(code: str, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | variables
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, env=environment
    )
    return done.stdout.strip()


def test_the_public_face() -> None:
    assert trueval.__all__ == FACE
    assert set(FACE) <= set(dir(trueval))
    for name in FACE:
        assert getattr(trueval, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        trueval.nothing  # noqa: B018


def test_no_submodule_hides_a_function_of_its_name() -> None:
    names = {each.name for each in pkgutil.iter_modules(trueval.__path__)} & set(FACE)
    assert names == {"errors"}  # which is exported as the module it is


def test_errors_is_the_module() -> None:
    assert python("import trueval; print(trueval.errors.InputError.__module__)") == "trueval.errors"


def test_the_whole_face_loads_no_heavy_library() -> None:
    code = (
        "import sys, trueval\n"
        "for name in trueval.__all__: getattr(trueval, name)\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert python(code) == "[]"


def test_import_stays_within_twice_that_of_numpy_and_polars(tmp_path: Path) -> None:
    def seconds(imports: str) -> float:
        # All compiled in the first round, as for whoever installed it; compiling would count for ours alone.
        code = f"import time\n{imports}\nprint(time.process_time())"
        return float(python(code, PYTHONPYCACHEPREFIX=str(tmp_path)))

    touch = "import trueval\nfor name in trueval.__all__: getattr(trueval, name)"
    # In turn, so that a busy machine slows all three; the fastest of each counts.
    rounds = [[seconds(each) for each in ("import numpy, polars", "import trueval", touch)] for _ in range(5)]
    base, alone, whole = (min(times) for times in zip(*rounds, strict=True))
    assert alone <= 2 * base
    assert whole <= 2 * base


def test_extras_are_those_of_the_design() -> None:
    named = {"models", "retrieval", "milvus", "elastic", "hosted", "judge", "report", "web", "demo", "dev", "mutants"}
    assert set(PROJECT["optional-dependencies"]) == named


def test_every_extra_that_the_code_names_exists() -> None:
    pattern = re.compile(r"MissingExtraError\((?:(?!package=)[^)])*?[\"']([a-z]+)[\"']\s*\)|trueval\[([a-z]+)\]")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    named = {name for text in sources for pair in pattern.findall(text) for name in pair if name}
    assert named
    assert named <= set(PROJECT["optional-dependencies"])


def test_torch_is_pinned_and_stays_out_of_the_core() -> None:
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    needs = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    named = {re.split(r"[^\w-]", need)[0] for need in needs}
    assert "numpy" in named
    assert not named & {"torch", "transformers", "sentence-transformers"}


def test_every_install_of_ours_reads_the_constraints() -> None:
    pages = [ROOT / "Makefile", ROOT / ".ci" / "run", ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    pages += (ROOT / ".github").rglob("*.yml")
    for page in pages:
        for line in page.read_text(encoding="utf-8").splitlines():
            if "pip install" in line:
                assert "-c constraints.txt" in line, f"{page.name}: {line}"


def test_the_package_is_typed_and_licensed() -> None:
    assert (ROOT / "src" / "trueval" / "py.typed").is_file()
    assert "END OF TERMS AND CONDITIONS" in (ROOT / "LICENSE").read_text(encoding="utf-8")
