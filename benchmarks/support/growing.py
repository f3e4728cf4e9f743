"""Work of growing size, each case in a process of its own: `python growing.py CASE SIZE` prints what it took as JSON.

A case prepares what it needs and returns the work, of which alone the seconds of processors are counted; memory is the
peak of the process. Cases that run a whole command count its process.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

Work = Callable[[], object]
LABEL: Final = {"grade": 3, "note": "", "seconds": 1.0, "time": "2026-01-01T00:00:00Z"}


class Case(NamedTuple):
    """Work whose size grows.

    Attributes:
        prepare: makes the work of a size.
        sizes: that are measured.
        unit: what a size counts.
        most: the exponent that it may have.
        before: what the issue that asked for it measured, in words.
    """

    prepare: Callable[[int], Work]
    sizes: tuple[int, int, int]
    unit: str
    most: float
    before: str


def sentences(megabytes: int) -> Work:
    """One document without line feeds, cut into sentences."""
    from trueval.retrieval.chunking.sentence_ends import sentence_spans

    words = "The wing of Mr. A. Smith lifts 3.5 kg. It flows, e.g. in Fig. 2 of the report. "
    text = words * (megabytes * 1_000_000 // len(words))
    return lambda: list(sentence_spans(text))


def frontier(configurations: int) -> Work:
    """Qualities drawn, and the share of resamples in which each configuration is on the frontier."""
    from trueval.tradeoff.quality.pareto import Objectives, on_frontier
    from trueval.tradeoff.quality.resamples import draw_qualities, features_of

    rng = np.random.default_rng(0)
    cost, latency = rng.uniform(0.2, 5, configurations), np.exp(rng.normal(-1.5, 0.6, configurations))
    values = rng.normal(0.6, 0.05, configurations) + rng.normal(0, 0.2, (100, 1))
    values = values + rng.normal(0, 0.2, (100, configurations))

    def work() -> None:
        drawn = draw_qualities(values, 0 * values, features_of(cost, latency), resamples=2000, seed=0, threads=2)
        on_frontier(Objectives(cost[:, None], latency[:, None], drawn.values))

    return work


def duplicates(texts: int) -> Work:
    """A list whose documents all say the same."""
    from trueval import Run
    from trueval.retrieval.pipeline.suppress import suppress_duplicates

    said = {f"d{number}": "wings lift planes and the flow is steady along the plate" for number in range(texts)}
    run = Run.from_dict({"q": {name: float(texts - place) for place, name in enumerate(said)}})
    return lambda: suppress_duplicates(run, said)


def integers(count: int) -> Work:
    """The different ones of integers that mostly differ: a sort, n log n, most of it in memory that is new."""
    from trueval.numerics import distinct

    values = np.random.default_rng(0).integers(0, 1 << 60, count)
    return lambda: distinct(values)


def bm25(documents: int) -> Work:
    """Indexes of three values of k1."""
    from trueval.retrieval.indexes.index import make_index

    texts = _texts(documents, 30_000, 50)
    return lambda: [make_index(f"bm25(k1={k1})").build(texts) for k1 in (0.9, 1.2, 2.0)]


def bm25_build(documents: int) -> Work:
    """One index of texts of 298 characters; most words of the vocabulary are rare."""
    from trueval.retrieval.indexes.index import make_index

    texts = _texts(documents, 300_000, 58)
    return lambda: make_index("bm25").build(texts)


def saved(queries: int) -> Work:
    """A run of 100 documents a query, evaluated and saved."""
    folder = Path(tempfile.mkdtemp())
    _trec(folder, queries, 1)
    return lambda: _command("evaluate", folder / "qrels.trec", folder / "r0.trec", "--out", folder / "out")


def compared(runs: int) -> Work:
    """Runs of 200 queries and 50 documents, tied in part, each compared with each on the usual measures."""
    folder = Path(tempfile.mkdtemp())
    _trec(folder, 200, runs, 50)
    paths = [folder / f"r{run}.trec" for run in range(runs)]
    return lambda: _command("compare", folder / "qrels.trec", *paths, "--format", "json")


def turns(answers: int) -> Work:
    """A rater who answers every item of an audit."""
    from trueval.golden.audit.store.assignment_queue import AssignmentQueue
    from trueval.golden.audit.store.audit_manifest import Item

    items = {
        f"i{number}": Item(f"i{number}", "grade", "q", (f"d{number}",), "s", ("h",), 1, 5) for number in range(answers)
    }

    def work() -> None:
        held = AssignmentQueue(items, 1)
        for number in range(answers):
            (item,) = held.next_items("ann", 1, None, 0.0)[:1]
            held.show("ann", item, 1e9)
            held.take({"kind": "label", "rater": "ann", "item": item, "number": number, **LABEL})

    return work


def expected_reciprocal_rank(documents: int) -> Work:
    """ERR without a cutoff of ten queries whose documents all tie, with any of 61 grades."""
    import trueval as tv

    rng = np.random.default_rng(0)
    scores, grades = np.zeros((10, documents)), rng.integers(0, 61, (10, documents)) * 1.0
    return lambda: tv.evaluate_arrays(scores, grades, "ERR(gmax=60)")


def eleven_points(documents: int) -> Work:
    """11pt_avg of five queries with about 20 different scores, one document in twenty relevant."""
    import trueval as tv

    rng = np.random.default_rng(0)
    grades = (rng.random((5, documents)) < 0.05).astype(float)
    scores = np.round(3 * (rng.normal(0, 1, grades.shape) + grades))
    return lambda: tv.evaluate_arrays(scores, grades, "11pt_avg")


def tied(documents: int) -> Work:
    """One list of documents that all tie, one in a hundred relevant, on 12 measures with sd."""
    import trueval as tv

    grades = (np.arange(documents) % 100 == 7)[None].astype(float)
    scores = np.zeros((1, documents))
    return lambda: tv.evaluate_arrays(scores, grades, "nDCG@10 AP RR@10 P@10 R@100 R@1000")


def probed_names(queries: int) -> Work:
    """The probe of names with BM25."""
    from trueval.probes.authors import sample_people
    from trueval.probes.margin_summary import summarise
    from trueval.probes.names import design_names, probe_scorer
    from trueval.probes.scorer_request import ScorerRequest
    from trueval.probes.scorers import ProbeScorers

    people = sample_people("en")
    (scorer,) = ProbeScorers(ScorerRequest(bm25=True)).scorers("en")
    return lambda: summarise([probe_scorer(scorer, design_names(people, language="en", queries=queries, runs=5))])


def self_test(checks: int) -> Work:
    """A gate of some checks of 200 queries, 200 swapped worlds."""
    import trueval as tv
    from trueval.comparison.gate.self_test import self_test as tested
    from trueval.comparison.limits import MaxDrop

    folder = Path(tempfile.mkdtemp())
    _trec(folder, 200, checks // 5 + 1, 50)
    found = [
        tv.evaluate(folder / f"r{run}.trec", folder / "qrels.trec", "nDCG@10 AP RR@10 P@10 R@20")
        for run in range(checks // 5 + 1)
    ]
    return lambda: tested(found, [MaxDrop(None, 0.01)], baseline=found[0].name, worlds=200)


def corpus(documents: int) -> Work:
    """500 queries of 5 judged documents over a whole corpus of 384 dimensions, the product in it."""
    import trueval as tv
    from trueval.policy.policy import OURS
    from trueval.retrieval.exhaustive import Embeddings
    from trueval.standings.counting import count

    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((documents, 384), dtype=np.float32)
    queries = rng.standard_normal((500, 384), dtype=np.float32)
    names = [f"q{number}" for number in range(500)], [f"d{number}" for number in range(documents)]
    source = Embeddings(queries, vectors, *names)
    judged = {name: {f"d{place}": 1 for place in rng.integers(0, documents, 5).tolist()} for name in names[0]}
    judgments = tv.Judgments.from_dict(judged)
    return lambda: count(source, judgments, OURS)


def plan(configurations: int) -> Work:
    """The plan of a sweep file that lists its configurations one by one; the modules of tables are loaded before."""
    from trueval.tradeoff.config.plan import SweepPlan

    file = Path(tempfile.mkdtemp()) / "sweep.toml"
    listed = (f"[[configuration]]\nname = 'c{each}'\nembed.dimension = {each + 1}\n" for each in range(configurations))
    file.write_text("[corpus]\npath = 'c'\n[embed]\nmodel = 'm'\n[sparse]\n" + "".join(listed))
    return lambda: SweepPlan.read(file)


CASES: Final = {
    "sentences of one line": Case(sentences, (1, 4, 16), "MB", 1.1, "4 MB 18 s, 16 MB over 60 s"),
    "frontier": Case(frontier, (500, 1000, 2000), "configurations", 3.0, "1,000: 12 s, 2,000: 60 s, 1 GiB"),
    "plan of a sweep": Case(plan, (500, 1000, 2000), "configurations", 1.1, "1,000: .42 s, load 8"),
    "near duplicates": Case(duplicates, (5_000, 10_000, 20_000), "identical texts", 1.1, "8,000: 23 s, 4.6 GiB"),
    "different integers": Case(integers, (1_000_000, 4_000_000, 16_000_000), "integers", 1.1, "75 times a sort"),
    "bm25 of three k1": Case(bm25, (12_500, 25_000, 50_000), "documents", 1.1, "3.5 s a value at 100,000"),
    "bm25 build": Case(bm25_build, (100_000, 200_000, 400_000), "documents", 1.1, "400,000: 40 s"),
    "evaluate --out": Case(saved, (5_000, 10_000, 20_000), "queries", 1.1, "20,000: 5.05 s, 537 MiB"),
    "turns of an audit": Case(turns, (4_000, 8_000, 16_000), "answers", 1.1, "3 ms an answer at 18,600"),
    "probe names": Case(probed_names, (400, 800, 1600), "queries", 1.1, "1,600: 874 MiB, as n^1.9"),
    "ERR of a tie": Case(expected_reciprocal_rank, (2_500, 5_000, 10_000), "documents", 2.0, "50 queries 8.6 s"),
    "11pt_avg of ties": Case(eleven_points, (2_500, 5_000, 10_000), "documents", 2.0, "10,000: 6.9 s; 50 queries 54 s"),
    "compare": Case(compared, (15, 30, 60), "runs", 2.0, "60: 20 s"),
    "self-test": Case(self_test, (5, 20, 80), "checks", 1.1, ".84 s a check of 1,000 worlds"),
    "whole corpus": Case(corpus, (25_000, 50_000, 100_000), "documents", 1.1, "100,000: 1.13 s; 1.41 s counted twice"),
    "one tie": Case(tied, (250_000, 500_000, 1_000_000), "documents", 1.1, "84 ms with sd"),
}


def _texts(documents: int, vocabulary: int, words: int) -> list[str]:
    """Texts of so many words each, by Zipf's law, made some at a time."""
    rng, share = np.random.default_rng(0), 1 / np.arange(1, vocabulary + 1)
    chances, texts = share / share.sum(), list[str]()
    while len(texts) < documents:
        drawn = rng.choice(vocabulary, (min(10_000, documents - len(texts)), words), p=chances)
        texts += [" ".join(f"w{word}" for word in row) for row in drawn.tolist()]
    return texts


def _trec(folder: Path, queries: int, runs: int, documents: int = 100) -> None:
    """Judgments and runs with ties; later runs are a little better."""
    rng = np.random.default_rng(0)
    relevant = [rng.choice(1000, 10, replace=False) for _ in range(queries)]
    with (folder / "qrels.trec").open("w") as file:
        file.writelines(f"q{query} 0 d{each} 1\n" for query, found in enumerate(relevant) for each in found.tolist())
    for run in range(runs):
        with (folder / f"r{run}.trec").open("w") as file:
            for query, found in enumerate(relevant):
                others = rng.choice(1000, documents, replace=False)
                listed = np.array(list(dict.fromkeys([*found.tolist(), *others.tolist()]))[:documents])
                scores = np.round(rng.normal(0, 1, documents) + np.isin(listed, found) * (1 + 0.02 * run), 2)
                order = np.argsort(-scores, kind="stable")
                ranked = zip(listed[order].tolist(), scores[order].tolist(), strict=True)
                file.writelines(
                    f"q{query} Q0 d{one} {rank} {score} r{run}\n" for rank, (one, score) in enumerate(ranked)
                )


def _command(*words: Any) -> None:
    subprocess.run([sys.executable, "-m", "trueval", *map(str, words)], check=True, capture_output=True)


def _spent() -> float:
    """Seconds of processors, of this process and of those that it ran."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + found.ru_utime + found.ru_stime


def _peak() -> float:
    """MiB of this process, or of the largest that it ran."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


if __name__ == "__main__":
    ready = CASES[sys.argv[1]].prepare(int(sys.argv[2]))
    began = _spent()
    ready()
    print(json.dumps({"seconds": round(_spent() - began, 4), "mebibytes": round(_peak())}))
