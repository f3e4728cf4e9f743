"""Repeating a published table: its models on its data sets, and our values beside the printed ones.

Outputs of models are kept by texts and settings, so the same call goes on where one stopped. A model or a data set that
cannot be had leaves its rows open and is named with the reason; the others are run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from trueval.collection import Collection
from trueval.errors import InputError, MissingExtraError, PolicyError
from trueval.precision.audit_precision import audit_precision
from trueval.precision.model_passes import missing_passes, select_queries
from trueval.precision.presets import find_preset
from trueval.precision.published_table import MODELS, PLACES, TABLE_1, PublishedRow
from trueval.precision.reproduction_result import (
    ReproducedCell,
    ReproducedSet,
    TableReproduction,
    TieStatistics,
    UnmadeRow,
)
from trueval.report.provenance import strip_folders

if TYPE_CHECKING:
    from trueval.evaluation.estimate import Estimate
    from trueval.models.missing_work import MissingWork
    from trueval.precision.audit_result import Audit
    from trueval.precision.model_passes import Begin
    from trueval.threads import Executor

TABLES: Final = ("table1",)
# Formats of a model and of its scores, as the table names them.
REGIMES: Final = {
    "FP32": ("float32", "float32"),
    "BF16": ("bfloat16", "bfloat16"),
    "BF16 → FP32": ("bfloat16", "float32"),
}
DTYPES: Final = ("bfloat16", "float32")


class TableModel(NamedTuple):
    """A model of the table: its name there, and what is run, as `load_model` takes it."""

    name: str
    place: str

    def logits(self, data: str) -> Path | None:
        """The file of its stored logits on a data set, in the folder that is named as its place; None without one."""
        _, _, folder = self.place.partition(":")
        file = Path(folder) / f"{data}.npz"
        return file if folder and file.is_file() else None


def table_models(given: Sequence[str] = ()) -> tuple[TableModel, ...]:
    """The models of the table, in its order, or those that are named.

    Args:
        given: names of the table, or NAME:PLACE, with a folder or an id of the hub. A folder that holds logits of a
            data set, such as MIRACLReranking.npz, is not run there.

    Raises:
        PolicyError: a name is none of the table's.

    >>> table_models(["multilingual-e5-large:e5-small"])
    (TableModel(name='multilingual-e5-large', place='multilingual-e5-large:e5-small'),)
    """
    found = {}
    for each in given or MODELS:
        name = each.partition(":")[0]
        if name not in MODELS:
            raise PolicyError(
                f"The models of the table are {', '.join(MODELS)}. Got {each!r}. Name one of them, or NAME:FOLDER for "
                "where it is."
            )
        found[name] = TableModel(name, each)
    return tuple(found[name] for name in MODELS if name in found)


def reproduce_table(
    folder: Path | None = None,
    models: Sequence[str] = (),
    *,
    sets: Mapping[str, Collection | Path | str] | None = None,
    limit: int | None = None,
    batch_size: int | None = None,
    max_length: int | None = None,
    device: str | None = None,
    begin: Begin | None = None,
    executor: Executor | None = None,
) -> TableReproduction:
    """Run the models of Table 1 of P-A on its data sets, and compare: `trueval precision audit --reproduce table1`.

    Args:
        folder: folder that keeps the outputs of models, from which the same call goes on; None keeps none.
        models: as in `table_models`; all five if empty.
        sets: data set of the table → where it is; those not named come through mteb.
        limit: number of judged queries of each set; all if None.
        batch_size: texts or pairs per forward pass; the paper's 16 if None.
        max_length: maximum number of tokens; the paper's 4,096 if None.
        device: torch device; by default an accelerator if there is one.
        begin: called with each pass's name; returns a progress callback.
        executor: as in `audit_precision`.

    Raises:
        InputError: nothing could be run; the reason is that of the first.
        PolicyError: a model or a set is none of the table's.
    """
    chosen, preset = table_models(models), find_preset("paper")
    unknown = next((name for name in sets or () if name not in PLACES), None)
    if unknown is not None:
        raise PolicyError(f"The data sets of the table are {', '.join(PLACES)}. Got {unknown!r}.")
    audits: dict[tuple[str, str], Audit] = {}
    read, unmade, notes, devices = list[ReproducedSet](), list[UnmadeRow](), dict[str, None](), dict[str, None]()
    for data, found in _read_sets(sets or {}, limit, unmade):
        read.append(ReproducedSet(data, strip_folders(found.source), len(found.queries), len(found.documents)))
        measures = list(dict.fromkeys(row.measure for row in TABLE_1 if row.data == data))
        for model in chosen:
            stored = model.logits(data)
            try:
                audit = audit_precision(
                    found,
                    () if stored is not None else [model.place],
                    measures,
                    DTYPES,
                    logits=stored,
                    preset="paper",
                    batch_size=batch_size,
                    max_length=max_length,
                    device=device,
                    folder=folder,
                    begin=begin,
                    executor=executor,
                )
            except (InputError, MissingExtraError, OSError, RuntimeError) as error:
                unmade.append(UnmadeRow(data, model.name, strip_folders(" ".join(str(error).split()))))
                continue
            audits[data, model.name] = audit
            notes |= dict.fromkeys(f"{data}, {model.name}: {note}" for note in audit.notes)
            devices |= dict.fromkeys(str(each["device"]) for each in audit.about["passes"] if each.get("device"))
    if not audits:
        raise InputError(f"Nothing of the table could be run. {unmade[0].data}: {unmade[0].reason}")
    names = {model.name for model in chosen}
    cells = [cell for row in TABLE_1 if row.model in names for cell in _cells(row, audits.get((row.data, row.model)))]
    return TableReproduction(
        table=TABLES[0],
        source=preset.source.partition(",")[0],
        batch_size=batch_size or preset.batch_size,
        max_length=max_length or preset.max_length,
        devices=tuple(devices),
        sets=tuple(read),
        cells=tuple(cells),
        mean_distance=fmean(abs(cell.difference.expected) for cell in cells if cell.difference is not None),
        unmade=tuple(unmade),
        notes=tuple(notes),
    )


def missing_table_work(
    folder: Path | None = None,
    models: Sequence[str] = (),
    *,
    sets: Mapping[str, Collection | Path | str] | None = None,
    limit: int | None = None,
    batch_size: int | None = None,
    max_length: int | None = None,
    device: str | None = None,
) -> Iterator[MissingWork]:
    """What models still have to do for `reproduce_table`, whose arguments these are; nothing is computed."""
    preset, unmade = find_preset("paper"), list[UnmadeRow]()
    size, length = batch_size or preset.batch_size, max_length or preset.max_length
    for data, found in _read_sets(sets or {}, limit, unmade):
        places = [model.place for model in table_models(models) if model.logits(data) is None]
        yield from missing_passes(
            found, places, DTYPES, folder=folder, device=device, batch_size=size, max_length=length
        )
    if len(unmade) == len(PLACES):
        raise InputError(f"Nothing of the table could be run. {unmade[0].data}: {unmade[0].reason}")


def _read_sets(
    sets: Mapping[str, Collection | Path | str], limit: int | None, unmade: list[UnmadeRow]
) -> Iterator[tuple[str, Collection]]:
    """The data sets that can be read; the others are added to `unmade`."""
    for data, place in PLACES.items():
        try:
            found = Collection.of(sets.get(data, place))
            yield data, replace(select_queries(found, limit=limit), name=data)
        except InputError as error:
            unmade.append(UnmadeRow(data, "", strip_folders(" ".join(str(error).split()))))


def _cells(row: PublishedRow, audit: Audit | None) -> Iterator[ReproducedCell]:
    """The regimes of a row."""
    whole = TieStatistics(row.float32 / 100, row.float32 / 100, 0.0, 0.0)
    low, high = (TieStatistics(*(value / 100 for value in values)) for values in (row.low, row.high))
    for (name, formats), printed in zip(REGIMES.items(), (whole, low, high), strict=True):
        found = next(
            (
                each
                for each in (() if audit is None else audit.results)
                if (each.regime.model_dtype, each.regime.scoring_format) == formats
            ),
            None,
        )
        estimate = None if found is None else found.scores[row.measure]
        yield ReproducedCell(
            data=row.data,
            measure=row.measure,
            model=row.model,
            scoring="" if found is None else found.regime.scoring,
            regime=name,
            queries=0 if estimate is None else estimate.queries,
            ours=None if estimate is None else _statistics(estimate),
            printed=printed,
        )


def _statistics(estimate: Estimate) -> TieStatistics:
    return TieStatistics(estimate.tie_broken, estimate.expected, estimate.range, estimate.bias)
