"""The formats of each stage of a pipeline, as settings: each stage apart, and all of them together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from trueval.errors import PolicyError, nearest
from trueval.models.hosted.services import is_hosted
from trueval.models.loading import DTYPES
from trueval.models.model_parts import ATTENTION, ModelPart
from trueval.numerics import find_format, formats
from trueval.retrieval.indexes.dense import Dense
from trueval.retrieval.indexes.index import read_spec
from trueval.retrieval.indexes.storages import QUANTIZERS, storage_names
from trueval.retrieval.pipeline.config import Settings
from trueval.specs import format_spec

HIGH: Final = "float32"
DEFAULT_STORAGES: Final = ("float16", "bfloat16", "int8")
CODEBOOKS: Final = ("pq", "opq")
UNTOUCHED: Final = ("repair", "route", "pipeline", "generate")  # tables that are no stage with a format
SHARED: Final = "RRF, ties share a rank"


def low_formats() -> tuple[str, ...]:
    """Every number format below float32, finest first.

    >>> low_formats()[:2]
    ('float16', 'bfloat16')
    """
    return tuple(name for name in formats() if name not in ("float64", HIGH))


@dataclass(frozen=True)
class StageVariant:
    """A pipeline that has one format, or several, otherwise than the reference.

    Attributes:
        stage: stage that is changed; empty for all of them.
        axis: what has the format.
        format: its name.
        settings: of the pipeline.
        rounded: stage → format that its finished scores are rounded to.
        listwise: whether a softmax over each list comes before that.
    """

    stage: str
    axis: str
    format: str
    settings: Settings
    rounded: Mapping[str, str] = field(default_factory=dict)
    listwise: bool = False


class StageFormats(NamedTuple):
    """The formats that stages are tried in.

    Attributes:
        models: formats that models run in.
        scores: formats of scores.
        vectors: formats of stored vectors.
        parts: of models, alone in another format.
    """

    models: Sequence[str]
    scores: Sequence[str]
    vectors: Sequence[str]
    parts: Sequence[ModelPart] = ()

    @classmethod
    def of(
        cls,
        models: Sequence[str] | None = None,
        scores: Sequence[str] | None = None,
        vectors: Sequence[str] | None = None,
        parts: Sequence[str] = (),
    ) -> StageFormats:
        """The formats asked for; None for the defaults.

        Raises:
            PolicyError: models cannot run in one, scores not be in one, or vectors not be stored in one.

        >>> StageFormats.of(vectors=["int8"])[0::2]
        (('bfloat16',), ['int8'])
        """
        found = cls(
            ("bfloat16",) if models is None else models,
            low_formats() if scores is None else scores,
            DEFAULT_STORAGES if vectors is None else vectors,
            tuple(map(ModelPart.parse, dict.fromkeys(parts))),
        )
        for name in found.models:
            if name not in DTYPES:
                raise PolicyError(f"The dtype of a model must be one of {', '.join(DTYPES)}. Got {name!r}.")
        for name in found.scores:
            find_format(name)
        for name in found.vectors:
            known = (*storage_names(), *CODEBOOKS)
            if name not in known:
                raise PolicyError(
                    f"Vectors are stored in one of {', '.join(known)}. Got {name!r}.{nearest(name, known)}"
                )
        return found


def reference_of(settings: Settings) -> dict[str, dict[str, Any]]:
    """The settings with every format float32, every vector compared, and low-precision outputs taken by text.

    >>> from trueval.retrieval.pipeline.config import settings_of_tables
    >>> found = reference_of(settings_of_tables({"embed": {"model": "m"}, "index": {"spec": "pq(m=8)"}}, "here"))
    >>> found["embed"]["dtype"], found["index"]["spec"], found["index"]["scoring"]
    ('float32', 'flat', 'float32')
    """
    found = {name: dict(values) for name, values in settings.items() if name not in UNTOUCHED}
    for name in ("embed", "rerank"):
        if "dtype" in found.get(name, {}):
            found[name] |= {"dtype": HIGH, "reuse": "text"}
    if "index" in found and is_local(found["index"]["spec"]):
        found["index"] |= {"spec": "flat", "scoring": HIGH}
    if "rerank" in found and not is_hosted(found["rerank"]["model"]):
        found["rerank"]["scoring"] = HIGH
    return found


def is_local(spec: str) -> bool:
    """Whether an index holds its vectors here, in a storage that can be chosen.

    >>> is_local("hnsw(M=16)")
    True
    """
    return issubclass(read_spec(spec)[0], Dense)


def together_in(settings: Settings, form: str, scoring: str) -> dict[str, dict[str, Any]]:
    """The settings with models and vectors in one format, and the scores of models in another.

    Sums of words and of ranks stay as they are: nobody serves them in fewer bits.

    Args:
        settings: those of `reference_of`.
        form: of models, and of vectors where an index can store it.
        scoring: format of the scores.
    """
    found = {name: dict(values) for name, values in settings.items()}
    for name, values in found.items():
        if "dtype" in values:
            values["dtype"] = form
        if name == "rerank" and "dtype" in values:
            values["scoring"] = scoring
    if "index" in found and is_local(found["index"]["spec"]):
        found["index"]["scoring"] = scoring
        if form in QUANTIZERS:
            found["index"]["spec"] = _with_storage(found["index"]["spec"], form)
    return found


def variants_of(settings: Settings, formats: StageFormats) -> Iterator[StageVariant]:
    """The stages apart: one of them in a format, all others as in `reference_of`.

    Args:
        settings: those of the file.
        formats: of models, scores, vectors and parts.
    """
    base = reference_of(settings)
    low = [name for name in formats.scores if name != HIGH]
    if "embed" in base:
        yield from _of_model("dense", "embed", "index", base, formats)
        yield from _of_vectors(base, settings, low, formats.vectors)
    if "sparse" in base:
        yield from _round_scores("sparse", base, low)
    if "fuse" in base:
        yield from _of_fusion(base)
        yield from _round_scores("fuse", base, low)
    if "rerank" in base:
        yield from _of_model("rerank", "rerank", "rerank", base, formats)
        if is_hosted(base["rerank"]["model"]):
            yield from _round_scores("rerank", base, low)
        else:
            yield from (StageVariant("rerank", "scores", form, _with(base, "rerank", scoring=form)) for form in low)


def without_format(settings: Settings) -> Iterator[str]:
    """What has no format of its own, and why."""
    for table in ("embed", "rerank"):
        model = settings.get(table, {}).get("model")
        if model is not None and is_hosted(model):
            yield f"{model} is hosted: its service chooses the format that it runs in, which is left out."
    if "index" in settings and not is_local(settings["index"]["spec"]):
        yield f"{settings['index']['spec']} stores and scores its vectors itself: formats of these are left out."
    if "deduplicate" in settings:
        yield "[deduplicate] compares words and has no number format."
    if "repair" in settings:
        yield "[repair] is left out: it is a cure of what is audited here (trueval precision repair)."


def _with(settings: Settings, table: str, **values: object) -> dict[str, dict[str, Any]]:
    return {name: {**old, **(values if name == table else {})} for name, old in settings.items()}


def _with_storage(spec: str, storage: str) -> str:
    """A spec with another storage."""
    kind, chosen = read_spec(spec)
    return format_spec(kind.name, {**chosen, "storage": storage}) if "storage" in kind.parameters else spec


def _round_scores(stage: str, base: Settings, low: Sequence[str]) -> Iterator[StageVariant]:
    yield from (StageVariant(stage, "scores", form, base, {stage: form}) for form in low)


def _of_model(stage: str, table: str, scored: str, base: Settings, formats: StageFormats) -> Iterator[StageVariant]:
    """A model in each format, scored in float32 and in its own format: the regimes of P-A, Table 1.

    Its parts alone are in a low format where all else is float32, and in float32 where the model is in a low one.
    """
    if "dtype" not in base[table]:
        return
    parts = [part for part in formats.parts if part.name == ATTENTION or table == "rerank"]
    for name, form in parts:
        if form != HIGH:
            yield StageVariant(stage, f"{name} of the model", form, _with(base, table, parts={name: form}))
    for dtype in formats.models:
        whole = [ModelPart(name, form) for name, form in parts if form == HIGH]
        for part in (None, *whole):
            model = _with(base, table, dtype=dtype, **({} if part is None else {"parts": {part.name: part.format}}))
            but = "" if part is None else f", {part.name} in {HIGH}"
            yield StageVariant(stage, f"model{but}", dtype, model)
            if scored != "index" or is_local(base["index"]["spec"]):
                yield StageVariant(stage, f"model and scores{but}", dtype, _with(model, scored, scoring=dtype))


def _of_vectors(
    base: Settings, settings: Settings, low: Sequence[str], storages: Sequence[str]
) -> Iterator[StageVariant]:
    """Scores of vectors, how these are stored, and an index that visits some of them."""
    spec = str(settings["index"]["spec"])
    if not is_local(spec):
        return
    yield from (StageVariant("dense", "scores", form, _with(base, "index", scoring=form)) for form in low)
    for form in low:
        yield StageVariant("dense", "softmax of scores", form, base, {"dense": form}, listwise=True)
    kind, chosen = read_spec(spec)
    specs = {name: name if name in CODEBOOKS else f"flat(storage='{name}')" for name in storages if name != HIGH}
    if kind.name in CODEBOOKS:
        specs[kind.name] = spec
    own = chosen.get("storage", HIGH)
    if own != HIGH:
        specs[str(own)] = f"flat(storage='{own}')"
    for name, stored in specs.items():
        yield StageVariant("dense", "vectors", name, _with(base, "index", spec=stored, scoring="index"))
        yield StageVariant("dense", "vectors, scored again", name, _with(base, "index", spec=stored))
    if kind.name not in ("flat", *CODEBOOKS):
        yield StageVariant("dense", "index", kind.name, _with(base, "index", spec=_with_storage(spec, HIGH)))


def _of_fusion(base: Settings) -> Iterator[StageVariant]:
    """The other ways to fuse: RRF makes ties of ranks, whatever the formats."""
    fuse = base["fuse"]
    names = {
        "RRF": {"method": "rrf", "tied": "listed"},
        SHARED: {"method": "rrf", "tied": "shared"},
        "min-max": {"method": "weighted", "norm": "min-max"},
        "z-score": {"method": "weighted", "norm": "z-score"},
    }
    for name, values in names.items():
        if any(fuse[key] != value for key, value in values.items()):
            yield StageVariant("fuse", "method", name, _with(base, "fuse", **values))
