"""Replays of `golden next` with judges and people of LLMJudge, and on real runs: labels until all labels' verdict.

Figures are printed with `-s` and stand in docs/evidence/notes/audit.md.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from research.label_baselines import (
    UNLISTED,
    minimal_collection_order,
    move_to_front_order,
    pooling_order,
    representative_order,
    stat_ap_sizes,
)
from scipy.special import stdtrit
from tests.comparison.audit_worlds import LLMJUDGE, SCALE, grades, judge_names, judgments, pseudo_run
from tests.comparison.label_replays import Outcome, decision_of, replay

from trueval import Judgments, Run
from trueval.comparison.labels.gain_weights import GainWeights
from trueval.comparison.labels.label_decision import FIRST, QUESTIONS, SECOND, Contrast, LabelDecision

Floats = NDArray[np.float64]
MEASURES = ("DCG@10", "P(rel=2)@10")
DL_HARD = LLMJUDGE.parents[1] / "runs" / "dl-hard-passage"


class Case:
    """A pair of runs by one judge, with people's grades of everything.

    Args:
        decision: of the pair.
        people: [row of the judgments] people's grade.
        ranked: the same by a measure with a weight of its own for each rank.
    """

    def __init__(self, decision: LabelDecision, people: Floats, ranked: LabelDecision | None = None) -> None:
        self.decision, self.people, self.ranked = decision, people, ranked or decision
        self.names = list(decision.weights)
        gain = decision.gains[people.astype(int)]
        worth, queries = decision.worth[0] - decision.worth[1], len(decision.labels.query_ids)
        self.values = np.bincount(decision.labels.owner, worth * gain, minlength=queries)
        self.gain, self.worth = gain, worth

    @property
    def contrast(self) -> Contrast:
        return Contrast(*self.names)

    @property
    def z(self) -> float:
        """Studentized difference by all labels."""
        return t_of(self.values)


def t_of(values: Floats) -> float:
    error = values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() / error) if error else 0.0


def bound(queries: int) -> float:
    return float(stdtrit(queries - 1, 0.975))


@cache
def weights_by(judge: str, measure: str) -> LabelDecision:
    """What passages are worth to all pseudo-runs, by the labels of a judge."""
    runs = [replace(pseudo_run(name), name=name) for name in judge_names()]
    return decision_of(runs, judgments(judge), SCALE, measure, "new queries")


def pair_of(every: LabelDecision, names: tuple[str, str], target: str = "new queries") -> LabelDecision:
    """The decision between two of the runs."""
    return replace(
        every,
        weights={name: every.weights[name] for name in names},
        judge={name: every.judge[name] for name in names},
        target=target,
    )


@cache
def people_of(judge: str) -> Floats:
    human = grades("human").rename({"grade": "said"})
    frame = judgments(judge).frame.join(human, on=["query_id", "doc_id"], how="left", maintain_order="left")
    return frame["said"].to_numpy()


def cases(measure: str, judges_of_a_pair: int = 3) -> list[Case]:
    """All pairs of pseudo-runs, each by some judges of other names."""
    names, found = judge_names(), []
    for at, pair in enumerate(itertools.combinations(names, 2)):
        others = [name for name in names if name not in pair]
        for step in range(judges_of_a_pair):
            judge = others[(at * 5 + step * 4) % len(others)]
            decision, ranked = (pair_of(weights_by(judge, each), pair) for each in (measure, "DCG@10"))
            found.append(Case(decision, people_of(judge), ranked))
    return found


def ranks_of(decision: LabelDecision) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[run, row] least rank of each passage under ties, and lengths within the cutoff."""
    worth = decision.worth
    owner, ranks = decision.labels.owner, np.full(worth.shape, UNLISTED, dtype=np.int64)
    for run in range(len(worth)):
        for query in range(len(decision.labels.query_ids)):
            rows = np.flatnonzero((owner == query) & (worth[run] != 0))
            _, inverse = np.unique(-worth[run, rows], return_inverse=True)
            counts = np.bincount(inverse)
            ranks[run, rows] = (1 + np.cumsum(counts) - counts)[inverse]
    lengths = np.array([max(10, int(each[each < UNLISTED].max(initial=1))) for each in ranks])
    return ranks, lengths


def sampled(case: Case, way: str, rng: np.random.Generator, batches: int = 10) -> Outcome:
    sizes = None
    if way == "random":
        sizes = case.decision.members().astype(float)
    elif way == "statAP":
        ranks, lengths = ranks_of(case.ranked)
        sizes = stat_ap_sizes(ranks, lengths)
    return replay(case.decision, [case.contrast], case.people, rng, batches=batches, sizes=sizes)


def chosen(case: Case, way: str, batches: int = 10) -> tuple[float, int]:
    """Share of labels at which a way without chances first calls the pair separated, and the sign; 1 and 0 if never."""
    decision = case.decision
    members = np.flatnonzero(decision.members())
    ranks, _ = ranks_of(case.ranked)
    owner, queries = decision.labels.owner, len(decision.labels.query_ids)
    orders = {
        "pooling": lambda: pooling_order(ranks, members),
        "MTF": lambda: move_to_front_order(ranks, members, owner, case.people >= 2),
        "MTC": lambda: minimal_collection_order(case.worth, members),
        "MaxRep": lambda: representative_order(ranks, members, owner),
    }
    order = orders[way]()
    judge = decision.gains[np.maximum(decision.labels.judge.frame["grade"].to_numpy(), 0).astype(int)]
    for look in range(1, batches + 1):
        rows = order[: round(len(order) * look / batches)]
        gain = judge.copy()
        gain[rows] = case.gain[rows]
        t = t_of(np.bincount(owner, case.worth * gain, minlength=queries))
        if abs(t) > bound(queries):
            return look / batches, int(np.sign(t))
    return 1.0, 0


SIGN = {FIRST: 1, SECOND: -1}
WITHOUT_CHANCES = ("pooling", "MTF", "MTC", "MaxRep")


@pytest.mark.evidence
@pytest.mark.parametrize("measure", MEASURES)
def test_fewer_labels_until_the_verdict_of_all_labels(measure: str) -> None:
    every, rng = cases(measure), np.random.default_rng(0)
    limit = bound(25)
    separated = np.array([abs(case.z) > limit for case in every])
    clear = np.array([abs(case.z) > limit + 1 for case in every])
    truth = np.array([np.sign(case.z) for case in every])
    print(
        f"{measure}: {len(every)} pairs by judges; people separate {separated.mean():.0%} with all labels, "
        f"{clear.mean():.0%} clearly; median of {np.median([case.decision.members().sum() for case in every]):.0f} "
        "passages that weigh"
    )
    shares: dict[str, Any] = {}
    wrong_of: dict[str, int] = {}
    for way in ("ours", "random", "statAP", "pooling", "MTF", "MTC", "MaxRep"):
        if way in WITHOUT_CHANCES:
            found = [chosen(case, way) for case in every]
            share, sign = np.array([each[0] for each in found]), np.array([each[1] for each in found])
            told = np.zeros(len(every), dtype=bool)
        else:
            outcomes = [sampled(case, way, rng) for case in every]
            share = np.array([each.share for each in outcomes])
            sign = np.array([SIGN.get(each.states[0].verdict, 0) for each in outcomes])
            told = np.array([each.states[0].verdict == QUESTIONS for each in outcomes])
        shares[way] = share
        wrong_of[way] = int(((sign != 0) & (sign != truth)).sum())
        same = np.where(separated, sign == truth, sign == 0)
        print(
            f"  {way:8} labels until the decision, separated pairs: median {np.median(share[separated]):.0%} (clear "
            f"{np.median(share[clear]):.0%}, marginal {np.median(share[separated & ~clear]):.0%}); same verdict clear "
            f"{same[clear].mean():.1%}, marginal {same[separated & ~clear].mean():.1%}, not separated "
            f"{same[~separated].mean():.1%}; wrong direction {wrong_of[way]}; not separated: "
            f"{np.median(share[~separated]):.0%} of labels, {told[~separated].mean():.0%} told that labels cannot "
            f"decide (separated: {told[separated].mean():.1%})"
        )
    assert np.median(shares["ours"][separated]) <= 0.35
    assert np.median(shares["ours"][separated]) < np.median(shares["random"][separated])
    wrong_most = wrong_of["random"] + 2 * np.sqrt(max(wrong_of["random"], 1))
    assert wrong_of["ours"] <= wrong_most


@pytest.mark.evidence
@pytest.mark.parametrize("target", ["new queries", "these queries"])
@pytest.mark.parametrize("measure", MEASURES)
def test_intervals_hold_the_truth_where_people_stop(measure: str, target: str) -> None:
    """Of new queries: LLMJudge's, drawn with replacement, of which the truth is the mean over all 25."""
    rng, hits, decided, wrong, shares, null, early = np.random.default_rng(1), [], 0, 0, [], 0, []
    every = cases(measure, 1)
    number = 3 * len(every)
    for case in itertools.chain(every, every, every):
        again, people, truth = resampled(case, rng, target, flipped=False)
        found = replay(again, [Contrast(*case.names)], people, rng, budget=0.6 * again.members().sum())
        state = found.states[0]
        if state.corrected is not None:
            hits.append(state.corrected.low <= truth <= state.corrected.high)
            early.append(state.verdict in SIGN)
        decided += state.verdict in SIGN
        wrong += state.verdict in SIGN and SIGN[state.verdict] != np.sign(truth)
        shares.append(found.share)
        if target == "new queries":
            again, people, _ = resampled(case, rng, target, flipped=True)
            apart = replay(again, [Contrast(*case.names)], people, rng, budget=0.6 * again.members().sum())
            null += apart.states[0].verdict in SIGN
    inside = np.array(hits)
    print(
        f"{measure}, {target}: intervals at the end of {number} replays hold the truth in {inside.mean():.1%} (decided "
        f"ones {inside[np.array(early)].mean():.1%}); decided {decided / number:.0%} with {np.median(shares):.0%} of "
        f"labels, wrong direction {wrong}"
        + (f"; where neither run is better, {null / number:.1%} decided" if target == "new queries" else "")
    )
    assert inside.mean() >= 0.93
    assert wrong <= 0.025 * number + 2 * np.sqrt(0.025 * number)
    if target == "new queries":
        assert null / number <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / number)


def resampled(
    case: Case, rng: np.random.Generator, target: str, *, flipped: bool
) -> tuple[LabelDecision, Floats, float]:
    """The case with queries drawn with replacement, or with runs swapped in half of them; and the true mean.

    Passages of a query that is drawn twice are labeled apart, as those of two queries.
    """
    decision = case.decision
    owner, queries = decision.labels.owner, len(decision.labels.query_ids)
    drawn = rng.integers(0, queries, queries) if target == "new queries" else np.arange(queries)
    rows = [np.flatnonzero(owner == query) for query in drawn.tolist()]
    take = np.concatenate(rows)
    frame = decision.labels.judge.frame[take]
    names = [f"n{at}" for at, own in enumerate(rows) for _ in range(len(own))]
    judge = Judgments.from_frame(frame.with_columns(query_id=pl.Series(names)))
    swap = rng.random(queries) < 0.5 if flipped else np.zeros(queries, dtype=bool)
    new_owner = np.repeat(np.arange(queries), [len(own) for own in rows])
    first, second = (decision.weights[name] for name in case.names)

    def of(one: GainWeights, other: GainWeights) -> GainWeights:
        mine = np.where(swap[new_owner], other.expected[take], one.expected[take])
        return one._replace(expected=mine, lowest=mine, highest=mine, owner=new_owner, constant=np.zeros(queries))

    weights = {case.names[0]: of(first, second), case.names[1]: of(second, first)}
    own = decision.gains[np.maximum(judge.frame["grade"].to_numpy(), 0).astype(int)]
    values = {name: np.bincount(new_owner, each.expected * own, minlength=queries) for name, each in weights.items()}
    labels = replace(decision.labels, judge=judge)
    again = replace(decision, labels=labels, weights=weights, judge=values, target=target)
    return again, case.people[take], 0.0 if flipped else float(case.values.mean())


def confusion(name: str) -> Floats:
    """[people's grade, judge's grade] probabilities of a judge of LLMJudge."""
    both = grades(name).rename({"grade": "judged"}).join(grades("human"), on=["query_id", "doc_id"])
    table = np.full((4, 4), 0.5)
    np.add.at(table, (both["grade"].to_numpy().astype(int), both["judged"].round().to_numpy().astype(int)), 1)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def real_runs() -> tuple[list[Run], pl.DataFrame]:
    """The runs of DL-Hard, and people's grades of all they list in 20 ranks; 0 where nobody judged."""
    if not DL_HARD.is_dir():
        pytest.skip("needs the runs of DL-Hard in ../shared/data/runs/dl-hard-passage")
    runs = [Run.of(str(path)) for path in sorted(DL_HARD.glob("*.run.gz"))]
    qrels = Judgments.read(DL_HARD / "qrels.trec").frame
    listed = pl.concat(
        run.frame.filter(pl.col("score").rank("min", descending=True).over("query_id") <= 20).select(
            "query_id", "doc_id"
        )
        for run in runs
    ).unique(maintain_order=True)
    listed = listed.filter(pl.col("query_id").is_in(qrels["query_id"].implode()))
    people = listed.join(qrels, on=["query_id", "doc_id"], how="left", maintain_order="left")
    return runs, people.with_columns(pl.col("grade").fill_null(0.0).clip(0, 3)).sort("query_id", maintain_order=True)


def middle(shares: np.ndarray) -> str:
    """Their median in percent; a dash where there are none."""
    return f"{np.median(shares):.0%}" if len(shares) else "-"


def mean_of(which: np.ndarray) -> str:
    """The share that is true in percent; a dash where there are none."""
    return f"{which.mean():.1%}" if len(which) else "-"


@pytest.mark.evidence
@pytest.mark.parametrize("measure", MEASURES)
def test_real_runs_and_judges_that_err_as_those_of_llmjudge(measure: str) -> None:
    """Judges are drawn by the confusion of each judge of LLMJudge; a tenth of the passages lack a grade."""
    runs, people = real_runs()
    rng, said = np.random.default_rng(2), people["grade"].to_numpy()
    found: dict[str, list[tuple[float, int, float, bool]]] = {"ours": [], "random": []}
    for name in judge_names():
        table = confusion(name)
        judged = np.array([rng.choice(4, p=table[int(grade)]) for grade in said], dtype=float)
        judged[rng.random(len(said)) < 0.1] = -1.0
        judge = Judgments.from_frame(people.with_columns(grade=pl.Series(judged)))
        every = decision_of(runs, judge, SCALE, measure, "new queries")
        order = judge.frame.join(
            people.rename({"grade": "said"}), on=["query_id", "doc_id"], how="left", maintain_order="left"
        )["said"].to_numpy()
        for pair in itertools.combinations([run.name for run in runs], 2):
            case = Case(pair_of(every, pair), order)
            if not np.abs(case.worth).any():
                continue
            for way, rows in found.items():
                outcome = sampled(case, way, rng)
                verdict = SIGN.get(outcome.states[0].verdict, 0)
                rows.append((outcome.share, verdict, case.z, outcome.states[0].verdict == QUESTIONS))
    limit = bound(len(np.unique(people["query_id"].to_numpy())))
    for way, rows in found.items():
        share, sign, z, told = (np.array(each) for each in zip(*rows, strict=True))
        separated, clear = np.abs(z) > limit, np.abs(z) > limit + 1
        print(
            f"{measure}, {way}: {len(rows)} pairs by judges, {separated.mean():.0%} separated by all labels; median "
            f"{middle(share[separated])} of labels for these ({int(clear.sum())} clear: {middle(share[clear])}), same "
            f"verdict {mean_of((sign == np.sign(z))[separated])} (clear {mean_of((sign == np.sign(z))[clear])}), "
            f"wrong direction {int(((sign != 0) & (sign != np.sign(z))).sum())}; others: "
            f"{mean_of((sign != 0)[~separated])} decided, {mean_of(told[~separated])} told that labels cannot "
            f"decide, {middle(share[~separated])} of labels"
        )
    ours = np.array([row[0] for row in found["ours"]])
    other = np.array([row[0] for row in found["random"]])
    assert np.median(ours) < np.median(other)
    assert sum(row[1] != 0 and row[1] != np.sign(row[2]) for row in found["ours"]) <= 0.01 * len(ours)


def test_one_pair_of_real_judges_takes_fewer_labels_than_random_ones() -> None:
    """The cheapest replay, so that the helpers of the long ones run with every change."""
    names = judge_names()
    case = Case(pair_of(weights_by(names[3], "DCG@10"), (names[0], names[12])), people_of(names[3]))
    rng = np.random.default_rng(0)
    shares = {way: np.mean([sampled(case, way, rng).share for _ in range(3)]) for way in ("ours", "random")}
    assert shares["ours"] < shares["random"]
    assert chosen(case, "pooling")[1] in (-1, 0, 1)
    assert chosen(case, "MTF")[1] in (-1, 0, 1)
