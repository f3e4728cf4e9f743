"""A golden set that people audited, as files: a judge that errs, people who know, and runs, one the judge's own.

Truth and judge's grades are 1 to 5. The judge sees the truth through noise and lifts the documents that `flattered`
puts first, so that it is the best run by the judge's labels and not by people's.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

from trueval import Judgments
from trueval.evaluation.content_hashes import judgments_hash

QUERIES, DOCUMENTS = 60, 8


class World(NamedTuple):
    """What is where.

    Attributes:
        golden: folder of the golden set.
        runs: paths of honest.trec, flattered.trec and weak.trec.
        truth: query → document → grade.
        judge: likewise.
    """

    golden: Path
    runs: tuple[Path, Path, Path]
    truth: dict[str, dict[str, int]]
    judge: dict[str, dict[str, int]]

    @property
    def audit(self) -> Path:
        """Folder of the audit."""
        return self.golden / "audit"


def written(folder: Path, *, design: str = "queries", sampled: int = 30, answered: int | None = None) -> World:
    """Write a golden set with an audit.

    Args:
        folder: that everything goes to.
        design: of the audit.
        sampled: queries in the sample, or passages of each stratum.
        answered: items with a grade, the first ones; None for all.
    """
    chance = random.Random(18)
    truth, judge = _grades(chance)
    golden = folder / "golden"
    (golden / "audit").mkdir(parents=True)
    rows = [(query, document, grade) for query, graded in judge.items() for document, grade in graded.items()]
    (golden / "qrels.trec").write_text("".join(f"{query} 0 {document} {grade}\n" for query, document, grade in rows))
    items, strata = _drawn(rows, design, sampled, chance)
    scale = {"scale": [1, 5], "raters": 1, "judgments": judgments_hash(Judgments.read(str(golden)))}
    about = {"kind": "audit", "format": 1, "design": design, "seed": 18, **scale, "strata": strata}
    (golden / "audit" / "sample.json").write_text(json.dumps(about))
    listed = [
        {"item": f"i{at}", "task": "grade", "query": query, "document": document, "stratum": stratum, "texts": []}
        for at, (query, document, stratum) in enumerate(items)
    ]
    (golden / "audit" / "items.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in listed))
    said = [answer(each, truth[each["query"]][each["document"]]) for each in listed[:answered]]
    (golden / "audit" / "people.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in said))
    return World(golden, _runs(folder, truth, judge, chance), truth, judge)


def answer(item: dict[str, object], grade: int | None) -> dict[str, object]:
    """A line of people.jsonl."""
    given = [] if grade is None else [{"rater": "ada", "grade": grade, "note": "", "date": "2026-01-01"}]
    kept = {name: item[name] for name in ("item", "task", "query", "document", "stratum")}
    return {**kept, "grade": grade, "labels": given, "skipped": ["ada"] if grade is None else []}


def _grades(chance: random.Random) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    truth: dict[str, dict[str, int]] = {}
    judge: dict[str, dict[str, int]] = {}
    for number in range(QUERIES):
        query = f"q{number:02}"
        truth[query] = {f"d{at}": chance.choice((1, 1, 2, 3, 4, 5)) for at in range(DOCUMENTS)}
        truth[query]["d0"] = chance.choice((4, 5))
        judge[query] = {
            document: min(5, max(1, grade + chance.choice((-1, 0, 0, 1)))) for document, grade in truth[query].items()
        }
        judge[query]["d7"] = 5  # what the flattered run puts first
    return truth, judge


def _drawn(
    rows: list[tuple[str, str, int]], design: str, sampled: int, chance: random.Random
) -> tuple[list[tuple[str, str, str]], list[dict[str, object]]]:
    if design == "queries":
        queries = chance.sample(sorted({query for query, *_ in rows}), sampled)
        items = [(query, document, "queries") for query in queries for of, document, _ in rows if of == query]
        return items, [{"name": "queries", "population": QUERIES, "sampled": sampled}]
    found: list[tuple[str, str, str]] = []
    strata: list[dict[str, object]] = []
    for low, name in ((True, "low"), (False, "high")):
        mine = [(query, document, name) for query, document, grade in rows if (grade < 4) == low]
        strata.append({"name": name, "population": len(mine), "sampled": sampled})
        found += chance.sample(mine, sampled)
    chance.shuffle(found)
    return found, strata


def _runs(
    folder: Path, truth: dict[str, dict[str, int]], judge: dict[str, dict[str, int]], chance: random.Random
) -> tuple[Path, Path, Path]:
    paths = tuple(folder / f"{name}.trec" for name in ("honest", "flattered", "weak"))
    for path, noise, grades in zip(paths, (1.0, 1.5, 4.0), (truth, judge, truth), strict=True):
        lines = []
        for query, graded in grades.items():
            lift = 3.0 if path.stem == "flattered" else 0.0
            scored = {
                document: round(grade + lift * (document == "d7") + chance.gauss(0, noise), 1)
                for document, grade in graded.items()
            }
            lines += [f"{query} Q0 {document} 0 {score} x\n" for document, score in scored.items()]
        path.write_text("".join(lines))
    return paths[0], paths[1], paths[2]
