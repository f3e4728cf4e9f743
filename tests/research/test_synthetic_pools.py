"""Pools whose true order is known, and judges that err in known ways."""

import re

import numpy as np
import pytest
from research.refinement_trials import kendall_tau
from research.synthetic_pools import WORLDS, SimulatedJudge, draw_pool
from scipy import stats


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_has_as_many_documents_as_it_says(name: str) -> None:
    said = re.match(r"\d+(?= documents)", WORLDS[name].about)
    assert sum(count for _, count in WORLDS[name].sizes) == int(said.group() if said else 40)


@pytest.mark.parametrize("name", ["usual", "noisy", "flat"])
def test_a_judge_contradicts_itself_as_often_as_its_world_says(name: str) -> None:
    world, rng = WORLDS[name], np.random.default_rng(0)
    pool = draw_pool(world, rng)
    judge = SimulatedJudge(pool, world, rng)
    pairs = [tuple(map(int, rng.permutation(len(pool.grades))[:2])) for _ in range(5_000)]
    differ = np.mean([one != other for one, other in zip(judge(pairs), judge(pairs), strict=True)])
    assert differ == pytest.approx(world.disagreement, abs=4 * np.sqrt(world.disagreement / 5_000))
    assert (judge.calls, judge.passages) == (10_000, 20_000)


def test_worlds_err_as_they_say() -> None:
    rng = np.random.default_rng(1)
    for name, low, high in (("position", 0.56, 0.64), ("long lists", 0.46, 0.54)):
        world = WORLDS[name]
        pool = draw_pool(world, rng)
        judge = SimulatedJudge(pool, world, rng)
        pairs = [tuple(map(int, rng.permutation(40)[:2])) for _ in range(4000)]
        first = np.mean([order[0] == shown[0] for order, shown in zip(judge(pairs), pairs, strict=True)])
        assert low < first < high
    taus = []
    for size in (5, 20):
        orders = judge([tuple(map(int, rng.permutation(40)[:size])) for _ in range(200)])
        taus.append(np.mean([kendall_tau(pool.judged[list(order)]) for order in orders]))
    assert taus[0] > taus[1] + 0.1
    biased = draw_pool(WORLDS["biased"], rng)
    assert np.std(biased.judged - biased.utilities) == pytest.approx(0.25, abs=0.12)


def test_every_world_errs_in_its_own_way() -> None:
    rng = np.random.default_rng(3)

    def spread(name: str) -> np.ndarray:
        pools = [draw_pool(WORLDS[name], rng) for _ in range(30)]
        return np.concatenate([pool.utilities - pool.grades for pool in pools])

    assert stats.kurtosis(spread("usual")) == pytest.approx(0, abs=0.5)
    assert stats.kurtosis(spread("bimodal")) < -1.5
    assert spread("plateaus").std() < 0.03
    assert np.abs(spread("heavy tails")).max() > 2.5
    for name, wrong in (("1 of 20", 2), ("2 of 20", 4), ("4 of 20", 8), ("gross", 2)):
        pool = draw_pool(WORLDS[name], rng)
        sizes = WORLDS[name].sizes
        truly = np.repeat([float(grade) for grade, _ in sizes], [count for _, count in sizes])
        assert (pool.grades != truly).sum() == wrong
    upside = draw_pool(WORLDS["reversed"], rng)
    assert np.corrcoef(upside.grades, upside.utilities)[0, 1] < -0.7


@pytest.mark.parametrize(("name", "first", "middle", "last"), [
    ("position", 0.0, -0.15, -0.3), ("ends", 0.0, -0.3, 0.0), ("first slot", 0.0, -0.3, -0.3),
])  # fmt: skip
def test_slots_are_favored_by_their_shape(name: str, first: float, middle: float, last: float) -> None:
    pool = draw_pool(WORLDS[name], np.random.default_rng(0))
    added = SimulatedJudge(pool, WORLDS[name], np.random.default_rng(0))._by_place((3, 1, 4, 2, 5))
    assert added[[0, 2, 4]] == pytest.approx([first, middle, last])


def test_companions_move_a_document_as_the_world_says() -> None:
    pool = draw_pool(WORLDS["contrast"], np.random.default_rng(0))
    judge = SimulatedJudge(pool, WORLDS["contrast"], np.random.default_rng(0))
    best, worst = np.argmax(pool.judged), np.argmin(pool.judged)
    after = [judge._by_place((int(first), 7))[1] for first in (best, worst)]
    assert after[1] - after[0] == pytest.approx(0.3 * (pool.judged[best] - pool.judged[worst]))
    # In circles: what one gains beside another the other loses, and the mean over companions is in `judged`.
    pool = draw_pool(WORLDS["intransitive"], np.random.default_rng(0))
    assert pool.beside is not None
    assert pool.beside + pool.beside.T == pytest.approx(0)
    assert pool.beside[np.triu_indices(40, 1)].std() == pytest.approx(0.3, rel=0.1)  # 780 pairs: 2.5 % (sd)
    judge = SimulatedJudge(pool, WORLDS["intransitive"], np.random.default_rng(0))
    seen = [pool.judged[0] + judge._by_place((0, other))[0] for other in range(1, 40)]
    assert np.mean(seen) == pytest.approx(pool.judged[0])
    assert np.std(seen) == pytest.approx(0.3, abs=0.1)
