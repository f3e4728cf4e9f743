"""Passes: the outputs of models over the candidates of a collection, from which every regime is scored."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from trueval.collection import candidate_lists
from trueval.errors import InputError, Place, PolicyError, nearest
from trueval.files.source.memory_estimate import check_memory
from trueval.files.source.source_bytes import read_bytes
from trueval.models.model_parts import ATTENTION, ModelPart
from trueval.models.outputs import Step, model_outputs, parts_of
from trueval.models.pair_scores import HIGH, LISTWISE
from trueval.precision.audit_result import AuditedCandidates, AuditedCollection
from trueval.precision.regimes import check_formats, plan
from trueval.printable import encodable
from trueval.report.provenance import strip_folders
from trueval.retrieval.pipeline.missing_outputs import MissingOutputs
from trueval.threads import Executor, as_executor

if TYPE_CHECKING:
    from pathlib import Path

    from trueval.collection import Candidates, Collection
    from trueval.models.missing_work import MissingWork
    from trueval.precision.regimes import Regime
    from trueval.run import Run


Begin: TypeAlias = Callable[[str], Step]
PRODUCT: Final = "product"
SIMILARITIES: Final = (PRODUCT, "softmax")
IDS = 60  # bytes of memory per byte of ids: those of two characters take most
SAMPLE = 3  # maximum number of ids in an error
LONGEST = 40  # maximum characters of each


@dataclass(frozen=True, eq=False)
class Passes:
    """The outputs of models over candidates.

    Attributes:
        collection: collection as read.
        candidates: scored documents.
        outputs: regimes with the output arrays of their model; regimes of one pass share them.
        settings: settings of each pass.
    """

    collection: Collection
    candidates: Candidates
    outputs: Sequence[tuple[Regime, Mapping[str, Any]]]
    settings: Sequence[Mapping[str, Any]]

    def about(self) -> dict[str, Any]:
        """Collection, candidates and passes of a `PrecisionAudit`; paths are recorded without their folders."""
        collection, candidates = self.collection, self.candidates
        source, notes = strip_folders(collection.source), (*collection.notes, *candidates.notes)
        return {
            "collection": AuditedCollection(collection.name, source, len(collection.documents)),
            "candidates": AuditedCandidates(candidates.kind, len(candidates.query_ids), candidates.pairs, notes),
            "passes": tuple({**each, "path": strip_folders(str(each.get("path", "")))} for each in self.settings),
        }


def run_models(
    collection: Collection,
    models: Sequence[str],
    dtypes: Sequence[str],
    *,
    candidates: str | Run | None = None,
    scoring: Sequence[str] = (),
    index_dtypes: Sequence[str] = (),
    parts: Sequence[str] = (),
    similarities: Sequence[str] = (),
    folder: Path | None = None,
    begin: Begin | None = None,
    executor: Executor | None = None,
    **setup: object,
) -> Passes:
    """Run every model once in every dtype.

    Args:
        models: recipes, folders or hub ids, as in `trueval.models.load_model`.
        dtypes: number formats in which the models run.
        candidates: documents that each model scores, as in `candidate_lists`.
        scoring: formats of the scores, as in `plan`.
        index_dtypes: formats of stored document embeddings, as in `plan`.
        similarities: scoring functions of embedders: "product", or "softmax" over each list; the first if none.
        parts: parts that, in further passes, run alone in another format, such as "head=float32".
        folder: folder that stores outputs, from which an interrupted call resumes; None stores none.
        begin: called with each pass's name; returns a callback for every shard.
        executor: runs the models in other processes or on other machines, shard by shard, with the same result.
        setup: further options of `load_model`; None for its defaults.

    Raises:
        InputError: a model, a text or an output is bad.
        MissingExtraError: the extra models is not installed.
        PolicyError: a format is unknown, or a model is hosted.
    """
    check_formats(scoring, index_dtypes)
    _check_similarities(similarities)
    chosen = candidate_lists(collection, candidates)
    outputs: list[tuple[Regime, Mapping[str, Any]]] = []
    settings = []
    for model, dtype, part in _load_models(models, dtypes, parts, setup):
        step = None if begin is None else begin(f"{model.name} {dtype} {part}".rstrip())
        found = model_outputs(model, collection, chosen, folder=folder, step=step, executor=as_executor(executor))
        settings.append(found.to_dict())
        for name, function in _functions(model, similarities):
            regimes = plan(name, function, dtype, scoring, index_dtypes, part)
            outputs += [(regime, found.arrays) for regime in regimes]
    return Passes(collection, chosen, outputs, settings)


def _check_similarities(similarities: Sequence[str]) -> None:
    """Refuse a similarity that is none of an embedder.

    Raises:
        PolicyError: one is.
    """
    wrong = next((each for each in similarities if each not in SIMILARITIES), None)
    if wrong is not None:
        raise PolicyError(
            f"A similarity must be one of {', '.join(SIMILARITIES)}. Got {wrong!r}.{nearest(wrong, SIMILARITIES)}"
        )


def _functions(model: Any, similarities: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The scoring functions of a model, and the names of the model under each."""
    if model.scoring != PRODUCT or PRODUCT in similarities or not similarities:
        yield model.name, model.scoring
    if model.scoring == PRODUCT and "softmax" in similarities:
        yield f"{model.name}, softmax", f"{LISTWISE}{model.scale:g})"


def missing_passes(
    collection: Collection,
    models: Sequence[str],
    dtypes: Sequence[str],
    *,
    candidates: str | Run | None = None,
    parts: Sequence[str] = (),
    folder: Path | None = None,
    **setup: object,
) -> Iterator[MissingWork]:
    """What models still have to do for `run_models`, whose arguments these are; nothing is computed."""
    chosen = candidate_lists(collection, candidates)
    for model, dtype, alone in _load_models(models, dtypes, parts, setup):
        counts = MissingOutputs(folder)
        for part in parts_of(model, collection, chosen):
            counts.add_part(model, part, None, f"{part.name} ({dtype}{alone and ', '}{alone})")
        yield from counts.work()


def _load_models(
    models: Sequence[str], dtypes: Sequence[str], parts: Sequence[str], setup: Mapping[str, Any]
) -> Iterator[tuple[Any, str, str]]:
    """Each model in each dtype, whole and then with each part alone in another format; one at a time."""
    from trueval.models import load_model
    from trueval.models.hosted.services import is_hosted

    hosted = next((name for name in models if is_hosted(name)), None)
    if hosted is not None:  # before hours of passes of the others
        raise PolicyError(
            f"{hosted} is hosted: its service chooses the format that it runs in, so no two can be compared here. "
            "Make a run of it with trueval retrieve, and see with trueval evaluate what its ties can change."
        )
    options = {name: value for name, value in setup.items() if value is not None}
    chosen = [ModelPart.parse(each) for each in dict.fromkeys(parts)]
    for name in models:
        for dtype in dtypes:
            yield load_model(name, dtype=dtype, **options), dtype, ""
            for part in chosen:
                # Kernels of attention may do better than a low dtype, so that attention in it is a pass of its own.
                if part.format != dtype or (part.name == ATTENTION and dtype != HIGH):
                    own = {part.name: part.format}
                    yield load_model(name, dtype=dtype, parts=own, **options), dtype, str(part)


def select_queries(
    collection: Collection,
    *,
    exclude: Container[str] = (),
    among: Container[str] | None = None,
    limit: int | None = None,
) -> Collection:
    """Restrict the collection to fewer judged queries.

    Args:
        exclude: ids of queries to leave out, such as those used for training a model.
        among: ids of queries to choose from; None for all.
        limit: number of remaining queries to keep, from the first; None for all.

    Raises:
        InputError: no query is left.
    """
    judged = collection.graded.query_ids.to_list()
    if among is not None and not any(query in among for query in judged):
        return collection.restrict(among)  # whose error shows ids of both
    kept = [query for query in judged if query not in exclude and (among is None or query in among)][:limit]
    return collection if len(kept) == len(judged) else collection.restrict(frozenset(kept))


def read_ids(path: Path, collection: Collection | None = None) -> frozenset[str]:
    """Read query ids: a JSON list, or one per line.

    Args:
        collection: collection whose queries the ids must belong to; None accepts any.

    Raises:
        InputError: the file is neither, cannot be read, or names queries that the collection does not have.
    """
    place = Place(encodable(str(path)))
    try:
        data = read_bytes(str(path))
        check_memory(len(data) * IDS, place, held=len(data))
        text = data.decode()
        found = json.loads(text) if text.lstrip().startswith("[") else text.split()
    except UnicodeDecodeError:
        raise place.error("not UTF-8. It must hold one id a line. Write it again as UTF-8.") from None
    except InputError:  # is a ValueError, too
        raise
    except (RecursionError, ValueError) as error:
        raise place.error(f"a JSON list of ids is damaged ({error}). Correct it, or write one id a line.") from None
    ids = list(dict.fromkeys(map(str, found)))
    if collection is not None:
        _refuse_unknown(ids, collection, place)
    return frozenset(ids)


def _refuse_unknown(ids: list[str], collection: Collection, place: Place) -> None:
    """Refuse unknown query ids, which would silently keep queries in; both sides are shown for comparison."""
    judged = collection.graded.query_ids.to_list()
    known = {*judged, *collection.queries}
    unknown = [each for each in ids if each not in known]
    if unknown:
        raise place.error(
            f"{len(unknown)} of {len(ids)} ids are not queries of {collection.name}: {_sample(unknown)}. "
            f"Its queries are {_sample(judged)}. Write one id a line, or a JSON list, as UTF-8 without a byte order "
            "mark, and correct or remove these."
        )


def _sample(ids: list[str]) -> str:
    """The first ids, with invisible characters escaped."""
    shown = ", ".join(ascii(each) if len(each) <= LONGEST else f"{each[:LONGEST]!a}..." for each in ids[:SAMPLE])
    return shown + (" and others" if len(ids) > SAMPLE else "")
