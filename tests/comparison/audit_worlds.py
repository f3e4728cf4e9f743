"""Worlds in which people audit a judge: simulated queries, and the real judges of LLMJudge with pseudo-runs."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.both_labels import LabelSets, PairedValues, Sides
from trueval.comparison.labels.contributions import Contributions, contributions
from trueval.comparison.labels.document_design import Strata, merge_strata
from trueval.judgments import Judgments
from trueval.measures import parse
from trueval.policy.policy import OURS
from trueval.run import Run

LLMJUDGE = Path(__file__).parents[3] / "shared" / "data" / "labels" / "llmjudge"
SCALE = (0.0, 3.0)
BROKEN = "h2oloo-zeroshot2"  # gave one passage the grade 10


def simulated(rng: np.random.Generator, queries: int, correlation: float) -> PairedValues:
    """Values of queries as precision has them: tenths, of which people leave a fifth at 0 and the judge fewer.

    Args:
        rng: of the world.
        queries: how many.
        correlation: of the normal values behind.
    """
    from scipy.special import betaincinv, ndtr

    people, own = rng.standard_normal((2, queries))
    judge = correlation * people + np.sqrt(1 - correlation**2) * own
    values = [np.round(10 * betaincinv(a, b, ndtr(z))) / 10 for a, b, z in ((1.2, 1.8, people), (2.0, 1.6, judge))]
    return PairedValues(values[1], values[0], np.ones(queries, dtype=bool), np.zeros(queries, dtype=bool))


@cache
def mean_of_worlds() -> float:
    """The mean of people's values over all queries there could be."""
    from scipy.special import betainc

    edges = betainc(1.2, 1.8, np.clip(np.arange(0.05, 1.05, 0.1), 0, 1))
    return float(np.diff(np.concatenate([[0.0], edges, [1.0]])) @ (np.arange(11) / 10))


def judge_names() -> list[str]:
    if not LLMJUDGE.is_dir():
        pytest.skip("needs the labels of LLMJudge in ../shared/data/labels/llmjudge")
    return sorted(path.name.removesuffix(".qrels.gz") for path in (LLMJUDGE / "judges").glob("*.gz"))


@cache
def grades(name: str) -> pl.DataFrame:
    """query_id, doc_id, grade; of the judge that gave a 10 the greatest grade there is."""
    path = LLMJUDGE / "human.qrels" if name == "human" else LLMJUDGE / "judges" / f"{name}.qrels.gz"
    text = path.read_text() if name == "human" else gzip.decompress(path.read_bytes()).decode()
    rows = [line.split() for line in text.splitlines()]
    columns = {"query_id": [row[0] for row in rows], "doc_id": [row[2] for row in rows]}
    return pl.DataFrame(columns).with_columns(grade=pl.Series([min(float(row[3]), SCALE[1]) for row in rows]))


@cache
def judgments(name: str) -> Judgments:
    return Judgments.from_frame(grades(name))


@cache
def pseudo_run(name: str) -> Run:
    """A ranking by the labels of a judge: many ties."""
    return Run.from_frame(grades(name).rename({"grade": "score"}))


@cache
def census() -> AuditSample:
    """All passages, as if people had graded every one: what samples are drawn from."""
    people = grades("human")
    return AuditSample(
        "documents", people.select("query_id", "doc_id", stratum=pl.lit("all")), people, {"all": len(people)}, SCALE
    )


class World(NamedTuple):
    """A judge, a pseudo-run and a measure.

    Attributes:
        added: what passages add, people's grades known of all.
        owner: [passage] number of its query.
        grade: [passage] by the judge.
        weight: [passage] what it would add with the greatest grade.
    """

    added: Contributions
    owner: NDArray[np.int64]
    grade: NDArray[np.float64]
    weight: NDArray[np.float64]

    @property
    def truth(self) -> float:
        """The mean over queries if people graded everything."""
        return float(self.added.people.sum() / len(self.added.there))

    def again(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """As many queries, drawn with replacement: a sample of new ones, as numbers of the old."""
        return rng.integers(0, len(self.added.there), len(self.added.there))

    def of_queries(self, queries: NDArray[np.int64]) -> tuple[Contributions, NDArray[np.int64], NDArray[np.int64]]:
        """Contributions, numbers of queries and passages of some queries, which may be there several times."""
        rows = [np.flatnonzero(self.owner == query) for query in queries.tolist()]
        take = np.concatenate(rows)
        added = Contributions(self.added.judge[take], self.added.people[take], self.added.constant, self.added.there)
        return added, np.repeat(np.arange(len(rows)), [len(each) for each in rows]), take


@cache
def world(judge: str, run: str, measure: str) -> World:
    labels = LabelSets(judgments(judge), census(), OURS)
    best = Judgments.from_frame(grades(judge).with_columns(grade=pl.lit(SCALE[1])))
    added, weight = (
        contributions(Sides.of(pseudo_run(run), each), parse(measure))
        for each in (labels, LabelSets(best, census(), OURS))
    )
    assert not isinstance(added, str)
    assert not isinstance(weight, str)
    return World(added, labels.owner, labels.judge.frame["grade"].to_numpy(), weight.judge)


class Drawing(NamedTuple):
    """How passages are drawn.

    Attributes:
        names: [stratum].
        of_passage: [passage] its stratum.
        share: stratum → its share of a sample.
    """

    names: tuple[str, ...]
    of_passage: NDArray[np.int64]
    share: dict[str, float]


@cache
def drawing(judge: str, run: str, measure: str, size: int) -> Drawing:
    """The strata of `trueval golden audit`."""
    of_audit = pytest.importorskip(
        "trueval.golden.audit.sampling.strata", reason="needs the strata of trueval golden audit"
    )
    found = world(judge, run, measure)
    rows = zip(found.grade.tolist(), found.weight.tolist(), strict=True)
    passages = [of_audit.JudgedPassage("q", "d", grade, None, weight) for grade, weight in rows]
    strata = of_audit.assign_strata(passages, size)
    names = sorted(set(strata))
    codes = np.array([names.index(name) for name in strata], dtype=np.int64)
    return Drawing(tuple(names), codes, of_audit.shares(passages, strata))


class Sampled(NamedTuple):
    """A stratified sample of passages: rows and their strata."""

    rows: NDArray[np.int64]
    strata: Strata


def sample(rng: np.random.Generator, drawn: Drawing, size: int) -> Sampled:
    """Draw passages as `trueval golden audit` does.

    Args:
        rng: of the draw.
        drawn: from which strata.
        size: of the sample.
    """
    from trueval.golden.audit.sampling.strata import allocate_sample

    own = {name: np.flatnonzero(drawn.of_passage == at) for at, name in enumerate(drawn.names)}
    sizes = {name: len(members) for name, members in own.items() if len(members)}
    counts = allocate_sample({name: drawn.share[name] for name in sizes}, sizes, size)
    rows = np.concatenate([rng.choice(own[name], counts[name], replace=False) for name in sizes])
    return Sampled(rows, merge_strata(sizes, [drawn.names[at] for at in drawn.of_passage[rows].tolist()]))
