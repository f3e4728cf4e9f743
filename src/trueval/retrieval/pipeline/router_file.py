"""router.toml: a router and what it was certified on, as `trueval frontier --route` writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trueval.errors import Place
from trueval.report.provenance import strip_folders
from trueval.retrieval.pipeline.rewriting import AS_IS, name_forms
from trueval.retrieval.pipeline.router import Router

if TYPE_CHECKING:
    from trueval.retrieval.pipeline.router_tables import RouterFile

# Tables whose settings decide the scores.
TABLES: Final = ("embed", "index", "sparse", "fuse", "deduplicate", "rerank")
HEAD: Final = (
    "#:schema router.json\n# Written by trueval frontier --route. Python: tv.Router.load(path).choose(scores)\n"
)


def served_settings(settings: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """The settings of a pipeline that decide the scores that a router reads, as "table.key" → value.

    >>> served_settings({"sparse": {"index": "bm25", "depth": 100}, "rerank": {"model": "m", "depth": 50}})
    {'sparse.index': 'bm25', 'sparse.depth': 100, 'rerank.model': 'm'}
    """
    from trueval.retrieval.pipeline.pipeline_tables import PAYING_KEYS  # late: pydantic

    free = (*PAYING_KEYS, "device", "reuse")
    form = settings.get("queries", {}).get("rewrite", AS_IS)
    queries = {} if form == AS_IS else {"queries.rewrite": name_forms(str(form))}
    return queries | {
        f"{table}.{name}": strip_folders(value) if isinstance(value, str) else _plain(value)
        for table in TABLES
        for name, value in settings.get(table, {}).items()
        if value is not None and name not in free and (table, name) != ("rerank", "depth")
    }


def _plain(value: object) -> Any:
    return list(value) if isinstance(value, tuple) else value


def check_pipeline(router: Router, about: RouterFile, settings: Mapping[str, Mapping[str, object]]) -> None:
    """Refuse a router that was certified for another pipeline.

    Raises:
        InputError: with the first setting that differs.
    """
    place, asked, own = Place(router.source), served_settings(settings), about.pipeline
    if "rerank" not in settings:
        raise place.error("a router chooses how many candidates are reranked. Add [rerank] with a model.")
    for name in dict.fromkeys([*own, *asked]):
        if own.get(name) != asked.get(name):
            told = f"certified for {name} = {own.get(name)!r}, and this pipeline has {asked.get(name)!r}."
            raise place.error(f"{told} Change the pipeline, or sweep it and write a router: frontier --route.")


def read_router_file(path: Path) -> RouterFile:
    """Read and check every table of router.toml.

    Raises:
        InputError: a key or value is none of a router; with the line.
    """
    from trueval.files.toml import Toml
    from trueval.files.toml_tables import read_tables
    from trueval.retrieval.pipeline.router_tables import RouterFile

    given = Toml.read(path, "the router.toml of frontier --route")
    return read_tables(RouterFile, given.tables, given.place)


def router_toml(tables: Mapping[str, object]) -> str:
    r"""The TOML of a router.

    Args:
        tables: as RouterFile has them; None is left out.

    >>> print(router_toml({"format": 1, "weights": {"margin": -1.0}}).partition("(scores)\n")[2])
    format = 1
    <BLANKLINE>
    [weights]
    margin = -1.0
    <BLANKLINE>
    """
    return HEAD + "\n".join(_lines(tables)) + "\n"


def _lines(tables: Mapping[str, object]) -> Iterator[str]:
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield f"\n[{name}]"
            yield from (f"{_key(key)} = {_value(each)}" for key, each in value.items() if each is not None)
        else:
            yield f"{name} = {_value(value)}"


def _key(name: str) -> str:
    return name if name.replace("_", "").isalnum() and name.isascii() else json.dumps(name)


def _value(value: object) -> str:
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    # JSON escapes what a basic string of TOML must, and DEL, which it must too, is in no setting.
    return json.dumps(value, ensure_ascii=False)
