"""The texts of the names probe, and their cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trueval.errors import PolicyError
from trueval.files.source.source_bytes import Source
from trueval.models.missing_work import DryRun
from trueval.models.model_speed import Trial, seconds_of
from trueval.probes.authors import LANGUAGES, Authors, read_people, sample_people
from trueval.probes.names import QUERIES, RUNS, NamesDesign, design_names
from trueval.probes.probe_estimate import estimate_names
from trueval.probes.scorer_request import ScorerRequest
from trueval.probes.scorers import ProbeScorers


def designs_of(
    table: Source | None,
    languages: Sequence[str],
    *,
    queries: int = QUERIES,
    runs: int = RUNS,
    seed: int = 0,
    ablations: Sequence[str] | None = None,
) -> list[NamesDesign]:
    """Generate the texts of a probe, one design per language.

    Args:
        languages: languages of the templates and of the sample.
        queries: number of rows to sample.
        ablations: names in ABLATIONS; None for all.

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
    asked: ScorerRequest,
    designs: Sequence[NamesDesign],
    *,
    cache: Path | None = None,
    max_cost: float | None = None,
    trial: Trial = seconds_of,
) -> DryRun:
    """Estimate the items, minutes and cost of `probe_names` without running it.

    Local models are loaded and timed with a few texts.

    Args:
        designs: one per language, from `designs_of`.
        cache: folder of stored model outputs; None for none.
        trial: measures the seconds of a local model for a few items.

    Raises:
        PolicyError: as in probe_names.
        InputError: there is no such model.
    """
    entrants = ProbeScorers(asked, folder=None if cache is None else cache / "outputs")
    return estimate_names(entrants, designs, max_cost=max_cost, trial=trial)
