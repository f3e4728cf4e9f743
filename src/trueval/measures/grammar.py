"""The text form of measures: `nDCG@10`, `R(rel=2)@100`, `PROC(RA-nWG, pool=50)@10`.

list     = measure { ( space | "," ) measure }
measure  = name [ "(" argument { "," argument } ")" ] [ "@" cutoff ]
argument = measure | parameter "=" value
value    = number | 'text' | True | False | None | "{" number ":" number { "," number ":" number } "}"

Names of other tools, such as ndcg_cut_10, P.10 or map@100-l2, are read too (aliases.py), and our own in any case.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

from trueval.errors import MeasureError, TruevalWarning
from trueval.measures.aliases import LISTING, measure_of, rename_parameters, take_apart, with_level
from trueval.measures.measure import Measure, find
from trueval.specs import Value, read_arguments, read_value, split

Measures: TypeAlias = "str | Measure | OtherMeasure | Iterable[str | Measure | OtherMeasure]"

_MEASURE = re.compile(r"(?P<name>[A-Za-z][\w+-]*)\s*(?:\((?P<arguments>.*)\))?\s*(?:@(?P<cutoff>.+))?", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_NUMBERED = re.compile(r"(?P<name>.*\D[._])\d+(?:\.\d+)?", re.DOTALL)


@runtime_checkable
class OtherMeasure(Protocol):
    """A measure of ir_measures, read by its text form; the library is not imported."""

    NAME: Any
    params: Any


def parse(measure: str | Measure | OtherMeasure) -> Measure:
    """Read a measure from its text form.

    Args:
        measure: text; a Measure is returned unchanged, and a measure of ir_measures is read by its own text.

    Raises:
        MeasureError: it is not a measure; unknown names come with the nearest known one.

    >>> parse("R(rel=2)@100").cutoff
    100
    """
    if isinstance(measure, Measure):
        return measure
    if not isinstance(measure, str | OtherMeasure):
        raise MeasureError(
            f"A measure is a text such as 'nDCG@10', or a measure of trueval or ir_measures. Got {measure!r}."
        )
    if not isinstance(measure, str) and measure.NAME == "RBP" and measure.params.get("rel") is None:
        remark = f"{measure} of ir_measures weighs grades; RBP here counts a document as relevant from rel on."
        warnings.warn(f"{remark} Name rel, or RBP(scale=...) for grades.", TruevalWarning, stacklevel=2)
    return _read(str(measure))


def _read(text: str) -> Measure:
    whole = text.strip()
    match = _MEASURE.fullmatch(whole)
    measure = None if match is None else find(match["name"])
    level: str | None = None
    if match is not None and measure is not None:
        arguments, cutoff = match["arguments"], match["cutoff"]
    else:
        parts = take_apart(whole)
        if parts is None:
            raise MeasureError(f"A measure looks like nDCG@10 or R(rel=2)@100. Got {text!r}.")
        measure = measure_of(parts, whole)
        arguments, cutoff, level = parts.arguments, parts.cutoff, parts.level
    inner, parameters = _arguments(arguments or "", text)
    if inner is not None or parameters:
        measure = measure(inner, **rename_parameters(measure, parameters))
    if cutoff is not None and measure.name == "IPrec":
        measure = measure(recall=read_value(cutoff, text, MeasureError))  # as ir_measures writes it
    elif cutoff is not None:
        measure = measure @ _cutoff(cutoff, measure.name)
    return measure if level is None else with_level(measure, int(level), whole)


def parse_list(measures: Measures) -> tuple[Measure, ...]:
    """Read measures from a text, separated by spaces or commas outside brackets, or from what `parse` accepts.

    Returns:
        The measures in order, each once.

    Raises:
        MeasureError: texts that are no measures, all of them in one message.

    >>> [str(m) for m in parse_list("nDCG@10, AP R(rel=2)@100 P.5,10 recip_rank")]
    ['nDCG@10', 'AP', 'R(rel=2)@100', 'P@5', 'P@10', 'RR']
    """
    found: list[Measure] = []
    refused: list[str] = []
    for item in measures_in(measures):
        for part in _repeat_names(split(item, " \t\n,", MeasureError)) if isinstance(item, str) else [item]:
            try:
                found.append(parse(part))
            except MeasureError as error:
                refused.append(str(error))
    if len(refused) == 1:
        raise MeasureError(refused[0])
    if refused:
        reasons = [reason.removesuffix(LISTING).strip() for reason in dict.fromkeys(refused)]
        raise MeasureError("\n".join([f"{len(refused)} measures cannot be read.", *reasons, LISTING]))
    if not found:
        raise MeasureError("No measure is named. Name at least one, for example nDCG@10.")
    return tuple(dict.fromkeys(found))


def measures_in(measures: Measures) -> tuple[Any, ...]:
    """The measures given, as a sequence: one text or measure, or several."""
    # A measure of ir_measures has __getitem__, like an iterable.
    if isinstance(measures, str | OtherMeasure) or not isinstance(measures, Iterable):
        return (measures,)
    return tuple(measures)


def _repeat_names(parts: list[str]) -> list[str]:
    """Repeat the name before numbers that stand alone: trec_eval lists several cutoffs, P.5,10."""
    named: list[str] = []
    for part in parts:
        before = _NUMBERED.fullmatch(named[-1]) if named and _NUMBER.fullmatch(part) else None
        named.append(f"{before['name']}{part}" if before else part)
    return named


def _arguments(text: str, whole: str) -> tuple[Measure | None, Mapping[str, Value]]:
    plain, named = read_arguments(text, whole, MeasureError)
    if len(plain) > 1:
        raise MeasureError(f"Parameters are written name=value. Got {plain[1]!r} in {whole!r}.")
    return _read(plain[0]) if plain else None, named


def _cutoff(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise MeasureError(f"k of {name} must be an integer >= 1. Got {text!r}.") from None
