import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import trueval
from trueval.cli.answers.group import COMMANDS as ANSWERS
from trueval.cli.main import COMMANDS
from trueval.cli.probe.group import COMMANDS as PROBES
from trueval.comparison.limits import Limit

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FACE = [
    "AuditSample",
    "Collection",
    "Estimate",
    "Judgments",
    "MaxDrop",
    "MaxRange",
    "Measure",
    "MinQueries",
    "Minimum",
    "NoiseSettings",
    "Policy",
    "Router",
    "RouterChoice",
    "Run",
    "ScorerRequest",
    "Scores",
    "__version__",
    "audit_pipeline",
    "audit_precision",
    "brittle_answers",
    "budget",
    "budget_answers",
    "build_golden",
    "check_drift",
    "compare",
    "compare_answers",
    "convention",
    "correct",
    "cuts",
    "errors",
    "evaluate",
    "evaluate_answers",
    "evaluate_arrays",
    "explain",
    "frontier",
    "gate",
    "generate_answers",
    "judge_answers",
    "leaderboard",
    "make_nuggets",
    "next_labels",
    "parse",
    "power",
    "power_answers",
    "precision_bound",
    "precision_codes",
    "probe_join",
    "probe_names",
    "probe_noise",
    "published",
    "registry",
    "repair",
    "retrieve",
    "retrieve_live",
    "self_test",
    "stress_answers",
    "sweep",
]
# What each command is in Python. The others are about this installation, or about the work of raters and chunks, which
# docs/golden.md and docs/retrieval.md show.
VERBS = {
    "evaluate": {"evaluate", "gate", "self_test", "correct"},
    "compare": {"compare"},
    "leaderboard": {"leaderboard"},
    "power": {"power", "published"},
    "budget": {"budget"},
    "explain": {"explain"},
    "measures": {"registry"},
    "retrieve": {"retrieve", "retrieve_live"},
    "cuts": {"cuts"},
    "precision": {"audit_pipeline", "audit_precision", "precision_bound", "precision_codes", "repair"},
    "probe": {f"probe_{name}" for name in PROBES},
    "sweep": {"sweep"},
    "frontier": {"frontier"},
    "route": {"check_drift"},
    "golden": {"build_golden", "correct", "next_labels"},
    "answers": {"make_nuggets" if name == "nuggets" else f"{name}_answers" for name in ANSWERS},
}
NO_VERB = {"check", "report", "chunk", "demo", "doctor", "cache", "schema", "help", "init"}
HEAVY = ("torch", "scipy", "sklearn", "ml_dtypes", "pandas", "pyarrow", "pydantic")


def python(code: str, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | variables
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, env=environment
    )
    return done.stdout.strip()


def test_the_public_face() -> None:
    assert trueval.__all__ == FACE
    assert dir(trueval) == FACE  # and nothing that the module is made of
    for name in FACE:
        assert getattr(trueval, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        trueval.nothing  # noqa: B018


def test_what_a_command_does_python_does() -> None:
    assert VERBS.keys() | NO_VERB == set(COMMANDS)
    assert set().union(*VERBS.values()) <= set(FACE)


def test_every_limit_that_a_gate_takes_is_public() -> None:
    assert {getattr(trueval, kind.__name__) for kind in get_args(Limit)} == set(get_args(Limit))


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


def test_evaluate_loads_nothing_that_reads_files_of_settings(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 d 1 0.5 mine\n")
    (tmp_path / "qrels").write_text("q 0 d 1\n")
    arguments = ["trueval", "evaluate", str(tmp_path / "qrels"), str(tmp_path / "run"), "-m", "nDCG@10"]
    code = (
        f"import sys; sys.argv = {arguments}\n"
        "from trueval.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as leaving: print(leaving.code, {'pydantic', 'torch'} & set(sys.modules))"
    )
    assert python(code).splitlines()[-1] == "0 set()"


@pytest.mark.slow
def test_each_verb_loads_within_twice_the_time_of_numpy_and_polars(tmp_path: Path) -> None:
    def seconds(imports: str) -> float:
        # All compiled in the first round, as for whoever installed it; compiling would count for ours alone.
        code = f"import time\n{imports}\nprint(time.process_time())"
        return float(python(code, PYTHONPYCACHEPREFIX=str(tmp_path)))

    # What one program touches: every name at once is nobody's program, and grows with the package.
    touched = [f"import trueval; trueval.{name}" for name in ("evaluate", "compare", "gate", "budget", "frontier")]
    # In turn, so that a busy machine slows all alike; the fastest of each counts.
    rounds = [[seconds(each) for each in ("import numpy, polars", "import trueval", *touched)] for _ in range(5)]
    base, alone, *used = (min(times) for times in zip(*rounds, strict=True))
    assert alone <= base
    assert max(used) <= 2 * base, dict(zip(touched, used, strict=True))


def test_extras_are_those_of_the_design() -> None:
    named = {
        "models",
        "retrieval",
        "milvus",
        "elastic",
        "hosted",
        "judge",
        "report",
        "web",
        "scale",
        "demo",
        "docs",
        "dev",
        "mutants",
    }
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
            if "pip install" in line and not line.endswith("pip install --quiet --disable-pip-version-check uv"):
                held = "-c constraints.txt" in line or "--require-hashes" in line or "--no-deps" in line
                held = held or ("-c torch.txt" in line and "--resolution" in line)  # what it tries is other versions
                assert held, f"{page.name}: {line}"


def pins(name: str) -> dict[str, list[Requirement]]:
    """The pins of a lock file by package, each for the Pythons and systems of its marker."""
    lines = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    found: dict[str, list[Requirement]] = {}
    for line in lines:
        if line and not line.startswith("#"):
            pin = Requirement(line.partition(" --hash")[0])
            found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


def needed(*extras: str) -> Iterator[Requirement]:
    """What the core and some extras name, those of other extras of ours included."""
    own = [Requirement(text) for extra in extras for text in PROJECT["optional-dependencies"][extra]]
    for each in (*map(Requirement, PROJECT["dependencies"]), *own):
        if each.name == "trueval":
            yield from needed(*each.extras)
        else:
            yield each


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_the_lock_pins_all_that_is_tested(python: str) -> None:
    lock, here = pins("constraints.txt"), {"python_version": python, "python_full_version": f"{python}.0"}
    for need in needed("dev", "mutants"):
        if need.marker is None or need.marker.evaluate(here):
            fitting = [pin for pin in lock[canonicalize_name(need.name)] if not pin.marker or pin.marker.evaluate(here)]
            assert len(fitting) == 1, need
            (version,) = fitting[0].specifier
            assert version.operator == "==", need
            assert need.specifier.contains(version.version), need


def test_releases_are_built_with_what_is_tested_and_by_hashes() -> None:
    lock, release = pins("constraints.txt"), pins("release.txt")
    assert {canonicalize_name(each.name) for each in needed()} | {"build", "setuptools"} <= set(release)
    assert "torch" not in release
    assert all(set(map(str, pin)) <= set(map(str, lock[name])) for name, pin in release.items())
    text = (ROOT / "release.txt").read_text(encoding="utf-8")
    assert all("--hash=sha256:" in part for part in re.split(r"\n(?=\w)", text)[1:])


def test_the_package_is_typed_and_licensed() -> None:
    assert (ROOT / "src" / "trueval" / "py.typed").is_file()
    assert "END OF TERMS AND CONDITIONS" in (ROOT / "LICENSE").read_text(encoding="utf-8")
