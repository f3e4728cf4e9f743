"""Label sources: whether results use the judge's grades, people's, or people's where they exist.

No file is written: people's labels never replace the judge's on disk, only in memory.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from trueval.comparison.labels.audit_batches import KEYS
from trueval.comparison.labels.audit_sample import SAMPLE, AuditSample, no_labels
from trueval.errors import InputError, PolicyError
from trueval.evaluation.content_hashes import judgments_hash
from trueval.judgments import Judgments, judgments_file
from trueval.policy.policy import OURS
from trueval.report.number_texts import count_phrase
from trueval.standings.standings import Bools

# Labels behind a result. "corrected" evaluates with the judge's labels, and gates use the corrected values.
JUDGE: Final = "judge"
CORRECTED: Final = "corrected"
PEOPLE: Final = "people"
PEOPLE_FIRST: Final = "people-first"
LABELS: Final = (JUDGE, CORRECTED, PEOPLE, PEOPLE_FIRST)

GOLDEN, FOLDER = "golden.json", "audit"  # file of a golden set


def audit_beside(qrels: str) -> Path | None:
    """The audit stored with a golden set; None where the judgments are no golden set or have no audit.

    Args:
        qrels: the folder of a golden set, or the file qrels.trec in it.
    """
    if qrels == "-":
        return None
    folder = Path(str(judgments_file(qrels))).parent / FOLDER
    return folder if (folder / SAMPLE).is_file() else None


class LabelSource(NamedTuple):
    """Judgments and their audit, as a command uses them.

    Attributes:
        judge: the judge's grades, after any mapping of grades.
        used: the judgments that values are computed with.
        audited: people's labels, mapped the same way; None if there is no audit, or it cannot be used.
        notes: why the audit cannot be used.
    """

    judge: Judgments
    used: Judgments
    audited: AuditSample | None
    notes: tuple[str, ...] = ()


def join(
    judgments: Judgments,
    folder: Path | None,
    labels: str = JUDGE,
    *,
    grades: Mapping[float, float] | None = None,
    found: bool = False,
) -> LabelSource:
    """Read an audit and match it with the judgments that it was drawn from.

    Args:
        judgments: judgments as read, before grades are mapped.
        folder: folder of the audit; None if there is none.
        labels: one of LABELS.
        grades: grade in files → grade to use, for both the judge's and people's; None keeps them.
        found: whether the folder was found rather than named: then a fault in it is a note, unless its labels are
            requested.

    Raises:
        InputError: labels of people are asked for and there is no audit; it is damaged, of other judgments, or nobody
            has answered; a grade has no mapping.
        PolicyError: as in `select_labels`.
    """
    _check_labels(labels)
    mapped = judgments if grades is None else judgments.map_grades(grades)
    if folder is None:
        if labels != JUDGE:
            raise InputError(
                f"--labels {labels} needs an audit: name its folder with --audit, or make one by trueval golden audit."
            )
        return LabelSource(mapped, mapped, None)
    try:
        audited = AuditSample.read(folder)
        refuse_other(judgments, audited, folder)
        said = under_grades(audited, grades)
    except InputError as error:
        if labels != JUDGE or not found:
            raise
        return LabelSource(mapped, mapped, None, (f"{error} Values are not corrected.",))
    if not len(audited.labels):
        if labels != JUDGE:
            raise no_labels(audited, folder)
        return LabelSource(mapped, mapped, None, (f"{no_labels(audited, folder)} Values are not corrected.",))
    used = select_labels(judgments, audited, labels)
    return LabelSource(mapped, used if grades is None else used.map_grades(grades), said)


def refuse_other(judgments: Judgments, audited: AuditSample, folder: Path) -> None:
    """Refuse an audit of other judgments: its strata and sampling probabilities would not apply.

    Args:
        judgments: judgments as read.
        audited: audit as read from the folder.
        folder: folder of the audit.

    Raises:
        InputError: the sample was drawn from other grades or with other questions, holds passages that nobody judged
            here, or people's scale is not the judge's.
    """
    if not _same(judgments, folder):
        raise InputError(
            f"{folder}: drawn from other judgments than {judgments.source} holds now. Name those that it was drawn "
            "from, or draw a new audit with trueval golden audit."
        )
    golden = Path(judgments.source).parent / GOLDEN
    if not _asks_the_same(golden, folder):
        raise InputError(
            f"{folder}: people graded other questions than {golden} asks now, under the same ids. Draw a new audit "
            "with trueval golden audit --out, or build the golden set with the questions that it had."
        )
    from trueval.comparison.labels.both_labels import (
        LabelSets as Both,  # late, as below: every evaluation looks for an audit
    )

    Both(judgments, audited, OURS).check()


def _check_labels(labels: str) -> None:
    if labels not in LABELS:
        raise PolicyError(f"labels must be one of {', '.join(LABELS)}. Got {labels!r}.")


def _same(judgments: Judgments, folder: Path) -> bool:
    """Whether a sample was drawn from these judgments, as far as its sample.json tells.

    "judgments" is the hash of their rows; "qrels" is the hash of the bytes of their file, which only an exact copy
    matches.
    """
    about = json.loads((folder / SAMPLE).read_text(encoding="utf-8"))
    if isinstance(about.get("judgments"), str):
        return bool(about["judgments"] == judgments_hash(judgments))
    file = Path(judgments.source)
    if not isinstance(about.get("qrels"), str) or not file.is_file():
        return True
    with file.open("rb") as opened:
        return bool(about["qrels"] == hashlib.file_digest(opened, "sha256").hexdigest())


def _asks_the_same(golden: Path, folder: Path) -> bool:
    """Whether the questions of a golden set are those the sample was drawn with, as far as both record them.

    Grades can be equal while questions differ: the hash of the judgments does not cover the questions.
    """
    try:
        asked = json.loads((folder / SAMPLE).read_text(encoding="utf-8")).get("questions")
        now = json.loads(golden.read_text(encoding="utf-8"))["collection"]["sha256"]["queries"]
    except (OSError, ValueError, KeyError, TypeError):
        return True  # plain judgments, or made by a program that writes no hashes
    return asked is None or bool(asked == now)


def select_labels(judgments: Judgments, audited: AuditSample, labels: str) -> Judgments:
    """The judgments with the requested grades.

    Args:
        judgments: the judge's judgments, unchanged since the sample was drawn.
        audited: people's labels of the same passages.
        labels: one of LABELS; "judge" and "corrected" leave the judgments unchanged.

    Raises:
        InputError: nobody has answered, or no query as a whole.
        PolicyError: the labels are not known, or the design of the audit, or facets, do not allow them.
    """
    _check_labels(labels)
    if labels in (JUDGE, CORRECTED):
        return judgments
    _refuse_facets(judgments, labels)
    return people_only(judgments, audited) if labels == PEOPLE else people_first(judgments, audited)


def people_only(judgments: Judgments, audited: AuditSample) -> Judgments:
    """Judgments restricted to the queries in which people graded every judged document, with people's grades only.

    These queries are a simple random sample of all queries, so intervals over them are valid.

    Args:
        audited: an audit of the design "queries".

    Raises:
        InputError: no query is graded as a whole.
        PolicyError: the design graded single passages: what people leave out of a query would count as not relevant.

    >>> from trueval import Judgments
    >>> from trueval.comparison.labels.audit_sample import AuditSample
    >>> ids = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "a"], "stratum": ["queries"] * 3})
    >>> said = ids.select("query_id", "doc_id").head(2).with_columns(grade=pl.Series([0.0, 1.0]))
    >>> audited = AuditSample("queries", ids, said, {"queries": 9}, (0.0, 1.0))
    >>> people_only(Judgments.from_dict({"q1": {"a": 1, "b": 1}, "q2": {"a": 1}}), audited).frame.rows()
    [('q1', 'a', 0.0), ('q1', 'b', 1.0)]
    """
    if audited.design != "queries":
        raise PolicyError(
            f"--labels {PEOPLE} needs an audit of whole queries (design queries). In this one people graded single "
            f"passages (design {audited.design}). --labels {CORRECTED} estimates from them, with people's own estimate "
            "beside."
        )
    from trueval.comparison.labels.both_labels import LabelSets as Both

    asked, whole = audited.items["query_id"].n_unique(), Both(judgments, audited, OURS).whole
    if not whole.any():
        raise InputError(
            f"The audit: no query is graded as a whole yet, and {len(audited.labels):,} passages are. "
            f"--labels {PEOPLE} needs whole queries: grade on with trueval golden audit."
        )
    count = int(whole.sum())
    note = f"labels: people's alone, of {count_phrase(count, 'query', 'queries')} that they graded as a whole."
    open_ones = sum(judgments.query_ids.filter(pl.Series(whole)).is_in([query]).any() for query, _ in audited.skipped)
    if open_ones:
        left = count_phrase(open_ones, "passage", "passages")
        note = f"{note[:-1]}; {left} that they skipped {'keeps' if open_ones == 1 else 'keep'} the judge's grade."
    if asked > count:
        left = count_phrase(asked - count, "query", "queries")
        note = f"{note[:-1]}; {left} of the sample {'is' if asked - count == 1 else 'are'} not done and left out."
    return _add_note(audited.over(_of_queries(judgments, whole)), note)


def people_first(judgments: Judgments, audited: AuditSample) -> Judgments:
    """The judgments with people's grades where they exist, and the judge's elsewhere.

    Args:
        audited: people's labels of some of them.
    """
    said = judgments.frame.join(audited.labels, on=list(KEYS), how="semi").height
    note = (
        f"labels: people's for {said:,} of {len(judgments.frame):,} passages, the judge's for the others. Values of "
        f"such a mixture have no stated coverage; --labels {CORRECTED} has."
    )
    return _add_note(audited.over(judgments), note)


def under_grades(audited: AuditSample, mapping: Mapping[float, float] | None) -> AuditSample:
    """People's labels on the grades that the judgments are mapped to.

    Args:
        audited: labels on the scale of the audit.
        mapping: grade in files → grade to use; None where grades stay as they are.

    Raises:
        InputError: a grade that people gave has no mapping.
    """
    if mapping is None:
        return audited
    grades = audited.labels["grade"]
    missing = [grade for grade in grades.unique().sort() if grade not in mapping]
    if missing:
        raise InputError(
            f"--grades: people gave the grade {missing[0]:g}, which has no mapping. Got: "
            f"{', '.join(f'{old:g}:{new:g}' for old, new in mapping.items())}. Map every grade of the audit's scale, "
            f"{audited.scale[0]:g} to {audited.scale[1]:g}."
        )
    mapped = grades.replace({float(old): float(new) for old, new in mapping.items()})
    ends = (min(mapping.values()), max(mapping.values()))
    return dataclasses.replace(audited, labels=audited.labels.with_columns(grade=mapped), scale=ends)


def _refuse_facets(judgments: Judgments, labels: str) -> None:
    if "facet" in judgments.frame.columns:
        raise PolicyError(
            f"--labels {labels} needs judgments without facets: people grade passages, not facets. Remove their column."
        )


def _of_queries(judgments: Judgments, chosen: Bools) -> Judgments:
    """The judgments of the given queries."""
    counts = np.diff(judgments.offsets)
    rows = np.repeat(chosen, counts)
    codes = judgments.source_codes
    return dataclasses.replace(
        judgments,
        frame=judgments.frame.filter(pl.Series(rows)),
        query_ids=judgments.query_ids.filter(pl.Series(chosen)),
        offsets=np.concatenate(([0], np.cumsum(counts[chosen]))).astype(np.int64),
        source_codes=None if codes is None else codes[rows],
    )


def _add_note(judgments: Judgments, note: str) -> Judgments:
    return dataclasses.replace(judgments, notes=(*judgments.notes, note))
