"""The options that several commands share, each declared once, with help texts from the policy."""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args, get_type_hints

import typer

from trueval.cli.output import Format
from trueval.policy.conventions import CONVENTIONS
from trueval.policy.policy import CHOICES, OPTIONS, OURS

if TYPE_CHECKING:
    from trueval.evaluation.defaults import Request
    from trueval.measures import Measure
    from trueval.policy.policy import Policy
    from trueval.rag.context_inputs import InputRules

# Headings of the help, in order of first use.
MEASURES: Final = "Measures"
TIES: Final = "Ties"
JUDGED: Final = "Judgments and queries"
OUTPUT: Final = "Output"

# As in evaluation/defaults.py, whose import would slow down --help.
DEFAULT_MEASURES = "nDCG@10 RR@10 AP R@100 P@10"
DEFAULTS_OF_GOLDEN = "RA-nWG@10 N-Recall4+@10 nDCG(gain='rubric')@10 P4+@10 Harm@10"
JUDGMENTS = (
    "Judgments: TREC qrels, BEIR tsv, parquet, csv or jsonl, a log of contexts, ir_datasets:NAME, hf:NAME; - is stdin."
)


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options, which typer sees as single options.

    A group is a frozen dataclass whose fields are annotated as typer's options are, without the methods that nobody
    calls, since each takes a tenth of a millisecond to make. typer reads the signature and the
    annotations of a function; here both name the fields in place of each group, in its place, so the help lists them
    like options of the command's own. What typer then gives is packed back into the groups. A group whose class says
    `panel` has its options under that heading of the help, as far as they name no other.

    Args:
        command: function with parameters annotated with such classes.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}
    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        if parameter.name not in groups:
            # All by keyword: one with a default may come before a group.
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[parameter.name]))
            continue
        group = groups[parameter.name]
        annotations = get_type_hints(group, include_extras=True)
        parameters += [
            Parameter(
                each.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if each.default is MISSING else each.default,
                annotation=_under(getattr(group, "panel", None), annotations[each.name]),
            )
            for each in fields(group)
        ]

    @wraps(command)
    def run(**given: object) -> None:
        # Values are removed from the arguments of typer, so that the command's own parameters remain.
        packed = {
            name: group(**{each.name: given.pop(each.name) for each in fields(group)}) for name, group in groups.items()
        }
        command(**given, **packed)

    # `wraps` has copied the annotations of the command, and typer reads them beside the signature: both are replaced.
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(run)["__signature__"] = signature(command).replace(parameters=parameters)
    return run


def _under(panel: str | None, annotation: object) -> Any:
    """The annotation of an option, with a heading of the help if it has none of its own."""
    kind, option = get_args(annotation)
    if panel is None or option.rich_help_panel is not None:
        return annotation
    option = copy(option)
    option.rich_help_panel = panel
    return Annotated[kind, option]


def _about(name: str, accepted: Iterable[str] | None = None, default: str = "") -> str:
    """The help of a choice of the policy: its effect, the accepted values with their meaning, and our default."""
    option = OPTIONS[name]
    about = option.about.partition(";")[0]  # the rest explains None in Python
    words = [f"{value} ({option.words[value]})" for value in accepted or option.words]
    listed = f": {', '.join(words[:-1])} or {words[-1]}" if words else ""
    return f"{about[0].upper()}{about[1:]}{listed}. Default: {default or getattr(OURS, name)}."


def in_list(text: str) -> list[str]:
    """Split the comma-separated values of an option.

    >>> in_list("bfloat16, float32,")
    ['bfloat16', 'float32']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


def measures_of(texts: list[str] | None) -> "tuple[Measure, ...] | None":
    """The measures of `--measures`; None if it is not given."""
    import warnings

    from trueval.cli.output import talk
    from trueval.errors import TruevalWarning
    from trueval.measures import parse_list

    if not texts:
        return None
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always", TruevalWarning)
        found = parse_list(texts)
    talk(str(remark.message) for remark in remarks)  # names of other tools that mean something else there
    return found


MeasureList = Annotated[
    list[str] | None,
    typer.Option(
        "--measures",
        "-m",
        metavar="LIST",
        help="Measures, also by the names of trec_eval, ranx and ir_measures; separated by spaces or commas, or "
        f"repeated. Default: {DEFAULT_MEASURES}; of a golden set {DEFAULTS_OF_GOLDEN}, with grades from 4 on relevant.",
        rich_help_panel=MEASURES,
    ),
]

QrelsFile = Annotated[
    str | None,
    typer.Option(
        "--qrels",
        metavar="QRELS",
        help="Judgments instead of the collection's: a file, or the folder of a golden set.",
        rich_help_panel=JUDGED,
    ),
]

ClusterFile = Annotated[
    str | None,
    typer.Option(
        "--clusters",
        metavar="FILE",
        help="Query and its topic, document or customer on each line, separated by a tab, a comma or spaces: queries "
        "of one rise and fall together, and count as one observation.",
        rich_help_panel=JUDGED,
    ),
]

BudgetResult = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="DIR",
        help="Result of trueval budget with --repeats or --judges: what these vary by, and more questions do not "
        "average out, counts too.",
    ),
]

JudgeFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--judges",
        metavar="QRELS",
        help="Judgments of the same passages by a further judge, or of a further round, beside QRELS; several "
        "separated by commas, or the option repeated.",
        rich_help_panel=JUDGED,
    ),
]


Sort = Annotated[
    str | None,
    typer.Option(
        "--sort",
        metavar="M",
        help="Order of runs in tables, Markdown and LaTeX: best first by measure M, or given. Default: by the first "
        "measure. JSON, csv, trec and --out keep the order given.",
        rich_help_panel=OUTPUT,
    ),
]

Form = Annotated[
    Format,
    typer.Option(
        "--format",
        metavar="FORM",
        help="What to print: table, json, csv, markdown or latex.",
        rich_help_panel=OUTPUT,
    ),
]

Percent = Annotated[
    bool,
    typer.Option(
        "--percent",
        help="Print points, 100 times the values, in tables, Markdown and LaTeX; never in JSON, CSV and trec.",
        rich_help_panel=OUTPUT,
    ),
]

Level = Annotated[float, typer.Option(metavar="X", help="Of intervals, tests and verdicts.")]
Intervals = Annotated[
    Literal["bootstrap", "bounded", "anytime"],
    typer.Option(
        metavar="NAME",
        help="Of differences: bootstrap; bounded: longer, and valid for any law of the differences and any number of "
        "queries; anytime: also when you look again as queries are added, in the order of the judgments.",
    ),
]


def _let_take(ctx: typer.Context, size: str | None) -> str | None:
    """Set the memory limit for files until the command ends."""
    from trueval.files.source.memory_estimate import memory

    ctx.with_resource(memory(size))
    return size


Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        callback=_let_take,
        help="Memory that reading one file, or a worker of --on, may take, such as 8G; more is refused. Default: half "
        "of what is free, and for workers all of it.",
        rich_help_panel=JUDGED,
    ),
]


Where = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="Where local models run, with the same result: threads, in this process; processes:N; ray, the cluster of "
        "RAY_ADDRESS, or one started here; or ray:HOST:PORT. Default: threads.",
        rich_help_panel="Models",
    ),
]

RunsWhere = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="Where runs are evaluated, with the same result: as of trueval retrieve. Default: threads.",
        rich_help_panel="Runs",
    ),
]

ResultFolder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write the results there too, in files of several formats, and their page.",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True, eq=False, repr=False)
class OutputOptions:
    """Where results go besides stdout, and the unit of tables."""

    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the results there too, in files of several formats, for `trueval report`; models keep their "
            "logits in DIR/logits, where an interrupted run goes on.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    percent: Percent = False


@dataclass(frozen=True, eq=False, repr=False)
class RunsOutputOptions(OutputOptions):
    """Where runs are evaluated, and where their results go."""

    on: RunsWhere = None


@dataclass(frozen=True, eq=False, repr=False)
class ChoiceOptions:
    """Single choices of a policy, and the mapping of grades that is applied before them."""

    tie_order: Annotated[
        str | None, typer.Option(metavar="ORDER", help=_about("tie_order", CHOICES), rich_help_panel=TIES)
    ] = None
    tie_precision: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help=_about("tie_precision", default="as read") + " For example bfloat16, float32 or 0.01.",
            rich_help_panel=TIES,
        ),
    ] = None
    rel: Annotated[float | None, typer.Option(metavar="N", help=_about("rel"), rich_help_panel=JUDGED)] = None
    grades: Annotated[
        str | None,
        typer.Option(
            metavar="MAP", help="Replace grades before anything else, such as 0:1,1:3,2:4.", rich_help_panel=JUDGED
        ),
    ] = None
    empty: Annotated[str | None, typer.Option(metavar="CHOICE", help=_about("empty"), rich_help_panel=JUDGED)] = None
    missing: Annotated[str | None, typer.Option(metavar="CHOICE", help=_about("missing"), rich_help_panel=JUDGED)] = (
        None
    )
    judged_only: Annotated[
        bool, typer.Option("--judged-only", help="Leave unjudged documents out of the lists.", rich_help_panel=JUDGED)
    ] = False
    depth: Annotated[
        int | None, typer.Option(metavar="N", min=1, help=_about("depth", default="no limit"), rich_help_panel=JUDGED)
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Of everything random; the same seed gives the same result. Default: 0.",
            rich_help_panel=TIES,
        ),
    ] = None

    def choices(self) -> dict[str, Any]:
        """The choices as keyword arguments of `trueval.evaluate`; None if not chosen."""
        return {
            "tie_order": self.tie_order,
            "tie_precision": _precision_or_width(self.tie_precision),
            "rel": self.rel,
            "empty": self.empty,
            "missing": self.missing,
            "judged_only": self.judged_only or None,
            "depth": self.depth,
            "seed": self.seed,
        }

    def request(
        self, qrels: str, measures: list[str] | None, form: str = "table", *, runs: Iterable[str] = ()
    ) -> "Request":
        """The measures and the policy of a command about a file of judgments and runs, with the defaults of these.

        Nothing is assumed of a golden set whose grades are mapped, and of what is printed as trec_eval does.

        Args:
            qrels: the file, or the folder of a golden set.
            measures: as `--measures` names them.
            form: what is printed.
            runs: paths of the runs; where all are logs of contexts, their own order breaks ties.
        """
        from trueval.evaluation.defaults import fill_defaults
        from trueval.rag.contexts import all_contexts

        known, paths = self.grades is None and form != "trec", list(runs)
        as_read = bool(paths) and form != "trec" and all_contexts(paths)
        return fill_defaults(
            qrels if known else None, measures_of(measures), None, self.choices(), in_reading_order=as_read
        )

    def grade_map(self) -> dict[float, float] | None:
        """Grade in the file → grade to use; None where grades stay as they are."""
        from trueval.judgments import grade_map

        return None if self.grades is None else grade_map(self.grades)


@dataclass(frozen=True, eq=False, repr=False)
class PolicyOptions(ChoiceOptions):
    """A policy: a convention, and single choices that override it."""

    convention: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Do as another tool does: {', '.join(CONVENTIONS)}. Default: our own way.",
            rich_help_panel=MEASURES,
        ),
    ] = None

    def choices(self) -> dict[str, Any]:
        """The choices, including a convention."""
        return {"convention": self.convention, **super().choices()}

    def to_policy(self) -> "Policy":
        """The complete policy, independent of the judgments."""
        from trueval.policy.conventions import choose

        return choose(None, self.choices())

    def missing_choice(self) -> str | None:
        """The rule for judged queries that a run lacks, chosen directly or by a convention; None if not chosen."""
        return self.missing if self.convention is None else self.to_policy().missing


@dataclass(frozen=True, eq=False, repr=False)
class InputOptions:
    """Transformations of judgments and runs on reading."""

    unjudged: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Grade every document that a run lists and nobody graded N, such as 1.",
            rich_help_panel=JUDGED,
        ),
    ] = None
    sources: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Document and its source on each line, separated by a tab, a comma or spaces, for novelty(...).",
            rich_help_panel=JUDGED,
        ),
    ] = None
    facets: Annotated[
        bool,
        typer.Option(
            "--facets",
            help="The second column of QRELS holds facets; alpha_nDCG and NRBP imply it.",
            rich_help_panel=JUDGED,
        ),
    ] = False
    memory: Memory = None

    def to_inputs(
        self, measures: "Iterable[Measure]", grades: dict[float, float] | None, correct: str | None = None
    ) -> "InputRules":
        """The transformations of the input; files of sources and answers are read now."""
        from trueval.rag.answer_accuracy import read_correctness
        from trueval.rag.context_inputs import InputRules
        from trueval.rag.document_sources import read_sources

        return InputRules(
            facets=self.facets or any(measure.needs_facets for measure in measures),
            grades=grades,
            unjudged=self.unjudged,
            sources=None if self.sources is None else read_sources(self.sources),
            correct=None if correct is None else read_correctness(correct),
        )


def _precision_or_width(text: str | None) -> str | float | None:
    """The value of `--tie-precision`: a number if it parses as one, else the name of a format."""
    try:
        return text if text is None else float(text)
    except ValueError:
        return text
