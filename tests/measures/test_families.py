"""Families of measures are loaded by name, and the table of them names what the modules register."""

import subprocess
import sys
from pathlib import Path

import pytest

import trueval.measures
from trueval.errors import MeasureError
from trueval.measures import registry
from trueval.measures.families import FAMILIES, NAMES

FOLDER = Path(trueval.measures.__file__).parent


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    return done.stdout.strip()


def test_the_table_names_every_family_and_its_measures() -> None:
    registering = {path.stem for path in FOLDER.glob("*.py") if "= register(" in path.read_text(encoding="utf-8")}
    assert set(FAMILIES) == registering
    for family, names in FAMILIES.items():
        for name in names:
            assert registry()[name].definition.compute.__module__ == f"trueval.measures.{family}"
    assert tuple(registry())[: len(NAMES)] == NAMES


def test_a_measure_loads_its_own_family_alone() -> None:
    loaded = "[name for name in ('ceilings', 'cascade', 'success') if f'trueval.measures.{name}' in sys.modules]"
    code = "import sys; from trueval.measures import parse_list; parse_list('nDCG@10 Success@5 AP'); print"
    assert python(f"{code}({loaded})") == "['success']"


def test_the_package_gives_every_name_also_where_no_family_is_loaded() -> None:
    named = python(
        "import types, trueval.measures as m\n"
        "modules = [name for name in m.__all__ if isinstance(getattr(m, name), types.ModuleType)]\n"
        "print(modules, m.ERR, m.bpref, m.novelty, m.linear.__name__, m.interpolated_curve.__name__)"
    )
    assert named == "[] ERR bpref novelty linear interpolated_curve"


def test_no_other_name_is_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nDGC'"):
        trueval.measures.nDGC  # noqa: B018


def test_a_name_of_ours_is_taken_before_its_family_is_loaded() -> None:
    code = (
        "from trueval.errors import MeasureError\n"
        "from trueval.measures import Definition, register\n"
        "try: register(Definition('ERR', 'summary', 'formula', 'source', print))\n"
        "except MeasureError as error: print(error)"
    )
    assert python(code) == "The name ERR is taken. Give the new measure another one."


def test_an_unknown_measure_is_offered_the_nearest_of_all_families() -> None:
    with pytest.raises(MeasureError, match="ERR"):
        trueval.measures.parse("ERRR@10")
