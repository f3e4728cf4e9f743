"""`trueval golden questions`: questions for a corpus that has none."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.estimates import DryRunFlag, show_dry_run
from trueval.cli.golden.judge_options import ModelOptions
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import OUTPUT, Form, Memory, Percent, in_list, with_groups
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.short_help import common_options


@common_options("judge", "number", "kinds", "most_overlap", "max_cost", "dry_run", "out")
@with_groups
def questions(
    corpus: Annotated[
        str, typer.Argument(metavar="CORPUS", help="Folder with a corpus, as trueval retrieve takes it; no queries.")
    ],
    *,
    number: Annotated[int, typer.Option("--n", metavar="N", min=1, help="Questions of all kinds.")] = 50,
    kinds: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="one (a fact of one passage), several (passages together), none (no answer in the corpus).",
        ),
    ] = "one,several,none",
    most_overlap: Annotated[
        float | None,
        typer.Option(
            "--paraphrase",
            metavar="X",
            min=0,
            max=0.99,
            help="Ask again in other words, up to twice, where more than this share of a question's terms are its "
            "passages', such as 0.3.",
        ),
    ] = None,
    chosen: ModelOptions,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the passages that are drawn.")] = 0,
    language: Annotated[
        str, typer.Option(metavar="CODE", help="Of stop words and stems: en, fr, de, es, it, nl, pt, or none.")
    ] = "en",
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Write queries.jsonl, judgments of the passages, the result and its page there.",
            rich_help_panel=OUTPUT,
        ),
    ],
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Keep answers there. Default: ledger.sqlite in --out.", rich_help_panel=OUTPUT
        ),
    ] = None,
    dry_run: DryRunFlag = False,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Writes questions for a corpus that has none.

    Example: trueval golden questions corpus --n 50 --judge gpt-5-mini --out questions --dry-run

    Example: trueval golden questions corpus --kinds one,none --paraphrase 0.3 --judge gpt-5-mini --out questions
    """
    from trueval.golden.build.build import LEDGER
    from trueval.golden.questions.write_questions import QuestionPlan, write_questions
    from trueval.golden.questions.write_questions import dry_run as estimates
    from trueval.golden.views.kind import QUESTIONS

    wanted = QuestionPlan(number, tuple(in_list(kinds)), most_overlap, seed, None if language == "none" else language)
    check_folder(out)
    judge = chosen.plan()
    if dry_run:
        show_dry_run(lambda: estimates(corpus, out, judge, wanted, ledger=ledger), form)
        return
    book = ledger or out / LEDGER
    kept = f"Every answer is kept in {book}. The same command goes on from there."
    with interruptible(kept), remarks(), bars() as bar:
        found = write_questions(corpus, out, judge, wanted, ledger=book, begin=bar)
    talk(found.notes)
    result = found.to_dict()
    save(out, (QUESTIONS, result), others=found.files(), page=True)
    show(QUESTIONS, result, form, percent=percent)
