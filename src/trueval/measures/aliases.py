"""Aliases from other tools: trec_eval's ndcg_cut_10, pytrec_eval's P.10, ranx's hit_rate@10-l2, ir_measures' SetP.

They are read as measures of ours and printed back in ours. An alias means what the tool computes; where that is not
quite ours, a remark says so, and where we have no such measure, an error does. Our own names are read in any case.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from trueval.errors import MeasureError, TruevalWarning, nearest
from trueval.measures.measure import ALIASES, Measure, registry
from trueval.specs import Value

LISTING: Final = "`trueval measures` lists them all."
NOTHING: Final[Mapping[str, Value]] = MappingProxyType({})


class Alias(NamedTuple):
    """The meaning of another tool's name.

    Attributes:
        name: name of our measure.
        parameters: parameters that it sets.
        inner: name of the measure inside, "" if there is none.
        number: meaning of a number after the name: "cutoff", or a parameter of ours.
        needed: whether the name requires that number.
        remark: how the other tool differs; {} stands for the measure.
    """

    name: str
    parameters: Mapping[str, Value] = NOTHING
    inner: str = ""
    number: str = "cutoff"
    needed: bool = False
    remark: str = ""


def _exponential(name: str) -> Alias:
    return Alias(name, {"gain": "exp"})


# By folded name: trec_eval 10 and pytrec_eval, then ranx 0.3.21, ir_measures 0.4.3, and names printed by mteb and BEIR.
OTHER_NAMES: Final[Mapping[str, Alias]] = MappingProxyType(
    {
        "map": Alias("AP"),
        "map_cut": Alias("AP", needed=True),
        "gm_map": Alias("gm", inner="AP"),
        "gmap": Alias("gm", inner="AP"),
        "gm_bpref": Alias("gm", inner="bpref"),
        "ndcg_cut": Alias("nDCG", needed=True),
        "recip_rank": Alias("RR"),
        "recall": Alias("R"),
        "iprec_at_recall": Alias("IPrec", number="recall", needed=True),
        "11pt_avg": Alias("IPrec11"),
        "set_p": Alias("P"),
        "set_recall": Alias("R"),
        "set_f": Alias("F1"),
        "num_rel_ret": Alias("Hits"),
        "mrr": Alias("RR"),
        "precision": Alias("P"),
        "r_precision": Alias("Rprec"),
        "hit_rate": Alias("Success"),
        "hitrate": Alias("Success"),
        "ndcg_burges": _exponential("nDCG"),
        "dcg_burges": _exponential("DCG"),
        "rbp": Alias(
            "RBP",
            number="p",
            needed=True,
            remark="{}, which counts a document as relevant or not. ranx multiplies by the grade: the same on grades 0 "
            "and 1",
        ),
        "setp": Alias("P"),
        "setr": Alias("R"),
        "setf": Alias("F1"),
        "numrelret": Alias("Hits"),
        "α_ndcg": Alias("alpha_nDCG"),
    }
)

_COUNT = "it is a count, which the table and the JSON hold beside the measures"
_SAMPLED = "it estimates AP from sampled judgments; AP and bpref are the nearest"
# Measures of other tools that are not implemented here, with advice for each; "" without an alternative.
ELSEWHERE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "infap": _SAMPLED,
        **dict.fromkeys(("num_q", "num_ret", "num_rel", "numq", "numret", "numrel"), _COUNT),
        "num_nonrel_judged_ret": "Judged@k and P@k say how many documents are judged and relevant",
        **dict.fromkeys(("runid", "relstring"), "it is not a number"),
        **dict.fromkeys(("set_map", "setap"), "it is P times R, each without a cutoff"),
        **dict.fromkeys(("set_relative_p", "setrelp", "relative_p"), "it is the larger of P and R of the same cutoff"),
        "unj": "it is 1 - Judged@k",
        "rprec_mult": "Rprec is the nearest",
        **dict.fromkeys(("ndcg_rel", "rndcg"), "nDCG and nDCG@k are the nearest"),
        "rbp_resid": "RBP-residual(p=...) is the nearest",
        **dict.fromkeys(("utility", "bing", "g"), ""),
        "accuracy": "sentence-transformers' accuracy@k is Success@k; that of ir_measures is another measure",
        "hit": "Success@k asks for any relevant document among the first k, AllGold@k for all of them",
        "strecall": "",
        **dict.fromkeys(("ap_ia", "map_ia", "p_ia", "err_ia", "nerr_ia"), "alpha_nDCG@k and NRBP know facets"),
        **dict.fromkeys(("alpha_dcg", "α_dcg", "nnrbp"), "alpha_nDCG@k and NRBP are the nearest"),
        **dict.fromkeys(("compat", "inst", "insq", "bpm", "sdcg", "nerr8", "nerr9", "nerr10", "nerr11"), ""),
        "f": "F1 is the nearest",
    }
)

_TEXT = re.compile(
    r"(?P<name>[A-Za-z0-9α][\w+-]*?)(?:(?:_at_|[_.])(?P<number>\d+(?:\.\d+)?))?\s*"
    r"(?:\((?P<arguments>.*)\))?\s*(?:@(?P<cutoff>[^()]+?))?(?:-l(?P<level>\d+))?",
    re.DOTALL,
)


class AliasParts(NamedTuple):
    """The parts of a measure's text, as another tool may write it.

    Attributes:
        name: name as written.
        number: number after the name and "_", "." or "_at_".
        arguments: text between the brackets.
        cutoff: number after "@".
        level: number after "-l", ranx's lowest relevant grade.
    """

    name: str
    number: str | None
    arguments: str | None
    cutoff: str | None
    level: str | None


def take_apart(text: str) -> AliasParts | None:
    """Split a text that looks like another tool's measure into parts; None if it does not.

    >>> take_apart("iprec_at_recall_0.50")[:2], take_apart("map@100-l2")[3:]
    (('iprec_at_recall', '0.50'), ('100', '2'))
    """
    found = _TEXT.fullmatch(text)
    return None if found is None else AliasParts(**found.groupdict())


def measure_of(parts: AliasParts, text: str) -> Measure:
    """The measure of a name in any case, with the number that other tools append to it.

    Args:
        parts: the parts of the text, of which arguments, cutoff and level are left to the caller.
        text: the whole measure, for errors.

    Raises:
        MeasureError: nobody knows the name, or only others have such a measure.
    """
    alias = _alias_of(parts, text)
    known = registry()
    measure = known[ALIASES.get(alias.name, alias.name)]
    if alias.inner or alias.parameters:
        measure = measure(known[alias.inner] if alias.inner else None, **alias.parameters)
    if parts.number is not None and alias.number == "cutoff":
        if not parts.number.isdecimal():
            raise MeasureError(f"k of {measure.name} must be an integer >= 1. Got {parts.number!r} in {text!r}.")
        measure = measure @ int(parts.number)
    elif parts.number is not None:
        # ranx writes the digits behind the point: rbp.95 is .95.
        behind_point = alias.number == "p" and "." not in parts.number
        measure = measure(**{alias.number: float(f"0.{parts.number}" if behind_point else parts.number)})
    if alias.remark:
        warnings.warn(f"{text} is read as {alias.remark.format(measure)}.", TruevalWarning, stacklevel=2)
    return measure


def _alias_of(parts: AliasParts, text: str) -> Alias:
    """The meaning of a name, including our own names in another case."""
    folded = _fold(parts.name)
    own = {_fold(known): known for known in reversed([*registry(), *ALIASES])}
    alias = OTHER_NAMES.get(folded)
    if alias is None and folded in own and folded not in ELSEWHERE:
        alias = Alias(own[folded], number="recall" if folded == "iprec" else "cutoff")
    if folded == "rbp" and parts.number is None and parts.cutoff is not None:
        raise MeasureError(f"{text!r} may mean two things. Write RBP@{parts.cutoff} for a cutoff, rbp.95 for p = .95.")
    if folded == "rbp" and parts.arguments is not None:
        return Alias("RBP")  # our own name in another case
    if alias is None:
        raise MeasureError(_unknown(parts.name, folded))
    if alias.needed and parts.number is None and not (parts.cutoff and alias.number == "cutoff"):
        example = {"recall": "_0.50", "p": ".95"}.get(alias.number, "_10")
        raise MeasureError(f"{parts.name} needs a number, for example {parts.name}{example}.")
    return alias


def rename_parameters(measure: Measure, parameters: Mapping[str, Value]) -> dict[str, Value]:
    """Rename parameters of ir_measures to ours: dcg, gains, judged_only, alpha and so on.

    Args:
        measure: the measure they belong to.
        parameters: parameters as written.

    Raises:
        MeasureError: one is a choice for all measures here, or two choose the gain.

    >>> rename_parameters(registry()["nDCG"], {"dcg": "exp-log2"})
    {'gain': 'exp'}
    """
    found: dict[str, Value] = {}
    # 'log2' keeps gains; 'exp-log2' would turn named gains into 2^gain - 1.
    of_gain = [name for name in ("gain", "gains", "dcg") if name in parameters and parameters[name] != "log2"]
    if len(of_gain) > 1:
        raise MeasureError(
            f"{' and '.join(of_gain)} of {measure.name} both choose the gain. Name one, such as gain={{1:1, 2:3, 3:7}} "
            "with the gains as they are to count."
        )
    for name, value in parameters.items():
        if name in measure.definition.parameters:
            found[name] = value
        elif name == "dcg" and value in ("log2", "exp-log2"):
            found.setdefault("gain", "exp" if value == "exp-log2" else "linear")
        elif name == "gains":
            found["gain"] = value
        elif name == "judged_only" and value is not True:
            continue  # as it is here
        elif name == "judged_only":
            raise MeasureError(
                "judged_only is chosen for all measures at once: --judged-only, in Python judged_only=True."
            )
        else:
            found[name] = value
    return found


def with_level(measure: Measure, level: int, text: str) -> Measure:
    """Apply ranx's lowest relevant grade, as in map-l2.

    Raises:
        MeasureError: it has no threshold; then ranx leaves lower grades out, which a map of grades does here.
    """
    if "rel" not in measure.definition.parameters:
        raise MeasureError(
            f"{measure} has no threshold, which {text!r} asks for. Replace lower grades instead: --grades 1:0,2:2."
        )
    return measure(rel=level)


# trec_eval's names of our measures: without a cutoff, and with one.
_TREC_NAMES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "AP": ("map", "map_cut"),
        "nDCG": ("ndcg", "ndcg_cut"),
        "P": ("set_P", "P"),
        "R": ("set_recall", "recall"),
        "RR": ("recip_rank", ""),
        "F1": ("set_F", ""),
        "Hits": ("num_rel_ret", ""),
        "Rprec": ("Rprec", ""),
        "bpref": ("bpref", ""),
        "Success": ("", "success"),
        "IPrec11": ("11pt_avg", ""),
    }
)


def trec_name(measure: Measure) -> str:
    """trec_eval's name of a measure; our own text where it has none.

    >>> from trueval.measures import parse_list
    >>> [trec_name(one) for one in parse_list("nDCG@10 AP IPrec(recall=0.5) RR@10 AP(rel=2)")]
    ['ndcg_cut_10', 'map', 'iprec_at_recall_0.50', 'RR@10', 'AP(rel=2)']
    """
    if measure.name == "gm" and measure.inner is not None and str(measure) in ("gm(AP)", "gm(bpref)"):
        return "gm_map" if measure.inner.name == "AP" else "gm_bpref"
    recall = dict(measure.chosen).get("recall")
    if measure.name == "IPrec" and len(measure.chosen) == 1 and isinstance(recall, int | float):
        # With two decimals, as trec_eval prints it; levels that need more are not trec_eval's.
        return f"iprec_at_recall_{recall:.2f}" if round(recall, 2) == recall else str(measure)
    whole, cut = _TREC_NAMES.get(measure.name, ("", "")) if not measure.chosen else ("", "")
    if measure.cutoff is None:
        return whole or str(measure)
    return f"{cut}_{measure.cutoff}" if cut else str(measure)


def plain_name(measure: Measure) -> str:
    """The text of a measure in letters, digits and underscores, for tools that refuse other characters in names.

    >>> from trueval.measures import parse_list
    >>> [plain_name(one) for one in parse_list("nDCG@10 RA-nWG@5 P4+@5 R(rel=2)@100 RBP(p=0.8) gm(AP)")]
    ['nDCG_at_10', 'RA_nWG_at_5', 'P4plus_at_5', 'R_rel_2_at_100', 'RBP_p_0_8', 'gm_AP']
    """
    return re.sub(r"\W+", "_", str(measure).replace("@", "_at_").replace("+", "plus")).replace("__", "_").strip("_")


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")


def _unknown(name: str, folded: str) -> str:
    """The error for an unknown name: that of a measure of other tools, or of no known measure."""
    if folded in ELSEWHERE:
        words = ELSEWHERE[folded]
        return f"trueval has no measure {name}{': ' if words else ''}{words}. {LISTING}"
    known = {**dict.fromkeys(registry()), **dict.fromkeys(OTHER_NAMES)}
    hint = nearest(name, known)
    for other, alias in OTHER_NAMES.items():
        if hint == f" Did you mean {other}?":
            hint = f" Did you mean {other}, our {f'{alias.name}({alias.inner})' if alias.inner else alias.name}?"
            break
    return f"Unknown measure {name!r}.{hint} {LISTING}"
