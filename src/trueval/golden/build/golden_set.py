"""The golden set: a folder with judgments and the artifacts that produced them, and its reader.

    golden.json    what it is: corpus, judge, stages, numbers (kind "golden")
    qrels.trec     the judgments, as any tool reads them
    labels.jsonl   each passage: grade, hashes of question and text, every label with judge, call, slot, reason, date
    top.trec       the best of each query in order, as a run

A label belongs to the texts of a question and a passage, whatever their ids are elsewhere (anchoring.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from trueval.collection import Collection, text_hash
from trueval.errors import Place
from trueval.files.atomic_files import write_whole
from trueval.files.writing import write_judgments
from trueval.golden.build.golden_result import (
    GoldenJudge,
    GoldenPassage,
    GoldenResult,
    GoldenStage,
    JudgeCost,
    JudgedCollection,
    RefinedQuery,
    RefinementRecord,
)
from trueval.golden.build.grade import grades_of
from trueval.golden.build.pool_sources import audited_difference, decidable_difference, summarize_sources
from trueval.golden.build.pooling import pools_of, searches_of
from trueval.golden.build.stage_files import lines_of, read_lines
from trueval.golden.build.steadiness import between_rounds, by_slot
from trueval.golden.judge.ledger import Ledger
from trueval.golden.judge.prompt import speaks_to_judge
from trueval.golden.refine.heterogeneity import heterogeneity
from trueval.judgments import Judgments
from trueval.report.formats import to_json
from trueval.report.json_fields import decode
from trueval.report.number_texts import percent
from trueval.report.provenance import strip_folders
from trueval.report.result import ReprByKind
from trueval.run import Run

ABOUT, QRELS, LABELS, TOP = "golden.json", "qrels.trec", "labels.jsonl", "top.trec"
REWRITTEN: Final = "rewritten.jsonl"


@dataclass(frozen=True, eq=False, repr=False)
class GoldenSet(ReprByKind):
    """A golden set.

    Attributes:
        folder: that holds it.
        result: golden.json, its values by type.
        manifests: of its stages, as golden.json has them.
        labels: one row per passage of a pool, as in labels.jsonl.
    """

    folder: Path
    result: GoldenResult
    manifests: tuple[Mapping[str, Any], ...]
    labels: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, folder: Path) -> GoldenSet:
        """Read a golden set from its folder.

        Raises:
            InputError: it holds no golden set, one of a newer version, or a damaged one.
        """
        place = Place(str(folder / ABOUT))
        try:
            about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            labels = tuple(read_lines(folder / LABELS))
        except (OSError, ValueError) as error:
            raise place.error(
                f"cannot be read ({error}). A golden set is a folder that trueval golden build made."
            ) from None
        if not isinstance(about, dict) or about.get("kind") != GoldenResult.KIND:
            raise place.error("not a golden set. Name a folder that trueval golden build made.")
        if about.get("format", 0) > GoldenResult.FORMAT:
            raise place.error(f"format {about['format']} is newer than {GoldenResult.FORMAT}. Update trueval.")
        return cls(folder, GoldenResult.from_dict(about, str(folder / ABOUT)), tuple(about["stages"]), labels)

    def to_dict(self) -> dict[str, object]:
        """The JSON of `trueval golden build`."""
        return {**self.result.to_dict(), "stages": list(self.manifests)}

    def write(self) -> None:
        """Write golden.json."""
        write_whole(self.folder / ABOUT, lambda file: file.write_text(to_json(self.to_dict()), encoding="utf-8"))

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks of its stages, one line each."""
        return tuple(note for stage in self.result.stages for note in stage.notes)

    @property
    def judgments(self) -> Judgments:
        """The judgments.

        Raises:
            InputError: nothing is judged.
        """
        return Judgments.read(str(self.folder / QRELS))

    @property
    def top(self) -> Run | None:
        """The refined top documents of each query as a run; None without a refinement."""
        file = self.folder / TOP
        return Run.read(str(file), name="golden") if file.is_file() and file.stat().st_size else None


@dataclass(frozen=True)
class BuildRecord:
    """How a golden set was built.

    Attributes:
        seed: of all random choices.
        judge: with the settings of grading.
        hashes: of the texts of documents and queries with their ids.
        manifests: of the stages, in order.
    """

    seed: int
    judge: GoldenJudge
    hashes: Mapping[str, str]
    manifests: Sequence[Mapping[str, Any]]


def read_rewritten_queries(folder: Path) -> dict[str, str]:
    """Query id → its text as the judge saw it, from the stage `rewrite`; empty without that stage."""
    try:
        return {row["_id"]: row["asked"] for row in read_lines(folder / REWRITTEN)}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def finish(name: str, folder: Path, collection: Collection, made: BuildRecord, ledger: Ledger) -> GoldenSet:
    """Aggregate all labels into judgments, and write the golden set.

    Args:
        folder: folder with the outputs of the stages.
        made: how it was built.
    """
    stages = tuple(decode(GoldenStage, each, GoldenResult.KIND) for each in made.manifests)
    outputs = {each["stage"]: each["outputs"] for each in made.manifests}
    result = GoldenResult(
        name=name,
        collection=JudgedCollection(
            collection.name,
            strip_folders(collection.source),
            len(collection.documents),
            len(collection.queries),
            made.hashes,
        ),
        seed=made.seed,
        judge=made.judge,
        stages=stages,
        cost=_cost(stages),
    )
    rows: list[dict[str, Any]] = []
    if "grade" in outputs:
        files = [file for name in ("grade", "regrade") if name in outputs for file in outputs[name]]
        labels = pl.concat([pl.read_parquet(folder / file) for file in files])
        pool = pl.read_parquet(folder / "pool.parquet")
        grades = grades_of(pools_of(pool), labels, made.judge.aggregate)
        rows = list(_label_rows(pool, grades, labels, made.judge.name, collection, ledger))
        judged = grades.filter(pl.col("grade").is_not_null()).with_columns(pl.col("grade").cast(pl.Float64))
        write_judgments(judged, folder / QRELS)
        write_whole(folder / LABELS, lines_of(rows))
        result = _with_grades(result, grades, labels, rows)
        sources, decides = summarize_sources(pool, judged), decidable_difference(pool, judged)
        result = replace(result, sources=sources, decides=decides)
    if "refine" in outputs:
        refinement = _refinement(read_lines(folder / "refined.jsonl"), result.judged or 0)
        result = replace(result, refinement=refinement)
    # Files that golden.json does not list may belong to another corpus; they can be recomputed from the ledger without
    # new calls.
    for file in ((QRELS, LABELS) if "grade" not in outputs else ()) + ((TOP,) if "refine" not in outputs else ()):
        (folder / file).unlink(missing_ok=True)
    golden = GoldenSet(folder, result, tuple(made.manifests), tuple(rows))
    golden.write()
    # An audit is compared with the questions in golden.json, so these must be the ones of now.
    if result.decides is not None and (audited := audited_difference(pool, folder / QRELS)) is not None:
        golden = replace(golden, result=replace(result, decides=replace(result.decides, audited=audited)))
        golden.write()
    return golden


def _label_rows(
    pool: pl.DataFrame,
    grades: pl.DataFrame,
    labels: pl.DataFrame,
    judge: str,
    collection: Collection,
    ledger: Ledger,
) -> Iterator[dict[str, object]]:
    times = ledger.times()
    given: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in labels.to_dicts():
        told = {name: row[name] for name in ("call", "round", "slot", "slots", "grade", "reason")}
        told["slot"] += 1
        entry = {"judge": judge, **told, "date": times.get(row["call"], "")}
        given.setdefault((row["query_id"], row["doc_id"]), []).append(entry)
    asked = {query: text_hash([text]) for query, text in collection.queries.items()}
    searches = dict.fromkeys(("dense", "sparse", *searches_of(pool)))
    for passage, graded in zip(pool.to_dicts(), grades.to_dicts(), strict=True):
        query, document = passage["query_id"], passage["doc_id"]
        yield {
            "query": query,
            "document": document,
            "grade": graded["grade"],
            "spread": graded["spread"],
            "rank": passage["rank"],
            **{name: passage.get(name) for name in searches},
            "asked": asked[query],
            "text": passage["text"],
            "speaks_to_judge": speaks_to_judge(collection.documents[document]),
            "labels": given.get((query, document), []),
        }


def _with_grades(
    result: GoldenResult, grades: pl.DataFrame, labels: pl.DataFrame, rows: Sequence[Mapping[str, Any]]
) -> GoldenResult:
    """The result with the numbers of grades and labels."""
    unjudged = int(grades["grade"].null_count())
    return replace(
        result,
        passages=grades.height,
        judged=grades.height - unjudged,
        unjudged=unjudged,
        labels=int(labels["grade"].is_not_null().sum()),
        grades={str(grade): int((grades["grade"] == grade).sum()) for grade in range(1, 6)},
        heterogeneity=heterogeneity(grades),
        rounds=between_rounds(labels),
        slots=by_slot(labels),
        speaks_to_judge=tuple(GoldenPassage(row["query"], row["document"]) for row in rows if row["speaks_to_judge"]),
    )


def _refinement(rows: list[dict[str, Any]], judged: int) -> RefinementRecord:
    """The refinement: its limits, and calls, claim and contradictions per query."""
    return RefinementRecord(
        tuple(_cannot_know(rows, judged)),
        tuple(
            RefinedQuery(
                query=row["query"],
                method=row["method"],
                passages=len(row["documents"]),
                top=row["top"],
                calls=row["calls"],
                stopped=row["stopped"],
                overlap=row["overlap"],
                gross=row["gross"],
                unchecked=_count_unordered_passages(row),
                bands=len({each["band"] for each in row["documents"][: row["top"]]}),
                disagreement=row["inconsistency"]["disagreement"],
                cycles=row["inconsistency"]["cycles"],
                inversions=len(row["inversions"]),
            )
            for row in rows
        ),
    )


def _count_unordered_passages(row: Mapping[str, Any]) -> int:
    """Number of passages of a query without a position in any order."""
    return sum(each["exposures"] == 0 for each in row["documents"])


def _cannot_know(rows: Sequence[Mapping[str, Any]], judged: int) -> Iterator[str]:
    """What the claimed overlap does not cover, as sentences."""
    claiming = [row for row in rows if row["overlap"] is not None and len(row["documents"]) > row["top"]]
    if not claiming:
        return
    refined = sum(len(row["documents"]) for row in claiming)
    unchecked = sum(map(_count_unordered_passages, claiming))
    gross = float(np.mean([row["gross"] for row in claiming]))
    yield (
        "The expected overlap is with the judge's own order. It does not know of errors that the judge repeats: a "
        "passage that it misreads every time, or a preference that it always has, such as for long passages. People's "
        "grades show these: trueval golden audit."
    )
    if judged > refined:
        yield f"Nor does it cover the {judged - refined:,} graded passages that were not refined, or those in no pool."
    if unchecked:
        yield (
            f"{unchecked:,} of {refined:,} refined passages are in no order: of these it knows the grades alone, and "
            f"takes {percent(gross)} of them to be grossly wrong."
        )


def _cost(stages: Sequence[GoldenStage]) -> JudgeCost:
    """Totals over stages; None where unknown."""

    def total(values: Iterable[float | None]) -> float | None:
        known = [each for each in values if each is not None]
        return round(sum(known), 9) if known else None

    def count(values: Iterable[int | None]) -> int | None:
        known = [each for each in values if each is not None]
        return sum(known) if known else None

    return JudgeCost(
        count(each.calls for each in stages),
        count(each.invalid for each in stages),
        count(each.tokens_in for each in stages),
        count(each.tokens_out for each in stages),
        total(each.cost for each in stages),
        total(each.judge_seconds for each in stages),
    )
