"""`trueval golden agree`: how far labels of judges and people are the same."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from trueval.cli.options import Form, Level, Memory, OutputOptions, with_groups
from trueval.cli.output import check_folder, save, show, talk_notes
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.golden.validation.label_files import LabelChoices

PEOPLE_HELP = "Labels of people: judgments in any form that evaluate takes."
AUDIT_HELP = "Labels of people: judgments, or the folder of an audit."
Resamples = Annotated[int, typer.Option(metavar="N", min=100, help="Resamples of queries, for intervals.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Of the resamples; the same seed gives the same result.")]


@dataclass(frozen=True, eq=False, repr=False)
class GradeOptions:
    """What is done with labels that cannot be taken as they are."""

    panel: ClassVar = "Labels"

    scale: Annotated[
        str | None,
        typer.Option(metavar="LOW-HIGH", help="Least and greatest grade, such as 0-3. Default: those of the people."),
    ] = None
    duplicates: Annotated[
        Literal["refuse", "first", "last", "drop"],
        typer.Option(help="What to do with a pair that is in a file twice: keep the first or last line, or drop all."),
    ] = "refuse"
    outside: Annotated[
        Literal["refuse", "drop"], typer.Option(help="What to do with a grade that is not on the scale.")
    ] = "refuse"

    def to_choices(self) -> "LabelChoices":
        """The choices, checked."""
        from trueval.golden.validation.label_files import LabelChoices

        return LabelChoices(self.duplicates, self.outside, None if self.scale is None else _scale(self.scale))


def _scale(text: str) -> tuple[float, float]:
    least, _, greatest = text.rpartition("-")
    try:
        found = float(least), float(greatest)
    except ValueError:
        found = (0.0, 0.0)
    if not found[0] < found[1] < float("inf") or found[0] == float("-inf"):
        raise typer.BadParameter(f"must be two numbers, the lesser first, as 0-3. Got {text}.", param_hint="--scale")
    return found


@common_options("people", "between_judges", "scale", "out", "form")
@with_groups
def agree(
    judges: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR|JUDGE...", help="A golden set with an audit, or with --people files of judges, or name=path."
        ),
    ],
    *,
    people: Annotated[Path | None, typer.Option(metavar="QRELS|DIR", help=AUDIT_HELP)] = None,
    between_judges: Annotated[
        bool, typer.Option("--between-judges", help="Compare judges with each other too.")
    ] = False,
    labels: GradeOptions,
    resamples: Resamples = 2000,
    seed: Seed = 0,
    level: Level = 0.95,
    output: OutputOptions,
    form: Form = "table",
    memory: Memory = None,
) -> None:
    """Says how far judges and people agree.

    Example: trueval golden agree golden

    Example: trueval golden agree --people people.qrels gpt.qrels llama.qrels --between-judges
    """
    from trueval.golden.validation.agree import agree as library
    from trueval.golden.views.kind import AGREE

    if output.out is not None:
        check_folder(output.out)
    count = len(judges)
    steps = count * (count + 1) // 2 if between_judges else count
    with progress(steps, verb="comparing") as begin:
        found = library(
            judges,
            people,
            between_judges=between_judges,
            choices=labels.to_choices(),
            resamples=resamples,
            seed=seed,
            level=level,
            tell=begin,
        )
    result = found.to_dict()
    talk_notes(result)
    if output.out is not None:
        save(output.out, (AGREE, result), page=True)
    show(AGREE, result, form, percent=output.percent)
