"""The house: nothing imports upward, and modules do not import each other in circles."""

import ast
import re
from collections import Counter
from dataclasses import fields, is_dataclass
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[1] / "src"
PACKAGE = SRC / "trueval"

# Bottom up. Rooms of one floor do not know each other.
FLOORS = (
    (
        "version",
        "printable",
        "errors",
        "logging",
        "extras",
        "specs",
        "threads",
        "forks",
        "plugins",
        "numerics",
        "scoring",
        "score_width",
        "sample",
    ),
    ("files",),
    ("run", "judgments", "collection"),
    ("policy",),
    ("standings",),
    ("measures",),
    ("report",),
    ("evaluation",),
    ("models", "comparison", "rag"),
    ("retrieval",),
    ("latency", "cost"),
    ("precision",),
    ("golden",),
    ("probes",),
    ("answers",),
    ("tradeoff",),
    ("scale",),
    ("installation",),
    ("integrations",),
    ("cli",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# On one floor, but one built on the other.
STANDS_ON = {
    ("errors", "printable"),
    ("extras", "errors"),
    ("numerics", "errors"),
    ("numerics", "plugins"),
    ("plugins", "errors"),
    ("scoring", "errors"),
    ("scoring", "numerics"),
    ("score_width", "errors"),
    ("score_width", "numerics"),
    ("specs", "errors"),
    ("threads", "errors"),
    ("forks", "errors"),
}
STANDS_ON |= {("judgments", "run"), ("collection", "run"), ("collection", "judgments")}
# The public face and `python -m trueval` are above the house.
OUTSIDE = {"__init__", "__main__"}
OUTSIDE_MODULES = {"trueval", "trueval.__main__"}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(SRC).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


@cache
def imports(name: str) -> frozenset[str]:
    """The modules of ours that a module imports: at its start, inside functions, and for types."""
    found: set[str] = set()
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            inside = [f"{node.module}.{name}" for name in names]
            names = [each if each in MODULES else str(node.module) for each in inside]
        found.update(each for each in names if each in MODULES)
    return frozenset(found)


def room(module: str) -> str:
    return module.removeprefix("trueval").removeprefix(".").partition(".")[0] or "__init__"


def test_every_module_is_on_a_floor() -> None:
    assert {room(name) for name in MODULES} - OUTSIDE == set(FLOOR)


@pytest.mark.parametrize("name", sorted(name for name in MODULES if room(name) not in OUTSIDE))
def test_nothing_imports_upward(name: str) -> None:
    own = room(name)
    for other in map(room, imports(name)):
        if other == own or (own, other) in STANDS_ON:
            continue
        assert other not in OUTSIDE, f"{name} imports the public face"
        assert FLOOR[other] < FLOOR[own], f"{name} imports {other}, which is not below it"


def test_no_module_imports_itself_in_a_circle() -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for other in sorted(imports(name) - OUTSIDE_MODULES):
                visit(other, (*path, name))
            done.add(name)

    for name in sorted(MODULES):
        visit(name, ())


@pytest.mark.parametrize("own", ["tradeoff", "golden", "retrieval", "comparison"])
def test_the_sub_rooms_of_a_room_do_not_import_each_other_in_circles(own: str) -> None:
    """One is built on another, and not that on the first; what stands in the room itself may know any of them."""
    edges: dict[str, set[str]] = {}
    for name in MODULES:
        folder = name.rpartition(".")[0]
        if room(name) == own and folder.count(".") > 1 and ".views" not in name:
            inside = {other.rpartition(".")[0] for other in imports(name) if room(other) == own}
            edges.setdefault(folder, set()).update(
                other for other in inside if other.count(".") > 1 and other != folder and ".views" not in other
            )
    TopologicalSorter(edges).prepare()  # raises CycleError, which names the circle


def test_no_file_name_is_there_twice() -> None:
    """A stack trace reads as an outline. Commands are named after their verbs, and views after what they show."""
    paths = [path.relative_to(PACKAGE) for path in MODULES.values()]
    named = [path for path in paths if path.name != "__init__.py" and not {"views", "cli"} & set(path.parts)]
    twice = {name: count for name, count in Counter(path.name for path in named).items() if count > 1}
    assert not twice


def test_no_class_name_is_there_twice() -> None:
    """Beside those that a module keeps for itself."""
    trees = (ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for path in MODULES.values())
    names = Counter(node.name for tree in trees for node in tree if isinstance(node, ast.ClassDef))
    assert not {name: count for name, count in names.items() if count > 1 and not name.startswith("_")}


PARTICIPLE = re.compile(r"_*([a-z]+ed|told|made|found|swept|given|meant|kept|drawn|written|shown|known|spent|lost)")
GERUND = re.compile(r"_*[a-z]+ing")
# Verbs and nouns that look like either; and `trueval.published`, which is public.
OTHER_WORDS = re.compile(
    r"_*(published|embed|feed|need|seed|deed|bring|heading|ranking|ceiling|spacing|setting|finding|meaning|timing|"
    r"reading|writing)"
)


def test_modules_and_functions_are_not_named_by_participles() -> None:
    """A function is a verb and a module a noun; what a property has may be judged or known."""
    modules = {name for name in MODULES if ".views" not in name and PARTICIPLE.fullmatch(name.rpartition(".")[2])}
    assert modules == {"trueval.models.hosted"}  # short for hosted models, as the trade says it
    functions = {
        f"{module}.{node.name}"
        for module, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        and (PARTICIPLE.fullmatch(node.name) or GERUND.fullmatch(node.name))
        and not OTHER_WORDS.fullmatch(node.name)
        and not any("property" in ast.unparse(each) for each in node.decorator_list)
    }
    assert not functions


def test_views_are_known_to_their_own_room_and_above_only() -> None:
    for name in MODULES:
        seen = {other for other in imports(name) if ".views" in other}
        strangers = {other for other in seen if room(other) != room(name) and room(name) != "cli"}
        below = {other for other in strangers if FLOOR.get(room(other), 99) < FLOOR.get(room(name), -1)}
        assert strangers <= below, f"{name} looks into the views of {strangers}"


def test_the_package_imports_nothing_of_research() -> None:
    """research/ stands beside src/, and is in no wheel."""
    assert not [
        name for name, path in MODULES.items() if re.search(r"\b(from|import) research\b", path.read_text("utf-8"))
    ]


# A data class that counts what it is asked.
JUDGES = ("ModelJudge",)


@pytest.mark.parametrize("room", ["standings", "evaluation", "comparison", "measures", "policy", "tradeoff", "golden"])
def test_what_a_room_gives_cannot_be_changed(room: str) -> None:
    """Data classes are frozen, and those that hold arrays are equal only to themselves: arrays compare item by item."""
    found = 0
    for name in (name for name in MODULES if name.startswith(f"trueval.{room}.")):
        for each in vars(import_module(name)).values():
            if (
                isinstance(each, type)
                and is_dataclass(each)
                and each.__module__ == name
                and each.__name__ not in JUDGES
            ):
                settings = each.__dataclass_params__  # type: ignore[attr-defined]
                assert settings.frozen, each
                arrays = [field.name for field in fields(each) if str(field.type) in ("Floats", "Ints", "Bools")]
                assert not (arrays and settings.eq), (each, arrays)
                found += 1
    assert found


def test_views_take_attributes_and_say_their_types() -> None:
    views = [path for path in PACKAGE.rglob("*.py") if "views" in path.relative_to(PACKAGE).parts]
    assert len(views) > 50
    assert not [str(path) for path in views if re.search(r"\bAny\b", path.read_text(encoding="utf-8"))]
