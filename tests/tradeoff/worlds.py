"""Worlds whose true frontier is known, to see how often what is said of it is true."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from trueval.latency.jitter import compare_latencies, log_percentiles
from trueval.standings.standings import Bools, Floats
from trueval.tradeoff.frontier.configuration_groups import group
from trueval.tradeoff.frontier.rules import RuleChoice, RuleInputs, RuleLimits, apply_rules
from trueval.tradeoff.quality.pareto import Objectives, on_frontier, removers
from trueval.tradeoff.quality.resamples import draw_latencies, draw_qualities, features_of, resample_means

BINS = (0.0, 0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 0.99, 1.01)


class World(NamedTuple):
    """True values of configurations, and what was measured of them.

    Attributes:
        true: [configuration] cost, latency and quality.
        values: [query, configuration].
        totals: [configuration, query, repeat] seconds.
        contexts: [configuration] K, where they have one.
    """

    true: Objectives
    values: Floats
    totals: Floats
    contexts: Floats | None = None


def make(kind: str, rng: np.random.Generator, *, count: int = 40, queries: int = 100) -> World:
    """A world.

    independent: cost, latency and quality have nothing to do with each other.
    saturating: quality grows with cost and latency, less and less.
    duplicates: every configuration is there four times, with differences far below the noise.
    ranks: five searches in two variants that hardly differ, at four K; a query has 1 where its only relevant document
        is among the first K, as in a sweep: values near 1 have small errors, queries that are hard for all.

    Args:
        kind: one of these.
        rng: of everything.
        count: configurations.
        queries: with values.
    """
    if kind == "ranks":
        return _ranks(rng, queries)
    times = 4 if kind == "duplicates" else 1
    cost = np.repeat(rng.uniform(0.2, 5, count // times), times)
    latency = np.repeat(np.exp(rng.normal(-1.5, 0.6, count // times)), times)
    quality = np.repeat(rng.normal(0.6, 0.05, count // times), times)
    own = rng.normal(0, 0.2, (queries, count))
    if kind == "saturating":
        quality = 0.8 - 0.3 * np.exp(-cost) - 0.15 * np.exp(-latency / 0.15) + rng.normal(0, 0.01, count)
    if kind == "duplicates":
        latency = latency * np.exp(rng.normal(0, 0.002, count))
        quality = quality + rng.normal(0, 0.003, count)
        own = np.repeat(rng.normal(0, 0.2, (queries, count // times)), times, axis=1)
        own = own + rng.normal(0, 0.05, (queries, count))
    values = quality + rng.normal(0, 0.2, (queries, 1)) + own
    noise = rng.normal(0, 0.05, (1, 30, 1)) + rng.normal(0, 0.1, (count, 30, 3))
    return World(Objectives(cost, latency, quality), values, latency[:, None, None] * np.exp(noise))


def _ranks(rng: np.random.Generator, queries: int, searches: int = 5, variants: int = 2) -> World:
    """The world of ranks: the log of the relevant document's rank is normal."""
    contexts = np.array([10.0, 20.0, 50.0, 100.0])
    hard, own, small = 1.3, 1.0, 0.25  # sds over queries: what all share, a search, a variant
    middle = rng.normal(2.3, 0.7, (searches, 1)) + rng.normal(0, 0.05, (searches, variants))
    logs = middle + hard * rng.normal(size=(queries, 1, 1)) + own * rng.normal(size=(queries, searches, 1))
    logs = logs + small * rng.normal(size=(queries, searches, variants))
    values = (logs[..., None] <= np.log(contexts)).reshape(queries, -1).astype(float)
    quality = ndtr((np.log(contexts) - middle[..., None]) / np.sqrt(hard**2 + own**2 + small**2)).ravel()
    count = len(quality)
    latency = np.repeat(np.exp(rng.normal(-2, 1, searches)), variants * len(contexts)) * np.exp(
        rng.normal(0, 0.01, count)
    )
    cost = np.tile(0.6 * contexts, searches * variants) * np.exp(rng.normal(0, 0.01, count))
    noise = rng.normal(0, 0.05, (1, 30, 1)) + rng.normal(0, 0.1, (count, 30, 3))
    totals = latency[:, None, None] * np.exp(noise)
    return World(Objectives(cost, latency, quality), values, totals, np.tile(contexts, searches * variants))


class Shipped(NamedTuple):
    """What rules chose in a world, and what is true of it.

    Attributes:
        rule: its name, and what it seeks.
        sure: share of resamples in which limits must be kept.
        on: whether the answer is on the measured frontier of those that are inside; None where there is no answer.
        chance: share of resamples in which it is inside the limits; None likewise, or without limits.
        inside: whether it truly is.
        removed: whether another one truly removes it.
        better: share of resamples in which it is better than the runner-up; None where none is said.
        truly_better: whether it truly is.
    """

    rule: str
    sure: float
    on: bool | None
    chance: float | None
    inside: bool
    removed: bool
    better: float | None
    truly_better: bool


def ship(kind: str, rng: np.random.Generator, *, busy: float, sures: tuple[float, ...], seed: int) -> list[Shipped]:
    """What rules choose in one world, with limits that nobody chose by looking at it.

    Args:
        kind: of the world.
        rng: of it.
        busy: sd of the log of the speed of a configuration in a repeat.
        sures: shares of resamples in which limits must be kept.
        seed: of the resamples.
    """
    world = make(kind, rng)
    totals = world.totals * np.exp(rng.normal(0, busy, (len(world.totals), 1, world.totals.shape[2])))
    latency, plain = (
        np.median(totals, axis=(1, 2)),
        resample_means(world.values, 0 * world.values, resamples=500, seed=seed),
    )
    drawn = draw_latencies(totals, [0.5], resamples=500, seed=seed)[0]
    measured = Objectives(world.true.cost, latency, world.values.mean(axis=0))
    apart = compare_latencies(log_percentiles(totals, 0.5), latency, ["one"] * len(latency)).apart
    known = RuleInputs(measured, Objectives(world.true.cost, drawn, plain.plain), np.ones(len(latency)), apart)
    limits = RuleLimits(float(np.quantile(world.true.latency, 0.6)), None, float(np.quantile(world.true.quality, 0.6)))
    found = []
    for sure in sures:
        found += [
            _of_choice(choice, sure, world, measured, apart)
            for choice in apply_rules(known._replace(sure=sure), limits)
        ]
    return found


def _of_choice(choice: RuleChoice, sure: float, world: World, measured: Objectives, apart: Bools) -> Shipped:
    name, answer, true = f"{choice.rule}, {choice.seeks}", choice.answer, world.true
    if answer is None:
        return Shipped(name, sure, None, None, inside=False, removed=False, better=None, truly_better=False)
    some = choice.feasible
    there = np.zeros(len(some), dtype=bool)
    there[some] = on_frontier(measured.select(some), apart=apart[np.ix_(some, some)])
    inside = choice.limits.latency is None or true.latency[answer] <= choice.limits.latency
    inside &= choice.limits.quality is None or true.quality[answer] >= choice.limits.quality
    chance = None if choice.limits == RuleLimits() else choice.feasible_chance
    truly = False
    if choice.runner_up is not None:
        values, sign = getattr(true, choice.seeks), 1 if choice.seeks == "quality" else -1
        truly = bool(sign * values[answer] > sign * values[choice.runner_up])
    removed = bool(removers(true, answer).any())
    return Shipped(name, sure, bool(there[answer]), chance, bool(inside), removed, choice.better, truly)


class Said(NamedTuple):
    """Probabilities and whether what they are of is true, of points, plain resamples and groups."""

    points: Floats
    plain: Floats
    there: Bools
    groups: Floats
    groups_there: Bools


def said(kind: str, worlds: int, *, resamples: int = 500, queries: int = 100) -> Said:
    """What is said of the frontiers of many worlds.

    Args:
        kind: of the worlds.
        worlds: how many.
        resamples: of each.
        queries: of each.
    """
    rng, rows, groups = np.random.default_rng(1), [], []
    for number in range(worlds):
        world = make(kind, rng, queries=queries)
        truth = on_frontier(world.true)
        drawn = draw_latencies(world.totals, [0.5], resamples=resamples, seed=number)[0]
        contexts = [] if world.contexts is None else [world.contexts]
        features = features_of(world.true.cost, np.median(world.totals, axis=(1, 2)), *contexts)
        found = draw_qualities(world.values, 0 * world.values, features, resamples=resamples, seed=number)
        points = Objectives(world.true.cost, drawn, found.values)
        there = on_frontier(points)
        plain = on_frontier(points._replace(quality=found.plain)).mean(axis=1)
        rows.append((there.mean(axis=1), plain, truth))
        median = np.median(world.totals, axis=(1, 2))
        apart = compare_latencies(log_percentiles(world.totals, 0.5), median, ["one"] * len(median)).apart
        members = group(points._replace(latency=median), there, apart, level=0.95)
        groups += [(each.probability, truth[list(each.members)].any()) for each in members]
    return Said(*(np.concatenate(each) for each in zip(*rows, strict=True)), *map(np.array, zip(*groups, strict=True)))


def reliability(said: Floats, true: Bools) -> list[tuple[float, float, int]]:
    """Of each bin the mean probability, the share that is true, and how many there are."""
    place = np.digitize(said, BINS) - 1
    return [
        (float(said[place == at].mean()), float(true[place == at].mean()), int((place == at).sum()))
        for at in range(len(BINS) - 1)
        if (place == at).any()
    ]
