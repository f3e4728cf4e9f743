"""`trueval compare`: which of several runs is better, and with what confidence."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

import typer

from trueval.cli.executors import executor_on
from trueval.cli.judges import LabelAndJudgeOptions
from trueval.cli.options import (
    JUDGMENTS,
    OUTPUT,
    ClusterFile,
    Form,
    InputOptions,
    Intervals,
    Level,
    MeasureList,
    PolicyOptions,
    RunsOutputOptions,
    with_groups,
)
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.paths import expand, find_run, refuse_repeated, with_baseline
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options
from trueval.errors import InputError, TruevalWarning

if TYPE_CHECKING:
    from trueval.comparison.compare import ComparisonChoices
    from trueval.comparison.resampling.tie_order_values import TieOrders
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.policy.policy import Policy
    from trueval.precision.bound_result import PrecisionBound
    from trueval.rag.context_inputs import InputRules
    from trueval.run import Run
    from trueval.score_width import ScoreWidth

# Runs in memory at once: of more, the others are read again for what needs their lists.
MOST_IN_MEMORY: Final = 16


@dataclass(frozen=True, eq=False, repr=False)
class TestOptions:
    """How a comparison is decided."""

    panel: ClassVar = "Comparison"
    __test__: ClassVar = False  # pytest takes it for a test by its name

    test: Annotated[str, typer.Option(metavar="NAME", help="Test that decides: randomization, t or wilcoxon.")] = (
        "randomization"
    )
    correction: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="For many pairs: maxt (of the randomization test), holm, benjamini-hochberg. Default: maxt; holm for "
            "the t test; benjamini-hochberg for wilcoxon.",
        ),
    ] = ""
    family: Annotated[
        str, typer.Option(metavar="NAME", help="Tests corrected together: those of each measure, or all.")
    ] = "measure"
    level: Level = 0.95
    intervals: Intervals = "bootstrap"
    resamples: Annotated[int, typer.Option(metavar="N", help="Bootstrap resamples and random sign patterns.")] = 10_000
    tie_samples: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Tie orders to draw at least where they cannot all be listed, for the win probability. A verdict has "
            "as many as it needs.",
        ),
    ] = 0
    threads: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Default: one for each processor. Changes no number.")
    ] = None

    def to_choices(self, seed: int | None) -> "ComparisonChoices":
        """The choices of a comparison, checked.

        Raises:
            PolicyError: a value is invalid.
        """
        from trueval.comparison.compare import ComparisonChoices

        chosen = {name: value for name, value in asdict(self).items() if name != "threads"}
        return ComparisonChoices(seed=seed or 0, **chosen)


@dataclass(frozen=True, eq=False, repr=False)
class PairOptions:
    """Which pairs are compared, which of them are shown, and what is said of neighbors."""

    panel: ClassVar = "Comparison"

    baseline: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Compare every run with this one, and not every pair. Default: all pairs."),
    ] = None
    pairs: Annotated[
        Literal["close", "all"] | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            help="Pairs in tables and Markdown: close calls, neighbors in the ranking, or all. Default: all of up to "
            "6 runs, close beyond.",
        ),
    ] = None

    within: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTH",
            help="Also say how far scores may move before neighbors change places: ulp(bfloat16), 0.001 ..., as in "
            "precision bound.",
        ),
    ] = None

    def width(self, form: str) -> "ScoreWidth | None":
        """The width; None where none is asked for.

        Raises:
            BadParameter: the form holds one result.
            PolicyError: it is no width.
        """
        from trueval.score_width import ScoreWidth

        if self.within is not None and form not in ("table", "markdown"):
            raise typer.BadParameter(
                f"adds a second result, which --format {form} has no place for. Take --format table or markdown, or "
                "the files of --out.",
                param_hint="--within",
            )
        return None if self.within is None else ScoreWidth.parse(self.within)


@dataclass(frozen=True)
class _RunExamination:
    """What a comparison takes from each run where it is evaluated: of many runs only the first stay in memory.

    Attributes:
        paths: [run] paths, to read runs again.
        inputs: how they are read.
        most: number of runs that stay in memory.
    """

    paths: Sequence[str]
    inputs: "InputRules"
    most: int

    def __call__(self, number: int, run: "Run", judgments: "Judgments", scores: "Scores") -> "TieOrders":
        """The tie orders of a run, with or without its lists."""
        from trueval.comparison.resampling.tie_order_values import TieOrders
        from trueval.files.display_names import file_of, name_files
        from trueval.files.source.source_bytes import file_state

        path, orders = name_files(self.paths)[number].path, TieOrders(run, judgments, scores.policy, number)
        file = Path(file_of(path))
        # What is no file, such as a pipe, cannot be read again.
        if number < self.most or not file.is_file():
            return orders
        read = partial(_read_again, path, file_state(file.stat()), self.inputs, judgments)
        return orders.without_run(scores.measures, read)


def _read_again(path: str, before: tuple[int, ...], inputs: "InputRules", judgments: "Judgments") -> "Run":
    from trueval.files.display_names import file_of
    from trueval.files.source.source_bytes import file_state

    file = Path(file_of(path))
    if not file.is_file() or file_state(file.stat()) != before:
        raise InputError(f"{file}: the run changed or vanished while it was compared. Compare again.")
    (again,) = inputs.read_runs([path], judgments)
    return again.run


@common_options("measures", "convention", "rel", "baseline", "clusters", "correction", "out", "form")
@with_groups
def compare(
    qrels: Annotated[str, typer.Argument(metavar="QRELS", help=JUDGMENTS)],
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN RUN...", help="Two or more run files, or name=path, a folder, a pattern, a table."),
    ],
    *,
    measures: MeasureList = None,
    policy: PolicyOptions,
    inputs: InputOptions,
    tests: TestOptions,
    labels: LabelAndJudgeOptions,
    clusters: ClusterFile = None,
    output: RunsOutputOptions,
    shown: PairOptions,
    form: Form = "table",
) -> None:
    """Compares runs: differences, intervals, tests, verdicts.

    Example: trueval compare qrels.trec bm25.trec dense.trec rerank.trec.gz -m "nDCG@10 RR@10"
    """
    from trueval.comparison.compare import compare_scores
    from trueval.comparison.resampling.clusters import Clusters
    from trueval.comparison.views.kind import COMPARE
    from trueval.precision.views.kind import BOUND
    from trueval.rag.evaluate_files import evaluate_files

    runs = expand(runs)
    baseline = None if shown.baseline is None else find_run(shown.baseline, runs)
    paths = with_baseline(runs, baseline)
    if len(paths) < 2:
        raise typer.BadParameter(f"needs at least two runs. Got {runs[0]}.", param_hint="RUN RUN...")
    width = shown.width(form)
    (chosen, rules), choices = policy.request(qrels, measures, runs=paths), tests.to_choices(policy.seed)
    members = Clusters.of(clusters)
    refuse_repeated(qrels, paths)
    if output.out is not None:
        check_folder(output.out)
    given = inputs.to_inputs(chosen, policy.grade_map())
    with executor_on(output.on) as executor, progress(1 + len(paths)) as begin:
        begin(qrels)
        joined = labels.read(qrels, given)
        most = MOST_IN_MEMORY if joined.audited is None else len(paths)
        evaluated = evaluate_files(
            joined.used,
            paths,
            chosen,
            inputs=given,
            examine=_RunExamination(paths, given, most),
            begin=begin,
            executor=executor,
            policy=rules,
        )
    scores = evaluated.scores
    orders: tuple[TieOrders, ...] = evaluated.examined
    lists = [each.source for each in orders if not callable(each.source)]
    name = None if baseline is None else scores[paths.index(baseline)].name
    found = compare_scores(
        scores, baseline=name, orders=orders, clusters=members, threads=tests.threads, **asdict(choices)
    )
    talk([*evaluated.notes, *found.notes])
    corrected = labels.correct(joined, lists, chosen, rules, baseline=name, level=choices.level)
    audit = labels.summarize(corrected, joined, qrels)
    if corrected is not None and audit is not None:
        from trueval.comparison.labels.corrected_results import correct_comparison

        found = correct_comparison(found, corrected, audit)
    asked = (qrels, paths, scores, lists, joined, chosen, rules, given)
    found = replace(found, judges=labels.verdicts(*asked, baseline=name, level=choices.level))
    results = [(COMPARE, found.to_dict())]
    if width is not None:
        results.append((BOUND, _bound(qrels, paths, chosen, width, rules, given).to_dict()))
    if output.out is not None:
        save(output.out, *results)
    show(*results[0], form, percent=output.percent, pairs=shown.pairs or "")
    for kind, result in results[1:]:
        show(kind, result, form, percent=output.percent)


def _bound(
    qrels: str,
    paths: Sequence[str],
    measures: "Sequence[Measure]",
    width: "ScoreWidth",
    rules: "Policy",
    given: "InputRules",
) -> "PrecisionBound":
    """How far the scores of the runs, which are read again, may move before neighbors change places."""
    from trueval.precision.bound import bound_runs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # the comparison has said the same
        pairs = given.read_runs(paths, given.read_judgments(qrels))
        return bound_runs(((pair.run, pair.judgments) for pair in pairs), measures, width, rules)
