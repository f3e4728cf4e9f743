"""ir_measures: a Provider whose values are exact under ties. Written for 0.3.3 and newer; tried with 0.4.3.

`install` puts it before the other providers, so that ir_measures, and all that calls it, takes its values from here::

    from trueval.integrations.ir_measures import install
    with install():
        ir_measures.calc_aggregate(map(ir_measures.parse_measure, ["RR@10", "RR_lowest@10"]), qrels, run)

While it is installed, every measure that trueval computes is also there as NAME_expected, NAME_lowest, NAME_highest and
NAME_range, and measures that ir_measures lacks are there by names that Python can parse: RA_nWG, N_Recall4plus, Harm.
The same on the command line: python -m trueval.integrations.ir_measures QRELS RUN MEASURES --ties lowest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trueval.errors import MeasureError, TruevalError
from trueval.integrations.hosts import TIES, need_host, statistic

need_host("ir_measures", "0.3.3")

import ir_measures
from ir_measures.measures import MeanAgg, ParamInfo
from ir_measures.measures import Measure as HostMeasure
from ir_measures.util import Metric, QrelsConverter, RunConverter

if TYPE_CHECKING:
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.run import Run

NAME: Final = "trueval"
# Names of ir_measures for measures that are called otherwise here, or whose default differs.
OTHERWISE: Final = {"NumRet": "Hits", "alpha_nDCG": "alpha_nDCG(ideal='ndeval')"}
STATISTICS: Final = ("expected", "lowest", "highest", "range")


class _Meaning(NamedTuple):
    """A measure of ir_measures in terms of ours.

    Attributes:
        measure: ours.
        judged_only: whether documents without a grade are left out.
        statistic: the statistic that its name asks for; None for that of the provider.
    """

    measure: Measure
    judged_only: bool
    statistic: str | None


class _KnownMean(MeanAgg):
    """The mean over the queries with a value."""

    def add(self, value: float) -> None:
        """Add the value of a query, unless it is not available."""
        if value == value:
            super().add(value)


class TieAwareMeasure(HostMeasure):
    """A measure that only this provider computes: one that ir_measures lacks, or one statistic of another measure.

    Attributes:
        twin: the measure of ir_measures, or ours.
        statistic: as in _Meaning.
    """

    twin: HostMeasure | Measure
    statistic: str | None

    def aggregator(self) -> MeanAgg:
        """The mean over queries, of which some may have no value."""
        return _KnownMean()


def _class_of(name: str, twin: HostMeasure | Measure, which: str | None) -> TieAwareMeasure:
    """A measure under a name of its own, with the parameters of its twin."""
    if isinstance(twin, HostMeasure):
        at, parameters, worst = twin.AT_PARAM, twin.SUPPORTED_PARAMS, twin.DEFAULT
    else:
        use, worst = twin.definition.cutoff_use, twin.definition.worst
        at, parameters = "cutoff", {each: ParamInfo() for each in twin.definition.parameters}
        if use != "none":
            parameters["cutoff"] = ParamInfo(dtype=int, required=use == "required")
    attributes = {
        "__name__": name,
        "NAME": name,
        "AT_PARAM": at,
        "SUPPORTED_PARAMS": parameters,
        "DEFAULT": 0.0 if which == "range" else worst,
        "twin": twin,
        "statistic": which,
    }
    made: TieAwareMeasure = type(name, (TieAwareMeasure,), attributes)()
    return made


@cache
def measures() -> Mapping[str, TieAwareMeasure]:
    """The measures that `install` adds to ir_measures, by name."""
    from trueval.measures import registry
    from trueval.measures.aliases import plain_name

    known = ir_measures.measures.registry
    theirs = {name: each for name, each in known.items() if _meaning(_complete(each)) is not None}
    ours = {
        plain_name(measure): measure
        for name, measure in registry().items()
        if name.lower() not in map(str.lower, known) and not measure.definition.takes_measure
    }
    named = {name: _class_of(name, twin, None) for name, twin in ours.items()}
    for name, twin in {**theirs, **ours}.items():
        named |= {f"{name}_{each}": _class_of(f"{name}_{each}", twin, each) for each in STATISTICS}
    return named


def __getattr__(name: str) -> TieAwareMeasure:
    if name.startswith("__") or name not in measures():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return measures()[name]


def _complete(measure: HostMeasure) -> HostMeasure:
    """The measure with some value of each parameter that it may not leave open here."""
    open_ = {name: each for name, each in measure.SUPPORTED_PARAMS.items() if each.required or name == "rel"}
    return measure(**{name: (each.dtype or int)(1) for name, each in open_.items()})


def _meaning(measure: HostMeasure) -> _Meaning | None:
    """Our measure for one of ir_measures; None where there is none that has its value."""
    from trueval.measures import Measure, parse

    which, twin, given = None, measure, dict(measure.params)
    if isinstance(measure, TieAwareMeasure):
        which, twin = measure.statistic, measure.twin
        if isinstance(twin, Measure):
            cutoff = given.pop("cutoff", None)
            found = twin(**given)
            return _Meaning(found if cutoff is None else found @ cutoff, False, which)
        twin = twin(**given)
    judged_only = bool(given.pop("judged_only", False))
    if (twin.NAME in ("RBP", "NumRet") and "rel" not in given) or "runtime_impl" in dir(twin):
        return None  # RBP then weighs grades, and NumRet counts what is not relevant either
    bare = type(twin)(**given)
    text = str(bare)
    if twin.NAME in OTHERWISE:
        inner = parse(OTHERWISE[twin.NAME])
        text = text.replace(twin.NAME, inner.name, 1)
        return _Meaning(parse(text)(**dict(inner.chosen)), judged_only, which)
    try:
        return _Meaning(parse(text), judged_only, which)
    except MeasureError:
        return None


class Provider(ir_measures.providers.Provider):
    """The values of trueval for ir_measures.

    Args:
        ties: the number to give where equal scores leave several: "expected", "lowest", "highest" or "tie-broken".
        tie_order: order of equal scores for the tie-broken value; trec_eval's by default.
        tie_precision: number format or grid width in which scores are equal; None as given. pytrec_eval has "float32".
    """

    NAME = NAME

    def __init__(
        self, ties: str = "expected", *, tie_order: str = "docid-desc", tie_precision: str | float | None = None
    ) -> None:
        from trueval.policy.policy import Policy

        super().__init__()
        self.statistic = statistic(ties)
        self.policy = Policy().but(tie_order=tie_order, tie_precision=tie_precision)

    def supports(self, measure: HostMeasure) -> bool:
        """Whether trueval has the measure with these parameters."""
        measure.validate_params()
        return _meaning(measure) is not None

    def _evaluator(self, measures: Iterable[HostMeasure], qrels: object) -> Evaluator:
        return Evaluator(list(measures), qrels, self)


class Evaluator(ir_measures.providers.Evaluator):
    """Measures and judgments with which runs are evaluated.

    Raises:
        MeasureError: trueval has no such measure.
        InputError: the judgments cannot be read, or a document is judged twice.
    """

    def __init__(self, measures: list[HostMeasure], qrels: object, provider: Provider) -> None:
        self.meanings = {measure: _require_meaning(measure) for measure in measures}
        self.provider = provider
        self.judgments = _judgments(qrels, any(each.measure.needs_facets for each in self.meanings.values()))
        super().__init__(measures, set() if self.judgments is None else set(self.judgments.query_ids.to_list()))

    def _iter_calc(self, run: object) -> Iterator[Metric]:
        """Every value of every judged query; none where nothing is judged or retrieved, as for other providers."""
        from trueval.evaluation.evaluate import evaluate

        lists = _run(run)
        if lists is None or self.judgments is None:
            return
        for judged_only in (False, True):
            group = {each: found for each, found in self.meanings.items() if found.judged_only == judged_only}
            if group:
                policy = self.provider.policy.but(judged_only=judged_only)
                scores = evaluate(lists, self.judgments, [each.measure for each in group.values()], policy=policy)
                for measure, found in group.items():
                    column = scores.measures.index(found.measure)
                    which = found.statistic or self.provider.statistic
                    if which == "range":
                        values = (scores.highest - scores.lowest)[:, column]
                    else:
                        values = getattr(scores, which)[:, column]
                    yield from map(Metric, scores.query_ids, [measure] * len(values), values.tolist())


def _require_meaning(measure: HostMeasure) -> _Meaning:
    found = _meaning(measure)
    if found is None:
        raise MeasureError(
            f"trueval has no {measure} of ir_measures. Leave the choice of the provider to ir_measures, by "
            "ir_measures.calc_aggregate and the like, which takes another one for it."
        )
    return found


def _judgments(qrels: object, facets: bool) -> Judgments | None:
    """The judgments, with their iterations as facets where a measure needs them; None if there are none."""
    import polars as pl

    from trueval.judgments import Judgments

    rows = list(QrelsConverter(qrels).as_namedtuple_iter())
    if not rows:
        return None
    if not facets:
        return Judgments.of(rows)
    names = {"query_id": "query_id", "doc_id": "doc_id", "grade": "relevance", "facet": "iteration"}
    frame = pl.DataFrame({ours: [getattr(row, theirs) for row in rows] for ours, theirs in names.items()})
    return Judgments.from_frame(frame, facets=True)


def _run(run: Any) -> Run | None:
    """The run; None if it lists nothing."""
    import polars as pl

    from trueval.run import Run

    converter = RunConverter(run)
    kind, _ = converter.predict_type()
    if kind == "dict_of_dict":
        return Run.from_dict(run) if run else None
    if kind == "pd_dataframe":  # by columns, since pandas without pyarrow exports no texts
        names = ("query_id", "doc_id", "score")
        return Run.from_frame(pl.DataFrame({name: run[name].to_list() for name in names})) if len(run) else None
    rows = list(converter.as_namedtuple_iter())
    return Run.of(rows) if rows else None


def install(
    ties: str = "expected", *, tie_order: str = "docid-desc", tie_precision: str | float | None = None
) -> ExitStack:
    """Let ir_measures take from here what trueval computes, until the returned context is left or closed.

    Args:
        ties: as in Provider.
        tie_order: as in Provider.
        tie_precision: as in Provider.

    Raises:
        PolicyError: a choice is unknown.
    """
    provider = Provider(ties, tie_order=tie_order, tie_precision=tie_precision)
    undone = ExitStack()
    pipeline = ir_measures.DefaultPipeline.providers
    pipeline.insert(0, provider)
    undone.callback(pipeline.remove, provider)
    _add(measures(), ir_measures.measures.registry, undone)
    _add({NAME: provider}, ir_measures.providers.registry, undone)
    return undone


def _add(added: Mapping[str, object], known: dict[str, Any], undone: ExitStack) -> None:
    """Add what is not yet known, and remove it when the context is left."""
    for name in added.keys() - known.keys():
        known[name] = added[name]
        undone.callback(known.pop, name)


def main() -> None:
    """The command line of ir_measures with its values from here."""
    from ir_measures.__main__ import main_cli

    parser = argparse.ArgumentParser(add_help=False, usage="%(prog)s QRELS RUN MEASURES... [--ties CHOICE] [...]")
    parser.add_argument("--ties", choices=TIES, default="expected")
    own, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    try:
        with install(own.ties):
            main_cli()
    except TruevalError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
