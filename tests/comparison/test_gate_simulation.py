"""False alarms of the gate in simulated A/A worlds: candidate and baseline are two draws of the same system.

A check may be wrong in two ways about a loss of exactly the limit: `worse` though the loss is not larger, and `not
worse` though it is not smaller. Both are counted at a limit of 0, which shifting all values makes that of any limit.
"""

import numpy as np
import pytest

from trueval.comparison.gate.self_test import COLUMNS, CheckGroup, joint_intervals
from trueval.comparison.resampling.bootstrap_intervals import ResampleDraws

SHIFT = 0.1  # how far a tied value moves
KINDS = ("plain", "heavy ties", "clusters", "clusters and ties")


def world(kind: str, queries: int, checks: int, worlds: int, rng: np.random.Generator) -> CheckGroup:
    """Differences of two draws of one system; its measures go together, as those of a run do.

    Heavy ties: values of skewed skills, rounded to eighths, so that most differences are 0 and few are large; half of
    the queries have ties that move the value of each side by .1. Clusters: of 1 to 8 queries, which share half of the
    variance of the differences.
    """
    shape = (queries, worlds, checks)

    def skill() -> np.ndarray:
        shared = rng.beta(0.5, 3, shape[:2])[:, :, None] if "ties" in kind else rng.beta(2, 3, shape[:2])[:, :, None]
        return 0.7 * shared + 0.3 * rng.beta(2, 3, shape)

    one, other, variance = skill(), skill(), np.zeros(shape)
    if kind == "heavy ties":
        one, other = np.rint(one * 8) / 8, np.rint(other * 8) / 8
    if "ties" in kind:
        variance = (rng.random(shape) < 0.5) * SHIFT**2 + (rng.random(shape) < 0.5) * SHIFT**2
    apart, sizes = one - other, np.ones(queries)
    if "clusters" in kind:
        codes = np.repeat(np.arange(queries), rng.integers(1, 9, queries))[:queries]
        effect = rng.normal(0, apart.std(), (codes[-1] + 1, worlds, 1))
        apart = apart + effect[codes]
        starts = np.searchsorted(codes, np.arange(codes[-1] + 1))
        apart, variance = np.add.reduceat(apart, starts), np.add.reduceat(variance, starts)
        sizes = np.bincount(codes).astype(float)
    reach = np.sqrt(variance)
    return CheckGroup(apart, apart - reach, apart + reach, variance, sizes, np.zeros(checks, dtype=np.int64))


def errors(kind: str, queries: int, checks: int, worlds: int, resamples: int = 2000) -> tuple[float, float, int]:
    """The shares of worlds with a check that is wrongly `worse` and wrongly `not worse`, and how many units bind."""
    rng = np.random.default_rng([KINDS.index(kind), queries, checks])
    made, wrong, at_once = world(kind, queries, checks, worlds, rng), np.zeros(2), COLUMNS // checks
    draws = ResampleDraws(resamples, 1, 2, 0.95)
    for start in range(0, worlds, at_once):
        part = slice(start, start + at_once)
        some = made._replace(**{name: getattr(made, name)[:, part] for name in CheckGroup._fields[:4]})
        (found,) = joint_intervals([some], draws)
        wrong += (found[..., 1] < 0).any(axis=1).sum(), (found[..., 0] > 0).any(axis=1).sum()
    return wrong[0] / worlds, wrong[1] / worlds, len(made.sizes)


@pytest.mark.parametrize("kind", KINDS)
def test_few_false_alarms(kind: str) -> None:
    worse, not_worse, _ = errors(kind, 40, 2, worlds=300, resamples=500)
    assert worse <= 0.05
    assert not_worse <= 0.05


@pytest.mark.evidence
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("queries", [12, 50, 200])
@pytest.mark.parametrize("checks", [1, 3])
def test_false_alarms_of_the_gate_are_at_most_five_percent(kind: str, queries: int, checks: int) -> None:
    worse, not_worse, units = errors(kind, queries, checks, worlds=3000)
    print(f"{kind}, {queries} queries ({units} units), {checks} checks: worse {worse:.1%}, not worse {not_worse:.1%}")
    assert worse <= 0.05
    assert not_worse <= 0.05
