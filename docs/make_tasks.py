"""Draws docs/images/task-*.svg: six typical tasks with trueval, and with the tool that people use for them today.

Every picture is what the programs print when this is run, on the embedded sample. It needs pytrec_eval, ir_measures and
ranx. Run it with: python docs/make_tasks.py
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from trueval.sample import sample_path

IMAGES = Path(__file__).parent / "images"
WIDTH = 88
# The two runs of the sample under short names. On its rubric of 1 to 5, grades 4 and 5 are relevant.
FILES = {"qrels.trec": "qrels.trec", "bm25.trec": "runs/bm25.trec", "ngrams.trec": "runs/ngrams-bf16.trec"}

TREC_LINES = """\
import pytrec_eval
from ir_measures import read_trec_qrels, read_trec_run
qrels, run = {}, {}
for row in read_trec_qrels("qrels.trec"):
    qrels.setdefault(row.query_id, {})[row.doc_id] = row.relevance
for row in read_trec_run("ngrams.trec"):
    run.setdefault(row.query_id, {})[row.doc_id] = row.score
asked = {"map", "recip_rank", "ndcg_cut.10", "P.5"}
found = pytrec_eval.RelevanceEvaluator(qrels, asked, relevance_level=4).evaluate(run)
for name in ("map", "recip_rank", "ndcg_cut_10", "P_5"):
    values = [each[name] for each in found.values()]
    mean = pytrec_eval.compute_aggregated_measure(name, values)
    print(f"{name:<22}\\tall\\t{mean:6.4f}")
"""
RANX = """\
from ranx import Qrels, Run, compare
qrels = Qrels.from_file("qrels.trec", kind="trec")
names = ("bm25", "ngrams")
runs = [Run.from_file(f"{name}.trec", kind="trec", name=name) for name in names]
print(compare(qrels, runs, ["mrr@10-l4", "map-l4"], max_p=0.05, stat_test="fisher"))
"""
GATE = """\
import sys
import ir_measures
from ir_measures import AP, read_trec_qrels, read_trec_run
qrels = list(read_trec_qrels("qrels.trec"))
def mean(run):
    found = ir_measures.calc_aggregate([AP(rel=4)], qrels, read_trec_run(run))
    return found[AP(rel=4)]
fell = mean("ngrams.trec") - mean("bm25.trec")
print(f"AP fell by {fell:.4f}")
sys.exit(fell > 0.01)
"""


class Task(NamedTuple):
    """A task, as a command of ours and as a command or a program with another tool.

    Attributes:
        name: of the picture.
        title: what the task is.
        ours: commands.
        tool: the other tool.
        theirs: commands, or a Python program, which has lines that begin with "import" or "from".
    """

    name: str
    title: str
    ours: tuple[str, ...]
    tool: str
    theirs: tuple[str, ...]


TASKS = (
    Task(
        "task-1-evaluate",
        "What is this run worth?",
        ('trueval evaluate qrels.trec ngrams.trec -m "nDCG@10 AP RR@10 P@5" --rel 4',),
        "ir_measures",
        ("ir_measures qrels.trec ngrams.trec 'nDCG@10 AP(rel=4) RR(rel=4)@10 P(rel=4)@5'",),
    ),
    Task(
        "task-2-trec-lines",
        "trec_eval's own lines, for scripts that read them",
        (
            'trueval evaluate qrels.trec ngrams.trec -m "map recip_rank ndcg_cut_10 P_5" --rel 4 \\\n'
            "  --convention pytrec_eval --format trec",
        ),
        "pytrec_eval",
        (TREC_LINES,),
    ),
    Task(
        "task-3-rank",
        "Which of these runs is best?",
        ('trueval evaluate qrels.trec bm25.trec ngrams.trec -m "RR@10 AP" --rel 4',),
        "ir_measures",
        tuple(f"ir_measures qrels.trec {run}.trec 'RR(rel=4)@10 AP(rel=4)'" for run in ("bm25", "ngrams")),
    ),
    Task(
        "task-4-compare",
        "Is the difference real?",
        ('trueval compare qrels.trec bm25.trec ngrams.trec -m "RR@10 AP" --rel 4',),
        "ranx",
        (RANX,),
    ),
    Task(
        "task-5-explain",
        "Two tools print two numbers: why?",
        ('trueval explain qrels.trec ngrams.trec -m "RR@10" --rel 4 --examples 1',),
        "ir_measures",
        ("ir_measures qrels.trec ngrams.trec 'RR(rel=4) RR(rel=4)@10 RR(rel=4)@100'",),
    ),
    Task(
        "task-6-gate",
        "Fail a build when quality falls",
        ("trueval evaluate qrels.trec bm25.trec -m AP --rel 4 --baseline ngrams.trec --max-drop 0.01",),
        "ir_measures and a script",
        (GATE,),
    ),
)


def outputs(task: Task, folder: Path) -> Iterator[tuple[str, str]]:
    """What is typed and what is then printed, ours first.

    Args:
        task: to run.
        folder: holds the files of the sample.
    """
    for line in (*task.ours, *task.theirs):
        if "\nfrom" in line or line.startswith(("import ", "from ")):
            script = folder / "program.py"
            script.write_text(line, encoding="utf-8")
            yield (
                "\n".join(["$ cat program.py", *line.splitlines(), "$ python program.py"]),
                _printed([sys.executable, script.name], folder),
            )
        else:
            program, *arguments = shlex.split(line.replace("\\\n", " "))
            module = [sys.executable, "-W", "ignore", "-m", program, *arguments]
            yield f"$ {line}", _printed(module, folder)


def _printed(command: list[str], folder: Path) -> str:
    """Standard output, then errors, with the colors of a terminal, and the exit status where it is not 0."""
    environment = os.environ | {"COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    environment |= {"PYTHONWARNINGS": "ignore", "TTY_COMPATIBLE": "1"}
    done = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, encoding="utf-8")
    status = f"exit status {done.returncode}\n" if done.returncode else ""
    return done.stdout + done.stderr + status


def draw(task: Task) -> str:
    """The picture of a task as SVG, which loads no font."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, source in FILES.items():
            shutil.copy(sample_path() / source, folder / name)
        for number, (typed, printed) in enumerate(outputs(task, folder)):
            if number == len(task.ours):
                console.rule(f"the same task with {task.tool}", style="dim")
            console.print(Text(typed, style="bold cyan"))
            console.print(Text.from_ansi(printed.rstrip("\n")))
            console.print()
    picture = console.export_svg(title=task.title, unique_id=task.name)
    offline = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    return re.sub(r"font-family: Fira Code, ?monospace", "font-family: monospace", offline)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for task in TASKS:
        (IMAGES / f"{task.name}.svg").write_text(draw(task), encoding="utf-8", newline="\n")
        print(f"docs/images/{task.name}.svg")
