"""Refining a pool: the top documents of one query in the order of a noisy judge, with few calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from trueval.errors import InputError, PolicyError
from trueval.golden.refine.consistency import bands, inconsistency, inversions
from trueval.golden.refine.judge_orders import Ask, Batch, JudgeOrder, OrderBatch
from trueval.golden.refine.paper_s6 import PaperRefinement, PaperSettings, paper_s6
from trueval.golden.refine.posterior_s6 import BUDGET, PosteriorRefinement, PosteriorSettings, posterior_s6
from trueval.golden.refine.refinement import GradeInversion, JudgedOrder, RefinedDocument, Refinement
from trueval.standings.standings import Floats, Ints
from trueval.threads import LOCAL, Executor

TOP: Final = 20
# Concurrent batches of ids in display order → an order of each, best first; None without a valid order.
CompareAll: TypeAlias = Callable[[Sequence[tuple[str, ...]]], Sequence[Sequence[str] | None]]


def in_rounds(compare: Callable[[tuple[str, ...]], Sequence[str] | None], executor: Executor = LOCAL) -> CompareAll:
    """Adapt a judge of single batches to rounds whose batches are asked concurrently.

    Args:
        compare: function from a batch in display order to its order, best first.

    >>> in_rounds(sorted)([("b", "a"), ("d", "c")])
    [['a', 'b'], ['c', 'd']]
    """
    return lambda batches: list(executor.map(compare, batches))


def refine(
    documents: Sequence[str],
    grades: Sequence[float] | Floats,
    compare: CompareAll,
    *,
    top: int = TOP,
    budget: int = BUDGET,
    settings: PosteriorSettings | PaperSettings | None = None,
    lengths: Sequence[float] | Floats | None = None,
    gross: Sequence[float] | Floats | None = None,
    known: Sequence[JudgedOrder] = (),
    seed: int = 0,
) -> Refinement:
    """Find the top documents of a pool and their order, from full orders of small batches.

    The method is that of the settings: the posterior (`posterior_s6`), or the published one (`paper_s6`). It certifies
    the order of the judge, not the truth: a consistent error of the judge is confirmed, not corrected. The questions
    depend only on the seed and the answers, so an interrupted refinement repeats its calls, and a judge that stores its
    answers pays for none of them twice. P-B §3.4. Related: AcuRank (arXiv 2505.18512), setwise ranking (Zhuang et al.
    2024), TourRank (Chen et al. 2024), pairwise ranking prompting (Qin et al. 2023).

    Args:
        documents: ids of the pool.
        grades: [document] grades by a judge.
        compare: the judge: function from batches of ids to an order of each, None where it gave none.
        top: number of returned documents.
        budget: maximum number of calls.
        settings: settings of the method; the posterior method with its defaults if None.
        lengths: [document] text lengths, for `PosteriorSettings.length_bias`.
        gross: [document] probability that its grade is a gross error; `PosteriorSettings.gross` for all if None.
        known: earlier orders of these documents, as in `Refinement.orders`; for the posterior method.

    Raises:
        InputError: an id appears twice, a grade is missing or not finite, or the judge gave no order of its batch.
        PolicyError: top is below 1 or the budget below 0, or the published method is given what it cannot use.

    >>> judge = in_rounds(sorted)
    >>> refine(["d", "b", "a", "c"], [1, 3, 2, 2], judge, top=2, budget=3).best
    ('a', 'b')
    """
    ids, values = _check_input(documents, grades, top, budget)
    place = {document: number for number, document in enumerate(ids)}
    ask = _by_places(compare, ids, place)
    rng = np.random.default_rng(seed)
    if isinstance(settings, PaperSettings):
        if known or lengths is not None or gross is not None:
            raise PolicyError(
                "The published refinement takes no orders from before, no lengths, and no chances of gross errors. Use "
                "the posterior."
            )
        return _of_paper(paper_s6(values, ask, rng, top=top, budget=budget, settings=settings), ids, values, top)
    before = [JudgeOrder(*(tuple(place[each] for each in side) for side in order)) for order in known]
    chosen = settings or PosteriorSettings()
    sizes = None if lengths is None else _lengths(lengths, len(ids))
    wrong = None if gross is None else _chances(gross, len(ids))
    refined = posterior_s6(
        values, ask, rng, top=top, budget=budget, settings=chosen, lengths=sizes, gross=wrong, known=before
    )
    return _of_posterior(refined, ids, values, top, chosen, sizes is not None)


def _check_input(
    documents: Sequence[str], grades: Sequence[float] | Floats, top: int, budget: int
) -> tuple[list[str], Floats]:
    ids, values = list(documents), np.asarray(grades, np.float64)
    if top < 1 or budget < 0:
        raise PolicyError(
            f"A refinement returns at least 1 document and has a budget of at least 0. Got {top}, {budget}."
        )
    if len(ids) < 1 or values.shape != (len(ids),) or not np.isfinite(values).all():
        raise InputError(
            f"A pool needs documents, and each a finite grade. Got {len(ids)} documents and {values.size} grades."
        )
    seen: set[str] = set()
    for document in ids:
        if document in seen:
            raise InputError(f"The document {document} appears twice in the pool. Each must be there once.")
        seen.add(document)
    return ids, values


def _lengths(lengths: Sequence[float] | Floats, count: int) -> Floats:
    values = np.asarray(lengths, np.float64)
    if values.shape != (count,) or not np.isfinite(values).all():
        raise InputError(f"Every document needs a length, a finite number. Got {values.size} for {count} documents.")
    return values


def _chances(gross: Sequence[float] | Floats, count: int) -> Floats:
    values = np.asarray(gross, np.float64)
    if values.shape != (count,) or not ((values >= 0) & (values < 1)).all():
        raise InputError(
            "Every document needs a chance that its grade is grossly wrong, at least 0 and below 1. Got "
            f"{values.size} for {count} documents{f', {values.min():g} to {values.max():g}' if values.size else ''}."
        )
    return values


def _by_places(compare: CompareAll, ids: Sequence[str], place: dict[str, int]) -> Ask:
    """Adapt a judge of ids to a judge of indices in the pool."""

    def ask(batches: Sequence[Batch]) -> list[list[int] | None]:
        answers = compare([tuple(ids[each] for each in batch) for batch in batches])
        return [None if answer is None else [place.get(each, -1) for each in answer] for answer in answers]

    return ask


def _of_paper(found: PaperRefinement, ids: list[str], grades: Floats, top: int) -> Refinement:
    orders = OrderBatch.of(found.orders, len(ids))
    return Refinement(
        "paper",
        _rank_documents(ids, grades, np.array(found.ranking), found.scores, orders, None),
        top,
        found.calls,
        stopped="stable" if found.stable else "budget",
        overlap=None,
        scale=None,
        gross=None,
        slot_bias=None,
        length_bias=None,
        inconsistency=inconsistency(orders),
        inversions=(),
        orders=_by_ids(found.orders, ids),
    )


def _of_posterior(
    found: PosteriorRefinement, ids: list[str], grades: Floats, top: int, settings: PosteriorSettings, has_lengths: bool
) -> Refinement:
    posterior, orders = found.posterior, OrderBatch.of(found.orders, len(ids))
    drawn = posterior.bias_draws
    biases = list(zip(drawn.mean(axis=0).tolist(), drawn.std(axis=0).tolist(), strict=True))
    slot = biases.pop(0) if settings.slot_bias is not None else None
    length = biases.pop(0) if settings.length_bias is not None and has_lengths else None
    ranking = posterior.ranking()
    return Refinement(
        "posterior",
        _rank_documents(ids, grades, ranking, posterior.scores, orders, found),
        top,
        found.calls,
        found.stopped,
        found.overlap,
        (found.scale.per_grade, found.scale.spread),
        found.gross,
        slot,
        length,
        inconsistency(orders),
        tuple(
            GradeInversion(ids[each.above], ids[each.below], each.chance, each.grades)
            for each in inversions(posterior, grades)
        ),
        _by_ids(found.orders, ids),
    )


def _rank_documents(
    ids: list[str], grades: Floats, ranking: Ints, scores: Floats, orders: OrderBatch, found: PosteriorRefinement | None
) -> tuple[RefinedDocument, ...]:
    exposures = orders.exposures()
    sds = None if found is None else found.posterior.sd
    numbers = None if found is None else bands(found.posterior, ranking) + 1
    return tuple(
        RefinedDocument(
            document=ids[each],
            rank=rank + 1,
            grade=float(grades[each]),
            score=float(scores[each]),
            sd=None if sds is None else float(sds[each]),
            member=None if found is None else float(found.members[each]),
            band=None if numbers is None else int(numbers[rank]),
            exposures=int(exposures[each]),
        )
        for rank, each in enumerate(ranking)
    )


def _by_ids(orders: Sequence[JudgeOrder], ids: Sequence[str]) -> tuple[JudgedOrder, ...]:
    return tuple(JudgedOrder(*(tuple(ids[each] for each in side) for side in order)) for order in orders)
