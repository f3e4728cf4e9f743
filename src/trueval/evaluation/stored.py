"""Stored scores: what `trueval evaluate --out` wrote, read back with the values of every query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from trueval.errors import InputError, Place, nearest
from trueval.evaluation.scores import FORMAT_VERSION, KIND, Scores
from trueval.policy.policy import Policy

# The first holds the means and the policy, the second the values of every query where the first does not.
RESULTS: Final = "results.json"
DETAILS: Final = "details.json"
# Between a folder and the name of one of its runs.
CHOSEN: Final = "#"


def is_stored(place: str) -> bool:
    """Whether a text names a folder of results, or DIR#RUN for one run of it."""
    return Path(place).is_dir() or (CHOSEN in place and Path(place.rpartition(CHOSEN)[0]).is_dir())


def read_stored(place: str, alike: str | None = None) -> Scores:
    """Read the scores of one run from a folder of results.

    Args:
        place: the folder, or DIR#RUN where it holds several runs.
        alike: name of the run to take where the folder holds several and none is chosen.

    Returns:
        The scores, named DIR#RUN, so that no other run is called the same.

    Raises:
        InputError: there is no such folder, run, or value of a query, or a file is damaged or newer than us.
    """
    whole = Path(place).is_dir()
    folder, _, name = (place, "", "") if whole else place.rpartition(CHOSEN)
    runs = read_runs(Path(folder))
    if whole:
        name = next(iter(runs)) if len(runs) == 1 else alike if alike in runs else ""
    if name not in runs:
        listed = ", ".join(f"{folder}{CHOSEN}{each}" for each in runs)
        why = f"there is no run {name!r} in it.{nearest(name, runs)}" if name else "it holds several runs."
        raise Place(folder).error(f"{why} Name one of {listed}.")
    return runs[name]


def read_runs(folder: Path) -> dict[str, Scores]:
    """Read the scores of every run in a folder of results, by the run's name there.

    Raises:
        InputError: as in read_stored.
    """
    results = _read(folder / RESULTS)
    number = results.get("format")
    if results.get("kind") != KIND or not isinstance(number, int) or number > FORMAT_VERSION:
        raise Place(str(folder / RESULTS)).error(
            f"kind {results.get('kind')}, format {number}. It must be of kind {KIND}, format {FORMAT_VERSION} or "
            "older, as `trueval evaluate --out` writes it. Update trueval, or write it again."
        )
    details = _read(folder / DETAILS) if (folder / DETAILS).is_file() else {"runs": ()}
    of_queries = {run["name"]: run["per_query"] for run in details["runs"]}
    try:
        policy, found = Policy.from_dict(results["policy"]), {}
        for run in results["runs"]:
            rows = run.get("per_query") or of_queries.get(run["name"])
            named = {**run, "name": f"{folder}{CHOSEN}{run['name']}"}
            found[run["name"]] = Scores.from_dict(named, policy, rows)
    except (KeyError, TypeError, AttributeError) as error:
        raise Place(str(folder / RESULTS)).error(
            f"no results of `trueval evaluate` ({error}). Write it again."
        ) from error
    if not found:
        raise Place(str(folder / RESULTS)).error("there is no run in it. Write it again.")
    return found


def _read(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise InputError(f"{path}: no such file. `trueval evaluate --out` writes it; a baseline must be such a folder.")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Place(str(path)).error(f"not JSON ({error}). Write it again.") from error
    if not isinstance(data, dict):
        raise Place(str(path)).error("not the results of an evaluation. Write it again.")
    return data
