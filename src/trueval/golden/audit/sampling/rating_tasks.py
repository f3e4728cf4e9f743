"""Rating tasks other than grading: ordering neighbors of a ranked list, and rating the answers of systems.

P-B §3.4 has people check the refined order of 20 of its 50 lists. Here lists are drawn at random, and each adjacent
pair of the first 20 documents is one item: which document is better, or whether they are equal. Which one is shown
first is random too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from trueval.errors import Place
from trueval.files.json.jsonl_pairs import as_id, first_value, objects
from trueval.files.source.source_bytes import read_content
from trueval.golden.audit.sampling.passage_sample import name_of
from trueval.golden.audit.sampling.seeded_order import key, shuffle
from trueval.golden.audit.store.audit_manifest import ORDER_SCALE, Item

if TYPE_CHECKING:
    from trueval.golden.audit.store.text_table import TextTable
    from trueval.run import Run

TOP: Final = 20  # number of top ranks whose order is checked
ANSWER_SCALE: Final = (1, 5)
# Keys of the query id, its text, and the answer in logs of RAG systems.
ID_KEYS: Final = ("query_id", "qid", "question_id", "id", "_id")
QUESTION_KEYS: Final = ("question", "user_input", "query", "input", "prompt")
ANSWER_KEYS: Final = ("answer", "response", "prediction", "output", "actual_output", "generated")
SYSTEM_KEYS: Final = ("system", "run", "model")


class Neighbors(NamedTuple):
    """Two adjacent documents of a ranked list.

    Attributes:
        upper: id of the higher-ranked document.
        lower: id of the lower-ranked document.
        rank: rank of the upper one, from 1.
    """

    query: str
    upper: str
    lower: str
    rank: int


class SystemAnswer(NamedTuple):
    """The answer of a system to a query.

    Attributes:
        query: query id.
        system: name of the system; empty where the file does not give it.
    """

    query: str
    system: str
    question: str
    text: str


def neighbors_of(run: Run, top: int = TOP) -> dict[str, list[Neighbors]]:
    """The adjacent pairs of each ranked list whose scores differ; tied documents have no order.

    Args:
        run: run whose order is checked.
        top: number of top ranks.

    >>> from trueval.run import Run
    >>> found = neighbors_of(Run.from_dict({"q": {"a": 1.0, "b": 3.0, "c": 1.0}}))
    >>> [(each.upper, each.lower, each.rank) for each in found["q"]]
    [('b', 'a', 1)]
    """
    found: dict[str, list[Neighbors]] = {}
    rows = run.frame.select("query_id", "doc_id", "score").sort("score", descending=True, maintain_order=True)
    lists = rows.partition_by("query_id", as_dict=True, include_key=False, maintain_order=True)
    for (query,), frame in lists.items():
        first = list(enumerate(frame.head(top).iter_rows(), start=1))
        pairs = [
            Neighbors(str(query), upper, lower, rank)
            for (rank, (upper, high)), (_, (lower, low)) in pairwise(first)
            if high > low
        ]
        if pairs:
            found[str(query)] = pairs
    return found


def order_items(
    lists: Mapping[str, Sequence[Neighbors]], wanted: int, seed: int, texts: TextTable, before: Sequence[Item] = ()
) -> tuple[Item, ...]:
    """The items of the task `order`: lists in random order, and within each its neighbors in random order.

    Args:
        lists: query → neighbors.
        wanted: number of lists to sample.
        before: items of a smaller sample with this seed; they come first, in the same order.
    """
    known = {each.query for each in before}
    chosen = shuffle(seed, "lists", lists, lambda query: (query,))[:wanted]
    new = [
        _order_item(each, seed, texts)
        for query in chosen
        if query not in known
        for each in shuffle(seed, "neighbors", lists[query], lambda pair: (pair.query, pair.upper, pair.lower))
    ]
    return (*before, *new)


def _order_item(pair: Neighbors, seed: int, texts: TextTable) -> Item:
    names = (pair.query, pair.upper, pair.lower)
    sides = 1 if key(seed, "side", *names)[0] < 128 else -1  # half of all bytes
    documents = (pair.upper, pair.lower)[::sides]
    shown = texts.query(pair.query), *(texts.document(pair.query, each) for each in documents)
    return Item(
        name_of("order", seed, *names, *shown),
        "order",
        pair.query,
        documents,
        "lists",
        shown,
        *ORDER_SCALE,
        ranks=(pair.rank, pair.rank + 1)[::sides],
    )


def read_answers(path: Path, queries: Mapping[str, str]) -> list[SystemAnswer]:
    """Read the answers of one or more systems.

    Args:
        path: JSON lines with the query id or text, `answer`, and `system` if there are several; keys of other tools are
            known too.
        queries: query id → text.

    Raises:
        InputError: a line is bad, has no answer or no question, or a system answers a query twice; with file and line.
    """
    found: dict[tuple[str, str], SystemAnswer] = {}
    for number, row in objects(read_content(str(path))):
        place = Place(str(path), number)
        answer = _answer(row, queries, place)
        if (answer.query, answer.system) in found:
            by = f" by system {answer.system!r}" if answer.system else ""
            raise place.error(
                f'query {answer.query!r} is answered twice{by}. Name the "system" of each line, or keep one.'
            )
        found[answer.query, answer.system] = answer
    if not found:
        raise Place(str(path)).error("no answer. There must be a line at least. Check that the file was written.")
    return list(found.values())


def _answer(row: Mapping[str, object], queries: Mapping[str, str], place: Place) -> SystemAnswer:
    asked, text = first_value(row, QUESTION_KEYS), first_value(row, ANSWER_KEYS)
    query = as_id(first_value(row, ID_KEYS)) or as_id(asked)
    system = first_value(row, SYSTEM_KEYS) or ""
    if query is None or not isinstance(text, str) or not text.strip() or not isinstance(system, str):
        raise place.error(
            'a line must be an object with "query_id" (or the text of the question), "answer", and "system" where '
            f"there are several. Got the keys {', '.join(map(repr, row)) or 'none'}."
        )
    question = queries.get(query) or (asked if isinstance(asked, str) else None)
    if not question:
        raise place.error(f"query {query!r} has no text in the collection. Name it as it is there, or add a question.")
    return SystemAnswer(query, str(system), str(question), str(text))


def answer_items(answers: Sequence[SystemAnswer], seed: int, texts: TextTable) -> tuple[Item, ...]:
    """The items of the task `answer`: the answers of all systems in one random order.

    Args:
        texts: table that stores questions and answers.
    """
    found = []
    for each in shuffle(seed, "answers", answers, lambda each: (each.query, each.system)):
        shown = texts.keep(each.question), texts.keep(each.text)
        name = name_of("answer", seed, each.query, each.system, *shown)
        found.append(Item(name, "answer", each.query, (), "answers", shown, *ANSWER_SCALE, system=each.system))
    return tuple(found)
