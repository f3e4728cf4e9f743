"""`trueval precision codes`: ties and losses of int8, 4-bit, product and binary codes of stored vectors."""

from typing import Annotated

import typer

from trueval.cli.caching import CacheFolder, cache_of
from trueval.cli.long_work import bars, remarks
from trueval.cli.options import JUDGED, MEASURES, Form, Memory, OutputOptions, PolicyOptions, with_groups
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.short_help import common_options


@common_options("model", "storage", "k", "rescore", "qrels", "measures", "out", "form")
@with_groups
def codes(
    collection: Annotated[
        str, typer.Argument(metavar="COLLECTION", help="As in retrieve: a folder, mteb:NAME, hf:NAME ...")
    ],
    *,
    model: Annotated[
        str, typer.Option(metavar="NAME_OR_PATH", help="Embedder: recipe, folder, hub id, or SERVICE:MODEL.")
    ],
    storage: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC",
            help="Storages to compare with float32: flat(storage='int8'), pq(m=48), opq ... Repeat it. Default: int8, "
            "4-bit, pq and binary.",
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", metavar="K", min=1, help="Documents of a result.")] = 10,
    rescore: Annotated[
        str,
        typer.Option(metavar="LIST", help="Documents to score again with float32 vectors, in multiples of K."),
    ] = "2,4,10",
    measures: Annotated[
        list[str] | None,
        typer.Option("--measures", "-m", metavar="LIST", help="Measures, as in evaluate.", rich_help_panel=MEASURES),
    ] = None,
    qrels: Annotated[
        str | None,
        typer.Option(
            metavar="QRELS", help="Judgments, or a golden set. Default: those of COLLECTION.", rich_help_panel=JUDGED
        ),
    ] = None,
    policy: PolicyOptions,
    cache: CacheFolder = None,
    output: OutputOptions,
    form: Form = "table",
    memory: Memory = None,
) -> None:
    """Says what int8, 4-bit, product and binary codes of vectors lose, and what scoring again brings back.

    Example: trueval precision codes collection --model all-MiniLM-L6-v2 -k 10 -m nDCG@10
    """
    from trueval.collection import Collection
    from trueval.measures import parse_list
    from trueval.precision.stored_codes import STORAGES, precision_codes
    from trueval.precision.views.kind import CODES

    try:
        multiples = [int(each) for each in rescore.replace(",", " ").split()]
    except ValueError:
        raise typer.BadParameter(
            f"must be whole numbers, such as 2,4,10. Got {rescore}.", param_hint="--rescore"
        ) from None
    if policy.depth is not None:
        raise typer.BadParameter("every document is scored, so no list ends at a depth.", param_hint="--depth")
    if output.out is not None:
        check_folder(output.out)
    with remarks(), bars() as bar:
        found = precision_codes(
            Collection.of(collection, qrels=qrels),
            model,
            storage or STORAGES,
            None if measures is None else parse_list(measures),
            k=k,
            rescore=multiples,
            cache=cache_of(cache, output.out),
            begin=bar,
            **policy.choices(),
        )
    result = found.to_dict()
    if output.out is not None:
        save(output.out, (CODES, result), page=True)
    talk(found.notes)
    show(CODES, result, form, percent=output.percent)
