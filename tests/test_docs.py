"""What the documentation shows is what the program does."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from docs import make_house
from docs.make_images import IMAGE, draw

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program = line.replace("trueval", f"{shlex.quote(sys.executable)} -m trueval", 1)
    environment = os.environ | {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(["bash", "-c", program], cwd=folder, env=environment, capture_output=True, encoding="utf-8")


@pytest.mark.parametrize("line", [line for text in blocks("sh") for line in lines(text) if line.startswith("trueval ")])
def test_the_commands_of_the_readme_run(line: str) -> None:
    done = run(line, ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_terminal_example_is_what_the_program_prints(dl_hard_folder: Path) -> None:
    (example,) = blocks("console")
    _, command, *shown = lines(example)
    done = run(command.removeprefix("$ "), dl_hard_folder)
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == shown


def test_the_python_example_prints_what_the_readme_says() -> None:
    (code,), (shown,) = blocks("python"), blocks("text")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == lines(shown)


def test_the_picture_shows_the_demo_of_today() -> None:
    def words(picture: str) -> list[str]:
        return re.findall(r"<text[^>]*>([^<]*)</text>", picture)

    kept = IMAGE.read_text(encoding="utf-8")
    assert words(kept) == words(draw())
    assert "0.7747" in kept


def test_the_picture_loads_nothing() -> None:
    assert "url(http" not in IMAGE.read_text(encoding="utf-8")
    assert "@import" not in IMAGE.read_text(encoding="utf-8")


def test_links_lead_to_files() -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert targets
    for target in targets:
        assert (ROOT / target).is_file(), target


def test_the_page_of_the_house_shows_the_tree_of_today() -> None:
    text = make_house.PAGE.read_text(encoding="utf-8")
    assert text == make_house.page(text), "python docs/make_house.py"
