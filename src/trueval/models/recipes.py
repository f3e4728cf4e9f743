"""Recipes: the required input format of a model, and how its output becomes a score."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from trueval.errors import InputError

Kind = Literal[
    "yes-no",
    "classifier",
    "cross-encoder",
    "embedder",
    "sentence-transformer",
    "late-interaction",
    "sparse-encoder",
    "multi-vector",
    "hosted",
]
Scoring = Literal["softmax", "sigmoid", "product", "maxsim", "none"]
_WEB_SEARCH = "Given a web search query, retrieve relevant passages that answer the query"


@dataclass(frozen=True)
class Recipe:
    """The usage of a model, following its model card exactly.

    Args:
        name: name on the command line and in reports.
        kind: class that runs it: "yes-no" (a language model's next token), "classifier", "cross-encoder" (any of
            sentence-transformers), "embedder", "sentence-transformer" (any), "late-interaction", "sparse-encoder" and
            "multi-vector" (any of sentence-transformers), "hosted" (a service).
        scoring: φ: "softmax", "sigmoid", "product" or "maxsim"; "none" if the model returns final scores.
        model: model id on the hub; empty for recipes that fit many models.
        max_length: maximum number of tokens, prompt included; 0 for the limit in the model's files.
        padding_side: "left" if the last token is read.
        pooling: pooling of token vectors into an embedding: "last", "mean", "first"; "" for rerankers.
        query: template of a query; {instruction} and {query} are filled in.
        document: template of a document; {document} is filled in. For "yes-no", `query` and `document` are joined.
        instruction: the default task description.
        prefix: text before a pair, never truncated.
        suffix: text after a pair, never truncated.
        answers: the tokens whose logits are read, (no, yes).
        end_token: token that must close every text.
        source: the file of origin.
    """

    name: str
    kind: Kind
    scoring: Scoring
    model: str = ""
    max_length: int = 0
    padding_side: Literal["left", "right"] = "right"
    pooling: Literal["last", "mean", "first", ""] = ""
    query: str = "{query}"
    document: str = "{document}"
    instruction: str = ""
    prefix: str = ""
    suffix: str = ""
    answers: tuple[str, str] = ("no", "yes")
    end_token: str = ""
    source: str = ""


_ALL = (
    Recipe(
        name="Qwen3-Reranker-0.6B",
        kind="yes-no",
        scoring="softmax",
        model="Qwen/Qwen3-Reranker-0.6B",
        max_length=8192,
        padding_side="left",
        query="<Instruct>: {instruction}\n<Query>: {query}\n",
        document="<Document>: {document}",
        instruction=_WEB_SEARCH,
        prefix=(
            "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
            'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
        ),
        suffix="<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
        source="https://huggingface.co/Qwen/Qwen3-Reranker-0.6B, section Transformers Usage",
    ),
    Recipe(
        name="bge-reranker-v2-m3",
        kind="classifier",
        scoring="sigmoid",
        model="BAAI/bge-reranker-v2-m3",
        max_length=512,
        source="https://huggingface.co/BAAI/bge-reranker-v2-m3, section Using Huggingface transformers",
    ),
    Recipe(
        name="gte-multilingual-reranker-base",
        kind="classifier",
        scoring="sigmoid",
        model="Alibaba-NLP/gte-multilingual-reranker-base",
        max_length=512,  # versions of transformers without its architecture need `trust_remote_code`
        source="https://huggingface.co/Alibaba-NLP/gte-multilingual-reranker-base, section Usage",
    ),
    Recipe(
        name="Qwen3-Embedding-0.6B",
        kind="embedder",
        scoring="product",
        model="Qwen/Qwen3-Embedding-0.6B",
        max_length=8192,
        padding_side="left",
        pooling="last",
        query="Instruct: {instruction}\nQuery:{query}",
        instruction=_WEB_SEARCH,
        end_token="<|endoftext|>",  # noqa: S106 - a token of text, not a secret
        source="https://huggingface.co/Qwen/Qwen3-Embedding-0.6B, section Transformers Usage",
    ),
    Recipe(
        name="multilingual-e5-large",
        kind="embedder",
        scoring="product",
        model="intfloat/multilingual-e5-large",
        max_length=512,
        pooling="mean",
        query="query: {query}",
        document="passage: {document}",
        source="https://huggingface.co/intfloat/multilingual-e5-large, section Usage",
    ),
    Recipe(
        name="all-MiniLM-L6-v2",
        kind="embedder",
        scoring="product",
        model="sentence-transformers/all-MiniLM-L6-v2",
        max_length=256,
        pooling="mean",
        source="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2, usage and sentence_bert_config.json",
    ),
    Recipe(
        name="cross-encoder",
        kind="cross-encoder",
        scoring="sigmoid",
        source="sentence-transformers, CrossEncoder: one logit is scored by sigmoid, two by softmax",
    ),
    Recipe(
        name="sentence-transformer",
        kind="sentence-transformer",
        scoring="product",
        source="sentence-transformers, SentenceTransformer: pooling, prompts and length of the model's own files",
    ),
    Recipe(
        name="late-interaction",
        kind="late-interaction",
        scoring="maxsim",
        source="Khattab & Zaharia 2020, ColBERT, eq. 3; every token vector of length 1, special tokens left out",
    ),
    Recipe(
        name="sparse-encoder",
        kind="sparse-encoder",
        scoring="product",
        source="sentence-transformers, SparseEncoder: dot products of learned weights of words (Formal et al. 2021)",
    ),
    Recipe(
        name="multi-vector",
        kind="multi-vector",
        scoring="maxsim",
        source="sentence-transformers 6, MultiVectorEncoder: MaxSim of token vectors, masks of the model's own files",
    ),
)
RECIPES: Mapping[str, Recipe] = MappingProxyType({recipe.name: recipe for recipe in _ALL})
"""Every recipe by name."""


def get_recipe(name: str) -> Recipe | None:
    """Return the recipe of a name or hub id, case-insensitively; None if there is none."""
    return next((recipe for recipe in _ALL if name.lower() in (recipe.name.lower(), recipe.model.lower())), None)


def find_recipe(name: str) -> Recipe:
    """Return the recipe of a name or hub id, case-insensitively.

    Raises:
        InputError: there is none; the nearest is offered.

    >>> find_recipe("qwen/qwen3-reranker-0.6b").scoring
    'softmax'
    """
    known = {key.lower(): recipe for recipe in _ALL for key in (recipe.name, recipe.model) if key}
    if name.lower() in known:
        return known[name.lower()]
    nearest = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    hint = f" Did you mean {known[nearest[0]].name!r}?" if nearest else ""
    raise InputError(
        f"There is no recipe for the model {name!r}. It must be a folder with a model, or one of {', '.join(RECIPES)}; "
        f'for any other model of the hub say which fits, as in "cross-encoder:{name}", and for one of a service which '
        f'serves it, as in "openai:{name}".{hint}'
    )
