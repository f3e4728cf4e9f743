"""The source of an audit: judgments, where their texts are, and the scale that people grade on."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trueval.collection import LOADERS, Collection
from trueval.errors import InputError, PolicyError
from trueval.golden.audit.store.text_table import TextTable
from trueval.golden.build.golden_set import ABOUT, QRELS, GoldenSet, read_rewritten_queries
from trueval.judgments import Judgments
from trueval.run import Run

if TYPE_CHECKING:
    from trueval.collection import Tell

GOLDEN_SCALE: Final = (1, 5)
MOST_GRADES: Final = 10  # maximum number of values of a scale, since each is one key


class Source(NamedTuple):
    """The source of an audit: a golden set, or judgments with a collection.

    Attributes:
        file: file of the judgments.
        labels: rows of labels.jsonl; empty for plain judgments.
        ranked: the run whose order can be checked; None without one.
        collection: path of the texts; None if not given.
        questions: hash of the questions of a golden set; None for plain judgments.
    """

    judgments: Judgments
    file: Path
    labels: Sequence[Mapping[str, Any]]
    ranked: Run | None
    collection: str | None
    questions: str | None

    @property
    def is_golden(self) -> bool:
        """Whether the source is a golden set."""
        return self.questions is not None


def read_source(place: Path, collection: str | None = None) -> Source:
    """Read the judgments of an audit, and where their texts are.

    Args:
        place: a golden set, or a file of judgments.
        collection: path or name of the collection; None for the one of a golden set.

    Raises:
        InputError: it cannot be read.
    """
    if is_golden(place):
        golden = GoldenSet.read(place)
        corpus: str | None = collection or golden.result.collection.source
        questions = golden.result.collection.sha256["queries"]
        return Source(golden.judgments, place / QRELS, golden.labels, golden.top, corpus, questions)
    judgments = Judgments.read(str(place))
    corpus = collection or (str(place) if place.is_dir() else None)
    return Source(judgments, Path(judgments.source), (), None, corpus, None)


def is_golden(place: Path) -> bool:
    """Whether a folder is a golden set."""
    return (place / ABOUT).is_file()


def is_there(collection: str) -> bool:
    """Whether a collection can be read by this name: a dataset of a known library, or an existing path.

    Args:
        collection: a path, or a dataset name of a known library.
    """
    return collection.partition(":")[0] in LOADERS or Path(collection).exists()


def open_texts(source: Source, named: str | None, tell: Tell) -> TextTable:
    """The texts of an audit, read on first use.

    Args:
        source: the judgments.
        named: the collection as named by the user; None where it is that of the golden set.
    """

    def read() -> Collection:
        if source.collection is None:
            raise PolicyError(f"{source.file}: judgments have no texts. Say where they are: --collection DIR.")
        if named is None and source.is_golden and not is_there(source.collection):
            raise InputError(
                f"{source.file.parent}: the texts that were judged are needed, and from this folder there is no corpus "
                f"{source.collection!r}; a golden set keeps no folders of an absolute path. Say where the corpus is: "
                "--collection DIR."
            )
        try:
            return Collection.read(source.collection, tell=tell)
        except InputError as error:
            if named is not None:
                raise
            raise InputError(f"{error} Or say where the texts are that were judged: --collection DIR.") from None

    judged = {(each["query"], each["document"]): each["text"] for each in source.labels}
    asked = {each["query"]: each["asked"] for each in source.labels if "asked" in each}
    return TextTable(read, judged, asked, read_rewritten_queries(source.file.parent) if source.is_golden else {})


def grade_scale(source: Source) -> tuple[int, int]:
    """Lowest and highest grade that people may give, unless another scale is named."""
    if source.is_golden:
        return GOLDEN_SCALE
    grades = source.judgments.frame["grade"].to_list()
    return max(0, math.floor(min(grades))), math.ceil(max(grades))


def check_scale(scale: tuple[int, int], source: Source) -> None:
    """Refuse a scale that keys cannot give, or that the judge's grades are not on.

    Args:
        scale: lowest and highest grade.
        source: the judgments.

    Raises:
        InputError: a grade of the judge is outside.
        PolicyError: the scale has too few grades, or too many.
    """
    low, high = scale
    if not low < high or high - low >= MOST_GRADES:
        raise PolicyError(
            f"a scale must have 2 to {MOST_GRADES} grades, such as 0-3. Got {low} to {high}. Name another with --scale."
        )
    judged = source.judgments.frame["grade"]
    outside = judged.filter((judged >= 0) & ~judged.is_between(low, high))
    if len(outside):
        raise InputError(
            f"{source.file}: a judge's grade is {outside[0]:g}, outside the scale from {low} to {high}. Name the scale "
            "of the judgments with --scale."
        )


def read_scale(text: str) -> tuple[int, int]:
    """Read a scale as the command line takes it.

    Raises:
        PolicyError: it is not two whole numbers.

    >>> read_scale("0-3")
    (0, 3)
    """
    found = re.fullmatch(r"([0-9]+)-([0-9]+)", text)
    if found is None:
        raise PolicyError(f"--scale must be the least and the greatest grade, such as 1-5. Got {text!r}.")
    return int(found[1]), int(found[2])
