"""`trueval answers compare`: which of several systems answers better, paired by question."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.answers.answer_options import AnswerMeasures
from trueval.cli.gate import GateFindings, conclude_with_checks
from trueval.cli.options import (
    JUDGED,
    ClusterFile,
    Form,
    Level,
    Memory,
    Percent,
    ResultFolder,
    in_list,
    with_groups,
)
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.short_help import common_options
from trueval.errors import PolicyError


@common_options("judged", "measures", "baseline", "max_drop", "out", "form")
@with_groups
def compare(
    logs: Annotated[
        list[str], typer.Argument(metavar="LOG...", help="Logs of answers to the same questions.", show_default=False)
    ],
    *,
    judged: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="Judged table of each log, in their order: given once for each.",
            rich_help_panel=JUDGED,
        ),
    ] = None,
    measures: AnswerMeasures = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="LOG", help="Compare every log with this one, and not every pair. Default: all pairs."),
    ] = None,
    clusters: ClusterFile = None,
    level: Level = 0.95,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of resamples.")] = 0,
    max_drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X",
            help="Exit with 1 when a log is worse than the baseline by more than X at every value of the 95% interval; "
            "correctness=X for one measure.",
            rich_help_panel="Gates",
        ),
    ] = None,
    out: ResultFolder = None,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Compares the answers of systems to the same questions.

    Example: trueval answers compare old.jsonl new.jsonl --judged old_table.jsonl --judged new_table.jsonl

    Example: trueval answers compare old.jsonl new.jsonl -m token-F1 --baseline old.jsonl --max-drop 0.02
    """
    from trueval.answers.answer_logs import read_answers
    from trueval.answers.evaluate_answers import answer_scores
    from trueval.comparison.compare import compare_scores
    from trueval.comparison.views.kind import COMPARE

    if judged and len(judged) != len(logs):
        raise typer.BadParameter(f"must be given once for each of {len(logs)} logs.", param_hint="--judged")
    if max_drop and baseline is None:
        raise PolicyError("--max-drop needs --baseline LOG.")
    if out is not None:
        check_folder(out)
    read = [read_answers(path) for path in logs]
    names = None if measures is None else in_list(measures)
    tables = [None for _ in read] if judged is None else [*judged]
    scores = [answer_scores(log, table, names) for log, table in zip(read, tables, strict=True)]
    named = dict(zip(logs, (each.name for each in scores), strict=True))
    against = None if baseline is None else named.get(baseline, Path(baseline).stem)
    groups = clusters if clusters is not None or not read[0].clusters else read[0].clusters
    found = compare_scores(scores, baseline=against, clusters=groups, level=level, seed=seed)
    checks = GateFindings()
    if max_drop:
        from trueval.comparison.gate.gate import gate
        from trueval.comparison.limits import parse_limit

        first = next(each for each in scores if each.name == against)
        limits = [parse_limit("max-drop", text) for text in max_drop]
        checks = GateFindings(gate([each for each in scores if each is not first], limits, baseline=first))
    result = found.to_dict()
    talk(found.notes)
    if out is not None:
        save(out, (COMPARE, result), page=True)
    with conclude_with_checks(result, checks, COMPARE):
        show(COMPARE, result, form, percent=percent)
