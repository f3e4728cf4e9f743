"""`trueval answers brittle`: what distractors cost generators, by number, kind and place."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.answers.answer_options import ANSWERS_FILE, GeneratedFolder, GeneratedLedger, ask_generators
from trueval.cli.estimates import DryRunFlag, MaxCost
from trueval.cli.options import Form, Level, Memory, Percent, with_groups
from trueval.cli.short_help import common_options


@common_options("max_cost", "dry_run", "out", "form")
@with_groups
def brittle(
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
    """Measures what passages without the answer cost: by number, kind and place, for one generator or several.

    Example: trueval answers brittle answers.toml --out brittle --dry-run

    Example: trueval answers brittle answers.toml --out brittle --max-cost 5
    """
    from trueval.answers.generation.brittle_answers import brittle_answers, estimate_brittle
    from trueval.answers.views.kind import BRITTLE

    ask_generators(
        BRITTLE,
        lambda bar: brittle_answers(config, out, ledger=ledger, max_cost=max_cost, level=level, begin=bar),
        lambda: estimate_brittle(config, out, ledger=ledger, max_cost=max_cost),
        out=out,
        ledger=ledger,
        dry_run=dry_run,
        form=form,
        percent=percent,
    )
