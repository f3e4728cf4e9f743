"""Draws docs/images/demo.svg: the table of `trueval demo`, as a terminal shows it.

Run it with: python docs/make_images.py
"""

import io
import re
from pathlib import Path

from rich.console import Console

from trueval.cli.demo import MEASURES, RUNS, SAMPLE
from trueval.evaluation.views.kind import EVALUATE
from trueval.evaluation.views.order import in_order
from trueval.measures import parse_list
from trueval.rag.evaluate_files import evaluate_files

IMAGE = Path(__file__).parent / "images" / "demo.svg"
WIDTH = 80


def draw() -> str:
    """The picture as SVG; its element names do not change from one drawing to the next, and it loads no font."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    runs = [str(SAMPLE / "runs" / f"{name}.trec") for name in RUNS]
    found = evaluate_files(str(SAMPLE / "qrels.trec"), runs, MEASURES)
    console.print(EVALUATE.write(in_order(found.to_dict(), parse_list(MEASURES)[0]), "table"))
    picture = console.export_svg(title="trueval demo", unique_id="trueval-demo")
    offline = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    return re.sub(r"font-family: Fira Code, ?monospace", "font-family: monospace", offline)


if __name__ == "__main__":
    IMAGE.parent.mkdir(exist_ok=True)
    IMAGE.write_text(draw(), encoding="utf-8", newline="\n")
    print(f"docs/images/{IMAGE.name}")
