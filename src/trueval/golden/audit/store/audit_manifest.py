"""The manifest of an audit: its sample and items, stored as three files in its folder.

    sample.json   what was drawn, from what, and how (kind "audit")
    items.jsonl   every item in the order in which it is served, with the hashes of its texts
    texts.jsonl   those texts, so that serving needs no corpus

Strata, ranks and ids of documents are in items.jsonl and never in what a rater is given: `Shown` has texts alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from trueval.collection import text_hash
from trueval.errors import InputError, Place
from trueval.golden.audit.store.rubric import CLAIMS, PASSAGES
from trueval.golden.build.stage_files import lines_of, read_lines
from trueval.report.atomic_folders import alone, replace_together
from trueval.report.formats import to_json

# 1: first version.
FORMAT_VERSION: Final = 1
KIND: Final = "audit"
ABOUT, ITEMS, TEXTS = "sample.json", "items.jsonl", "texts.jsonl"
TASKS: Final = ("grade", "order", "answer")
ORDER_SCALE: Final = (-1, 1)  # 1: the text shown first is better, 0: they are equal, -1: the second is better


@dataclass(frozen=True)
class Item:
    """One item of the sample.

    Attributes:
        item: opaque name.
        task: "grade", "order" or "answer".
        query: query id.
        documents: document ids: of one passage, of two neighbors in the order shown, or none.
        stratum: name of its stratum.
        texts: hashes of the question and of the texts shown below it.
        low: lowest value that a rater may give.
        high: highest value.
        system: system of the answer; None for other tasks.
        ranks: ranks of the documents in the ranked list; empty for other tasks than order.
        chance: chance with which it was drawn, given earlier batches; None for other designs than poisson.
        batch: its batch, from 1; None for other designs than poisson.
    """

    item: str
    task: str
    query: str
    documents: tuple[str, ...]
    stratum: str
    texts: tuple[str, ...]
    low: int
    high: int
    system: str | None = None
    ranks: tuple[int, ...] = ()
    chance: float | None = None
    batch: int | None = None

    @property
    def sign(self) -> int:
        """1 if values are as given; -1 if the lower of two neighbors was shown first."""
        return -1 if self.ranks and self.ranks[0] > self.ranks[1] else 1

    @property
    def content_hash(self) -> str:
        """The hash of question, texts and scale: audits of the same ids may differ in their texts or scales."""
        return text_hash((self.task, f"{self.low} to {self.high}", *self.texts)).upper()

    @property
    def subject(self) -> dict[str, object]:
        """The subject of the item as people.jsonl stores it: of two neighbors, the upper one first."""
        if self.task == "order":
            return {"documents": list(self.documents[:: self.sign])}
        return {"document": self.documents[0]} if self.task == "grade" else {"system": self.system}

    def to_dict(self) -> dict[str, object]:
        """The row of items.jsonl."""
        about: dict[str, Any] = {"item": self.item, "task": self.task, "query": self.query}
        if self.task == "grade":
            about["document"] = self.documents[0]
        elif self.task == "order":
            about |= {"documents": list(self.documents), "ranks": list(self.ranks)}
        else:
            about["system"] = self.system
        if self.batch is not None:
            about |= {"chance": self.chance, "batch": self.batch}
        return {**about, "stratum": self.stratum, "texts": list(self.texts)}

    @classmethod
    def of(cls, row: Mapping[str, Any], scales: Mapping[str, tuple[int, int]]) -> Item:
        """Read a row of items.jsonl.

        Args:
            scales: task → lowest and highest value.
        """
        documents = row.get("documents", [row["document"]] if "document" in row else [])
        low, high = scales[row["task"]]
        return cls(
            row["item"],
            row["task"],
            row["query"],
            tuple(documents),
            row["stratum"],
            tuple(row["texts"]),
            low,
            high,
            row.get("system"),
            tuple(row.get("ranks", ())),
            row.get("chance"),
            row.get("batch"),
        )


class AuditStratum(NamedTuple):
    """Passages that are sampled together.

    Attributes:
        name: the properties that its passages share.
        population: number of passages, or of queries for the design `queries`.
        sampled: number of passages in the sample.
        share: share of a sample, for enlarging it.
    """

    name: str
    population: int
    sampled: int
    share: float = 1.0


@dataclass(frozen=True)
class AuditManifest:
    """The sample of an audit, and how it was drawn.

    Attributes:
        design: "queries", "documents" or "poisson".
        seed: seed of all random numbers.
        raters: number of labels per item.
        scales: task → lowest and highest value.
        items: items in serving order, task by task.
        about: further entries of sample.json: measure, runs, hash of the judgments, counts.
    """

    design: str
    seed: int
    raters: int
    scales: Mapping[str, tuple[int, int]]
    strata: tuple[AuditStratum, ...]
    items: tuple[Item, ...]
    about: Mapping[str, Any]

    @property
    def shows(self) -> str:
        """What its items are: "passages" or "claims"."""
        return str(self.about.get("shows", PASSAGES))

    def sentences(self) -> list[str]:
        """The sample in sentences, one line per task."""
        units = sum(each.sampled for each in self.strata)
        people = f", {self.raters} raters each" if self.raters > 1 else ""
        lines = []
        for task in self.scales:
            count = sum(each.task == task for each in self.items)
            if task == "grade":
                of = sum(each.population for each in self.strata)
                queries = f" of {units:,} of {of:,} queries" if self.design == "queries" else f" of {of:,}"
                strata = f" from {len(self.strata)} strata" if self.design == "documents" else ""
                if self.design == "poisson":
                    strata = " that weigh in the runs, drawn where they decide"
                what = "claims with a text each" if self.shows == CLAIMS else "judged passages"
                what = "passages" if self.design == "poisson" else what
                lines.append(f"{count:,} {what}{queries}{strata}, seed {self.seed}{people}.")
            elif task == "order":
                about = self.about["order"]
                lines.append(f"{count:,} neighbors of {about['lists']:,} of {about['population']:,} lists{people}.")
            else:
                lines.append(f"{count:,} answers{people}.")
        return lines

    def to_dict(self) -> dict[str, object]:
        """The JSON of sample.json."""
        counts = {task: sum(each.task == task for each in self.items) for task in self.scales}
        return {
            "kind": KIND,
            "format": FORMAT_VERSION,
            "design": self.design,
            "seed": self.seed,
            "scale": list(self.scales["grade"]),
            "raters": self.raters,
            **self.about,
            "strata": [each._asdict() for each in self.strata],
            "tasks": {task: {"items": counts[task], "scale": list(scale)} for task, scale in self.scales.items()},
        }


def write_sample(
    folder: Path, sample: AuditManifest, texts: Mapping[str, str], write: Callable[[Path], object] = lambda stage: None
) -> None:
    """Write a sample, all files together or none.

    Args:
        folder: folder of the audit, created if absent.
        texts: hash → text of every item.
        write: writes further files into the folder that it is given.
    """

    def make(stage: Path) -> Mapping[str, str]:
        write(stage)
        needed = dict.fromkeys(each for item in sample.items for each in item.texts)
        lines_of(item.to_dict() for item in sample.items)(stage / ITEMS)
        lines_of({"hash": each, "text": texts[each]} for each in needed)(stage / TEXTS)
        (stage / ABOUT).write_text(to_json(sample.to_dict()), encoding="utf-8")
        return {}

    replace_together(folder, make)


def is_audit(folder: Path) -> bool:
    """Whether a sample was drawn in a folder."""
    return (folder / ABOUT).is_file()


def read_sample(folder: Path) -> AuditManifest:
    """Read a sample.

    Raises:
        InputError: there is none, it is of a newer version, or it is damaged.
    """
    place = Place(str(folder / ABOUT))
    try:
        with alone(folder):
            about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            rows = read_lines(folder / ITEMS)
        if not isinstance(about, dict) or about.get("kind") != KIND:
            raise place.error("not an audit. Name a folder that trueval golden audit made.")
        if about.get("format", 0) > FORMAT_VERSION:
            raise place.error(f"format {about['format']} is newer than {FORMAT_VERSION}. Update trueval.")
        scales = {task: (int(low), int(high)) for task, (low, high) in _scales(about).items()}
        strata = tuple(AuditStratum(**each) for each in about["strata"])
        items = tuple(Item.of(row, scales) for row in rows)
        ours = ("kind", "format", "design", "seed", "scale", "raters", "strata", "tasks")
        rest = {name: value for name, value in about.items() if name not in ours}
        return AuditManifest(about["design"], about["seed"], about["raters"], scales, strata, items, rest)
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise place.error(
            f"cannot be read ({error}). An audit is a folder that trueval golden audit made; draw it anew elsewhere."
        ) from None


def _scales(about: Mapping[str, Any]) -> dict[str, Any]:
    return {task: each["scale"] for task, each in about["tasks"].items()}


def read_texts(folder: Path, items: Iterable[Item]) -> dict[str, str]:
    """The texts of items, by hash.

    Raises:
        InputError: one is missing, or was changed.
    """
    path = folder / TEXTS
    try:
        found = {row["hash"]: row["text"] for row in read_lines(path)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Place(str(path)).error(f"cannot be read ({error}). Draw the audit anew elsewhere.") from None
    wrong = [each for item in items for each in item.texts if each not in found or text_hash([found[each]]) != each]
    if wrong:
        raise Place(str(path)).error(
            f"{len(wrong)} texts are missing or were changed since the sample was drawn. Put the file back as it was."
        )
    return found
