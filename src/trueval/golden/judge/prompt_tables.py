"""The keys of a prompt file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trueval.files.toml_tables import AS_TUPLE, Table, key

Ends = Annotated[list[int], Field(min_length=2, max_length=2), AS_TUPLE]


class PromptFile(Table):
    """The instructions of a judge."""

    task: Literal[
        "repair", "grade", "order", "rewrite", "question-one", "question-several", "question-none", "answer", "nuggets"
    ] = key(..., "what the judge, or the generator, is asked for")
    text: Annotated[str, Field(pattern=r"\S")] = key(..., "what the judge is told")
    scale: Ends = key((1, 5), "the lowest and the highest grade")
    map: dict[str, Annotated[int, Field(ge=1, le=5)]] = key(None, "grade = its grade on the rubric, from 1 to 5")
