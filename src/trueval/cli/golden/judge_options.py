"""The options of a judge, which the commands share that ask one outside a golden set."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trueval.cli.estimates import MaxCost

if TYPE_CHECKING:
    from trueval.golden.build.golden_plan import JudgePlan


@dataclass(frozen=True, eq=False, repr=False)
class ModelOptions:
    """Which model is asked, where, and for how much."""

    panel: ClassVar = "Judge"

    judge: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="A model as its server calls it, labels:FILE where grades are all it gives, or a TOML file with a "
            "table \\[judge].",
        ),
    ]
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the server is. Default: https://api.openai.com/v1.")
    ] = None
    api_key_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Environment variable that holds the key. Default: OPENAI_API_KEY at OpenAI, else no key.",
        ),
    ] = None
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Calls under way at once, at most. Default: 8.")
    ] = None
    max_cost: MaxCost = None
    price_per_million_input: Annotated[
        float | None, typer.Option("--price-in", metavar="X", min=0, help="What a million tokens of prompts cost.")
    ] = None
    price_per_million_output: Annotated[
        float | None, typer.Option("--price-out", metavar="X", min=0, help="What a million tokens of answers cost.")
    ] = None

    def plan(self) -> "JudgePlan":
        """The table [judge] of a file, or of the options alone; options win."""
        from trueval.golden.build.golden_plan import read_judge

        named = [each.name for each in fields(self) if each.name != "judge"]
        given: dict[str, Any] = {name: getattr(self, name) for name in named if getattr(self, name) is not None}
        return read_judge(self.judge, given)


@dataclass(frozen=True, eq=False, repr=False)
class JudgeOptions(ModelOptions):
    """Who grades, and how."""

    prompt: Annotated[
        str | None, typer.Option(metavar="NAME", help="grade-1-5, grade-0-3, or a .toml file. Default: grade-1-5.")
    ] = None
    batch: Annotated[int | None, typer.Option(metavar="N", min=1, help="Passages in a call, at most. Default: 8.")] = (
        None
    )
    rounds: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Times that each passage is shown. Default: 2.")
    ] = None
