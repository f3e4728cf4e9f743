"""Formulas over the judged table: one vectorized function a measure, from labels to values per question.

Notation: a an answer claim, r a reference claim, p a passage of the context; [a < X] is 1 where X supports a (label
"supported"; "partly" counts 0 except where halves are named). C is the whole context: [a < C] = 1 where some p does.
A value is a share of claims, so a missing label makes it an interval: `lowest` and `highest` are its values over all
ways to fill missing cells, exact for each question, since every formula is monotone in every cell.

Sources: RAGChecker, Ru et al. 2024 (arXiv 2408.08067) §3.2; the AutoNuggetizer of TREC RAG 2024, Pradeep et al. 2024
(arXiv 2411.09607) §3; support of TREC RAG 2024, Thakur et al. 2025 (arXiv 2504.15205) §3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueval.answers.claim_table import MISSING, NOT, PARTLY, SUPPORTED, ClaimTable, Truth, support_of
from trueval.standings.standings import Bools, Floats, Ints


class Bounds(NamedTuple):
    """Values over all ways to fill missing labels.

    Attributes:
        lowest: [query] or [claim] least value; NaN where there is nothing to measure, or it is not known.
        highest: likewise the greatest.
    """

    lowest: Floats
    highest: Floats


class AnswerValues(NamedTuple):
    """The values of a measure per question.

    Attributes:
        bounds: [query] values; NaN where the question has none.
        unknown: [query] whether the log lacks what the measure needs; a NaN elsewhere is a question with nothing to
            measure, such as an answer without citations.
    """

    bounds: Bounds
    unknown: Bools


Formula = Callable[[ClaimTable], AnswerValues]


def _half(label: Ints) -> Bounds:
    """Weights 1, .5 and 0 of supported, partly and others; a missing label may be any."""
    known = (label == SUPPORTED) + (label == PARTLY) / 2
    return Bounds(known, np.where(label == MISSING, 1.0, known))


def _share(truth: Truth, query: Ints, queries: int) -> Bounds:
    """Share of the claims of each question for which it holds."""
    return _mean(Bounds(truth.surely.astype(np.float64), truth.possibly.astype(np.float64)), query, queries)


def _mean(values: Bounds, query: Ints, queries: int, weight: Floats | None = None) -> Bounds:
    """Weighted mean over the claims of each question; NaN without any weight."""
    weight = np.ones(len(query)) if weight is None else weight
    size = np.bincount(query, weight, queries)
    size = np.where(size > 0, size, np.nan)
    return Bounds(*(np.bincount(query, each * weight, queries) / size for each in values))


def _known_values(bounds: Bounds, known: Bools) -> AnswerValues:
    """The values of questions of which everything needed is known."""
    return AnswerValues(Bounds(*(np.where(known, each, np.nan) for each in bounds)), ~known)


def _both(table: ClaimTable) -> Bools:
    return table.has_reference & table.has_context


def correctness(table: ClaimTable) -> AnswerValues:
    """Share of the answer's claims that the reference supports: mean over a of [a < reference].

    RAGChecker's precision. 4 claims of which the reference supports 3: 0.75.
    """
    truth = support_of(table.claim_label)
    return _known_values(_share(truth, table.claim_query, table.queries), table.has_reference)


def reference_relevance(table: ClaimTable) -> AnswerValues:
    """Share of the answer's claims of which the reference says something: supported, in part, or contradicted.

    A right claim beside the reference counts as not relevant, so it is a lower bound of the relevance to the question.
    4 claims, of which the reference supports 2, contradicts 1, and says nothing of 1: 0.75.
    """
    label = table.claim_label
    spoken = (label != MISSING) & (label != NOT)
    return _known_values(
        _share(Truth(spoken, spoken | (label == MISSING)), table.claim_query, table.queries), table.has_reference
    )


def answer_relevance(table: ClaimTable) -> AnswerValues:
    """Share of the answer's claims that address the question: mean over a of s(a); s = 1, .5 and 0.

    DeepEval's AnswerRelevancyMetric (relevant statements / statements), which knows no halves. Ragas has a measure of
    this name that is another one: the mean cosine of the question and questions that a model writes of the answer.

    4 claims, of which 2 answer the question, 1 in part, and 1 not: 2.5 / 4 = 0.625.
    """
    values = _half(table.relevance_label)
    return _known_values(_mean(values, table.claim_query, table.queries), table.has_relevance)


def nugget_recall(table: ClaimTable, *, strict: bool, of: str = "all") -> AnswerValues:
    """Share of the reference's claims (nuggets) that the answer makes.

    sum over r of w(r) s(r) / sum of w(r); s = 1, .5 and 0 for supported, partly and others, strict 1 and 0;
    w = 1 for all, [r is vital] for vital, and 1 and .5 for vital and okay where weighted. nuggetizer gives 0 to a
    question without vital nuggets; here it has no value. Strict over all, it is the recall of RAGChecker.

    2 vital nuggets, supported and partly, and an okay one, not: all 1.5 / 3, vital 1.5 / 2, weighted 1.5 / 2.5, all
    strict 1 / 3.

    Args:
        of: "all", "vital" or "weighted".
    """
    truth = support_of(table.nugget_label)
    values = Bounds(*(each.astype(np.float64) for each in truth)) if strict else _half(table.nugget_label)
    known = table.has_reference
    if of == "all":
        return _known_values(_mean(values, table.nugget_query, table.queries), known)
    unsaid = np.bincount(table.nugget_query, np.isnan(table.vital), table.queries) > 0
    weight = np.nan_to_num(table.vital if of == "vital" else (1 + table.vital) / 2)
    return _known_values(_mean(values, table.nugget_query, table.queries, weight), known & ~unsaid)


def claim_f1(table: ClaimTable) -> AnswerValues:
    """Harmonic mean of correctness and strict nugget recall, 0 where both are 0: RAGChecker's F1.

    Correctness 0.75 and recall 0.5: 2 * 0.75 * 0.5 / 1.25 = 0.6.
    """
    precision, recall = correctness(table).bounds, nugget_recall(table, strict=True).bounds
    found = []
    for one, other in zip(precision, recall, strict=True):
        total = one + other
        found.append(np.where(total == 0, 0.0, 2 * one * other / np.where(total == 0, 1.0, total)))
    return _known_values(Bounds(*found), table.has_reference)


def claim_recall(table: ClaimTable) -> AnswerValues:
    """Share of the reference's claims that the context supports: mean over r of [r < C]. It is the retriever's.

    Of 4 claims 3 are supported by some passage: 0.75. A question with an empty context has 0.
    """
    truth = table.nugget_in_context
    return _known_values(_share(truth, table.nugget_query, table.queries), _both(table))


def context_precision(table: ClaimTable) -> AnswerValues:
    """Share of passages that support some claim of the reference (relevant passages). It is the retriever's.

    Of 8 passages 2 support a claim: 0.25.
    """
    return _known_values(_share(table.relevant, table.passage_query, table.queries), _both(table))


def faithfulness(table: ClaimTable) -> AnswerValues:
    """Share of the answer's claims that the context supports: mean over a of [a < C].

    Of 4 claims 3 are supported by some passage: 0.75.
    """
    truth = table.claim_in_context
    return _known_values(_share(truth, table.claim_query, table.queries), table.has_context)


def context_utilization(table: ClaimTable) -> AnswerValues:
    """Share of the reference's claims in the context that the answer makes.

    sum of [r < C] [r < answer] / sum of [r < C].

    Of 4 claims the context supports 3, and the answer makes 2 of these: 2 / 3. RAGChecker's code gives 0 where the
    context supports none; here the question has no value.
    """
    context, made = table.nugget_in_context, support_of(table.nugget_label)
    # A claim that may be in the context is counted where that moves the ratio the way that is looked for.
    low = _ratio(made.surely, context.surely | (context.possibly & ~made.surely), table)
    high = _ratio(made.possibly, context.surely | (context.possibly & made.possibly), table)
    return _known_values(Bounds(low, high), _both(table))


def _ratio(made: Bools, counted: Bools, table: ClaimTable) -> Floats:
    query = table.nugget_query
    size = np.bincount(query, counted, table.queries)
    return np.bincount(query, made & counted, table.queries) / np.where(size > 0, size, np.nan)


def noise_sensitivity(table: ClaimTable, *, relevant: bool) -> AnswerValues:
    """Share of the answer's claims that are wrong and that a relevant (irrelevant) passage supports.

    mean over a of [not a < reference] * [some p supports a and (does not) support a claim of the reference]. Less is
    better. RAGChecker's paper; its code counts a claim of both sorts of passages as relevant alone.

    Of 4 claims one is wrong, and an irrelevant passage says it: irrelevant 0.25, relevant 0.
    """
    cells = table.claim_cells
    passage = table.relevant if relevant else ~table.relevant
    told = (support_of(cells.label) & passage.at(cells.passage)).any_by(cells.claim, len(table.claim_query))
    truth = told & ~support_of(table.claim_label)
    return _known_values(_share(truth, table.claim_query, table.queries), _both(table))


def hallucination(table: ClaimTable) -> AnswerValues:
    """Share of the answer's claims that are wrong and in no passage: mean of [not a < reference] [not a < C].

    Of 4 claims one is wrong and no passage says it: 0.25. Less is better.
    """
    return _outside(table, right=False)


def self_knowledge(table: ClaimTable) -> AnswerValues:
    """Share of the answer's claims that are right and in no passage: mean of [a < reference] [not a < C].

    Of 4 claims one is right and no passage says it: 0.25.
    """
    return _outside(table, right=True)


def _outside(table: ClaimTable, *, right: bool) -> AnswerValues:
    correct = support_of(table.claim_label)
    truth = ~table.claim_in_context & (correct if right else ~correct)
    return _known_values(_share(truth, table.claim_query, table.queries), _both(table))


def support_precision(table: ClaimTable, *, first: bool) -> AnswerValues:
    """Mean weight of the citations: 1, .5 and 0 where the cited passage supports, partly supports or does not support.

    sum of weights / number of citations; `first` counts the first citation of each claim alone. A passage that was not
    given supports nothing. No value without a citation.

    Two claims cite p1 (supported), and p2 (partly) and p3 (not): all 1.5 / 3, first 1.5 / 2.
    """
    weights, claim = _citations(table, first=first)
    return _known_values(_mean(weights, table.claim_query[claim], table.queries), table.has_context)


def support_recall(table: ClaimTable, *, first: bool) -> AnswerValues:
    """Mean over the answer's claims of the best weight of their citations; 0 for a claim without any.

    `first` takes the first citation of each claim alone, as TREC RAG 2024 does.

    Three claims, one cites p1 (supported), one p2 (not) and p3 (partly), one nothing: all 1.5 / 3, first 1 / 3.
    """
    weights, claim = _citations(table, first=first)
    best = [np.zeros(len(table.claim_query)) for _ in weights]
    for found, each in zip(best, weights, strict=True):
        np.maximum.at(found, claim, each)
    return _known_values(_mean(Bounds(*best), table.claim_query, table.queries), table.has_context)


def _citations(table: ClaimTable, *, first: bool) -> tuple[Bounds, Ints]:
    """Weights of citations and their claims."""
    place, claim = table.cited, table.citing
    if first:
        place, claim = (each[np.unique(table.citing, return_index=True)[1]] for each in (place, claim))
    label = np.full(len(place), 0, dtype=np.int64)
    label[place >= 0] = table.claim_cells.label[place[place >= 0]]
    return _half(label), claim


def abstention(table: ClaimTable, *, answerable: bool) -> AnswerValues:
    """Whether the system abstained: right on questions without an answer, wrong on those with one.

    Over the questions that are (not) answerable: [abstained]. 10 questions have no answer, and it abstains on 7: right
    0.7. 40 have one, and it abstains on 2: wrong 0.05.
    """
    concerned = table.answerable == float(answerable)
    value = np.where(concerned, table.abstained, np.nan)
    unknown = np.isnan(table.answerable) | (concerned & np.isnan(table.abstained))
    return AnswerValues(Bounds(value, value), unknown)


class LossCounts(NamedTuple):
    """Where the reference's claims are: counts per question, 0 where it has no reference or no known context.

    Attributes:
        answered: [query] the answer makes them.
        reading: [query] it does not, and the context supports them: the generator missed them.
        retrieval: [query] neither: the retriever missed them.
        undecided: [query] missing labels leave two of these open.
    """

    answered: Ints
    reading: Ints
    retrieval: Ints
    undecided: Ints


def losses(table: ClaimTable) -> LossCounts:
    """Sort the reference's claims by where they got lost.

    10 claims: 6 in answers, 3 of the others in a context, 1 nowhere: answered 6, reading 3, retrieval 1.
    """
    known = _both(table)[table.nugget_query]
    made, context = support_of(table.nugget_label), table.nugget_in_context
    answered = known & made.surely
    reading = known & ~made.possibly & context.surely
    retrieval = known & ~made.possibly & ~context.possibly
    undecided = known & ~answered & ~reading & ~retrieval
    sorts = (answered, reading, retrieval, undecided)
    return LossCounts(*(np.bincount(table.nugget_query[each], minlength=table.queries) for each in sorts))
