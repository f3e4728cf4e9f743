"""`trueval precision runs`: what the scores of runs were rounded to, and what number formats did."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trueval.cli.options import (
    JUDGMENTS,
    Form,
    InputOptions,
    MeasureList,
    OutputOptions,
    PolicyOptions,
    with_groups,
)
from trueval.cli.output import check_folder, save, show, talk, talk_notes
from trueval.cli.paths import refuse_repeated
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trueval.precision.audit_result import Audit
    from trueval.precision.grid_result import GridReport
    from trueval.report.kinds import Kind
    from trueval.run import Run


@dataclass(frozen=True, eq=False, repr=False)
class ServiceOptions:
    """A service that is asked, in place of runs."""

    panel: ClassVar = "Services"

    service: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Ask a service that reranks instead: SERVICE:MODEL of vllm, cohere, jina or voyage, or tei.",
        ),
    ] = None
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Its URL, without /rerank. Default: the service's own.")
    ] = None
    key: Annotated[
        str | None,
        typer.Option(
            "--api-key-env", metavar="NAME", help="Variable of the environment with its key. Default: the service's."
        ),
    ] = None
    texts: Annotated[
        str | None,
        typer.Option(
            metavar="COLLECTION", help="Its first 6 queries and 50 documents are sent. Default: the embedded sample."
        ),
    ] = None

    def probe(self) -> "GridReport":
        """Ask the service, after saying what leaves this machine."""
        import warnings

        from trueval.collection import Collection
        from trueval.errors import TruevalWarning
        from trueval.models.hosted.hosted_roles import HostedReranker, load_hosted
        from trueval.models.hosted.services import is_hosted, parse_hosted_name
        from trueval.precision.service_probe import DOCUMENTS, QUERIES, probe_service
        from trueval.sample import sample_path

        name = self.service or ""
        name = f"{name}:{self.url}" if name.lower() == "tei" else name
        reranks = is_hosted(name) and parse_hosted_name(name).service.reranks is not None
        model = load_hosted(name, base_url=self.url, api_key_env=self.key) if reranks else None
        if not isinstance(model, HostedReranker):
            accepted = "must be a reranker, vllm:MODEL, cohere:MODEL, jina:MODEL, voyage:rerank-MODEL or tei"
            raise typer.BadParameter(f"{accepted}. Got {self.service!r}.", param_hint="--service")
        collection = Collection.read(self.texts or str(sample_path()))
        what = f"{QUERIES} queries with up to {DOCUMENTS} documents of {collection.name}"
        talk([f"sending {what} to {self.url or name}, four times."])
        with warnings.catch_warnings():  # each of the calls would say again what leaves this machine
            warnings.simplefilter("ignore", TruevalWarning)
            return probe_service(model, collection, name.partition(":")[0])


@common_options("service", "url", "qrels", "measures", "tie_order", "rel", "out", "form")
@with_groups
def runs(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN...",
            help="Runs, each a path or NAME=PATH. Or QRELS and runs of named formats, all of the same queries and "
            "documents: MODEL:DTYPE=PATH, or MODEL:DTYPE:SCORING=PATH where scores have a format of their own.",
        ),
    ] = None,
    *,
    served: ServiceOptions,
    qrels: Annotated[
        str | None, typer.Option(metavar="QRELS", help=f"{JUDGMENTS} Of runs alone, for measures.")
    ] = None,
    measures: MeasureList = None,
    policy: PolicyOptions,
    inputs: InputOptions,
    output: OutputOptions,
    form: Form = "table",
) -> None:
    """Says what the scores of runs were rounded to, from the scores alone; of runs in named formats, what these cost.

    Example: trueval precision runs served.trec --qrels qrels.trec -m nDCG@10
    """
    from trueval.files.display_names import path_of
    from trueval.files.source.fingerprints import record_files
    from trueval.precision.views.kind import GRID, PRECISION
    from trueval.report.provenance import files_read

    if output.out is not None:
        check_folder(output.out)
    if served.service is not None or served.url is not None:
        if files or qrels is not None or measures:
            raise typer.BadParameter("takes no runs, no judgments and no measures.", param_hint="--service")
        _show(GRID, served.probe().to_dict(), output, form)
        return
    if not files:
        raise typer.BadParameter("give at least one run, or --url and --service.", param_hint="RUN")
    audited = any(":" in text.partition("=")[0] and "=" in text for text in files)
    if audited and qrels is None:
        qrels, files = files[0], files[1:]
    if qrels is not None:
        refuse_repeated(qrels, files)
    with record_files() as seen, progress(len(files) + (qrels is not None)) as begin:
        given = measures, policy, inputs, begin
        found = _audit(str(qrels), files, *given) if audited else _grids(qrels, files, *given)
    named = [*([] if qrels is None else [("judgments", qrels)]), *(("run", path_of(text)) for text in files)]
    result = {**found.to_dict(), "files": files_read(named, seen)}
    _show(PRECISION if audited else GRID, result, output, form)


def _show(kind: "Kind", result: "dict[str, Any]", output: OutputOptions, form: Form) -> None:
    """Print a result, and write its files."""
    talk_notes(result)
    if output.out is not None:
        save(output.out, (kind, result), page=True)
    show(kind, result, form, percent=output.percent)


def _audit(
    qrels: str,
    runs: "Sequence[str]",
    measures: list[str] | None,
    policy: PolicyOptions,
    inputs: InputOptions,
    begin: "Callable[[str], None]",
) -> "Audit":
    """The audit of runs in named formats."""
    from trueval.precision.audit_runs import audit_runs, read_regime

    for text in runs:
        read_regime(text.partition("=")[0])  # before files are read
    chosen, rules = policy.request(qrels, measures)
    reading = inputs.to_inputs(chosen, policy.grade_map())
    begin(qrels)
    pairs = reading.read_runs(runs, reading.read_judgments(qrels), begin)
    found = {pair.run.name: pair for pair in pairs}
    judgments = next(iter(found.values())).judgments
    return audit_runs({name: pair.run for name, pair in found.items()}, judgments, chosen, policy=rules)


def _grids(
    qrels: str | None,
    runs: "Sequence[str]",
    measures: list[str] | None,
    policy: PolicyOptions,
    inputs: InputOptions,
    begin: "Callable[[str], None]",
) -> "GridReport":
    """The grids of runs, with measures where there are judgments."""
    from trueval.files.display_names import name_files
    from trueval.precision.run_grids import grids_of
    from trueval.run import Run

    if qrels is None:
        if measures:
            raise typer.BadParameter("measures need judgments: give --qrels QRELS.", param_hint="--measures")

        def read() -> "Iterator[tuple[Run, None]]":
            for name, path in name_files(runs):
                begin(path)
                yield Run.read(path, name=name), None

        return grids_of(read(), (), None)
    chosen, rules = policy.request(qrels, measures)
    reading = inputs.to_inputs(chosen, policy.grade_map())
    begin(qrels)
    pairs = reading.read_runs(runs, reading.read_judgments(qrels), begin)
    return grids_of(((pair.run, pair.judgments) for pair in pairs), chosen, rules)
