"""Measures as values: definitions, their text form, and the registry.

A `Definition` says what a measure computes, with formula and source; a `Measure` is a definition with a cutoff and
parameters, written `nDCG@10` or `R(rel=2)@100`. To add one, write a function from Standings to Values and register it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType, ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import MeasureError
from trueval.measures.families import NAMES, load_families
from trueval.measures.span import ANYTHING, ValueRange
from trueval.policy.policy import Policy
from trueval.specs import Parameter, Value, check_value, format_spec
from trueval.standings.standings import Bools, Floats, Standings


class Values(NamedTuple):
    """The values of a measure per query, over tie orders.

    Attributes:
        expected: [query] mean over all orders, each equally likely.
        lowest: [query] lowest value over all orders.
        highest: [query] highest value over all orders.
        tie_broken: [query] value under the tie order; NaN where the order is not known.
        sd: [query] standard deviation over all orders; NaN where no exact form is known.
        undefined: [query] whether the query has nothing to measure (no relevant document): the policy decides its
            value.
        exact: whether every statistic is exact; else lowest and highest may be bounds that no order reaches, or
            expected the middle of bounds, as the measure says.
        margin: [query] error bound of expected where it is the middle of bounds; None where it is exact.
        partly_empty: where some orders leave nothing to measure and others do not, the values with 1 instead of 0 for
            the orders that do; its `undefined` says of which queries. None if there are none.
    """

    expected: Floats
    lowest: Floats
    highest: Floats
    tie_broken: Floats
    sd: Floats
    undefined: Bools
    exact: bool = True
    margin: Floats | None = None
    partly_empty: Values | None = None

    def complement(self) -> Values:
        """1 - the values: the lowest becomes the highest, and the deviation stays."""
        return self._replace(
            expected=1 - self.expected,
            lowest=1 - self.highest,
            highest=1 - self.lowest,
            tie_broken=1 - self.tie_broken,
        )


class Definition(NamedTuple):
    """The definition of a measure.

    Attributes:
        name: name as published: nDCG, RR, RA-nWG.
        summary: one sentence.
        formula: formula in the notation of docs/formulas.md.
        source: where the formula is published.
        compute: function from standings, a cutoff (None: the whole list) and parameters to Values.
        cutoff_use: "required", "optional" or "none".
        parameters: parameters by name, in the order of the text form.
        better: "higher" or "lower".
        worst: worst value, given to a judged query that the run lacks.
        empty: value of an undefined query: "policy" (0 by default) or "na" (left out and counted).
        needs_zeros: whether documents of grade 0 affect it.
        needs_facets: whether it needs judgments read with their facets.
        takes_measure: whether its first argument is another measure.
        details: function to additional numbers by name, over the queries in the mean, [query]; None if there are none.
        mean: kind of mean over queries: "arithmetic" or "geometric".
        span: range of per-query values, to which intervals are cut.
        one_by_one: name and value of the parameter under which tied documents enter one by one, where another value
            lets them enter together; nothing else may differ.
    """

    name: str
    summary: str
    formula: str
    source: str
    compute: Callable[[Standings, Measure], Values]
    cutoff_use: str = "optional"
    parameters: Mapping[str, Parameter] = MappingProxyType({})
    better: str = "higher"
    worst: float = 0.0
    empty: str = "policy"
    needs_zeros: bool = False
    needs_facets: bool = False
    takes_measure: bool = False
    details: Callable[[Standings, Measure, Bools], Mapping[str, float]] | None = None
    mean: str = "arithmetic"
    span: ValueRange = ANYTHING
    one_by_one: Mapping[str, Mapping[Value, Value]] = MappingProxyType({})


@dataclass(frozen=True)
class Measure:
    """A measure to compute: a definition, a cutoff and explicit parameters.

    A parameter that is named keeps its value whatever a policy says, also where that is the default.

    >>> from trueval.measures import nDCG, parse
    >>> str(nDCG(gain="exp") @ 10)
    "nDCG(gain='exp')@10"
    >>> parse("nDCG(gain='exp')@10") == nDCG(gain="exp") @ 10
    True
    """

    definition: Definition = field(repr=False, compare=False)
    name: str
    cutoff: int | None = None
    chosen: tuple[tuple[str, Value], ...] = ()
    inner: Measure | None = None

    def __matmul__(self, cutoff: int) -> Measure:
        """The measure at a cutoff k, the number of top documents that count."""
        if self.definition.cutoff_use == "none":
            raise MeasureError(f"{self.name} takes no cutoff. Got @{cutoff}; write {self.name}.")
        if isinstance(cutoff, bool) or cutoff < 1 or cutoff != int(cutoff):
            raise MeasureError(f"k of {self.name} must be an integer >= 1. Got {cutoff!r}.")
        return replace(self, cutoff=int(cutoff))

    def __call__(self, inner: Measure | None = None, /, **parameters: Value) -> Measure:
        """The measure with parameters."""
        values = dict(self.chosen)
        for name, value in parameters.items():
            values[name] = check_value(self.name, self.definition.parameters, name, value, MeasureError)
        if inner is not None and not self.definition.takes_measure:
            raise MeasureError(f"{self.name} takes no measure as argument. Got {inner}.")
        chosen = tuple((name, values[name]) for name in self.definition.parameters if name in values)
        return Measure(self.definition, self.name, self.cutoff, chosen, inner or self.inner)

    def __getitem__(self, name: str) -> Value:
        """The value of a parameter: explicit, or its default."""
        return dict(self.chosen).get(name, self.definition.parameters[name].default)

    def __reduce__(self) -> tuple[object, ...]:
        """The form for pickling: the explicit choices, and the definition by name, since formulas are code."""
        known = _REGISTRY.get(self.name) or _DECLARED.get(self.name)
        if known is None or known.definition is not self.definition:
            raise MeasureError(
                f"{self.name} cannot be pickled or copied: it is not registered, so no other process would know it. "
                "Give its definition to register, in a module that the other process imports too."
            )
        return _restore_measure, (self.name, self.cutoff, self.chosen, self.inner)

    def __str__(self) -> str:
        """The text form, which `parse` reads."""
        text = format_spec(self.name, dict(self.chosen), *([self.inner] if self.inner else []))
        return text + (f"@{self.cutoff}" if self.cutoff is not None else "")

    def with_defaults(self, **parameters: Value) -> Measure:
        """The measure with other defaults for the parameters that it has and that are not explicit."""
        return _with_defaults(self, **parameters)

    def with_threshold(self, rel: float) -> Measure:
        """The measure with a relevance threshold, where it has one and names none.

        >>> from trueval.measures import parse
        >>> [str(parse(text).with_threshold(4)) for text in ("RR@10", "gm(AP)", "nDCG@10", "P(rel=2)@5")]
        ['RR(rel=4)@10', 'gm(AP(rel=4))', 'nDCG@10', 'P(rel=2)@5']
        """
        inner = self.inner and self.inner.with_threshold(rel)
        return self(inner, rel=rel) if self.has_threshold and "rel" not in dict(self.chosen) else self(inner)

    def under(self, policy: Policy) -> Measure:
        """The measure with open parameters set by a policy.

        >>> from trueval.measures import parse
        >>> from trueval.policy.policy import Policy
        >>> parse("AP@5").under(Policy(norm="min"))["norm"]
        'min'
        """
        return self.with_defaults(**policy.of(self.innermost.name).parameters)

    def evaluate(self, standings: Standings) -> Values:
        """Compute the measure for every query of standings.

        Raises:
            MeasureError: the cutoff or the inner measure is missing, or a grade does not fit.
        """
        if self.cutoff is None and self.definition.cutoff_use == "required":
            raise MeasureError(f"{self.name} needs a cutoff, for example {self.name}@10.")
        if self.inner is None and self.definition.takes_measure:
            raise MeasureError(f"{self.name} needs a measure as first argument, for example {self.name}(RA-nWG)@10.")
        values = self.definition.compute(standings, self)
        # An upper bound of any standard deviation, exceeded only by rounding where ties hardly matter.
        half = (values.highest - values.lowest) / 2
        if not (values.sd > half).any():
            return values
        rounding = (half > 0) * (np.finfo(float).eps * np.abs(values.highest))
        return values._replace(sd=np.minimum(values.sd, half + rounding))

    def details(self, standings: Standings, counted: Bools) -> Mapping[str, float]:
        """Additional numbers, such as how many queries no run can satisfy.

        Args:
            standings: standings of all queries.
            counted: [query] whether the mean counts it, under the policy for missing and empty queries.
        """
        return {} if self.definition.details is None else self.definition.details(standings, self, counted)

    def number(self, name: str) -> float:
        """The value of a numeric parameter."""
        value = self[name]
        if not isinstance(value, (int, float)):
            raise MeasureError(f"{name} of {self.name} must be a number. Got {value!r}.")
        return float(value)

    @property
    def better(self) -> str:
        """Which direction is better: "higher" or "lower"."""
        return self.definition.better

    @property
    def span(self) -> ValueRange:
        """The lowest and the highest possible value of a query; infinite where unbounded.

        >>> from trueval.measures import Hits
        >>> (Hits @ 10).span[:2]
        (0.0, 10.0)
        """
        return self.definition.span.at(self.cutoff)

    @property
    def needs_zeros(self) -> bool:
        """Whether documents of grade 0 affect the measure."""
        return self.definition.needs_zeros or (self.inner is not None and self.inner.needs_zeros) or self._maps_zero()

    @property
    def has_threshold(self) -> bool:
        """Whether `rel` decides which documents count: not where the measure uses grades by their `scale`."""
        parameters = self.definition.parameters
        return "rel" in parameters and ("scale" not in parameters or self["scale"] is None)

    @property
    def is_ours(self) -> bool:
        """Whether this package defines the measure; another one may use its parameters in its own way."""
        return self.definition.compute.__module__.startswith(f"{__package__}.")

    @property
    def innermost(self) -> Measure:
        """The innermost measure inside all modifiers; itself if it is no modifier."""
        return self if self.inner is None else self.inner.innermost

    @property
    def one_by_one(self) -> Measure:
        """The variant whose tie-broken value is that of one order; over all orders both are equal.

        >>> from trueval.measures import parse
        >>> str(parse("AP(norm='threshold')@5").one_by_one), str(parse("AP@5").one_by_one)
        ("AP(norm='R')@5", 'AP@5')
        """
        inner = None if self.inner is None else self.inner.one_by_one
        changes = self.definition.one_by_one.items()
        return self(inner, **{name: instead[self[name]] for name, instead in changes if self[name] in instead})

    @property
    def needs_facets(self) -> bool:
        """Whether the measure needs judgments read with their facets."""
        return self.definition.needs_facets or (self.inner is not None and self.inner.needs_facets)

    @property
    def formula(self) -> str:
        """Its formula, in the notation of docs/formulas.md."""
        return self.definition.formula

    @property
    def source(self) -> str:
        """Where the formula is published."""
        return self.definition.source

    @property
    def summary(self) -> str:
        """What it measures, in one sentence."""
        return self.definition.summary

    @property
    def cutoff_use(self) -> str:
        """Whether a cutoff is "required", "optional" or "none"."""
        return self.definition.cutoff_use

    def _maps_zero(self) -> bool:
        """Whether a parameter gives grade 0 a gain, or refuses it."""
        return any(isinstance(value, tuple) and dict(value).get(0.0, 0.0) != 0 for _, value in self.chosen) or any(
            (name == "rel" and isinstance(value, (int, float)) and value <= 0) or (name, value) == ("gain", "rubric")
            for name, value in self.chosen
        )


@lru_cache(maxsize=256, typed=True)  # for loops; typed: 1 and 1.0 are written as given
def _with_defaults(measure: Measure, **parameters: Value) -> Measure:
    chosen = dict(measure.chosen)
    free = {n: v for n, v in parameters.items() if n in measure.definition.parameters and n not in chosen}
    inner = measure.inner.with_defaults(**parameters) if measure.inner else None
    return measure(inner, **free) if free or inner else measure


_REGISTRY: dict[str, Measure] = {}
_DECLARED: dict[str, Measure] = {}  # of other things than runs


def register(definition: Definition) -> Measure:
    """Add a measure to the registry: help, docs, the parser and the test suites then know it.

    Raises:
        MeasureError: the name is taken.
    """
    load_families(definition.name)  # ours keep their names; a family that is just being imported is left as it is
    if definition.name in _REGISTRY:
        raise MeasureError(f"The name {definition.name} is taken. Give the new measure another one.")
    measure = Measure(definition, definition.name)
    _REGISTRY[definition.name] = measure
    return measure


def declare(definition: Definition) -> Measure:
    """Make a measure known by name that is not computed from runs, such as one of answers.

    `parse` reads it, so comparisons, gates and stored scores take it; `registry` does not list it.

    Raises:
        MeasureError: the name is taken.
    """
    load_families(definition.name)
    if definition.name in _REGISTRY or definition.name in _DECLARED:
        raise MeasureError(f"The name {definition.name} is taken. Give the new measure another one.")
    _DECLARED[definition.name] = Measure(definition, definition.name)
    return _DECLARED[definition.name]


def registry() -> Mapping[str, Measure]:
    """Every registered measure by name, ours first, then plugins in the order of registration.

    Raises:
        MeasureError: a plugin fails to load.

    >>> registry()["RR"].name
    'RR'
    """
    load_families()
    _load_plugins()
    return MappingProxyType({name: _REGISTRY[name] for name in (*NAMES, *_REGISTRY)})


def find(name: str) -> Measure | None:
    """The registered or declared measure of exactly this name, plugins included; None if there is none."""
    name = ALIASES.get(name, name)
    if name in _DECLARED:
        return _DECLARED[name]
    if name not in _REGISTRY and not load_families(name):
        _load_plugins()
    return _REGISTRY.get(name)


@cache
def _plugins() -> list[EntryPoint]:
    """Entry points of installed packages that provide measures and are not loaded; searched once."""
    return list(entry_points(group="trueval.measures"))


def _load_plugins() -> None:
    """Register the measures of other packages: a Definition, a Measure, or a module that registers some."""
    waiting = _plugins()
    while waiting:
        try:
            found = waiting[0].load()
            if isinstance(found, Definition):
                register(found)
            elif not isinstance(found, (Measure, ModuleType)):
                raise TypeError(f"it must be a Definition, a Measure or a module. Got {type(found).__name__}")
        except Exception as error:
            raise MeasureError(
                f"Cannot load the measures of plugin {waiting[0].name} = {waiting[0].value}: {error}. Mend or remove "
                f"the package that brings it{'' if waiting[0].dist is None else f', {waiting[0].dist.name}'}."
            ) from error
        # A failing plugin stays in the queue, so that every listing reports it.
        del waiting[0]


# Other names of the same measure: only the proxy of UDCG exists here, and results say so. Hit, P-B's name of AllGold,
# is not among them, since elsewhere a hit means any relevant document.
ALIASES: dict[str, str] = {"UDCG": "UDCG-proxy"}


def _restore_measure(
    name: str, cutoff: int | None, chosen: tuple[tuple[str, Value], ...], inner: Measure | None
) -> Measure:
    """Restore a pickled measure with this process's definition of its name."""
    known = find(name)
    if known is None:
        raise MeasureError(
            f"No measure of this process is called {name}, which a pickle holds. Import the module that registers it, "
            "or install the package that brings it."
        )
    return replace(known, cutoff=cutoff, chosen=chosen, inner=inner)


def no_values(queries: int) -> NDArray[np.float64]:
    """[query] NaN: a statistic that is not available."""
    return np.full(queries, np.nan)
