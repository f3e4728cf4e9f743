"""`trueval cuts`: results that depend on chance because the cut at K falls inside a group of equal scores."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trueval.cli.caching import CacheFolder, cache_of
from trueval.cli.long_work import bars, remarks
from trueval.cli.options import JUDGED, MEASURES, Form, Memory, OutputOptions, PolicyOptions, with_groups
from trueval.cli.output import check_folder, save, show, talk_notes
from trueval.cli.retrieve import SearchOptions
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from trueval.judgments import Judgments
    from trueval.retrieval.cuts.cut_audit import Cuts

    InputLoader = Callable[[Judgments | None], dict[str, Any]]

CHANCES = "chances.csv"


@dataclass(frozen=True, repr=False)
class CallOptions:
    """How often and how deep an index is asked."""

    panel: ClassVar = "Calls"

    k: Annotated[int, typer.Option("-k", metavar="K", min=1, help="Documents of a context: where the list is cut.")] = (
        10
    )
    repeats: Annotated[
        int, typer.Option(metavar="R", min=1, help="Calls for K documents that are compared with each other.")
    ] = 5
    most: Annotated[
        int, typer.Option(metavar="N", min=1, help="Documents to fetch at most, to see where a group ends.")
    ] = 10_000
    draws: Annotated[
        int, typer.Option(metavar="N", min=1, help="Orders of equal scores that go through a pipeline, at most.")
    ] = 50


@dataclass(frozen=True, eq=False, repr=False)
class JudgmentOptions:
    """What says how good documents are, and what they say."""

    panel: ClassVar = JUDGED

    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measures",
            "-m",
            metavar="LIST",
            help="Measures, as in evaluate. Default: R@K and nDCG@K, and RA-nWG@K where grades are of its rubric; of a "
            "golden set those of evaluate, at K.",
            rich_help_panel=MEASURES,
        ),
    ] = None
    qrels: Annotated[str | None, typer.Option(metavar="QRELS", help="Judgments. Default: those of COLLECTION.")] = None
    texts: Annotated[
        str | None,
        typer.Option(
            metavar="COLLECTION",
            help="With --runs: the texts of the documents, to tell identical ones from other ties.",
        ),
    ] = None

    def load_inputs(self, policy: PolicyOptions) -> "InputLoader":
        """Read the named judgments and measures.

        Returns:
            A function from the judgments of the collection, which apply if no file names others, to the arguments of
            `cut_index` and `cut_runs` besides the input.
        """
        from trueval.judgments import Judgments
        from trueval.measures import parse_list

        grades = policy.grade_map()
        wanted = None if self.measures is None else parse_list(self.measures)
        named = None if self.qrels is None else Judgments.read(self.qrels)

        def choose(own: "Judgments | None") -> dict[str, object]:
            judgments = named or own
            if judgments is not None and not len(judgments.frame):
                judgments = None
            if judgments is not None and grades is not None:
                judgments = judgments.map_grades(grades)
            if judgments is None and wanted is not None:
                raise typer.BadParameter("needs judgments: name them by --qrels.", param_hint="--measures")
            return {"judgments": judgments, "measures": wanted, **policy.choices()}

        return choose


@common_options("runs", "qrels", "pipeline", "k", "measures", "rel", "out", "form")
@with_groups
def cuts(
    places: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COLLECTION | RUN...]",
            help="Folder with corpus.jsonl and queries.jsonl, or mteb:NAME, ir_datasets:NAME or hf:NAME; with --runs "
            "the runs.",
        ),
    ] = None,
    *,
    runs: Annotated[
        bool,
        typer.Option(
            "--runs",
            help="Look at run files: one that goes past K, or several of the same call.",
            rich_help_panel="Calls",
        ),
    ] = False,
    search: SearchOptions,
    calls: CallOptions,
    judged: JudgmentOptions,
    policy: PolicyOptions,
    cache: CacheFolder = None,
    output: OutputOptions,
    form: Form = "table",
    memory: Memory = None,
) -> None:
    """Says what equal scores at the cut at K leave to chance.

    Example: trueval cuts corpus --index "flat(storage='binary')" --model all-MiniLM-L6-v2 -k 10 --out cuts

    Example: trueval cuts --runs monday.trec tuesday.trec --qrels qrels.trec -k 10
    """
    from trueval.retrieval.views.kind import CUTS

    if policy.depth is not None:
        raise typer.BadParameter("lists must go past the cut, which -k names.", param_hint="--depth")
    if output.out is not None:
        check_folder(output.out)
    with remarks():
        if runs:
            found = _of_runs(places or [], search, calls, judged.texts, judged.load_inputs(policy))
        else:
            if judged.texts is not None:
                raise typer.BadParameter("goes with --runs; a COLLECTION has its texts.", param_hint="--texts")
            found = _of_collection(places or [], search, calls, cache_of(cache, output.out), judged.load_inputs(policy))
    result = found.to_dict()
    if output.out is not None:
        save(output.out, (CUTS, result), others={CHANCES: found.chances().write_csv}, page=True)
    talk_notes(result)
    show(CUTS, result, form, percent=output.percent)


def _of_runs(
    places: list[str], search: SearchOptions, calls: CallOptions, texts: str | None, load: "InputLoader"
) -> "Cuts":
    from trueval.retrieval.cuts.cuts import cuts as library

    if not places:
        raise typer.BadParameter("name a run that goes past K, or several of the same call.", param_hint="RUN...")
    told_apart = {
        "--pipeline --index --model --queries": search != SearchOptions(),
        "--repeats --most --draws": calls != CallOptions(k=calls.k),
    }
    for names, given in told_apart.items():
        if given:
            raise typer.BadParameter("goes with a COLLECTION, and not with --runs.", param_hint=names)
    return library(texts, calls.k, runs=places, **load(None))


def _of_collection(
    places: list[str], search: SearchOptions, calls: CallOptions, cache: Path | None, load: "InputLoader"
) -> "Cuts":
    from trueval.retrieval.cuts.cuts import cuts as library

    if len(places) > 1:
        raise typer.BadParameter("name one collection, or say --runs.", param_hint="COLLECTION")
    chosen = search.read_pipeline()
    collection = search.collection(places[0] if places else None, chosen)
    asked: dict[str, Any] = {"repeats": calls.repeats, "most": calls.most, "draws": calls.draws, "cache": cache}
    with bars() as bar:
        return library(collection, calls.k, pipeline=chosen, **asked, begin=bar, **load(collection.judgments))
