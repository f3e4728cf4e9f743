"""Batch drawing: an audit of the design `poisson` is planned once, and grows by one batch of passages at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.comparison.labels.audit_batches import ALL_PASSAGES, KEYS
from trueval.errors import InputError, PolicyError
from trueval.evaluation.content_hashes import judgments_hash
from trueval.golden.audit.sampling.audit_source import Source
from trueval.golden.audit.sampling.passage_sample import items_of
from trueval.golden.audit.sampling.population import JudgedMember, Population
from trueval.golden.audit.sampling.seeded_order import key
from trueval.golden.audit.store.audit_manifest import AuditManifest, AuditStratum, read_texts, write_sample
from trueval.golden.audit.store.audit_store import AuditStore
from trueval.golden.audit.store.text_table import TextTable
from trueval.golden.build.stage_files import file_hash
from trueval.report.provenance import date, strip_folders
from trueval.standings.standings import Bools, Floats
from trueval.version import __version__

DESIGN: Final = "poisson"

# Least part of the planned size of a batch.
LEAST_PART: Final = 0.5


class BatchPlan(NamedTuple):
    """What is fixed before the first label.

    Attributes:
        decision: what is decided, as sample.json has it.
        measure: the measure's text form.
        runs: name and hash of each run.
        scale: lowest and highest grade.
        expected: [batch] expected number of passages.
        precision: [batch] weight of each batch in estimates.
    """

    decision: Mapping[str, Any]
    measure: str
    runs: Sequence[Mapping[str, object]]
    scale: tuple[int, int]
    expected: Sequence[float]
    precision: Sequence[float]


def plan_batches(source: Source, plan: BatchPlan, members: int, seed: int) -> AuditManifest:
    """The manifest of an audit whose batches are planned and not drawn.

    Args:
        source: the judgments.
        plan: what is fixed before the first label.
        members: number of passages that can be drawn.
        seed: seed of all random numbers.
    """
    rows = zip(plan.expected, plan.precision, strict=True)
    batches = [
        {"batch": at, "expected": float(size), "precision": float(weight), "passages": None}
        for at, (size, weight) in enumerate(rows, start=1)
    ]
    about = {
        "trueval": __version__,
        "written": date().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "size": 0,
        "source": "golden set" if source.is_golden else strip_folders(str(source.file)),
        "qrels": file_hash(source.file),
        "judgments": judgments_hash(source.judgments),
        "questions": source.questions,
        "measure": plan.measure,
        "runs": list(plan.runs),
        "decision": dict(plan.decision),
        "batches": batches,
    }
    strata = (AuditStratum(ALL_PASSAGES, members, 0),)
    return AuditManifest(DESIGN, seed, 1, {"grade": plan.scale}, strata, (), about)


def expected_size(sample: AuditManifest) -> float:
    """Expected number of passages of the next batch: what is left of the budget, over the batches that are left.

    It is at least half of what was planned: where earlier batches happened to spend the budget, a batch whose passages
    have no chance would be an estimate by the judge's grades alone, without a variance.
    """
    batches = sample.about["batches"]
    left = [each["expected"] for each in batches if each["passages"] is None]
    if not left:
        return 0.0
    rest = float(sum(each["expected"] for each in batches) - len(sample.items))
    return max(rest / len(left), LEAST_PART * float(left[0]))


def draw_batch(
    folder: Path, sample: AuditManifest, passages: pl.DataFrame, chances: Floats, texts: TextTable, members: Bools
) -> AuditManifest:
    """Draw the next batch and write the audit.

    Args:
        folder: folder of the audit.
        sample: the audit so far; without items before its first batch.
        passages: query_id, doc_id of every passage.
        chances: [passage] chance of the next batch.
        texts: texts of the collection.
        members: [passage] whether it can be drawn; written with the first batch.

    Raises:
        InputError: a text is missing, or another process serves the audit.
    """
    number = 1 + sum(each["passages"] is not None for each in sample.about["batches"])
    rng = np.random.default_rng(int.from_bytes(key(sample.seed, "batch", str(number))))
    drawn = np.flatnonzero(rng.random(len(chances)) < chances)
    some = [JudgedMember(query, document, ALL_PASSAGES) for query, document in passages[drawn].select(KEYS).iter_rows()]
    order = rng.permutation(len(some)).tolist()
    items = items_of([some[at] for at in order], sample.seed, sample.scales["grade"], texts)
    new = tuple(
        replace(item, chance=float(chances[drawn[at]]), batch=number) for item, at in zip(items, order, strict=True)
    )
    batches = [{**each, "passages": len(new)} if each["batch"] == number else each for each in sample.about["batches"]]
    every = (*sample.items, *new)
    strata = (sample.strata[0]._replace(sampled=len(every)),)
    more = replace(sample, items=every, strata=strata, about={**sample.about, "size": len(every), "batches": batches})
    if number == 1:
        pairs = passages.filter(pl.Series(members)).select(KEYS).iter_rows()
        people = [JudgedMember(query, document, ALL_PASSAGES) for query, document in pairs]
        write_sample(folder, more, texts.found, Population(DESIGN, tuple(people), {ALL_PASSAGES: 1.0}).write)
        return more
    texts.found.update(read_texts(folder, sample.items))
    with AuditStore.open(folder):  # no other process serves the audit while it changes
        write_sample(folder, more, texts.found)
    return more


def refuse_other_plan(sample: AuditManifest, folder: Path, asked: Mapping[str, Any]) -> None:
    """Refuse choices that differ from those that were fixed before the first label.

    Args:
        folder: folder of the audit.
        asked: name → choice as asked for; None keeps what was fixed.

    Raises:
        InputError: the folder holds an audit of another design.
        PolicyError: a choice differs.
    """
    if sample.design != DESIGN:
        raise InputError(
            f"{folder}: an audit of the design {sample.design} is there, which was not drawn for a decision. Name "
            "another folder with --out."
        )
    fixed = {**sample.about["decision"], "measure": sample.about["measure"], "seed": sample.seed}
    fixed |= {"runs": sorted(each["sha256"] for each in sample.about["runs"]), "scale": sample.scales["grade"]}
    other = [
        f"{name.replace('_', '-')} ({'others' if name == 'runs' else fixed[name]})"
        for name, now in asked.items()
        if now is not None and now != fixed[name]
    ]
    if other:
        raise PolicyError(
            f"{folder}: the batches were planned before the first label with other choices: {', '.join(other)}. Leave "
            "them out to go on, as a plan that follows from labels makes intervals miss; or begin another with --out."
        )
