"""`trueval answers stress`: what moves a judge of claims that should not count."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from trueval.cli.answers.answer_options import LOGS
from trueval.cli.answers.judge import ClaimJudgeOptions
from trueval.cli.estimates import DryRunFlag, show_dry_run
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import MEASURES, OUTPUT, Form, Level, Memory, Percent, in_list, with_groups
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.short_help import common_options


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceOptions:
    """Whether the judge prefers its own model."""

    panel: ClassVar = "Own model"

    people: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="People's labels of each log, or the folder of their audit: given once for each log, in their order.",
        ),
    ] = None
    own: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="How the names of the judge's own models begin, in the logs. Default: the judge's."
        ),
    ] = None


@common_options("judge", "answers", "people", "max_cost", "dry_run", "out", "form")
@with_groups
def stress(
    logs: Annotated[list[str], typer.Argument(metavar="LOG...", help=LOGS, show_default=False)],
    *,
    chosen: ClaimJudgeOptions,
    preference: PreferenceOptions,
    answers: Annotated[int, typer.Option(metavar="N", min=1, help="Answers that are drawn.")] = 40,
    measures: Annotated[
        str | None,
        typer.Option(
            "--measures",
            "-m",
            metavar="LIST",
            help="Default: nugget-recall, correctness, faithfulness, support-precision.",
            rich_help_panel=MEASURES,
        ),
    ] = None,
    level: Level = 0.95,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Write result, page and ledger there.", rich_help_panel=OUTPUT)
    ],
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep answers there; that of answers judge has some. Default: ledger.sqlite in --out.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    dry_run: DryRunFlag = False,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Says what moves a judge that should not count: length, tone, language, place, notes to it, its own model.

    Example: trueval answers stress log.jsonl --judge gpt-5-mini --out stress --dry-run

    Example: trueval answers stress a.jsonl b.jsonl --judge gpt-5-mini --own gpt --people a-people.jsonl
    --people b-people.jsonl --out stress
    """
    from trueval.answers.validation.answer_stress import estimate_stress, stress_answers
    from trueval.answers.views.kind import STRESS
    from trueval.golden.build.build import LEDGER

    check_folder(out)
    people, plan = preference.people or [], chosen.plan()
    if dry_run:
        estimate = partial(estimate_stress, people=people, own=preference.own, answers=answers, ledger=ledger)
        show_dry_run(lambda: estimate(logs, out, plan), form)
        return
    names = None if measures is None else in_list(measures)
    kept = f"Every answer is kept in {ledger or out / LEDGER}. The same command goes on from there."
    with interruptible(kept), remarks(), bars() as bar:
        found = stress_answers(
            logs,
            out,
            plan,
            people=people,
            own=preference.own,
            answers=answers,
            measures=names,
            level=level,
            ledger=ledger,
            begin=bar,
        )
    result = found.to_dict()
    talk(found.notes)
    save(out, (STRESS, result), page=True)
    show(STRESS, result, form, percent=percent)
