"""Sample drawing: the sample of an audit is drawn once, reused afterwards, and can only be enlarged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trueval.errors import InputError, PolicyError, nearest
from trueval.evaluation.content_hashes import judgments_hash
from trueval.golden.audit.sampling.audit_source import (
    Source,
    check_scale,
    grade_scale,
    open_texts,
    read_source,
)
from trueval.golden.audit.sampling.passage_sample import draw_passages, items_of, strata_of
from trueval.golden.audit.sampling.population import DESIGNS, JudgedMember, Population, population_of, read_population
from trueval.golden.audit.sampling.rating_tasks import (
    ANSWER_SCALE,
    TOP,
    answer_items,
    neighbors_of,
    order_items,
    read_answers,
)
from trueval.golden.audit.store.audit_manifest import (
    ORDER_SCALE,
    TASKS,
    AuditManifest,
    Item,
    is_audit,
    read_sample,
    read_texts,
    write_sample,
)
from trueval.golden.audit.store.audit_store import AuditStore
from trueval.golden.audit.store.rubric import PASSAGES, read_shows
from trueval.golden.audit.store.text_table import TextTable
from trueval.golden.build.stage_files import file_hash
from trueval.measures import parse
from trueval.report.provenance import date, strip_folders
from trueval.run import Run
from trueval.version import __version__

if TYPE_CHECKING:
    from trueval.collection import Tell

FOLDER: Final = "audit"  # file names in a golden set
SIZES: Final = {"documents": 200, "queries": 30}
MEASURE: Final = "nDCG@10"


@dataclass(frozen=True)
class SampleChoices:
    """The options of an audit sample; None keeps the value of the existing sample, or takes the default.

    Attributes:
        design: "documents" or "queries".
        size: number of passages, or of queries for the design `queries`.
        seed: seed of all random numbers.
        raters: number of labels per item.
        runs: files of the runs whose measures are to be corrected.
        scale: lowest and highest grade.
        order: number of lists whose order is checked.
        answers: file of answers to rate.
        collection: path or name of the collection.
    """

    design: str | None = None
    size: int | None = None
    seed: int | None = None
    raters: int | None = None
    measure: str | None = None
    runs: tuple[Path, ...] = ()
    scale: tuple[int, int] | None = None
    order: int | None = None
    answers: Path | None = None
    collection: str | None = None


def open_audit(place: Path, folder: Path, choices: SampleChoices, *, tell: Tell = None) -> AuditManifest:
    """Draw the sample of an audit, or load the existing one and enlarge it where more is requested.

    Args:
        place: a golden set, or a file of judgments.
        folder: folder of the audit, created if absent.
        choices: requested options.
        tell: called repeatedly with the number of documents read so far.

    Raises:
        InputError: something cannot be read, a text is missing, or another process serves the audit.
        PolicyError: a choice is unknown, or differs from what was drawn.
    """
    if not is_audit(folder):
        return _draw(place, folder, choices, tell)
    sample = read_sample(folder)
    _refuse_others(sample, choices)
    if not _grows(sample, choices):
        return sample
    if sample.design == "poisson":
        raise PolicyError(
            f"{folder}: drawn for a decision, it grows by its own batches: trueval golden next. Leave out --size, "
            "--raters, --order and --answers."
        )
    # The labels stay locked meanwhile, so that no other process serves the audit while it changes.
    with AuditStore.open(folder):
        return _enlarge(sample, place, folder, choices, tell)


def _draw(place: Path, folder: Path, choices: SampleChoices, tell: Tell) -> AuditManifest:
    """Draw the first sample."""
    design = choices.design or DESIGNS[0]
    if design not in DESIGNS:
        raise PolicyError(f"design must be one of {', '.join(DESIGNS)}. Got {design!r}.{nearest(design, DESIGNS)}")
    if choices.measure is not None and not choices.runs:
        raise PolicyError(
            f"measure {choices.measure} has no run to weigh passages by. Name one or more, or leave it out."
        )
    source = read_source(place, choices.collection)
    runs = [Run.read(str(run)) for run in choices.runs]
    measure = parse(choices.measure or MEASURE)
    size, seed = choices.size or SIZES[design], choices.seed or 0
    people = population_of(source.judgments, design, size, labels=source.labels, runs=runs, measure=measure)
    about = {
        "trueval": __version__,
        "written": date().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "size": size,
        "source": "golden set" if source.is_golden else strip_folders(str(source.file)),
        "qrels": file_hash(source.file),
        "judgments": judgments_hash(source.judgments),
        "questions": source.questions,
        "measure": str(measure) if runs else None,
        "runs": [{"name": run.name, "sha256": file_hash(file)} for run, file in zip(runs, choices.runs, strict=True)],
        "judged": len(people.members),
        "unjudged": sum(each["grade"] is None for each in source.labels)
        + int((source.judgments.frame["grade"] < 0).sum()),
    }
    if (shows := read_shows(choices.collection)) != PASSAGES:
        about["shows"] = shows
    scale = choices.scale or grade_scale(source)
    check_scale(scale, source)
    empty = AuditManifest(design, seed, choices.raters or 1, {"grade": scale}, (), (), about)
    return _fill_sample(empty, people, source, folder, choices, tell)


def _enlarge(sample: AuditManifest, place: Path, folder: Path, choices: SampleChoices, tell: Tell) -> AuditManifest:
    """Draw a larger sample that begins with the existing one."""
    source = read_source(place, choices.collection)
    asked = sample.about.get("questions") in (None, source.questions)  # None: a sample that did not record it
    if file_hash(source.file) != sample.about["qrels"] or not asked:
        what = "judgments" if asked else "questions of the golden set"
        raise InputError(
            f"{source.file}: the {what} changed since the sample was drawn, so it cannot grow. Serve it as it is, "
            "or draw another one with --out."
        )
    share = {each.name: each.share for each in sample.strata}
    people = read_population(folder, sample.design, share)
    more = replace(
        sample,
        raters=choices.raters or sample.raters,
        about={**sample.about, "size": choices.size or sample.about["size"]},
    )
    return _fill_sample(more, people, source, folder, choices, tell)


def _fill_sample(
    sample: AuditManifest, people: Population, source: Source, folder: Path, choices: SampleChoices, tell: Tell
) -> AuditManifest:
    """Write a sample with all requested items to its folder."""
    texts = open_texts(source, choices.collection, tell)
    if sample.items:
        texts.found.update(read_texts(folder, sample.items))
    by_task = {task: tuple(each for each in sample.items if each.task == task) for task in TASKS}
    grades = by_task["grade"]
    before = [JudgedMember(each.query, each.documents[0], each.stratum) for each in grades]
    members = draw_passages(people, sample.about["size"], sample.seed, before)
    by_task["grade"] = (*grades, *items_of(members[len(before) :], sample.seed, sample.scales["grade"], texts))
    scales, about = dict(sample.scales), dict(sample.about)
    if choices.order is not None:
        by_task["order"], about["order"] = _make_order_items(source, choices, sample, by_task["order"], texts)
        scales["order"] = ORDER_SCALE
    if choices.answers is not None:
        by_task["answer"], about["answers"] = _make_answer_items(choices.answers, sample, texts)
        scales["answer"] = ANSWER_SCALE
    full = replace(
        sample,
        scales=scales,
        strata=strata_of(people, members),
        items=tuple(each for task in scales for each in by_task[task]),
        about=about,
    )
    write_sample(folder, full, texts.found, people.write)
    return full


def _make_order_items(
    source: Source, choices: SampleChoices, sample: AuditManifest, before: tuple[Item, ...], texts: TextTable
) -> tuple[tuple[Item, ...], dict[str, object]]:
    """The items of the task `order`, and their entry in sample.json."""
    ranked = source.ranked or next((Run.read(str(run)) for run in choices.runs), None)
    if ranked is None:
        raise PolicyError(
            f"{source.file}: nothing is ranked there, so no order can be checked. Refine the golden set, or name a run."
        )
    known, lists = sample.about.get("order"), neighbors_of(ranked)
    about: dict[str, Any] = {
        "lists": min(choices.order or 0, len(lists)),
        "population": len(lists),
        "top": TOP,
        "run": ranked.name,
    }
    about["sha256"] = file_hash(Path(ranked.source))
    if known is not None and known["sha256"] != about["sha256"]:
        raise InputError(
            f"{ranked.source}: the lists changed since some were drawn, so no more can be drawn. Draw another audit "
            "with --out."
        )
    return order_items(lists, choices.order or 0, sample.seed, texts, before), about


def _make_answer_items(
    answers: Path, sample: AuditManifest, texts: TextTable
) -> tuple[tuple[Item, ...], dict[str, Any]]:
    """The items of the task `answer`, and their entry in sample.json."""
    found = read_answers(answers, texts.collection.queries)
    systems = dict(sorted(Counter(each.system for each in found).items()))
    about = {"file": strip_folders(str(answers)), "sha256": file_hash(answers), "systems": systems}
    return answer_items(found, sample.seed, texts), about


def _refuse_others(sample: AuditManifest, choices: SampleChoices) -> None:
    """Refuse options that differ from those of the existing sample, all in one error."""
    about = sample.about
    hashes = sorted(each["sha256"] for each in about["runs"])  # runs are compared regardless of order
    asked: dict[str, tuple[Any, Any]] = {
        "design": (choices.design, sample.design),
        "seed": (choices.seed, sample.seed),
        "scale": (choices.scale, sample.scales["grade"]),
        "measure": (None if choices.measure is None else str(parse(choices.measure)), about["measure"]),
        "runs": (sorted(file_hash(run) for run in choices.runs) or None, hashes),
        "answers": (
            None if choices.answers is None or "answers" not in about else file_hash(choices.answers),
            about.get("answers", {}).get("sha256"),
        ),
    }
    differing = [
        f"{name} ({_describe_choice(was)})" for name, (now, was) in asked.items() if now is not None and now != was
    ]
    shrunk = [
        f"{name} ({was}, which may only grow)"
        for name, now, was in (
            ("size", choices.size, about["size"]),
            ("raters", choices.raters, sample.raters),
            ("order", choices.order, about.get("order", {}).get("lists", 0)),
        )
        if now is not None and now < was
    ]
    if differing or shrunk:
        raise PolicyError(
            f"the sample was drawn with other choices: {', '.join(differing + shrunk)}. Leave them out to go on with "
            "it, or draw another one with --out."
        )


def _describe_choice(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)} runs, of these files" if value else "none"
    return " to ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _grows(sample: AuditManifest, choices: SampleChoices) -> bool:
    """Whether more items are requested than the sample has."""
    about = sample.about
    return (
        (choices.size or 0) > about["size"]
        or (choices.raters or 0) > sample.raters
        or (choices.order or 0) > about.get("order", {}).get("lists", 0)
        or (choices.answers is not None and "answers" not in about)
    )
