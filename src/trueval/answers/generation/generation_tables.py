"""The tables of an answers file: what is asked, which contexts are tried, and who answers and judges."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from trueval.files.toml_tables import AS_TUPLE, DIFFERENT, Count, Number, Several, Table, Text, key
from trueval.golden.build.golden_tables import JudgeTable, Parameters, Whole
from trueval.golden.judge.model_judge import OPENAI
from trueval.retrieval.pipeline.pipeline_tables import Corpus, Generate

_MONEY: Final = 1e9
Context: TypeAlias = Literal["none", "system", "gold", "gold+distractors", "reordered"]
Kind: TypeAlias = Literal["high-scoring", "same-topic", "contradicting", "bundles", "chatter"]
Place: TypeAlias = Literal["first", "middle", "last"]
Contexts = Annotated[list[Context], Field(min_length=1), DIFFERENT, AS_TUPLE]
Kinds = Annotated[list[Kind], Field(min_length=1), DIFFERENT, AS_TUPLE]
Places = Annotated[list[Place], Field(min_length=1), DIFFERENT, AS_TUPLE]
Levels = Annotated[list[Annotated[int, Field(ge=0, le=4)]], Field(min_length=2), DIFFERENT, AS_TUPLE]
Doses = Annotated[list[Whole], Field(min_length=2), DIFFERENT, AS_TUPLE]
CONTEXTS: Final[tuple[Context, ...]] = ("none", "system", "gold", "gold+distractors", "reordered")
KINDS: Final[tuple[Kind, ...]] = ("high-scoring", "same-topic", "contradicting", "bundles", "chatter")
PLACES: Final[tuple[Place, ...]] = ("first", "middle", "last")
DOSES: Final = (0, 1, 2, 4, 8)


class Asked(Table):
    """What is asked, from which run contexts are cut, and what answers are held against."""

    run: Text = key(..., "ranked lists of the system, from the folder of this file; or a log of contexts")
    qrels: Text = key(None, "judgments that say which documents hold the answer; those of the corpus by default")
    references: Text = key(
        None, "reference answers, one JSON object a question: query_id, and reference, maybe answerable"
    )
    rel: Number = key(1, "least grade of a document that holds the answer", gt=0)
    sample: Count = key(None, "questions that are drawn at random, by the seed; all of the run by default")
    contexts: Contexts = key(CONTEXTS, "which contexts are tried")
    distractors: Count = key(4, "documents beside the gold ones, in gold+distractors")
    orders: Count = key(4, "orders of a context with ties that are tried: all where there are no more, else drawn")
    measure: Text = key(None, "of answers: correctness with [judge], else token-F1")
    seed: Whole = key(0, "of everything random")


class Planted(Table):
    """Chances of a planted generator."""

    knows: Number = key(0, "questions that it answers without a context", ge=0, le=1)
    misreads: Number = key(0, "answers in front of it that it misses", ge=0, le=1)
    distracted: Number = key(0, "passages without the answer that mislead it", ge=0, le=1)
    forgets: Number = key(0, "answers that it misses where they stand in the middle", ge=0, le=1)
    abstains: Number = key(0, "wrong answers that it does not give, and says so", ge=0, le=1)


_MODEL: Final = "as its server calls it; local:FOLDER, extractive, extractive:spans or planted"


class _OneModel(Generate):
    model: Text = key(..., _MODEL)


class _Models(Generate):
    model: Several[Text] = key(..., f"{_MODEL}; several for brittle")


class _Answerer(Table):
    base_url: Text = key(OPENAI, "where the server is")
    api_key_env: str = key(
        None, "the environment variable that holds the key, empty for none; OPENAI_API_KEY at OpenAI, else none"
    )
    timeout: Number = key(120, "seconds that an answer may take", gt=0, le=86_400)
    prompt: Text = key("answer", "with passages, by name or as a .toml file")
    closed_prompt: Text = key("closed-book", "without passages, by name or as a .toml file")
    abstention: Text = key("I cannot answer", "words by which an answer is known to be none")
    samples: Count = key(1, "answers to each question from each context")
    concurrency: Count = key(8, "calls under way at once, at most")
    max_cost: Number = key(None, "what may be spent on answers, in the currency of the prices", ge=0, le=_MONEY)
    price_per_million_input: Number = key(
        None, "what a million tokens of prompts cost; that of the book", ge=0, le=_MONEY
    )
    price_per_million_output: Number = key(
        None, "what a million tokens of answers cost; that of the book", ge=0, le=_MONEY
    )
    book: Text = key(None, "price book, instead of that of the package")
    planted: Planted = Field(default_factory=Planted, description="chances of a planted generator")
    dtype: Literal["float32", "bfloat16", "float16"] = key("float32", "of local:FOLDER")
    device: Text = key(None, "of local:FOLDER, as torch calls it; an accelerator by default if there is one")


class Answerer(Parameters, _Answerer, _OneModel):
    """Who answers from so many documents: a model behind a server, a local one, or one without a model."""


class GenerateAnswers(Parameters, _Answerer, _Models):
    """Who answers from so many documents: a model behind a server, a local one, or one without a model."""


class Brittle(Table):
    """How distractors are given."""

    doses: Doses = key(DOSES, "numbers of distractors beside the gold documents")
    kinds: Kinds = key(("high-scoring", "same-topic"), "which documents distract; or chatter around the question")
    places: Places = key(PLACES, "where the gold documents stand among them")
    contradicting: Text = key(
        None, "documents that contradict the answer, one JSON object each: query_id, and id or text"
    )
    levels: Levels = key((0, 1, 2, 3, 4), "levels of chatter, as trueval probe noise has them")
    language: Literal["en", "fr"] = key("en", "of bundles and chatter")


class AnswersFile(Table):
    """Questions, contexts, who answers and who judges."""

    corpus: Corpus = key(...)
    answers: Asked = key(...)
    generate: GenerateAnswers = key(...)
    brittle: Brittle = Field(default_factory=Brittle)
    judge: JudgeTable = key(None)
