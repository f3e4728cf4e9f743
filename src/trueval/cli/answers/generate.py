"""`trueval answers generate`: answers from several contexts of each question, and where their losses come from."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.answers.answer_options import ANSWERS_FILE, GeneratedFolder, GeneratedLedger, ask_generators
from trueval.cli.estimates import DryRunFlag, MaxCost
from trueval.cli.options import Form, Level, Memory, Percent, with_groups
from trueval.cli.short_help import common_options


@common_options("max_cost", "dry_run", "out", "form")
@with_groups
def generate(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help=ANSWERS_FILE, show_default=False)],
    *,
    out: GeneratedFolder,
    ledger: GeneratedLedger = None,
    max_cost: MaxCost = None,
    level: Level = 0.95,
    dry_run: DryRunFlag = False,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Answers each question from five contexts, and says whether retrieval, reading or labels limit the answers.

    Contexts: none, the system's, gold documents alone, gold among distractors, the system's in another order. Each is
    a log that `trueval answers judge` and `evaluate` read.

    Example: trueval answers generate answers.toml --out generated --dry-run

    Example: trueval answers generate answers.toml --out generated --max-cost 5
    """
    from trueval.answers.generation.generate_answers import estimate_generation, generate_answers
    from trueval.answers.views.kind import GENERATED

    ask_generators(
        GENERATED,
        lambda bar: generate_answers(config, out, ledger=ledger, max_cost=max_cost, level=level, begin=bar),
        lambda: estimate_generation(config, out, ledger=ledger, max_cost=max_cost),
        out=out,
        ledger=ledger,
        dry_run=dry_run,
        form=form,
        percent=percent,
    )
