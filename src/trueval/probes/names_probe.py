"""Probing: the probe of names from names of scorers to a result, in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from trueval.errors import PolicyError
from trueval.files.source.source_bytes import Source
from trueval.models.hosted.account import LEDGER, Account
from trueval.models.output_part import Step
from trueval.probes.authors import LANGUAGES, Authors, read_people, sample_people
from trueval.probes.margin_summary import LEVEL, RESAMPLES, NamesResult, summarise
from trueval.probes.names import QUERIES, RUNS, NamesDesign, design_names, probe_names
from trueval.probes.scorers import ProbeScorers, ScorerRequest
from trueval.probes.uncached_items import NamesEstimate, estimate_names


def probe_all(
    asked: ScorerRequest,
    *,
    table: Source | None = None,
    languages: Sequence[str] = ("en",),
    queries: int = QUERIES,
    runs: int = RUNS,
    seed: int = 0,
    ablations: Sequence[str] | None = None,
    cache: Path | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    threads: int | None = None,
    max_cost: float | None = None,
    begin: Callable[[str], Step] | None = None,
) -> NamesResult:
    """Test whether scorers keep proper names apart.

    Args:
        asked: who is tested.
        table: the user's authors, as `read_people` takes them; None for our sample.
        languages: of the templates, and of the sample.
        queries: how many rows are asked for.
        runs: how often, each time with other impostors, another work and other templates.
        seed: of everything random.
        ablations: names of ABLATIONS; None for all.
        cache: keeps what models gave, in a folder `outputs`; None keeps nothing.
        level: of intervals.
        resamples: of intervals.
        threads: that share the work of intervals; one for each processor if None.
        max_cost: what hosted models may cost in all, in the currency of their prices; None for no limit.
        begin: from the name of a model to the function that is told of its progress.

    Raises:
        PolicyError: nobody takes part, or a choice is not known.
        InputError: a table or a model cannot be read.
        MissingExtraError: a library of the extras is not installed.
    """
    designs = designs_of(table, languages, queries=queries, runs=runs, seed=seed, ablations=ablations)
    account = Account(max_cost, None if cache is None else cache / LEDGER)
    entrants = ProbeScorers(asked, folder=None if cache is None else cache / "outputs", begin=begin, account=account)
    probes = [probe_names(scorer, each) for each in designs for scorer in entrants.scorers(each.language)]
    return summarise(probes, level=level, resamples=resamples, seed=seed, threads=threads)


def designs_of(
    table: Source | None,
    languages: Sequence[str],
    *,
    queries: int = QUERIES,
    runs: int = RUNS,
    seed: int = 0,
    ablations: Sequence[str] | None = None,
) -> list[NamesDesign]:
    """Write the texts of a probe, a design for each language.

    Args:
        table: as in probe_all, and so are the others.
        languages: of the templates, and of the sample.
        queries: how many rows are asked for.
        runs: how often.
        seed: of all draws.
        ablations: names of ABLATIONS; None for all.

    Raises:
        PolicyError: a choice is not known.
        InputError: the table cannot be read.
    """
    if not languages or set(languages) - set(LANGUAGES):
        raise PolicyError(f"languages must be among {', '.join(LANGUAGES)}. Got {', '.join(languages) or 'none'}.")
    people: Authors | None = None if table is None else read_people(table)
    return [
        design_names(
            people or sample_people(language),
            language=language,
            queries=queries,
            runs=runs,
            seed=seed,
            ablations=ablations,
        )
        for language in dict.fromkeys(languages)
    ]


def estimate_all(
    asked: ScorerRequest, designs: Sequence[NamesDesign], *, cache: Path | None = None, max_cost: float | None = None
) -> NamesEstimate:
    """Say what `probe_all` would give to models, and what that costs, without doing it.

    Args:
        asked: who is tested.
        designs: of the languages, from `designs_of`.
        cache: that keeps what models gave; None for nothing.
        max_cost: as in probe_all.

    Raises:
        PolicyError: as in probe_all.
        InputError: there is no such model.
    """
    entrants = ProbeScorers(asked, folder=None if cache is None else cache / "outputs")
    return estimate_names(entrants, designs, max_cost=max_cost)
