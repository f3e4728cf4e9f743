"""Draws docs/images/demo.svg: the table of `trueval demo`, as a terminal shows it.

Run it with: python docs/make_images.py
"""

import io
from pathlib import Path

from rich.console import Console

from trueval.cli.demo import demo_results
from trueval.report.tables import table

IMAGE = Path(__file__).parent / "images" / "demo.svg"
WIDTH = 84


def draw() -> str:
    """The picture as SVG; its element names do not change from one drawing to the next."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    console.print(table(demo_results()))
    return console.export_svg(title="trueval demo", unique_id="trueval-demo")


if __name__ == "__main__":
    IMAGE.parent.mkdir(exist_ok=True)
    IMAGE.write_text(draw(), encoding="utf-8", newline="\n")
    print(f"docs/images/{IMAGE.name}")
