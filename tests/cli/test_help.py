"""Help: a screen of ten lines, the common options of each command, every option on demand, and a search by words."""

from collections.abc import Callable, Iterator

import pytest
from docs.make_commands import commands
from tests.cli.conftest import Outcome

from trueval.cli import help as searched
from trueval.cli.help import PAGES, SYNONYMS
from trueval.cli.main import as_command, command_function
from trueval.measures import registry

Command = Callable[..., Outcome]
ALONE = [name for name in commands() if name not in ("", "answers", "golden", "precision", "probe", "route")]


@pytest.fixture(scope="module")
def entries() -> Iterator[None]:
    """Commands, measures, pages and errors are read once; the first search of this module reads them itself."""
    found = list(searched._entries())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searched, "_entries", lambda: iter(found))
        yield


def made(name: str):
    home, _, own = name.rpartition(" ")
    return as_command(own, command_function(own, f"trueval.cli.{home}" if home else "trueval.cli"))


def test_trueval_alone_asks_what_there_is(trueval: Command) -> None:
    status, out, _ = trueval()
    assert status == 2
    assert len(out.splitlines()) == 10
    for name in ("evaluate", "compare", "retrieve", "sweep", "golden build", "demo"):
        assert f"trueval {name}" in out


@pytest.mark.parametrize("name", ALONE)
def test_common_options_are_options_and_about_eight(name: str) -> None:
    command = made(name)
    assert set(command.common) <= {each.name for each in command.params}
    assert len(command.common) <= 9
    assert command.common or len(command.params) <= 8


@pytest.mark.parametrize("name", ["evaluate", "golden stress", "sweep"])
def test_short_help_fits_and_names_the_rest(trueval: Command, name: str) -> None:
    short, whole = trueval(*name.split(), "--help").out, trueval(*name.split(), "--help-all").out
    command = made(name)
    hidden = [each for each in command.params if each.param_type_name == "option" and each.name not in command.common]
    assert f"{len(hidden)} more options: trueval {name} --help-all" in short
    assert len(short.splitlines()) < min(62, len(whole.splitlines()))
    assert max(map(len, short.splitlines())) <= 80
    for option in hidden:
        assert f"│ {option.opts[0]} " not in short
        assert option.opts[0] in whole


def test_the_help_of_the_program_has_the_commands_of_groups(trueval: Command) -> None:
    lines = trueval("--help").out.splitlines()
    for name in commands():
        if name not in ("", "answers", "golden", "precision", "probe", "route"):
            assert sum(line.startswith(f"│ {name} ") for line in lines) == 1, name
    assert max(map(len, lines)) <= 80


def test_completion_knows_every_option() -> None:
    command = made("evaluate")
    assert {"--unjudged", "--self-test"} <= {name for each in command.params for name in each.opts}


def test_words_find_commands_measures_pages_and_errors(trueval: Command) -> None:
    status, out, _ = trueval("help", "max", "drop")
    assert status == 0
    lines = out.splitlines()
    assert lines[:2] == ["commands", lines[1]]
    assert lines[1].startswith("  trueval evaluate --max-drop  ")
    assert "  docs/gate.md  " in out
    assert "--max-drop needs --baseline RUN." in out
    assert max(map(len, lines[: lines.index("errors")])) <= 100


@pytest.mark.parametrize("name", sorted(registry()))
def test_every_measure_is_found_by_its_name(entries: None, trueval: Command, name: str) -> None:
    lines = trueval("help", name).out.splitlines()
    assert any(line.startswith(f"  {name}  ") for line in lines[lines.index("measures") :])


def test_an_option_of_many_commands_is_named_once(entries: None, trueval: Command) -> None:
    assert trueval("help", "--tie-precision").out.count("--tie-precision  ") == 1


def test_words_that_nothing_has_are_said(entries: None, trueval: Command) -> None:
    status, out, err = trueval("help", "zyzzyva")
    assert (status, out) == (1, "")
    assert err == "Nothing has all of these words: zyzzyva. Fewer words find more.\n"


def test_a_question_finds_what_has_most_of_its_words(entries: None, trueval: Command) -> None:
    status, out, err = trueval("help", "gate", "for", "zyzzyva", "in", "CI")
    assert (status, err) == (0, "Nothing has all of these words: ci for gate in zyzzyva. These have 4 of 5:\n")
    assert "  docs/gate.md  " in out
    assert trueval("help", "bfloat16", "zyzzyva").status == 1  # one word of two says too little


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("fallback", "conventions"),
        ("per-query", "compare"),
        ("trust", "audit"),
        ("significance", "compare"),
        ("flaky", "gate"),
        ("ground truth", "golden"),
        ("phoenix", "files"),
    ],
)
def test_a_page_is_found_by_words_that_it_does_not_use(entries: None, trueval: Command, words: str, page: str) -> None:
    assert f"docs/{page}.md" in trueval("help", *words.split()).out


def test_terms_are_of_pages_that_are_listed() -> None:
    assert SYNONYMS.keys() <= PAGES.keys()
