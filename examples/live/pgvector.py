"""PostgreSQL with pgvector, asked through your own embedder.

trueval retrieve COLLECTION --live pgvector:search -k 100 --repeats 3 --out live
"""

from functools import cache
from typing import Any

import psycopg

# The id after the distance: which of equal distances come first is the same in each call.
QUERY = "SELECT id, -(embedding <=> %s::vector) FROM passages ORDER BY embedding <=> %s::vector, id LIMIT %s"


@cache
def opened() -> tuple[Any, Any]:
    """The model and the connection, opened once."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer("all-MiniLM-L6-v2"), psycopg.connect("dbname=passages")


def search(text: str, k: int) -> list[tuple[str, float]]:
    """The ids and scores of the k nearest passages; a distance counts with a minus."""
    model, connection = opened()
    vector = str(model.encode(text).tolist())
    return [(str(name), score) for name, score in connection.execute(QUERY, (vector, vector, k))]
