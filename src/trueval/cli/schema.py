"""`trueval schema`: the JSON Schema of a file that people write."""

import json
import sys
from importlib import import_module
from typing import Annotated, Final, Literal

import typer

# The pydantic model of each file, declared in its room.
FILES: Final = {
    "pipeline": "trueval.retrieval.pipeline.pipeline_tables:PipelineFile",
    "golden": "trueval.golden.build.golden_tables:GoldenFile",
    "live": "trueval.retrieval.live.live_tables:LiveFile",
    "sweep": "trueval.tradeoff.config.sweep_tables:SweepFile",
    "router": "trueval.retrieval.pipeline.router_tables:RouterFile",
    "answers": "trueval.answers.generation.generation_tables:AnswersFile",
    "prices": "trueval.cost.price_tables:PriceBookFile",
}


def schema(
    file: Annotated[
        Literal["pipeline", "live", "golden", "sweep", "router", "answers", "prices"],
        typer.Argument(help="What the file says."),
    ],
) -> None:
    """Prints the JSON Schema of a file that you write.

    Taplo and Even Better TOML look for it where the first line of the file says: #:schema sweep.json

    Example: trueval schema sweep > sweep.json
    """
    sys.stdout.write(json.dumps(schema_of(file), indent=1, ensure_ascii=False) + "\n")


def schema_of(file: str) -> dict[str, object]:
    """The JSON Schema of a file.

    Args:
        file: a name of FILES.
    """
    from trueval.files.toml_tables import json_schema

    module, _, name = FILES[file].partition(":")
    return json_schema(getattr(import_module(module), name))
