"""The request of a names probe: its scorers, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from trueval.errors import PolicyError
from trueval.models.hosted.services import is_hosted


class EmbedderRequest(NamedTuple):
    """A requested embedder.

    Attributes:
        dimension: number of leading components to keep; None for all.
    """

    model: str
    dimension: int | None

    @classmethod
    def of(cls, text: str) -> EmbedderRequest:
        """Read NAME or NAME@DIMENSION.

        >>> EmbedderRequest.of("all-MiniLM-L6-v2@256"), EmbedderRequest.of("org/model@main")
        (EmbedderRequest(model='all-MiniLM-L6-v2', dimension=256), EmbedderRequest(model='org/model@main',
        dimension=None))
        """
        model, _, dimension = text.rpartition("@")
        return cls(model, int(dimension)) if model and dimension.isdecimal() and int(dimension) else cls(text, None)


@dataclass(frozen=True)
class ScorerRequest:
    """The requested scorers.

    Attributes:
        models: embedders, as NAME or NAME@DIMENSION.
        rerankers: names of rerankers.
        bm25: whether to include BM25.
        hybrid: whether to include each embedder fused with BM25.
        maxsim: whether to include MaxSim over each embedder's token vectors.
        dtype: number format in which models run.
        scoring: format of scores, "model" for the model's own.
        stored: storage format of candidates' vectors, "model" for the model's own.
        loading: further options of `load_model`, for local models.
        hosted: settings of hosted models, as in `load_hosted`.
    """

    models: tuple[str, ...] = ()
    rerankers: tuple[str, ...] = ()
    bm25: bool = False
    hybrid: bool = False
    maxsim: bool = False
    dtype: str = "float32"
    scoring: str = "float32"
    stored: str = "model"
    loading: Mapping[str, object] = field(default_factory=dict)
    hosted: Mapping[str, object] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse an impossible request, before any work.

        Raises:
            PolicyError: no scorer or a duplicate is requested, or something needs an embedder and there is none.
        """
        if not (self.models or self.rerankers or self.bm25):
            raise PolicyError("A probe needs a scorer. Name a model, a reranker, or BM25.")
        if (self.hybrid or self.maxsim) and not self.models:
            raise PolicyError(f"{'hybrid' if self.hybrid else 'maxsim'} needs an embedder. Name a model beside it.")
        for named in (
            [*map(EmbedderRequest.of, self.models)],
            [EmbedderRequest(each, None) for each in self.rerankers],
        ):
            if twice := [each.model for each in named if named.count(each) > 1]:
                raise PolicyError(f"{twice[0]} is named twice. Name it once, or an embedder with another @DIM.")
        for model in self.models if self.maxsim else ():
            if is_hosted(model):
                raise PolicyError(f"maxsim needs the token vectors of {model}, which no service gives.")
