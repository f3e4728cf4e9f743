"""Evaluation of arrays: scores and grades of the same documents, without ids."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from trueval.evaluation.evaluate import Measures, score
from trueval.evaluation.notes import note_low_thresholds
from trueval.evaluation.scores import Scores
from trueval.files.memory.ragged_lists import flatten_lists
from trueval.measures import parse_list
from trueval.measures.grammar import measures_in
from trueval.policy.conventions import choose
from trueval.policy.policy import Policy
from trueval.standings.counting import ScoreArrays, counter

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.files.input_types import Lists
    from trueval.policy.policy_choices import PolicyChoices

# Types whose values are equal only if they make the same choice.
PLAIN = (str, int, float, type(None))


def evaluate_arrays(
    score_lists: Lists,
    grade_lists: Lists,
    measures: Measures,
    *,
    mask: Lists | None = None,
    name: str = "arrays",
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> Scores:
    """Evaluate lists of scores and grades of the same documents, without ids.

    Args:
        score_lists: [query, document] array, tensor or ragged lists of scores; NaN is an error.
        grade_lists: same shape as score_lists; NaN or a grade below 0 means unjudged.
        measures: as in evaluate.
        mask: same shape, False for padding; None if there is none.
        name: name of the run in tables.
        policy: as in evaluate; it must not need document ids, nor skip first results.
        choices: as in evaluate; without policy and convention the tie order is "input".

    Returns:
        Scores with queries "0", "1", ...

    Raises:
        InputError: shapes differ, or a score is NaN.
        PolicyError: a choice needs document ids.

    >>> evaluate_arrays([[0.9, 0.5, 0.5]], [[0, 1, 0]], "RR").mean("RR").expected == (1 / 2 + 1 / 3) / 2
    True
    """
    if policy is None and choices.get("convention") is None and choices.get("tie_order") is None:
        choices["tie_order"] = "input"  # ours, docid-desc, needs ids
    # Cached, since a loop over batches passes the same choices and measures each time.
    plain = all(isinstance(value, PLAIN) for value in choices.values())
    chosen = _choose_policy(policy, **choices) if plain else choose(policy, choices)
    texts = measures_in(measures)
    parsed = _parsed_texts(texts) if all(isinstance(text, str) for text in texts) else parse_list(texts)
    scores, grades, offsets = flatten_lists(score_lists, grade_lists, mask)
    # Documents of grade 0 can matter where lists end, since chance may decide which documents are in the list.
    keep_zeros = chosen.depth is not None or chosen.rel <= 0 or any(measure.needs_zeros for measure in parsed)
    count = counter(ScoreArrays(scores, grades, offsets, name, keep_zeros), None)
    notes = note_low_thresholds(grades[grades >= 0], parsed, chosen)
    return score(name, [str(query) for query in range(len(offsets) - 1)], count, parsed, chosen, (), notes)


@lru_cache(maxsize=256, typed=True)  # typed: 1 and 1.0 are distinct, so that a policy records the value as given
def _choose_policy(policy: Policy | None, **choices: object) -> Policy:
    return choose(policy, choices)


# A few hundred lists of measures are more than a program uses, and little to store.
_parsed_texts = lru_cache(maxsize=256)(parse_list)
