"""trec_eval's own printed outputs: every value that our measures cover, per query, to the printed digits."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

from trueval.errors import MeasureError
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.views.kind import EVALUATE
from trueval.judgments import Judgments
from trueval.measures import parse
from trueval.measures.aliases import trec_name
from trueval.rag.evaluate_files import evaluate_files
from trueval.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from trueval.evaluation.scores import Scores

HALF_A_DIGIT = 0.5e-4 + 1e-9
GRADED_RBP = "RBP(p=0.9, scale={})"
GAINS = "gain={1: 3, 2: 9, 4: 4.5}"


class Printed(NamedTuple):
    """One line of trec_eval's output."""

    name: str
    query: str  # "all" is the mean
    value: float


class Covered(NamedTuple):
    """How a printed name follows from values of our measures for one query."""

    measures: tuple[str, ...]
    value: Callable[..., float]


def itself(value: float) -> float:
    return value


SET_MEASURES = {
    "map": Covered(("AP",), itself),
    "Rprec": Covered(("Rprec",), itself),
    "recip_rank": Covered(("RR",), itself),
    "ndcg": Covered(("nDCG",), itself),
    "ndcg_1=3,2=9,4=4.5": Covered((f"nDCG({GAINS})",), itself),
    "set_P": Covered(("P",), itself),
    "set_recall": Covered(("R",), itself),
    "set_F": Covered(("F1",), itself),
    "set_map": Covered(("P", "R"), lambda p, r: p * r),
    "set_relative_P": Covered(("P", "R"), max),  # hits / min(listed, N+)
    "num_rel_ret": Covered(("Hits",), itself),
    "rbp": Covered(("RBP(p=0.9)",), itself),
}
CUT_MEASURES = {
    "P": Covered(("P",), itself),
    "recall": Covered(("R",), itself),
    "ndcg_cut": Covered(("nDCG",), itself),
    "map_cut": Covered(("AP",), itself),
    "success": Covered(("Success",), itself),
    "relative_P": Covered(("P", "R"), max),  # hits / min(k, N+)
    "unj": Covered(("Judged",), lambda judged: 1 - judged),
}


def covered(name: str) -> Covered | None:
    if name in SET_MEASURES:
        return SET_MEASURES[name]
    cut = re.fullmatch(r"(\w+?)_(\d+)", name)
    if cut is None or cut[1] not in CUT_MEASURES:
        return None
    measures, value = CUT_MEASURES[cut[1]]
    return Covered(tuple(f"{measure}@{cut[2]}" for measure in measures), value)


def read_printed(path: Path) -> list[Printed]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    fields = [line.split() for line in text.splitlines() if line.strip()]
    return [Printed(name, query, float(value)) for name, query, value in fields if covered(name)]


class Compared(NamedTuple):
    """What a comparison found: how many values it compared and which differ."""

    count: int
    wrong: list[str]


def compare(
    printed: list[Printed], run: Path, qrels: Path, skip: Callable[[Printed], bool], **policy: object
) -> Compared:
    """Compare every covered printed value with the tie-broken value, and where no tie matters with the expected one."""
    texts = {text for line in printed if (found := covered(line.name)) for text in found.measures}
    names = {text: str(parse(text)) for text in sorted(texts)}
    scores = evaluate(
        Run.read(run), Judgments.read(qrels), list(names.values()), convention="trec_eval", missing="worst", **policy
    )
    compared = [line for line in printed if not skip(line)]
    wrong = [f"{line}, ours {ours}" for line in compared for ours in differing(line, scores, names)]
    return Compared(len(compared), wrong)


def differing(line: Printed, scores: Scores, names: dict[str, str]) -> list[float]:
    queries = scores.query_ids if line.query == "all" else (line.query,)
    found = covered(line.name)
    assert found is not None
    tie_broken = [value_of(found, scores, names, query, "tie_broken") for query in queries]
    ours = [mean_of(line.name, tie_broken)]
    if line.query != "all" and all(untied(scores, names[text], line.query) for text in found.measures):
        ours.append(value_of(found, scores, names, line.query, "expected"))
    return [value for value in ours if abs(value - line.value) > HALF_A_DIGIT]


def mean_of(name: str, values: list[float]) -> float:
    """Return the summary of a column: a mean, but trec_eval sums its counts."""
    return sum(values) if name.startswith("num_") else sum(values) / len(values)


def place(scores: Scores, measure: str, query: str) -> tuple[int, int]:
    return scores.query_ids.index(query), [str(m) for m in scores.measures].index(measure)


def value_of(found: Covered, scores: Scores, names: dict[str, str], query: str, statistic: str) -> float:
    values = (getattr(scores, statistic)[place(scores, names[text], query)] for text in found.measures)
    return found.value(*values)


def untied(scores: Scores, measure: str, query: str) -> bool:
    where = place(scores, measure, query)
    return bool(scores.lowest[where] == scores.highest[where])


# file, run, qrels, policy, values compared
OUTPUTS = [
    ("out.test", "results.test", "qrels.test", {}, 13),
    ("out.test.a", "results.test", "qrels.test", {}, 62),
    ("out.test.aq", "results.test", "qrels.test", {}, 248),
    ("out.test.aqc", "results.trunc", "qrels.test", {}, 242),
    ("out.test.aqcM", "results.trunc", "qrels.test", {"depth": 100}, 242),
    ("out.test.aql", "results.test", "qrels.rel_level", {"rel": 2}, 244),
    ("out.test.meas_params", "results.test", "qrels.test", {}, 48),
    ("out.comment.test", "results.comment.test.gz", "qrels.comment.test", {}, 13),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("output", "run", "qrels", "policy", "values"), OUTPUTS, ids=[row[0] for row in OUTPUTS])
def test_every_covered_value_of_trec_evals_own_tests(
    output: str, run: str, qrels: str, policy: dict[str, object], values: int, trec_eval_data: Path
) -> None:
    printed = read_printed(trec_eval_data / output)

    def skip(line: Printed) -> bool:
        if line.name == "rbp" and "rel" in policy:
            return True  # trec_eval turns to grades over the largest grade of each query: its own test below
        # of a query without a list nothing is unjudged for trec_eval, and nothing judged for us
        return line.name.startswith("unj") and run == "results.trunc" and line.query in ("302", "all")

    compared = compare(printed, trec_eval_data / run, trec_eval_data / qrels, skip, **policy)
    assert compared.wrong == []
    assert compared.count == values


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_graded_rank_biased_precision_of_trec_eval(trec_eval_data: Path) -> None:
    """With grades above 1, trec_eval's rbp counts each as its share of the largest grade judged for the query."""
    run, judgments = Run.read(trec_eval_data / "results.test"), Judgments.read(trec_eval_data / "qrels.rel_level")
    printed = [p for p in read_printed(trec_eval_data / "out.test.aql") if p.name == "rbp" and p.query != "all"]
    for line in printed:
        largest = largest_grade(trec_eval_data / "qrels.rel_level", line.query)
        scores = evaluate(run, judgments, [GRADED_RBP.format(largest)], convention="trec_eval")
        assert scores.tie_broken[scores.query_ids.index(line.query), 0] == pytest.approx(line.value, abs=HALF_A_DIGIT)
    assert len(printed) == 3


def largest_grade(qrels: Path, query: str) -> int:
    fields = [line.split() for line in qrels.read_text().splitlines()]
    return max(int(grade) for name, _, _, grade in fields if name == query)


DL_HARD = ["bm25", "bm25+rm3", "bm25+bert(zs)", "bm25+rm3+bert(zs)", "bm25+t5(zs)", "bm25+rm3+t5(zs)"]
DL_HARD_VALUES = 58 * 51  # 58 covered names for each of 50 queries and their mean


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [*DL_HARD[:2], *(pytest.param(n, marks=pytest.mark.evidence) for n in DL_HARD[2:])])
def test_every_covered_value_of_the_dl_hard_outputs(name: str, dl_hard: Path) -> None:
    """The commands were `trec_eval -l 2 -c -M1000 -q -m all_trec`."""
    printed = read_printed(dl_hard / f"{name}.run.eval.gz")
    compared = compare(printed, dl_hard / f"{name}.run.gz", dl_hard / "qrels.trec", lambda _: False, rel=2, depth=1000)
    assert compared.wrong == []
    assert compared.count == DL_HARD_VALUES


def is_own_name(name: str) -> bool:
    """Whether a printed name is trec_eval's for one of our measures."""
    try:
        return trec_name(parse(name)) == name
    except MeasureError:
        return False


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("output", "run", "qrels", "policy"), [row[:4] for row in OUTPUTS if row[0] != "out.test.meas_params"]
)
def test_format_trec_is_line_for_line_what_trec_eval_prints(
    output: str, run: str, qrels: str, policy: dict[str, object], trec_eval_data: Path
) -> None:
    """Whatever of its output we have measures for: names, padding, order, queries, digits."""
    folder = trec_eval_data
    printed = [line for line in (folder / output).read_text().splitlines() if is_own_name(line.split()[0])]
    names = list(dict.fromkeys(line.split()[0] for line in printed))
    queries = any(line.split()[1] != "all" for line in printed)
    chosen = {"convention": "trec_eval", "missing": "worst", **policy}
    found = evaluate_files(str(folder / qrels), [str(folder / run)], names, **chosen)
    text = EVALUATE.write(found.to_dict(per_query=queries), "trec")
    assert len(names) >= 9
    # trec_eval prints each query's measures in its own order; gm_map, a mean, comes among the others at the end.
    assert sorted(text.splitlines()) == sorted(printed)
    if not queries:
        assert text.splitlines() == printed
