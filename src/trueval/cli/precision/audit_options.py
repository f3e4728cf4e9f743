"""The options of `trueval precision audit`: the collection, the formats, and what gives the outputs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from trueval.cli.caching import CacheFolder
from trueval.cli.estimates import DryRunFlag
from trueval.cli.options import QrelsFile, Where, in_list

if TYPE_CHECKING:
    from trueval.collection import Collection
    from trueval.run import Run

DEFAULT_DTYPES = "bfloat16,float32"
DEFAULT_SCORING = "model,float32"


@dataclass(frozen=True, eq=False, repr=False)
class CollectionOptions:
    """What to read of a collection, and which documents to score."""

    panel: ClassVar = "Collection"

    fields: Annotated[
        str, typer.Option(metavar="LIST", help="Fields that make a document's text, separated by commas.")
    ] = "title,text"
    exclude_queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Queries to leave out: a JSON list, or one id a line.")
    ] = None
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Look at the first N judged queries only.")] = (
        None
    )
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="CHOICE",
            help="judged: every judged document of a query; corpus: every document; or a run file. "
            "Default: the collection's own lists, else judged.",
        ),
    ] = None

    qrels: QrelsFile = None

    def read(self, place: str) -> "Collection":
        """Read the collection."""
        from trueval.collection import Collection

        return Collection.read(place, fields=in_list(self.fields), qrels=self.qrels)

    def candidate_source(self) -> "str | Run | None":
        """The candidates, as `candidate_lists` takes them."""
        from trueval.run import Run

        # Names first: a run file called "judged" must be given with its folder.
        named = self.candidates in (None, "judged", "corpus")
        return self.candidates if named else Run.read(str(self.candidates))


@dataclass(frozen=True, eq=False, repr=False)
class FormatOptions:
    """The formats that models run in, that scores are in, and that embeddings are stored in."""

    panel: ClassVar = "Models"

    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Formats that the models run in, separated by commas; of --logits those to look at. "
            f"Default: {DEFAULT_DTYPES}; of --logits all.",
        ),
    ] = None
    scoring: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Formats of the scores, separated by commas; model is the model's own dtype. Default: "
            f"{DEFAULT_SCORING}; of --pipeline every format below float32.",
        ),
    ] = None
    index_dtype: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="What document embeddings are stored in: number formats, int8, int4, binary; model is the model's "
            "own. Default: model; of --pipeline float16,bfloat16,int8, and it takes pq and opq too.",
        ),
    ] = None

    similarity: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Scoring functions of embedders, separated by commas: product, and softmax of products over each "
            "list. Default: product.",
        ),
    ] = None
    parts: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Run each model again with a part alone in another format, separated by commas: head=FORMAT, its last "
            "layer, or attention=FORMAT, the softmax of its attention; such as head=float32.",
        ),
    ] = None

    @property
    def of_embedders(self) -> list[str]:
        """The scoring functions of embedders."""
        return in_list(self.similarity or "")

    @property
    def of_parts(self) -> list[str]:
        """The parts that run alone in another format."""
        return in_list(self.parts or "")

    @property
    def of_models(self) -> list[str] | None:
        """The formats that models run in; None if not chosen."""
        return None if self.dtype is None else in_list(self.dtype)

    @property
    def of_scores(self) -> list[str]:
        """The formats of scores."""
        return in_list(self.scoring or DEFAULT_SCORING)

    @property
    def of_vectors(self) -> list[str]:
        """The formats of stored embeddings."""
        return in_list(self.index_dtype or "model")

    @property
    def of_stages(self) -> list[list[str] | None]:
        """The formats of a pipeline's models, scores and vectors; None where not chosen."""
        return [None if text is None else in_list(text) for text in (self.dtype, self.scoring, self.index_dtype)]


@dataclass(frozen=True, eq=False, repr=False)
class SourceOptions:
    """The source of model outputs: models, or a file."""

    panel: ClassVar = "Models"

    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="NAME_OR_PATH", help="Recipe, folder, hub id, or RECIPE:FOLDER_OR_ID. May be repeated."
        ),
    ] = None
    logits: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Stored logits instead of models: .npz with query, doc and an array for each model dtype.",
        ),
    ] = None
    pipeline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Pipeline to audit instead of a model: each of its stages in each format, apart and together.",
        ),
    ] = None
    cache: CacheFolder = None
    card: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a Markdown table for a model card too: release, formats, range, bias, and this command.",
        ),
    ] = None
    on: Where = None
    dry_run: DryRunFlag = False
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="paper: measures, formats, batches of 16, 4,096 tokens and policy of the paper's Appendix E, where "
            "you give no others.",
        ),
    ] = None
    reproduce: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="table1: run the paper's five models on its two data sets and print ours beside its numbers. "
            "COLLECTION is then a folder with MIRACLReranking and AskUbuntuDupQuestions, by default of mteb; --model "
            "NAME:FOLDER says where one of its models is.",
        ),
    ] = None
    batch_sizes: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Instead of formats, what batches alone do: run each model in batches of these sizes, such as 1,8,32.",
        ),
    ] = None
    also: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="With --batch-sizes, further passes in batches of the first size: seed=N draws them at random, "
            "padding=left, padding=right or padding=max pads otherwise, threads=N computes with N, device=NAME on "
            "another.",
        ),
    ] = None

    @property
    def sizes(self) -> list[int]:
        """The batch sizes to compare; none by default."""
        texts = in_list(self.batch_sizes or "")
        if not all(text.isdigit() and int(text) > 0 for text in texts) or (len(set(texts)) == 1 and not self.also):
            raise typer.BadParameter(
                f"must be two or more different numbers of at least 1, such as 1,8,32. Got {self.batch_sizes!r}.",
                param_hint="--batch-sizes",
            )
        return [int(text) for text in texts]

    def check(self) -> None:
        """Refuse both sources, and none, and batches of stored logits."""
        if self.pipeline is not None:
            self._check_pipeline()
            return
        if self.cache is not None:
            raise typer.BadParameter("goes with --pipeline; models keep their outputs in --out.", param_hint="--cache")
        if self.card is not None and (self.sizes or self.reproduce is not None or self.dry_run):
            raise typer.BadParameter(
                "goes with an audit of models or a pipeline, without --batch-sizes, --reproduce and --dry-run.",
                param_hint="--card",
            )
        if self.also is not None and not self.sizes:
            raise typer.BadParameter("goes with --batch-sizes.", param_hint="--also")
        if self.sizes and self.logits is not None:
            raise typer.BadParameter("need models: stored logits have one batch size.", param_hint="--batch-sizes")
        if self.preset is not None and not self.models and self.logits is None:
            raise typer.BadParameter(
                f"none is named, and --preset {self.preset} says only how one is run and measured. Name a model, such "
                "as --model bge-reranker-v2-m3, or its --logits.",
                param_hint="--model",
            )
        if self.reproduce is None and bool(self.models) == (self.logits is not None):
            raise typer.BadParameter(
                "give at least one, or --logits, or --pipeline, and only one of these.", param_hint="--model"
            )

    def _check_pipeline(self) -> None:
        """Refuse what goes with models alone."""
        given = {
            "--model": self.models,
            "--logits": self.logits,
            "--batch-sizes": self.sizes,
            "--preset": self.preset,
            "--reproduce": self.reproduce,
        }
        for name, value in given.items():
            if value:
                raise typer.BadParameter("names its own models and how they run.", param_hint=f"--pipeline with {name}")
        if self.dry_run:
            raise typer.BadParameter(
                "estimates models alone. Take trueval retrieve --pipeline FILE --dry-run: the audit has its texts and "
                "pairs in float32 and in each format of --dtype, and up to a fifth more pairs.",
                param_hint="--pipeline with --dry-run",
            )
