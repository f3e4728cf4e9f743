"""Worlds whose true frontier is known, to see how often what is said of it is true."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from trueval.standings.standings import Bools, Floats
from trueval.tradeoff.draws import draw_latencies, draw_qualities, features_of
from trueval.tradeoff.groups import group
from trueval.tradeoff.pareto import Objectives, on_frontier

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


class Said(NamedTuple):
    """Probabilities and whether what they are of is true, of points, plain resamples and groups."""

    points: Floats
    plain: Floats
    there: Bools
    groups: Floats
    groups_there: Bools


def said(kind: str, worlds: int, *, resamples: int = 500, queries: int = 100, band: float = 0.0) -> Said:
    """What is said of the frontiers of many worlds.

    Args:
        kind: of the worlds.
        worlds: how many.
        resamples: of each.
        queries: of each.
        band: seconds, of the measured frontier and of the true one.
    """
    rng, rows, groups = np.random.default_rng(1), [], []
    for number in range(worlds):
        world = make(kind, rng, queries=queries)
        truth = on_frontier(world.true, band=band)
        drawn = draw_latencies(world.totals, [0.5], resamples=resamples, seed=number)[0]
        contexts = [] if world.contexts is None else [world.contexts]
        features = features_of(world.true.cost, np.median(world.totals, axis=(1, 2)), *contexts)
        found = draw_qualities(world.values, 0 * world.values, features, resamples=resamples, seed=number)
        points = Objectives(world.true.cost, drawn, found.values)
        there = on_frontier(points, band=band)
        plain = on_frontier(points._replace(quality=found.plain), band=band).mean(axis=1)
        rows.append((there.mean(axis=1), plain, truth))
        groups += [
            (each.probability, truth[list(each.members)].any()) for each in group(points, there, level=0.95, band=band)
        ]
    return Said(*(np.concatenate(each) for each in zip(*rows, strict=True)), *map(np.array, zip(*groups, strict=True)))


def reliability(said: Floats, true: Bools) -> list[tuple[float, float, int]]:
    """Of each bin the mean probability, the share that is true, and how many there are."""
    place = np.digitize(said, BINS) - 1
    return [
        (float(said[place == at].mean()), float(true[place == at].mean()), int((place == at).sum()))
        for at in range(len(BINS) - 1)
        if (place == at).any()
    ]
