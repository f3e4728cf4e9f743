"""`trueval evaluate`: run files against judgments, exactly under ties."""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from trueval.cli.details import Details, examine_run
from trueval.cli.executors import executor_on
from trueval.cli.gate import BUILD_FORMS, GateOptions, conclude_with_checks
from trueval.cli.labels import LabelOptions
from trueval.cli.options import (
    JUDGMENTS,
    OUTPUT,
    InputOptions,
    MeasureList,
    PolicyOptions,
    RunsOutputOptions,
    Sort,
    with_groups,
)
from trueval.cli.output import Format, check_folder, save, say, show, talk
from trueval.cli.paths import expand, refuse_repeated
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.measures import Measure
    from trueval.rag.evaluate_files import EvaluationResults
    from trueval.run import Run


@dataclass(frozen=True, eq=False, repr=False)
class EvidenceOptions:
    """What to compute beside the means."""

    panel: ClassVar = "Evidence for a reader"

    correct: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Whether each answer was correct, query and 0 to 1 separated by a tab, a comma or spaces: gives the "
            "accuracy where AllGold@k holds.",
        ),
    ] = None
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Vary the parameters of RA-nWG and every label among the first k.")
    ] = False


@dataclass(frozen=True, eq=False, repr=False)
class DisplayOptions:
    """What to show of the runs, and in which order."""

    panel: ClassVar = OUTPUT

    sort: Sort = None
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Print the values of every query too; --out keeps them.")
    ] = False
    collection: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder with corpus.jsonl and queries.jsonl, whose texts --out shows beside their ids."
        ),
    ] = None

    def check(self, out: Path | None) -> None:
        """Refuse texts that no output would show."""
        if self.collection is not None and out is None:
            raise typer.BadParameter("needs --out, where the texts are written.", param_hint="--collection")

    def hashes(self) -> dict[str, str]:
        """Hashes of the texts, if a collection is given."""
        if self.collection is None:
            return {}
        from trueval.evaluation.content_hashes import collection_hashes

        return collection_hashes(self.collection)


@common_options("measures", "convention", "rel", "per_query", "max_drop", "minimum", "baseline", "out", "form")
@with_groups
def evaluate(
    qrels: Annotated[str, typer.Argument(metavar="QRELS", help=JUDGMENTS)],
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Run files in any of these forms, or name=path, a folder, a pattern, a table of runs; - is stdin.",
        ),
    ],
    *,
    measures: MeasureList = None,
    policy: PolicyOptions,
    inputs: InputOptions,
    evidence: EvidenceOptions,
    labels: LabelOptions,
    gates: GateOptions,
    output: RunsOutputOptions,
    shown: DisplayOptions,
    form: Annotated[
        Literal[Format, "trec", "junit", "github"],
        typer.Option(
            "--format",
            metavar="FORM",
            rich_help_panel=OUTPUT,
            help="What to print: table, json, csv, markdown, latex or trec; or of gates, for build servers, junit or "
            "github.",
        ),
    ] = "table",
) -> None:
    """Measures runs: values, and what the order of ties could make of them.

    Example: trueval evaluate qrels.trec bm25.trec rerank.trec.gz -m "nDCG@10 RR@10"
    """
    from trueval.evaluation.views.order import sort_by
    from trueval.files.source.fingerprints import record_files
    from trueval.rag.evaluate_files import check_subjects, evaluate_files

    runs = expand(runs)
    (chosen, rules), out = policy.request(qrels, measures, form, runs=runs), output.out
    first = sort_by(shown.sort, chosen, rules)
    limits = gates.limits(chosen, rules, labels.labels, form)  # what is misused is refused before any file is read
    check_subjects(chosen, correct=evidence.correct is not None, with_sensitivity=evidence.sensitivity)
    shown.check(out)
    paths = gates.paths(runs)
    refuse_repeated(qrels, paths)
    if out is not None:
        check_folder(out)
    kept = shown.per_query or out is not None or bool(limits)  # the results may become a baseline
    beside = {"sources": inputs.sources, "answers": evidence.correct, "audit": labels.folder(qrels), **gates.files()}
    details = None if out is None else Details(qrels, paths, shown.collection, beside)
    with nullcontext() if details is None else record_files(details.seen):
        content = shown.hashes() if kept else None
        given = inputs.to_inputs(chosen, policy.grade_map(), evidence.correct)
        lists: list[Run] = []
        with executor_on(output.on) as executor, progress(1 + len(paths)) as begin:
            begin(qrels)
            joined = labels.read(qrels, given)
            found = evaluate_files(
                joined.used,
                paths,
                chosen,
                inputs=given,
                with_sensitivity=evidence.sensitivity,
                content=content,
                # A correction needs all lists, in memory.
                observe=None if joined.audited is None else lambda run, *_: lists.append(run),
                examine=None if details is None else examine_run,
                begin=begin,
                executor=executor,
                policy=rules,
            )
        if details is not None:
            for scores, seen in zip(found.scores, found.examined, strict=True):
                details.add(scores, seen)
        talk(found.notes)
        # Differences are corrected against the baseline, or the first run, not for all pairs.
        held_against = gates.baseline_of(found.scores, runs, paths) or found.scores[0].name
        corrected = labels.correct(joined, lists, chosen, rules, baseline=held_against)
        gated = gates.check(
            found.scores,
            len(runs),
            paths,
            limits,
            missing=policy.missing_choice(),
            corrected=corrected,
            labels=labels.labels,
        )
    results = found.to_dict(content=kept)
    audit = labels.summarize(corrected, joined, qrels)
    if corrected is not None and audit is not None:
        from trueval.comparison.labels.corrected_results import correct_evaluation

        results = correct_evaluation(results, corrected, audit)
    results = gated.add_to(results) if limits else results
    if out is not None and details is not None:
        _save(out, results, details)
    with conclude_with_checks(results, gated):
        if form in BUILD_FORMS:
            gated.write(form)
            return
        _show(found, results, form, first, per_query=shown.per_query, percent=output.percent)


def _save(out: Path, results: Mapping[str, object], details: Details) -> None:
    """Write the results, and with them the per-query details of the page."""
    from trueval.evaluation.views.details import DETAILS
    from trueval.evaluation.views.kind import EVALUATE

    save(out, (EVALUATE, results), (DETAILS, details.to_dict()), others=details.files())
    say(f"trueval report {out} makes the page of it")


def _show(
    found: "EvaluationResults",
    results: Mapping[str, object],
    form: str,
    first: "Measure | None",
    *,
    per_query: bool,
    percent: bool,
) -> None:
    """Print the results; in formats for people, runs are in the requested order."""
    from trueval.evaluation.views.kind import EVALUATE
    from trueval.evaluation.views.order import in_order
    from trueval.report.kinds import ROUNDED

    printed = results
    if per_query and form not in ("markdown", "latex"):
        from trueval.evaluation.query_values import with_queries

        printed = with_queries(results, found.scores)
    show(EVALUATE, in_order(printed, first) if form in ROUNDED else printed, form, percent=percent)
    if per_query and form in ("markdown", "latex"):
        talk([f"--format {form} holds means only. --format json, csv or trec, or --out DIR, give every query."])
    _say_beside(found, results, form, percent=percent)


def _say_beside(found: "EvaluationResults", results: Mapping[str, object], form: str, *, percent: bool) -> None:
    """Print the lines below the table; with other formats they go to stderr, since programs read stdout."""
    lines = lines_beside(found, results, percent=percent)
    if form != "table":
        talk(lines)
        return
    for line in lines:
        say(line, err=False)


def lines_beside(found: "EvaluationResults", results: Mapping[str, object], *, percent: bool) -> Iterator[str]:
    """Lines below the table: additional numbers, answers, sensitivity.

    Args:
        found: results of the runs.
        results: their JSON.
        percent: whether to print points instead of fractions.
    """
    from trueval.rag.views.text import answer_line, detail_lines, sensitivity_lines
    from trueval.report.number_texts import FRACTIONS, POINTS

    scale = POINTS if percent else FRACTIONS
    yield from detail_lines(results)
    for scores, answers in zip(found.scores, found.answers, strict=True):
        yield from (answer_line(scores.name, name, one, scale) for name, one in answers.items())
    for one in found.sensitivity:
        yield from sensitivity_lines(one, scale)
