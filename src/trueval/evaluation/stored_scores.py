"""Stored scores: the results of `trueval evaluate --out`, read back with per-query values."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from trueval.errors import InputError, Place, nearest
from trueval.evaluation.evaluation_result import Evaluation
from trueval.evaluation.query_values import QUERIES, read_queries
from trueval.evaluation.scores import Scores
from trueval.files.source.fingerprints import note_bytes
from trueval.policy.policy import Policy
from trueval.report.generation import generations
from trueval.report.kinds import read_json
from trueval.report.page_errors import read_by
from trueval.report.result_directory import Directory, ResultFile

# The first file contains the means and the policy. Per-query values are in queries.parquet; older versions wrote them
# into the second file, and on request into the first.
RESULTS: Final = "results.json"
DETAILS: Final = "details.json"
# Separator between a folder and the name of one of its runs.
CHOSEN: Final = "#"


def is_stored(place: str) -> bool:
    """Whether a text names a folder of results, or DIR#RUN for one run in it."""
    return Path(place).is_dir() or (CHOSEN in place and Path(place.rpartition(CHOSEN)[0]).is_dir())


def folder_of(place: str) -> str:
    """The folder of a place for which `is_stored` is true."""
    return place if Path(place).is_dir() else place.rpartition(CHOSEN)[0]


def read_stored(place: str, alike: str | None = None) -> Scores:
    """Read the scores of one run from a folder of results.

    Args:
        place: the folder, or DIR#RUN if it contains several runs.
        alike: name of the run to read if the folder contains several and none is named.

    Returns:
        The scores, named DIR#RUN, so that names are unique.

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
    """Read the scores of every run in a folder of results, by run name.

    Raises:
        InputError: as in read_stored.
    """
    if not (folder / RESULTS).is_file():
        raise InputError(
            f"{folder / RESULTS}: no such file. `trueval evaluate --out` writes it; a baseline must be such a folder."
        )
    with generations(folder, RESULTS, DETAILS) as files:
        found = [_read(folder / name, files[name]) for name in (RESULTS, DETAILS) if name in files]
        for file in found:
            note_bytes(str(folder / file.name), files[file.name])
        number = found[0].data.get("format")
        if found[0].kind != Evaluation.KIND or not isinstance(number, int) or number > Evaluation.FORMAT:
            raise Place(str(folder / RESULTS)).error(
                f"kind {found[0].kind or None}, format {number}. It must be of kind {Evaluation.KIND}, format "
                f"{Evaluation.FORMAT} or older, as `trueval evaluate --out` writes it. Update trueval, or write it "
                "again."
            )
        runs = read_by(_runs, found[0], Directory(folder, tuple(found)))
    if not runs:
        raise Place(str(folder / RESULTS)).error("there is no run in it. Write it again.")
    return runs


def _runs(results: ResultFile, directory: Directory) -> dict[str, Scores]:
    details = next((file.data for file in directory.files if file is not results), {"runs": ()})
    of_queries = {run["name"]: run["per_query"] for run in details["runs"]}
    listed, place = results.data.get("generation", {}).get("files", ()), directory.path / QUERIES
    in_parquet = QUERIES in listed and place.is_file()
    policy, found = Policy.from_dict(results.data["policy"]), {}
    for run in results.data["runs"]:
        rows = read_queries(place, run["name"]) if in_parquet else run.get("per_query") or of_queries.get(run["name"])
        named = {**run, "name": f"{directory.path}{CHOSEN}{run['name']}"}
        found[run["name"]] = Scores.from_dict(named, policy, rows)
    return found


def _read(path: Path, data: bytes) -> ResultFile:
    found = read_json(path, data)
    if not isinstance(found, dict):
        raise Place(str(path)).error("not the results of an evaluation. Write it again.")
    kind = found.get("kind")
    return ResultFile(path.name, kind if isinstance(kind, str) else "", found)  # names and ids as they are
