"""`trueval budget`: what a difference varies by, and what shortens its interval for least."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from trueval.cli.options import (
    JUDGMENTS,
    Form,
    InputOptions,
    JudgeFiles,
    Level,
    MeasureList,
    OutputOptions,
    PolicyOptions,
    in_list,
    with_groups,
)
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.paths import expand, find_run, is_same_file, judge_paths, refuse_repeated, with_baseline
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options
from trueval.errors import InputError, PolicyError, TruevalWarning

if TYPE_CHECKING:
    from trueval.comparison.budget.interval_plan import UnitPrices
    from trueval.comparison.labels.correction import CorrectedResults
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.run import Run


@dataclass(frozen=True, eq=False, repr=False)
class DoubtOptions:
    """Where doubt comes from."""

    panel: ClassVar = "Sources of doubt"

    repeats: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN=FILE",
            help="A further run of the same system: another batch size, index build or call. RUN is its name in "
            "tables; FILE also a pattern, or several files separated by commas. May repeat.",
        ),
    ] = None
    shared_repeats: Annotated[
        bool,
        typer.Option(
            "--shared-repeats",
            help="Repeats of one number share their condition in all systems, such as a batch size. Default: each "
            "system has repeats of its own.",
        ),
    ] = False
    fixed_judges: Annotated[
        bool,
        typer.Option(
            "--fixed-judges", help="The verdict is about these judges alone. Default: others could have judged."
        ),
    ] = False
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of an audit of QRELS by people, whose labels then decide. Default: that of the golden set, "
            "where QRELS is one and has an audit, and there is one judge.",
        ),
    ] = None


@dataclass(frozen=True, eq=False, repr=False)
class PlanOptions:
    """The interval to reach, and prices."""

    panel: ClassVar = "What to buy"

    half_width: Annotated[
        float | None,
        typer.Option(metavar="X", help="Half width of the interval to reach. Default: half of the present one."),
    ] = None
    prices: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A price book with a table \\[evaluation], or prices of one question, label and answer, such as "
            "question=2,label=0.03,answer=0.001. Default: none, and the counts alone are compared.",
        ),
    ] = None
    level: Level = 0.95

    def unit_prices(self) -> "UnitPrices | None":
        """The prices of evaluation; None if there are none.

        Raises:
            InputError: the book is invalid, or has none.
            PolicyError: a price cannot be read.
        """
        from trueval.comparison.budget.interval_plan import UnitPrices

        if self.prices is None:
            return None
        if "=" in self.prices and not Path(self.prices).exists():
            return UnitPrices(**_numbers(self.prices), currency="")
        from trueval.cost.prices import PriceBook

        book = PriceBook.read(Path(self.prices))
        if book.evaluation is None:
            raise InputError(
                f"{self.prices}: the book has no prices of evaluation. Add a table [evaluation] with question, label "
                "and answer, each the price of one."
            )
        return UnitPrices(**book.evaluation, currency=book.currency)


def _numbers(text: str) -> dict[str, float]:
    """Prices by name."""
    found: dict[str, float] = {}
    for part in in_list(text):
        name, _, number = part.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            found[name.strip()] = float("nan")
        if name.strip() not in ("question", "label", "answer") or found[name.strip()] != found[name.strip()]:
            raise PolicyError(
                f"--prices takes a price book, or question, label and answer with a price each, such as label=0.03. "
                f"Got {part!r}."
            )
    return found


@common_options("measures", "repeats", "judges", "audit", "prices", "half_width", "baseline", "out", "form")
@with_groups
def budget(
    qrels: Annotated[str, typer.Argument(metavar="QRELS", help=JUDGMENTS)],
    runs: Annotated[list[str], typer.Argument(metavar="RUN RUN...", help="Two or more run files, or name=path.")],
    *,
    measures: MeasureList = None,
    sources: DoubtOptions,
    judges: JudgeFiles = None,
    plan: PlanOptions,
    policy: PolicyOptions,
    inputs: InputOptions,
    output: OutputOptions,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Hold every run against this one, and not every pair. Default: all pairs."),
    ] = None,
    form: Form = "table",
) -> None:
    """Says what a difference varies by, and what to add.

    Example: trueval budget qrels.trec bm25.trec rerank.trec -m nDCG@10 --prices label=0.03
    """
    from trueval.comparison.budget.doubt_budget import BudgetChoices, budget_of_scores
    from trueval.comparison.views.kind import BUDGET
    from trueval.files.display_names import name_files

    if output.out is not None:
        check_folder(output.out)
    files = expand(runs)
    baseline = None if baseline is None else find_run(baseline, files)
    paths = with_baseline(files, baseline)
    if len(paths) < 2:
        raise typer.BadParameter("needs at least two runs, as it is about their difference.", param_hint="RUN RUN...")
    refuse_repeated(qrels, paths)
    named = name_files(paths)
    name = None if baseline is None else named[paths.index(baseline)].name
    choices = BudgetChoices(
        name,
        plan.level,
        plan.half_width,
        sources.shared_repeats,
        sources.fixed_judges,
        plan.unit_prices(),
        policy.seed or 0,
    )
    choices.check()
    repeated = _repeats(sources.repeats or [], {file.name: file.path for file in named})
    systems = {file.name: [path, *repeated[file.name]] for file, path in zip(named, paths, strict=True)}
    scores, found, corrected = _evaluate(qrels, judge_paths(qrels, judges), systems, measures, policy, inputs, sources)
    titles = [file.name for file in name_files([qrels, *judge_paths(qrels, judges)])]
    result = budget_of_scores(scores, found, choices, corrected=corrected, judge_names=titles)
    talk(result.notes)
    if output.out is not None:
        save(output.out, (BUDGET, result.to_dict()))
    show(BUDGET, result.to_dict(), form, percent=output.percent)


def _repeats(texts: list[str], named: dict[str, str]) -> dict[str, list[str]]:
    """Run → paths of its repeats.

    Args:
        texts: as `--repeats` names them.
        named: name of each run → its path.

    Raises:
        typer.BadParameter: a name is unknown, or a file is there twice.
    """
    from trueval.errors import nearest

    found: dict[str, list[str]] = {name: [] for name in named}
    for text in texts:
        name, mark, listed = text.partition("=")
        if not mark or name not in named:
            raise typer.BadParameter(
                f"{text}: write the name of a run, =, and the file of its repeat. Runs: {', '.join(named)}."
                f"{nearest(name, list(named))}",
                param_hint="--repeats",
            )
        found[name] += expand(in_list(listed))
    known = {path: name for name, path in named.items()}
    for name, paths in found.items():
        for path in paths:
            for other, owner in known.items():
                if is_same_file(path, other):
                    raise typer.BadParameter(
                        f"{path} is a repeat of {name} that is the same file as a run of {owner}. A repeat is another "
                        "run of the system: leave it out, or name another file.",
                        param_hint="--repeats",
                    )
            known[path] = name
    return found


def _evaluate(
    qrels: str,
    judges: list[str],
    systems: dict[str, list[str]],
    measures: list[str] | None,
    policy: PolicyOptions,
    inputs: InputOptions,
    sources: DoubtOptions,
) -> "tuple[dict[str, list[list[Scores]]], list[Judgments], CorrectedResults | None]":
    """Scores of each run by each judge, the judgments, and corrected values where there is an audit."""
    from trueval.cli.labels import LabelOptions
    from trueval.comparison.labels.judge_scales import check_scales
    from trueval.evaluation.evaluate import evaluate
    from trueval.rag.unjudged_passages import grade_unjudged

    chosen, rules = policy.request(qrels, measures)
    given = inputs.to_inputs(chosen, policy.grade_map())
    labels = LabelOptions(audit=sources.audit)
    if judges and sources.audit is not None:
        raise PolicyError("--audit is of one judge, and --judges names others. Leave one of them out.")
    first: list[Run] = []
    scores: dict[str, list[list[Scores]]] = {}
    steps = 1 + len(judges) + sum(map(len, systems.values()))
    with progress(steps) as begin, warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # the same lines are notes of the scores
        begin(qrels)
        joined = None if judges else labels.read(qrels, given)
        found = [given.read_judgments(qrels) if joined is None else joined.used]
        for path in judges:
            begin(path)
            found.append(given.read_judgments(path))
        list(check_scales([qrels, *judges], found))  # before runs are read
        for name, paths in systems.items():
            scores[name] = []
            for at, path in enumerate(paths):
                (pair,) = given.read_runs([f"{name}={path}" if at else path], found[0], begin)
                rows = [evaluate(pair.run, pair.judgments, chosen, policy=rules)]
                for judge in found[1:]:
                    filled = judge if given.unjudged is None else grade_unjudged(judge, pair.run, given.unjudged)
                    filled = filled if given.sources is None else filled.with_sources(given.sources)
                    rows.append(evaluate(pair.run, filled, chosen, policy=rules))
                scores[name].append(rows)
                if not at:
                    first.append(pair.run)
    if joined is None:
        return scores, found, None
    return scores, found, labels.correct(joined, first, chosen, rules)
