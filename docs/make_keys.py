"""Writes docs/keys.md, every key of the files that people write, and docs/schemas, the JSON Schema of each file.

Run it with: python docs/make_keys.py
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueval.cli.schema import FILES, schema_of
from trueval.files.toml_tables import describe_values

PAGE = Path(__file__).with_name("keys.md")
SCHEMAS = Path(__file__).with_name("schemas")
HEAD = """# Keys of files

Every table and key of the TOML files that you write. This page is made by `python docs/make_keys.py` from what the
program checks, and a test compares them; a table means the same in each file. An unknown table or key is refused with
its line and the nearest name, so that no typing error is a default. Paths are found from the folder of the file.

`trueval schema sweep > sweep.json` prints the JSON Schema of a file, also of a `pipeline`, a `live` retriever,
a `golden` set, a `router`, `answers` and `prices`. Editors with Taplo (Even Better TOML) complete keys from it and mark
errors, where the file begins with `#:schema sweep.json`. [The sample sweep](../examples/sweep.toml) shows it.
"""
TITLES = {
    "pipeline": ("Pipeline", "`trueval retrieve --pipeline`: [retrieval](retrieval.md)."),
    "live": (
        "Live retriever",
        "`trueval retrieve --live`: [retrieval](retrieval.md#an-engine-or-program-that-answers).",
    ),
    "golden": (
        "Golden set",
        "`trueval golden build`: [golden](golden.md). It takes the tables above that find documents.",
    ),
    "answers": (
        "Answers",
        "`trueval answers generate` and `brittle`: [generated answers](generate.md). [judge] is that of a golden set.",
    ),
    "sweep": (
        "Sweep",
        "`trueval sweep`: [tradeoff](tradeoff.md). All tables of a pipeline but [corpus] may have lists of values, "
        "and so may [[configuration]], which also has `name` and `queries.rewrite`. [judge] is that of a golden set, "
        "[generate] and [answers.judge] those of answers.",
    ),
    "router": (
        "Router",
        "`trueval frontier --route` writes it, and `tv.Router.load` reads it: [routing](route.md).",
    ),
    "prices": (
        "Prices",
        "`book` in [prices] of a sweep. [rerankers], [embedders] and [generators] have a table for each name.",
    ),
}
ROW = "| {} | {} | {} | {} |"


def tables(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tables of a file by the names that it writes; its own keys are a table without a name."""
    alone = {}
    for name, node in schema["properties"].items():
        if "properties" in node:
            yield f"[{name}]", node
        elif isinstance(node.get("additionalProperties"), dict) and "properties" in node["additionalProperties"]:
            yield f"[{name}.NAME]", node["additionalProperties"]
        elif name != "configuration":
            alone[name] = node
    if alone:
        yield "Alone", {"properties": alone, "required": list(alone), "description": "What holds for the whole file."}


def rows(table: dict[str, Any], known: dict[str, str]) -> Iterator[str]:
    """A line for each key that has not been described."""
    for name, node in table["properties"].items():
        if known.get(name) != node["description"]:
            known[name] = node["description"]
            value = f"`{toml(node['default'])}`" if "default" in node else ""
            default = "needed" if name in table.get("required", ()) else value
            yield ROW.format(f"`{name}`", describe_values(node), default, node["description"])


def toml(value: Any) -> str:
    """A value as a file writes it."""
    return json.dumps(value, ensure_ascii=False)


def page() -> str:
    """The whole page."""
    lines, known = [HEAD], dict[str, dict[str, str]]()
    for file, (title, about) in TITLES.items():
        schema = schema_of(file)
        lines += [f"## {title}\n", f"{schema['description']} {about}\n"]
        for name, table in tables(schema):
            found = list(rows(table, known.setdefault(name, {})))
            if found:
                lines += [f"**{name}** {table['description']}\n", ROW.format("key", "takes", "default", "what it is")]
                lines += [ROW.format(*["---"] * 4), *found, ""]
    return "\n".join(lines)


def schemas() -> dict[Path, str]:
    """The file of each schema, and what it holds."""
    return {
        SCHEMAS / f"{name}.json": json.dumps(schema_of(name), indent=1, ensure_ascii=False) + "\n" for name in FILES
    }


if __name__ == "__main__":
    SCHEMAS.mkdir(exist_ok=True)
    for path, text in {PAGE: page(), **schemas()}.items():
        path.write_text(text, encoding="utf-8", newline="\n")
        print(path.relative_to(PAGE.parents[1]))
