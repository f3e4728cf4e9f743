"""Writes docs/measures.md: every registered measure with its formula, source, direction, parameters and exactness.

Run it with: python docs/make_measures.py
"""

import sys
from collections.abc import Iterator
from math import exp, log2
from pathlib import Path

from trueval.measures import Measure, registry
from trueval.measures.measure import ALIASES

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs.measure_examples import EXAMPLES, GRADES, NAMES, SCORES, Example  # found by the line above

PAGE = Path(__file__).with_name("measures.md")
HEAD = """# Measures

Every measure is a function of where the judged documents stand in a run, ties left open: for each it gives the
expected value over all orders of tied documents, the lowest and the highest, the value of one named order (tie-broken)
and the standard deviation over orders. This page is made by `python docs/make_measures.py` from the registry, and a
test compares it with the program; `trueval measures` prints the same.

A measure is written as its name, parameters in brackets, and a cutoff: `nDCG@10`, `R(rel=2)@100`, `gm(AP)`. In the
formulas rank(d) counts from 1, k is the cutoff, g a grade, N+ the relevant documents of the judgments. A document is
relevant if its grade is at least `rel`. The name of the measure with `@k` stands where a cutoff can be given. P-A is
Yang et al. 2026, arXiv 2508.03306, and P-B is Dallaire 2025, arXiv 2511.09545.

Each example is of one list of five documents, {listing}, where the two with equal scores may stand in either order,
and grades from 3 on are relevant. Its arithmetic is that of the order 3, 1, 5, 4, 1, then that of 3, 5, 1, 4, 1; the
expected value is the mean of both. A test computes every example.

Other packages add measures by entry points of the group `trueval.measures`: each is a `Definition`, or a module that
registers some. Once such a package is installed, its measures are parsed, evaluated and listed like those below.
"""
CUTOFF = {"required": "a cutoff is needed", "optional": "the cutoff is optional", "none": "takes no cutoff"}
EMPTY = {
    "policy": "counts as 0 unless the policy `empty` says otherwise",
    "na": "is left out of the mean, which says how many queries it counts",
}
# Where a statistic is not exact for every list; all others are: expectation, extremes and standard deviation.
EXACTNESS = {
    "ERR": "Exact; no standard deviation where more than 16,384 ranks of a tie group matter, or where the documents "
    "of a long group are so alike that rounding would be a part of it.",
    "IPrec": "Lowest and highest exact. So are expectation and standard deviation, but where a query would take more "
    "than about a third of a second, as with 50 relevant documents among 1,000 that tie: there expected is the middle "
    'of bounds, marked `"exact": false`, without standard deviation. On lists of 1,000 that tie throughout, 50 to 990 '
    "of them relevant, the bounds were less than 0.0002 apart.",
    "IPrec11": "As IPrec; the standard deviation only where the relevant documents of the tied groups can be placed in "
    "at most 5,040 ways, else not available.",
    "UDCG-proxy": "Exact, as a function of the grades; the published measure takes its utilities from a model.",
    "alpha_nDCG": "Expectation and standard deviation exact; lowest and highest exact for tie groups with up to 8,192 "
    'sets of documents of different facets (8 distinct documents have 256), else bounds, marked `"exact": false`. No '
    "standard deviation where more than 16,384 ranks of a group matter.",
    "NRBP": "As alpha_nDCG; of the 16,384 ranks, those count whose weights are not lost beside the others.",
    "gm": "Lowest and highest exact; expected is the geometric mean of the expected values, and there is no standard "
    "deviation unless ties move nothing.",
}
DIRECTION = {"higher": "Higher is better", "lower": "Lower is better"}


def entry(measure: Measure) -> Iterator[str]:
    """The lines of one measure."""
    definition = measure.definition
    inside = "(M, ...)" if definition.takes_measure else ""
    yield f"## {measure.name}\n"
    names = [alias for alias, name in ALIASES.items() if name == measure.name]
    yield measure.summary + (f" Also called {', '.join(names)}." if names else "") + "\n"
    yield f"```text\n{measure.name}{inside}{'' if definition.cutoff_use == 'none' else '@k'} = {measure.formula}\n```\n"
    yield f"- Source: {measure.source}."
    yield f"- {DIRECTION[measure.better]}; {CUTOFF[measure.cutoff_use]}."
    worst = f"one that the run lacks gets {definition.worst:.4g}"
    yield f"- A query with nothing to find {EMPTY[definition.empty]}; {worst}."
    yield f"- {EXACTNESS.get(measure.name, 'Exact.')}"
    if measure.name in EXAMPLES:  # a measure of another package has none
        yield f"- Example: {worked(EXAMPLES[measure.name])}"
    for name, parameter in definition.parameters.items():
        yield f"- `{name}={parameter.default!r}`: {parameter.about}; {parameter.accepts}."


def listing() -> str:
    """The list that all examples are of.

    >>> listing()
    'a (score 4, grade 3), b (3, 1), c (3, 5), d (2, 4), e (1, 1)'
    """
    rows = [f"{name} ({score:g}, {grade})" for name, score, grade in zip(NAMES, SCORES, GRADES, strict=True)]
    return ", ".join(rows).replace("(", "(score ", 1).replace(", ", ", grade ", 1)


def worked(example: Example) -> str:
    """An example in words, with the values of both orders and their mean.

    >>> worked(EXAMPLES["P"])
    '`P@2` is `1 / 2` = 0.5 or `2 / 2` = 1, 0.75 expected.'
    """
    numbers = values(example)
    first, second = (
        text if text.isdigit() else f"`{text}` = {number:.4g}"
        for text, number in zip(example[1:], numbers, strict=True)
    )
    if first == second:
        return f"`{example.measure}` is {first} in both orders."
    return f"`{example.measure}` is {first} or {second}, {sum(numbers) / 2:.4g} expected."


def values(example: Example) -> tuple[float, float]:
    """What the arithmetic of both orders gives."""
    one, two = (float(eval(text, {"log2": log2, "exp": exp})) for text in (example.first, example.second))
    return one, two


def page() -> str:
    """The whole page."""
    known = registry().values()
    links = ", ".join(f"[{m.name}](#{anchor(m.name)})" for m in known)
    return "\n".join(
        [HEAD.format(listing=listing()), links + ".\n", *("\n".join(entry(measure)) + "\n" for measure in known)]
    )


def anchor(name: str) -> str:
    """The anchor that renderers of Markdown give a heading.

    >>> anchor("N-Recall4+")
    'n-recall4'
    """
    return "".join(letter for letter in name.lower() if letter.isalnum() or letter in "-_")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    print(f"docs/{PAGE.name}")
