"""The page on Python: its code runs, and ours is no longer than that of other tools. And help() fits a screen."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import pydoc
import re
from pathlib import Path
from typing import Any

import pytest

import trueval
from trueval.comparison.choices import ComparisonChoices
from trueval.comparison.compare_choices import CompareChoices
from trueval.measures import measure as measures
from trueval.policy.policy import Policy
from trueval.policy.policy_choices import PolicyChoices

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
PEERS = ("ir_measures", "ranx", "pytrec_eval")
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
INTRODUCTION, *SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)
TASKS = {
    text.partition("\n")[0]: dict(tools)
    for text in SECTIONS
    if (tools := re.findall(r"^(\w+)\n\n```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE))
}
FUNCTIONS = [name for name in trueval.__all__ if inspect.isfunction(getattr(trueval, name))]
KNOWN = {"convention", *Policy.__dataclass_fields__, *ComparisonChoices.__dataclass_fields__} - {"exceptions"}
SCREEN = 40
WIDTH = 100


@functools.cache
def prepared() -> dict[str, Any]:
    """What the examples begin with."""
    names: dict[str, Any] = {}
    with contextlib.chdir(ROOT):
        exec(BLOCK.findall(INTRODUCTION)[-1], names)
    return names


def printed(code: str) -> str:
    shown = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(shown):
        exec(code, dict(prepared()))
    return shown.getvalue()


def length(code: str) -> int:
    return len([line for line in code.splitlines() if line.strip()])


def test_there_are_six_tasks_for_four_tools() -> None:
    assert len(TASKS) == 6
    assert all(list(tools) == ["trueval", *PEERS] for tools in TASKS.values())


@pytest.mark.parametrize("task", TASKS)
def test_ours_takes_no_more_lines_than_any_other(task: str) -> None:
    lines = {tool: length(code) for tool, code in TASKS[task].items()}
    assert lines["trueval"] == min(lines.values()), lines
    assert all(line.count(";") == 0 and len(line) < WIDTH for line in TASKS[task]["trueval"].splitlines())


@pytest.mark.parametrize("task", TASKS)
def test_our_examples_run(task: str) -> None:
    pytest.importorskip("pandas")
    assert printed(TASKS[task]["trueval"]).strip()


@pytest.mark.slow
@pytest.mark.parametrize("tool", PEERS)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.filterwarnings("ignore")
def test_the_examples_of_other_tools_run(task: str, tool: str) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip(tool)
    assert printed(TASKS[task][tool]).strip()


def test_the_table_is_what_python_prints() -> None:
    (shown,) = re.findall(r"^```text\n(.*?)^```", INTRODUCTION, flags=re.DOTALL | re.MULTILINE)
    assert printed(BLOCK.findall(INTRODUCTION)[0]) == shown


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    monkeypatch.setattr(measures, "_REGISTRY", dict(measures.registry()))


@pytest.mark.usefixtures("own_registry")
def test_a_measure_of_ones_own_takes_ten_lines_and_keeps_to_all_orders() -> None:
    (section,) = (text for text in SECTIONS if text.startswith("A measure of your own"))
    definition, trial = BLOCK.findall(section)
    assert length(definition) - len(re.findall("^(?:import|from) ", definition, flags=re.MULTILINE)) <= 10
    by_policy, by_name = "tv.evaluate(run, qrels, 'Halves@10', rel=4)", "tv.evaluate(run, qrels, 'Halves(rel=4)@10')"
    rest = f"print({by_policy}['Halves@10'].expected, {by_name}['Halves(rel=4)@10'].expected)"
    ours, truth, policies = (
        [float(value) for value in line.split()] for line in printed(definition + trial + rest).splitlines()
    )
    assert ours == pytest.approx(truth)
    assert 0 < policies[0] == policies[1] < 1


def screens() -> dict[str, Any]:
    """Every public function, and the public methods of the nouns."""
    found: dict[str, Any] = {}
    for name in trueval.__all__:
        value = getattr(trueval, name)
        if inspect.isfunction(value):
            found[name] = value
        elif inspect.isclass(value):
            public = (each for each in vars(value) if not each.startswith("_"))
            methods = {each: getattr(value, each) for each in public}
            found |= {f"{name}.{each}": method for each, method in methods.items() if inspect.isroutine(method)}
    return found


@pytest.mark.parametrize("name", screens())
def test_help_fits_a_screen(name: str) -> None:
    text = pydoc.render_doc(screens()[name], renderer=pydoc.plaintext)
    wrapped = sum(max(1, -(-len(line) // WIDTH)) for line in text.splitlines())
    assert wrapped <= SCREEN


# Of JSON and pandas, which have no types of their own.
UNTYPED = ("to_dict", "from_dict", "to_pandas", "Policy.but")


@pytest.mark.parametrize(
    "name", [name for name, each in screens().items() if callable(each) and not name.endswith(UNTYPED)]
)
def test_signatures_say_what_they_take_and_give(name: str) -> None:
    """Choices are named one by one, so that a type checker finds a word that is none of them."""
    assert not re.search(r"\bAny\b", str(inspect.signature(screens()[name])))


@pytest.mark.parametrize(
    ("keywords", "given"),
    [(PolicyChoices, {"convention", *Policy.__dataclass_fields__} - {"exceptions"}), (CompareChoices, KNOWN)],
)
def test_choices_by_name_are_those_of_policies_and_comparisons(keywords: Any, given: set[str]) -> None:
    assert set(keywords.__annotations__) == given


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_shows_the_shortest_use(name: str) -> None:
    assert ">>> " in str(inspect.getdoc(getattr(trueval, name)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_page_names_every_public_function(name: str) -> None:
    assert re.search(rf"`(?:tv\.)?{name}\b", INTRODUCTION)
