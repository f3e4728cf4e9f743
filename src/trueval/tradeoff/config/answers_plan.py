"""The answers of a sweep: who answers from the first K documents of each system, and what answers are held against.

[generate]
contexts = [5, 10]                    # K
model = ["gpt-5-mini", "extractive"]  # any key of [generate] may have a list
[answers]
references = "references.jsonl"
[answers.judge]                       # without it answers are compared with references by words
model = "gpt-5"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

from trueval.answers.answer_measures import MEASURES, find_measures
from trueval.answers.generation.generation_plan import JUDGED_MEASURE, WORDS_MEASURE, generator_values
from trueval.answers.generation.generation_tables import Answerer
from trueval.errors import MeasureError, Place
from trueval.files.toml import Toml, Where
from trueval.golden.build.golden_plan import JudgePlan, judge_plan

TABLE: Final = "generate"
# Keys of [generate] that do not affect an answer.
OF_THE_CALL: Final = (
    *("api_key_env", "timeout", "concurrency", "max_cost", "book"),
    *("price_per_million_input", "price_per_million_output"),
)


class AnsweringGenerator(NamedTuple):
    """A generator that answers from the first K documents of a system.

    Attributes:
        k: number of documents.
        values: key of [generate] → value, with one model.
        system: name of the system in the file; "" before it is known. Two systems that find the same become one.
        alone: whether it is the only one of a [[configuration]], whose name says enough.
    """

    k: int
    values: Mapping[str, Any]
    system: str = ""
    alone: bool = False

    @property
    def model(self) -> str:
        """Its model."""
        return str(self.values["model"][0])

    @property
    def axes(self) -> dict[str, Any]:
        """Its value on each axis: of the keys that affect answers."""
        values = {**self.values, "model": self.model}
        return {f"{TABLE}.{name}": value for name, value in values.items() if name not in OF_THE_CALL}

    def asks_as(self, other: AnsweringGenerator) -> bool:
        """Whether the answers are those of another."""
        return (self.k, self.axes) == (other.k, other.axes)


@dataclass(frozen=True, eq=False)
class AnswersPlan:
    """What the answers of a sweep are held against.

    Attributes:
        references: file of reference answers.
        measures: of answers, the first of them the quality.
        orders: maximum number of contexts that are tried where ties leave several.
        judge: None where answers are compared with references by words.
    """

    references: str
    measures: tuple[str, ...]
    orders: int
    judge: JudgePlan | None


def generators_of(table: Mapping[str, Any], path: Path, place: Where) -> tuple[dict[str, Any], ...]:
    """The generators that the lists of a table [generate] make; none without a model.

    Args:
        table: checked values as written, without contexts.
        path: of the file.
        place: from table and key to their place in the file.

    Raises:
        InputError: there are keys of a generator but no model, a key of the call has a list, or base_url is none.
    """
    if not table:
        return ()
    if "model" not in table:
        raise place(TABLE, next(iter(table))).error(
            f"{next(iter(table))} of [generate] is a generator's, and no model is named. Name one as model, such as "
            '"extractive", or remove the key.'
        )
    several = next((name for name in OF_THE_CALL if isinstance(table.get(name), list)), None)
    if several is not None:
        raise place(TABLE, several).error(
            f"{several} of [generate] does not change answers, so it may not have a list. Write one value, or one in "
            "each [[configuration]]."
        )
    lists = {name: value if isinstance(value, list) else [value] for name, value in table.items()}
    found = []
    for chosen in product(*lists.values()):
        values = vars(Answerer.model_validate({**dict(zip(lists, chosen, strict=True)), "contexts": 1}))
        own = {name: value for name, value in values.items() if name != "contexts"}
        found.append(generator_values({**own, "model": (own["model"],)}, path, place))
    return tuple(found)


def read_answers_plan(
    table: Mapping[str, Any] | None,
    generators: Sequence[AnsweringGenerator],
    toml: Toml,
    path: Path,
    *,
    seed: int,
    book: str | None,
) -> AnswersPlan | None:
    """What a table [answers] says; None where nobody answers.

    Args:
        generators: all of the file.
        seed: of the sweep.
        book: price book of the sweep, where the judge names none.

    Raises:
        InputError: there are answers but no references, or the reverse; or a measure is none that can be taken.
    """
    if table is None:
        if generators:
            raise toml.place(TABLE, "model").error(
                "answers are held against references. Name their file: references in a table [answers], or remove "
                "model."
            )
        return None
    if not generators:
        raise toml.place("answers").error("nobody answers. Name a model in [generate], or remove [answers].")
    place = partial(_inside_answers, toml.place)
    judge = None if table["judge"] is None else judge_plan(table["judge"], path, place, seed, book=book)
    names = table["measure"] or (WORDS_MEASURE if judge is None else JUDGED_MEASURE,)
    try:
        find_measures(names, judged=judge is not None)
    except MeasureError as error:
        told = str(error).replace("Make one: trueval answers judge LOG --judge MODEL.", "Add [answers.judge].")
        raise toml.place("answers", "measure").error(told) from None
    if MEASURES[names[0]].measure.better != "higher":
        raise toml.place("answers", "measure").error(
            f"the first measure is the quality, where higher is better. Got {names[0]}. Name another one first."
        )
    return AnswersPlan(str(path.parent / table["references"]), tuple(names), table["orders"], judge)


def _inside_answers(place: Where, *keys: str | int) -> Place:
    return place("answers", *keys)
