"""Gates: limits that runs must keep, and what was found about each.

The limits are data, and so are the findings: a command, a test or a notebook decides what to do with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from trueval.errors import PolicyError
from trueval.evaluation.scores import Scores
from trueval.measures import parse
from trueval.numerics import or_null

if TYPE_CHECKING:
    from trueval.comparison.comparison import Difference
    from trueval.measures import Measure


@dataclass(frozen=True)
class _Limit:
    name: ClassVar[str]
    example: ClassVar[str]

    measure: str | None
    limit: float

    def __post_init__(self) -> None:
        limit: object = self.limit
        if not isinstance(limit, int | float) or not 0 <= limit < math.inf:
            raise PolicyError(f"--{self.name} must be a number >= 0. Got {self.limit!r}.")
        if self.measure is not None:
            object.__setattr__(self, "measure", str(parse(self.measure)))  # as scores name it

    def __str__(self) -> str:
        """The limit as an option of the command line."""
        return f"--{self.name} {'' if self.measure is None else f'{self.measure}='}{self.limit:g}"


@dataclass(frozen=True)
class MaxRange(_Limit):
    """The widest range of values that the order of ties may leave to a mean.

    Attributes:
        measure: text form of the measure; None for every one.
        limit: on the scale of the measure, so 0.02 is two points of a hundred.
    """

    name = "max-range"
    example = "X or MEASURE=X with a number X >= 0, such as 0.02 or nDCG@10=0.02"


@dataclass(frozen=True)
class Minimum(_Limit):
    """The least expected mean that passes.

    Attributes:
        measure: text form of the measure, one of which more is better.
        limit: on the scale of the measure.
    """

    name = "min"
    example = "MEASURE=X with a number X >= 0, such as nDCG@10=0.3"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.measure is None:
            raise PolicyError(f"--min must be {self.example}. Got {self.limit:g}.")
        if parse(self.measure).better == "lower":
            raise PolicyError(f"--min is for measures of which more is better. Of {self.measure}, less is.")


@dataclass(frozen=True)
class MaxDrop(_Limit):
    """The largest loss against a baseline that passes.

    A run fails when it lost more than the limit at every value of the joint interval, that of a realized difference,
    which holds the uncertainty of both queries and ties.

    Attributes:
        measure: text form of the measure; None for every one.
        limit: on the scale of the measure.
    """

    name = "max-drop"
    example = "X or MEASURE=X with a number X >= 0, such as 0.01 or nDCG@10=0.01"


Limit: TypeAlias = MaxRange | Minimum | MaxDrop
LIMITS: Final[dict[str, type[Limit]]] = {each.name: each for each in (MaxRange, Minimum, MaxDrop)}


@dataclass(frozen=True)
class Check:
    """What was found about one limit, run and measure.

    Attributes:
        name: "max-range", "min", "max-drop", or "judged" of a run of which nothing is judged.
        run: its name.
        measure: the measure's text form; None where it is about all.
        limit: the limit; None where there is none.
        value: what was held against it: the range, the expected mean, or the loss; None where not available.
        low: lower end of what was found: the lowest mean, or the lower end of the interval of the loss.
        high: its upper end.
        passed: whether the run keeps the limit; what is not available does not.
        line: the whole story in one sentence.
        option: the limit as an option of the command line.
        baseline: name of the run that it is compared with; None if there is none.
        level: of the interval; None where there is none.
        bounded: whether the interval is made of bounds, so that passing says little.
    """

    name: str
    run: str
    measure: str | None
    limit: float | None
    value: float | None
    low: float | None
    high: float | None
    passed: bool
    line: str
    option: str
    baseline: str | None = None
    level: float | None = None
    bounded: bool = False

    @property
    def verdict(self) -> str:
        """Passed or failed, in a word."""
        return "passed" if self.passed else "failed"

    def to_dict(self) -> dict[str, Any]:
        """As it appears in the JSON of a run."""
        names = ("name", "measure", "baseline", "limit", "value", "low", "high", "level", "bounded", "verdict")
        return {name: getattr(self, name) for name in names} | {"passed": self.passed}


def parse_limit(name: str, text: str) -> Limit:
    """Read a limit as the command line has it.

    Args:
        name: "max-range", "min" or "max-drop".
        text: "X", or "MEASURE=X" for one measure.

    Raises:
        MeasureError: the measure cannot be read.
        PolicyError: X is not a number from 0, or the limit needs a measure.

    >>> parse_limit("max-range", "nDCG(gain='exp')@10=0.1")
    MaxRange(measure="nDCG(gain='exp')@10", limit=0.1)
    """
    kind = LIMITS[name]
    measure, _, number = text.rpartition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = -1.0
    if not 0 <= limit < math.inf or (kind is Minimum and not measure):
        raise PolicyError(f"--{name} must be {kind.example}. Got {text}.")
    return kind(measure or None, limit)


def check_limits(limits: Iterable[Limit], measures: Sequence[Measure], *, baseline: bool) -> None:
    """Refuse limits that nothing can be held against, before any work is done.

    Args:
        limits: as in `gate`.
        measures: those evaluated.
        baseline: whether there is one.

    Raises:
        PolicyError: a limit names a measure that is not evaluated, or a loss has no baseline.
    """
    names = [str(measure) for measure in measures]
    for limit in limits:
        if limit.measure is not None and limit.measure not in names:
            raise PolicyError(
                f"--{limit.name}: {limit.measure} is not evaluated. Add it with -m, or name one of {' '.join(names)}."
            )
        if isinstance(limit, MaxDrop) and not baseline:
            raise PolicyError("--max-drop needs --baseline RUN. `trueval compare` shows differences without a gate.")


def gate(
    scores: Scores | Sequence[Scores], limits: Iterable[Limit], *, baseline: Scores | None = None, **choices: Any
) -> tuple[Check, ...]:
    """Hold runs against limits.

    Args:
        scores: of the runs.
        limits: what they must keep.
        baseline: scores of the run that MaxDrop compares with; it may be one of the runs, and only then the other
            limits are about it too.
        choices: of the comparison behind MaxDrop: level, resamples, seed.

    Returns:
        What was found; where the judgments know no query or no document of a run, that alone, and it fails.

    Raises:
        MeasureError: a measure has no interval, as geometric means.
        PolicyError: a limit names a measure that was not evaluated, or MaxDrop comes without a baseline.

    >>> from trueval import Judgments, Run, evaluate
    >>> run = Run.from_dict({"q": {"a": 1.0, "b": 1.0}}, name="tied")
    >>> check, = gate(evaluate(run, Judgments.from_dict({"q": {"a": 1}}), "RR"), [MaxRange(None, 0.02)])
    >>> check.passed, check.line
    (False, 'tied: the range of RR is 0.5, above --max-range 0.02.')
    """
    runs = [scores] if isinstance(scores, Scores) else list(scores)
    limits = tuple(limits)
    for each in runs:
        check_limits(limits, each.measures, baseline=baseline is not None)
    strangers = tuple(_strangers([*runs, *([] if baseline is None else [baseline])])) if limits else ()
    if strangers:
        return strangers
    found = [check for limit in limits if isinstance(limit, MaxRange) for check in _ranges(runs, limit)]
    found += [check for limit in limits if isinstance(limit, Minimum) for check in _minima(runs, limit)]
    drops = [limit for limit in limits if isinstance(limit, MaxDrop)]
    others = [each for each in runs if each is not baseline]
    if drops and others and baseline is not None:
        found += _drops(others, baseline, drops, choices)
    return tuple(found)


def mismatch(scores: Scores) -> str:
    """What of a run the judgments do not know at all, so that its numbers say nothing and no gate may pass.

    Returns:
        The end of a sentence, empty where something is judged.
    """
    if len(scores.missing_queries) >= len(scores.query_ids):
        return "no query of the run is judged and has a document in its list"
    return "no retrieved document is judged" if scores.matched == 0 else ""


def _strangers(scores: Iterable[Scores]) -> Iterator[Check]:
    """A failed check for each run whose ids the judgments do not know."""
    for name, why in {each.name: mismatch(each) for each in scores}.items():
        if why:
            line = f"{name}: {why}, so no gate can pass. Are the ids the same?"
            yield Check("judged", name, None, None, None, None, None, False, line, "any gate")


def _ranges(scores: Iterable[Scores], limit: MaxRange) -> Iterator[Check]:
    for run in scores:
        for name, mean in run.means().items():
            if limit.measure not in (None, name):
                continue
            found, what = or_null(mean.range), f"{run.name}: the range of {name} is"
            if found is None:
                line = f"{what} not available, so {limit} cannot pass."
            else:
                line = f"{what} {found:.6g}, {'above' if found > limit.limit else 'not above'} {limit}."
            passed = found is not None and found <= limit.limit
            ends = or_null(mean.lowest), or_null(mean.highest)
            yield Check(limit.name, run.name, name, limit.limit, found, *ends, passed, line, str(limit))


def _minima(scores: Iterable[Scores], limit: Minimum) -> Iterator[Check]:
    for run in scores:
        mean = run.mean(limit.measure or "")
        found = or_null(mean.expected)
        passed = found is not None and found >= limit.limit
        line = f"{run.name}: {limit.measure} has no value, so {limit} fails."
        if found is not None:
            line = f"{run.name}: {limit.measure} is {found:.6g}, {'not ' if passed else ''}below {limit}."
        ends = or_null(mean.lowest), or_null(mean.highest)
        yield Check(limit.name, run.name, limit.measure, limit.limit, found, *ends, passed, line, str(limit))


def _drops(
    scores: Sequence[Scores], baseline: Scores, limits: Sequence[MaxDrop], choices: dict[str, Any]
) -> Iterator[Check]:
    from trueval.comparison.compare import compare_scores

    # Only measures that a limit is about: others may have no interval at all.
    named = {limit.measure for limit in limits}
    asked = [measure for measure in baseline.measures if None in named or str(measure) in named]
    compared = compare_scores([each.of(asked) for each in (*scores, baseline)], baseline=baseline.name, **choices)
    for limit in limits:
        for row in compared.differences:
            if limit.measure in (None, row.measure):
                yield _drop(row, limit, float(str(compared.choices["level"])))


def _drop(row: Difference, limit: MaxDrop, level: float) -> Check:
    """Whether some value of the joint interval is a loss within the limit."""
    higher = row.better == "higher"
    drop = -row.expected if higher else row.expected
    ends = row.realized_interval
    low, high = (0.0 - ends.high, 0.0 - ends.low) if higher else (ends.low, ends.high)  # 0 -: no minus zero
    what, known = f"{row.first}: {row.measure}", not math.isnan(low)
    passed, bounded = known and low <= limit.limit, known and row.realized_bounded
    if known:
        joint = f"the {level:.0%} interval of the loss [{low:.4f}, {high:.4f}]"
        joint += ", bounded over all orders of ties," if bounded else ""
        verdict = f"{joint} reaches {limit}, so it passes." if passed else f"{joint} is beyond {limit}."
        line = f"{what} {'lost' if drop > 0 else 'gained'} {abs(drop):.6g} against {row.second}; {verdict}"
    else:
        line = f"{what} has no interval against {row.second}, so {limit} cannot pass."
    numbers = (limit.limit, or_null(drop), or_null(low), or_null(high))
    return Check(limit.name, row.first, row.measure, *numbers, passed, line, str(limit), row.second, level, bounded)
