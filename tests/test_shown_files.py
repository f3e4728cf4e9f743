"""Every block of TOML that a page shows is read by the reader of its file, parts of a file with the tables they need.

No page shows a router.toml, which `frontier --route` writes; tests/tradeoff/route reads these.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from trueval.answers.generation.generation_plan import GenerationPlan
from trueval.cost.prices import BOOK, PriceBook
from trueval.errors import InputError
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.golden.validation.model_families import Families
from trueval.retrieval.pipeline.config import read_settings
from trueval.tradeoff.config.plan import SweepPlan

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```toml\n(.*?)^```", re.DOTALL | re.MULTILINE)
ENTRY_POINTS = {"trueval.measures", "trueval.readers", "trueval.kinds", "trueval.commands"}
# What a part of a file needs to be whole.
CORPUS, EMBED, WORDS = '[corpus]\npath = "corpus"\n', '[embed]\nmodel = "m"\n', '[sparse]\nindex = "bm25"\n'
RUBRIC = '[measure]\nnames = ["nDCG@10"]\n'
JUDGE = '[judge]\nmodel = "gpt-5-mini"\n'


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        tells: tables or keys that no kind before it has.
        read: reader of the package, which refuses what it does not know.
        needed: table → its text, without which the file is refused.
    """

    tells: set[str]
    read: Callable[[Path], object]
    needed: dict[str, str]


def read_families(path: Path) -> Families:
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return Families.read(path, [run for runs in found["runs"].values() for run in runs], list(found["judges"]))


def read_entry_points(path: Path) -> None:
    """Groups are those that the package looks for."""
    groups = tomllib.loads(path.read_text(encoding="utf-8"))["project"]["entry-points"]
    if unknown := set(groups) - ENTRY_POINTS:
        raise InputError(f"{path}: no entry points of trueval: {sorted(unknown)}")


FOUND = {"corpus": CORPUS, "sparse": WORDS}
# In this order: [answers] and [judge] may stand in a sweep too, and [corpus] in all of them.
KINDS: dict[str, Kind] = {
    "entry points": Kind({"project"}, read_entry_points, {}),
    "families": Kind({"runs", "judges"}, read_families, {}),
    "prices": Kind({"currency"}, PriceBook.read, {}),
    "sweep": Kind({"measure", "probes", "configuration"}, SweepPlan.read, {**FOUND, "embed": EMBED, "measure": RUBRIC}),
    "answers": Kind({"answers"}, GenerationPlan.read, {"corpus": CORPUS}),
    "golden": Kind({"judge", "pool", "prune"}, GoldenPlan.read, {**FOUND, "judge": JUDGE}),
    "pipeline": Kind({"corpus", "embed", "index", "sparse", "rerank"}, read_settings, {"corpus": CORPUS}),
    "end of a pipeline": Kind({"repair"}, read_settings, {"corpus": CORPUS, "embed": EMBED}),
}


def kind_of(tables: dict[str, Any]) -> str:
    return next(name for name, kind in KINDS.items() if kind.tells & tables.keys())


def blocks() -> Iterator[tuple[str, str]]:
    """Place and text of each block."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for found in BLOCK.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{page.relative_to(ROOT).as_posix()}:{line}", found[1]


BLOCKS = dict(blocks())


def complete(text: str) -> tuple[str, str]:
    """The kind of a file, and its text with the tables that it needs and the block leaves out."""
    tables = tomllib.loads(text)
    name = kind_of(tables)
    absent = [table for at, table in KINDS[name].needed.items() if at not in tables]
    return name, "\n".join([text, *absent])


@pytest.mark.parametrize("place", BLOCKS)
def test_a_block_is_read_by_the_reader_of_its_file(place: str, tmp_path: Path) -> None:
    name, text = complete(BLOCKS[place])
    path = tmp_path / "shown.toml"
    path.write_text(text, encoding="utf-8")
    shutil.copy(BOOK, tmp_path / "prices.toml")  # that a sweep names
    KINDS[name].read(path)


def test_blocks_of_each_kind_are_found() -> None:
    assert {complete(text)[0] for text in BLOCKS.values()} == set(KINDS)


@pytest.mark.parametrize("place", [place for place, text in BLOCKS.items() if complete(text)[0] != "entry points"])
def test_a_key_that_no_reader_knows_is_refused(place: str, tmp_path: Path) -> None:
    """So that a block which passes was read and not passed over."""
    name, text = complete(BLOCKS[place])
    path = tmp_path / "shown.toml"
    path.write_text(f"unheard_of = 1\n{text}", encoding="utf-8")
    with pytest.raises(InputError, match="unheard_of"):
        KINDS[name].read(path)
