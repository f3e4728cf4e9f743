"""The sample of an audit: which judged passages people grade, and in which order.

    documents   simple random samples without replacement of n_h of the N_h passages of each stratum, all served in one
                random order
    queries     a simple random sample without replacement of n of the N queries, served query by query in a random
                order, each with all of its judged passages in a random order

At any moment, the a answered passages of a stratum's N_h are a simple random sample of that size: every passage is
included with probability a / N_h. So people may stop at any time. Under the design `queries` the same holds for the
queries that were answered completely; but stopping by the clock makes queries with few passages more likely to be
complete, so stop at a number of queries.

A larger sample of the same population contains the smaller one: the new items are served after it, again in random
order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from trueval.golden.audit.sampling.population import ALL_QUERIES, JudgedMember, Population
from trueval.golden.audit.sampling.seeded_order import key, shuffle
from trueval.golden.audit.sampling.strata import allocate_sample
from trueval.golden.audit.store.audit_manifest import AuditStratum, Item

if TYPE_CHECKING:
    from trueval.golden.audit.store.text_table import TextTable


def draw_passages(
    population: Population, size: int, seed: int, before: Sequence[JudgedMember] = ()
) -> list[JudgedMember]:
    """Draw the passages of a sample, in the order in which they are served.

    Args:
        population: population to sample from.
        size: number of passages, or of queries for the design `queries`; at most the whole population.
        seed: seed of all random numbers.
        before: members of a smaller sample with this seed; they come first, in the same order.

    >>> members = tuple(JudgedMember("q", document, "all") for document in "abcdef")
    >>> population = Population("documents", members, {"all": 1.0})
    >>> four = draw_passages(population, 4, 0)
    >>> draw_passages(population, 6, 0, draw_passages(population, 4, 0))[:4] == four
    True
    """
    if population.design == "queries":
        return _draw_queries(population, size, seed, before)
    sizes = allocate_sample(population.share, population.sizes, size)
    members: dict[str, list[JudgedMember]] = {}
    for each in population.members:
        members.setdefault(each.stratum, []).append(each)
    known = set(before)
    chosen = [
        each
        for name, own in members.items()
        for each in shuffle(seed, "sample", own, _names)[: sizes[name]]
        if each not in known
    ]
    return [*before, *shuffle(seed, "order", chosen, _names)]


def _names(member: JudgedMember) -> tuple[str, str]:
    return member.query, member.document


def _draw_queries(population: Population, size: int, seed: int, before: Sequence[JudgedMember]) -> list[JudgedMember]:
    members: dict[str, list[JudgedMember]] = {}
    for each in population.members:
        members.setdefault(each.query, []).append(each)
    known = {each.query for each in before}
    chosen = shuffle(seed, "sample", members, lambda query: (query,))[:size]
    new = (each for query in chosen if query not in known for each in shuffle(seed, "order", members[query], _names))
    return [*before, *new]


def strata_of(population: Population, members: Iterable[JudgedMember]) -> tuple[AuditStratum, ...]:
    """Population and sample size of each stratum.

    Args:
        population: population of the sample.
    """
    members = list(members)
    if population.design == "queries":
        counts = {ALL_QUERIES: len({each.query for each in members})}
    else:
        counts = Counter(each.stratum for each in members)
    return tuple(
        AuditStratum(name, size, counts[name], population.share[name])
        for name, size in sorted(population.sizes.items())
    )


def items_of(members: Iterable[JudgedMember], seed: int, scale: tuple[int, int], texts: TextTable) -> tuple[Item, ...]:
    """The audit items of passages.

    Args:
        members: members in serving order.
        scale: lowest and highest grade.
        texts: table that records the texts in use.

    Raises:
        InputError: a query or document has no text.
    """
    found = []
    for each in members:
        shown = texts.query(each.query), texts.document(each.query, each.document)
        name = name_of("grade", seed, each.query, each.document, *shown)
        found.append(Item(name, "grade", each.query, (each.document,), each.stratum, shown, *scale))
    return tuple(found)


def name_of(task: str, seed: int, *names: str) -> str:
    """The id of an item: opaque, and different where the texts differ.

    Args:
        names: ids of its subject, and the hashes of its texts.
    """
    return task[0] + key(seed, f"name of {task}", *names).hex()[:15]
