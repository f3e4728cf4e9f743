"""`trueval golden audit`: people grade a random sample of what a judge graded."""

import shlex
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import OUTPUT, with_groups
from trueval.cli.output import make_parent, say, talk
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.golden.audit.sampling.sample_drawing import SampleChoices
    from trueval.golden.audit.server.session import Session, SessionTasks
    from trueval.golden.audit.store.audit_manifest import AuditManifest


@dataclass(frozen=True, eq=False, repr=False)
class SampleOptions:
    """What is drawn; left out, it is what was drawn before."""

    panel: ClassVar = "Sample"

    design: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="documents (passages at random inside strata, for P, Hits, DCG and RBP) or queries (every judged "
            "passage of queries at random, for every measure). Default: documents.",
        ),
    ] = None
    size: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Passages, or queries of the design queries. Default: 200 passages or 30 queries. A larger one later "
            "goes on from what there is.",
        ),
    ] = None
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="The same seed draws the same sample. Default: 0.")
    ] = None
    raters: Annotated[
        int | None, typer.Option(metavar="R", min=1, help="People who grade each passage. Default: 1.")
    ] = None
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="Measure of the runs that the sample should serve best. Default: nDCG@10.",
        ),
    ] = None
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW-HIGH",
            help="Grades that people may give. Default: 1-5 for a golden set, else those of the judgments.",
        ),
    ] = None
    order: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Show neighbors in the first 20 places of N lists too: of the golden set, or of the first run.",
        ),
    ] = None
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Have answers rated too: JSON lines with query_id, answer and system."),
    ] = None
    collection: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Folder with corpus and queries. Default: the one of the golden set."),
    ] = None

    def choices(self, runs: list[Path]) -> "SampleChoices":
        """As the library takes them."""
        from trueval.golden.audit.sampling.audit_source import read_scale
        from trueval.golden.audit.sampling.sample_drawing import SampleChoices

        return SampleChoices(
            self.design,
            self.size,
            self.seed,
            self.raters,
            self.measure,
            tuple(runs),
            None if self.scale is None else read_scale(self.scale),
            self.order,
            self.answers,
            self.collection,
        )


@common_options("size", "raters", "collection", "design", "export", "import_", "rater", "out")
@with_groups
def audit(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A golden set, or a file of judgments.")],
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUN]...", help="Runs whose measures are corrected: what weighs more is drawn more."),
    ] = None,
    *,
    sample: SampleOptions,
    port: Annotated[int | None, typer.Option(metavar="P", min=1, max=65535, help="Port of the page.")] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the items for raters without the server, and do not serve.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    import_: Annotated[
        Path | None,
        typer.Option("--import", metavar="FILE", help="Take the answers that a rater wrote into such a file."),
    ] = None,
    rater: Annotated[str | None, typer.Option(metavar="NAME", help="Who filled in the file of --import.")] = None,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Draw the sample and do not serve it.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of the audit. Default: audit in the golden set.", rich_help_panel=OUTPUT
        ),
    ] = None,
) -> None:
    """Has people grade a random sample of the labels.

    The same command goes on from what there is. Their grades correct measures: trueval golden correct.

    Example: trueval golden audit golden run.trec --size 200

    Example: trueval golden audit golden --import ann.jsonl --rater ann
    """
    from trueval.errors import Place
    from trueval.golden.audit.sampling.audit_source import is_golden
    from trueval.golden.audit.sampling.sample_drawing import FOLDER
    from trueval.golden.audit.server.session import SessionTasks
    from trueval.golden.audit.server.session import audit as library

    if (import_ is None) != (rater is None):
        raise typer.BadParameter("--import and --rater belong together.", param_hint="--rater")
    if not folder.exists():
        raise Place(str(folder)).error(
            "no such folder or file. Name a golden set, which trueval golden build makes, or judgments."
        )
    if out is None and not is_golden(folder):
        raise typer.BadParameter("judgments have no folder for an audit. Name one.", param_hint="--out")
    if export is not None:
        make_parent(export, "--export")
    place = out or folder / FOLDER
    take = None if import_ is None or rater is None else (import_, rater)
    wanted = SessionTasks(take, export, not (take or export or no_serve), port)
    with (
        interruptible(f"What was drawn is in {place}. The same command goes on from there."),
        remarks(),
        ExitStack() as until_drawn,
    ):
        step = until_drawn.enter_context(bars())("reading")

        def announce(it: "AuditManifest") -> None:
            until_drawn.close()  # no bar beside what is served
            _say_all(it.sentences())

        found = library(
            folder,
            place,
            sample.choices(runs or []),
            wanted,
            drawn=announce,
            ready=_ready,
            tell=lambda done: step("documents", done, 0),
        )
    talk(() if found.taken is None else found.taken.conflicts)
    _say_all(found.sentences(export))
    say(f"Next: {_next_command(folder, runs or [], out, found, wanted)}")


def _next_command(folder: Path, runs: list[Path], out: Path | None, found: "Session", wanted: "SessionTasks") -> str:
    """What to do after a session: hand in answers, grade, or see what they say of the judge and of the runs."""
    audit = ["trueval", "golden", "audit", str(folder)]
    place = [] if out is None else ["--out", str(out)]
    if found.items is not None:
        return shlex.join([*audit, *place, "--import", str(wanted.give), "--rater", "NAME"])
    answered = any(each.answered for each in found.progress)
    if found.taken is not None:
        answered = found.taken.labels + found.taken.repeated > 0
        if not answered and wanted.take is not None:
            return shlex.join([*audit, *place, "--import", *map(str, wanted.take[:1]), "--rater", wanted.take[1]])
    if not answered:
        return shlex.join([*audit, *map(str, runs), *place])
    if found.design == "poisson":
        return shlex.join(["trueval", "golden", "next", str(folder), "RUN...", *place]).replace("'RUN...'", "RUN...")
    if runs:
        of_audit = [] if out is None else ["--audit", str(out)]
        return shlex.join(["trueval", "golden", "correct", str(folder), *map(str, runs), *of_audit])
    people = [] if out is None else ["--people", str(out)]
    return shlex.join(["trueval", "golden", "agree", *people, str(folder)])


def _say_all(lines: list[str]) -> None:
    for line in lines:
        say(line)


def _ready(address: str) -> None:
    say(address, err=False)
    say("raters open this address; Ctrl-C ends the session.")
