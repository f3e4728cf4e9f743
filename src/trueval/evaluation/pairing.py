"""Pairing of a run with judgments: which queries are judged, and whether the two arguments were swapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.errors import InputError
from trueval.judgments import Judgments
from trueval.printable import first_ids
from trueval.run import Run

if TYPE_CHECKING:
    from trueval.standings.corpus.corpus_scorer import CorpusScorer
    from trueval.standings.standings import Floats

# Grade scales have few values; 0 to 10 is the longest in use.
MOST_GRADES: Final = 11
# Qrels of TREC mark junk by -2.
LEAST_GRADE: Final = -2
# A text of this many words is a question, not an id.
WORDS_OF_QUESTION: Final = 3

ORDER: Final = "evaluate takes a run, then judgments"


class RunJudgmentsPair(NamedTuple):
    """A run and its judgments.

    Attributes:
        notes: one line if the two may be swapped.
    """

    run: Run
    judgments: Judgments
    notes: tuple[str, ...]


def read_pair(run: Any, judgments: Any) -> RunJudgmentsPair:
    """Read a run and judgments from what `evaluate` takes.

    Raises:
        InputError: one cannot be read, or the two are swapped: judgments where a run belongs, or values that cannot be
            grades beside scores that can. Values are believed where a type or a format says what they are.
    """
    if isinstance(run, Judgments) or isinstance(judgments, Run):
        raise InputError(f"{ORDER}. Got {type(run).__name__} and {type(judgments).__name__}. Swap them.")
    pair = Run.of(run), Judgments.of(judgments)
    if not (_may_be_either(run, pair[0].source) and _may_be_either(judgments, pair[1].source)):
        return RunJudgmentsPair(*pair, ())
    scores, grades = pair[0].documents["score"].to_numpy(), pair[1].frame["grade"].to_numpy()
    if not _are_like_grades(scores):
        return RunJudgmentsPair(*pair, ())
    parts = grades != np.trunc(grades)
    many = len(np.unique(grades)) > MOST_GRADES
    if (parts & (grades < 0)).any() or (parts.any() and many):
        raise InputError(
            f"{ORDER}. The judgments hold {_values(grades)}, which are no grades, and the scores of the run are "
            f"{_values(scores)}. Swap them; or, if they are in the right order, say which is which by Run.from_dict "
            "and Judgments.from_dict, or by files of TREC."
        )
    if not parts.any() and not many:
        return RunJudgmentsPair(*pair, ())
    line = (
        f"judgments: grades such as {_values(grades)} could be scores, and the scores of the run could be grades; "
        "evaluate takes the run first, then the judgments."
    )
    return RunJudgmentsPair(*pair, (line,))


def unjudged_queries(run: Run | CorpusScorer, judgments: Judgments) -> tuple[str, ...]:
    """Queries of a run without judgments, which are left out.

    Raises:
        InputError: no query of the run is judged. A run that retrieved nothing at all has none.
    """
    ids = run.query_ids
    if isinstance(run, Run) and run.empty:
        ids = pl.concat([ids, pl.Series(ids.name, run.empty, dtype=pl.String)])
    known = ids.is_in(judgments.query_ids.implode())
    if known.any() or not len(known):
        return tuple(ids.filter(~known).to_list())
    own, judged = (each.head(4).to_list() for each in (ids, judgments.query_ids))
    raise InputError(
        f"{run.name}: no query of the run is judged, so nothing can be measured. Queries look like {first_ids(own)} in "
        f"the run and {first_ids(judged)} in the judgments. {_cure(own, judged)}"
    )


def _cure(own: Sequence[str], judged: Sequence[str]) -> str:
    """The advice for ids that do not match, by their form."""
    for side, ids, others in (("the run", own, judged), ("the judgments", judged, own)):
        if all(map(_is_question, ids)) and not any(map(_is_question, others)):
            return (
                f"Those of {side} are the texts of queries: give their ids, such as query_id beside the query in each "
                "line of a log."
            )
    return "Name the queries alike in both."


def _is_question(text: str) -> bool:
    return len(text.split()) >= WORDS_OF_QUESTION


def _may_be_either(given: object, source: str) -> bool:
    """Whether neither type nor format tells scores from grades: dicts, triples, and JSON files of them."""
    if isinstance(given, Run | Judgments | str | Path):
        return ".json" in Path(source).suffixes
    return isinstance(given, Mapping | list | tuple)


def _are_like_grades(values: Floats) -> bool:
    """Whether values could be grades: few distinct, whole, and some above 0."""
    whole = bool((values == np.trunc(values)).all())
    return whole and values.min() >= LEAST_GRADE and values.max() > 0 and len(np.unique(values)) <= MOST_GRADES


def _values(values: Floats, most: int = 3) -> str:
    """A sample of the values, the least round first."""
    different = np.unique(values)
    parts = different[different != np.trunc(different)]
    shown = parts if len(parts) else different
    return ", ".join(f"{value:g}" for value in shown[:most].tolist()) + (", ..." if len(different) > most else "")
