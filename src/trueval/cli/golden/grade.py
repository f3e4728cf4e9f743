"""`trueval golden grade`: a judge labels what runs retrieved and nobody judged."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trueval.cli.options import JUDGMENTS, OUTPUT, with_groups
from trueval.cli.output import say, talk
from trueval.cli.precision import bars, interruptible, remarks
from trueval.errors import InputError

if TYPE_CHECKING:
    from trueval.golden.plan import JudgePlan


@dataclass(frozen=True)
class JudgeOptions:
    """Who grades, and how."""

    panel: ClassVar = "Judge"

    judge: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="A model as its server calls it, labels:FILE, or a TOML file with a table \\[judge].",
        ),
    ]
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the server is. Default: https://api.openai.com/v1.")
    ] = None
    api_key_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Environment variable that holds the key. Default: OPENAI_API_KEY."),
    ] = None
    prompt: Annotated[
        str | None, typer.Option(metavar="NAME", help="grade-1-5, grade-0-3, or a .toml file. Default: grade-1-5.")
    ] = None
    batch: Annotated[int | None, typer.Option(metavar="N", min=1, help="Passages in a call, at most. Default: 8.")] = (
        None
    )
    rounds: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Times that each passage is shown. Default: 2.")
    ] = None
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Calls under way at once, at most. Default: 8.")
    ] = None
    max_cost: Annotated[float | None, typer.Option(metavar="X", min=0, help="Stop before it costs more than this.")] = (
        None
    )
    price_per_million_input: Annotated[
        float | None, typer.Option("--price-in", metavar="X", min=0, help="What a million tokens of prompts cost.")
    ] = None
    price_per_million_output: Annotated[
        float | None, typer.Option("--price-out", metavar="X", min=0, help="What a million tokens of answers cost.")
    ] = None

    def plan(self) -> "JudgePlan":
        """The table [judge] of a file, or of the options alone; options win."""
        from trueval.golden.plan import read_judge

        names = ("base_url", "api_key_env", "prompt", "batch", "rounds", "concurrency", "max_cost")
        named = (*names, "price_per_million_input", "price_per_million_output")
        given: dict[str, Any] = {name: getattr(self, name) for name in named if getattr(self, name) is not None}
        return read_judge(self.judge, given)


@with_groups
def grade(
    qrels: Annotated[Path, typer.Argument(metavar="QRELS", help=JUDGMENTS)],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs whose first documents are judged.")],
    *,
    collection: Annotated[
        str, typer.Option(metavar="DIR", help="Folder with corpus and queries, as trueval retrieve takes it.")
    ],
    chosen: JudgeOptions,
    depth: Annotated[int, typer.Option(metavar="K", min=1, help="Places of each list that are judged.")],
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="MAP",
            help="Grades of QRELS for those of the judge, such as 1:0,2:0,3:1,4:2,5:3. Default: the same.",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Write old and new judgments there, and each new label with its reason beside it.",
            rich_help_panel=OUTPUT,
        ),
    ],
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep answers there. Default: beside --out, as NAME.ledger.sqlite.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many calls, tokens and how much money it takes; ask nothing.")
    ] = False,
) -> None:
    """Has a judge label what runs retrieved in their first places and nobody judged; old labels stay as they are.

    Example: trueval golden grade qrels.trec run.trec --collection corpus --judge gpt-5-mini --depth 10 --out new.trec
    """
    from trueval.collection import Collection
    from trueval.files.whole import write_whole
    from trueval.golden.build import opened_account
    from trueval.golden.estimate import estimate_stage
    from trueval.golden.grade import questions_of
    from trueval.golden.judges import make_judge
    from trueval.golden.ledger import opened_ledger
    from trueval.golden.on_demand import demand, extend, ledger_beside, refuse_other_scale
    from trueval.golden.stages import lines_of
    from trueval.judgments import Judgments, grade_map
    from trueval.run import Run

    _check_place(out, qrels, runs)
    plan, book = chosen.plan(), ledger or ledger_beside(out)
    labels_file = out.with_name(f"{out.stem}.labels.jsonl")
    mapped = None if scale is None else grade_map(scale)
    with (
        interruptible(f"Every answer is kept in {book}. The same command goes on from there."),
        remarks(),
        bars() as bar,
    ):
        judgments = Judgments.read(str(qrels))
        refuse_other_scale(judgments, mapped)
        texts = Collection.read(collection)
        account = opened_account(out.with_name(f"{out.stem}.calls.jsonl"), plan.values["max_cost"])
        judge = make_judge(plan, texts, account)
        wanted = demand(judgments, [Run.read(str(run)) for run in runs], texts, depth)
        talk(wanted.notes)
        say(f"{wanted.passages:,} of {wanted.retrieved:,} documents in the first {depth} places are not judged.")
        with opened_ledger(book) as answers:
            if dry_run:
                asked = [
                    each.question for each in questions_of(wanted.pools, texts.queries, texts.documents, plan.grading)
                ]
                say(estimate_stage(judge, answers, "grade", asked).sentence(), err=False)
                return
            found = extend(
                judgments,
                wanted,
                texts,
                judge,
                answers,
                plan.grading,
                account,
                scale=mapped,
                at_once=plan.values["concurrency"],
                step=bar("grading"),
            )
    found.judgments.write(out)
    write_whole(labels_file, lines_of(found.labels))
    unjudged = int(found.graded.grades["grade"].null_count())
    say(f"wrote {len(found.judgments.frame):,} judgments to {out}, {wanted.passages - unjudged:,} of them new.")
    say(f"wrote the new labels with their reasons to {labels_file}.")
    if unjudged:
        talk([f"{unjudged} passages got no valid label and stay unjudged."])


def _check_place(out: Path, qrels: Path, runs: list[Path]) -> None:
    """Refuses to write over what is read, before any work."""
    if not out.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {out.parent}.", param_hint="--out")
    if out.resolve() == qrels.resolve() or (out.exists() and qrels.exists() and out.samefile(qrels)):
        raise InputError(f"{out}: the judgments are read from there, and are never written over. Name another file.")
    if out.resolve().parent == qrels.resolve():
        raise InputError(f"{out}: is in the golden set, whose files belong together. Name another place.")
    if any(out.resolve() == run.resolve() for run in runs):
        raise InputError(f"{out}: a run is read from there, and is never written over. Name another file.")
