"""Writes docs/compared.md: twelve tasks with trueval and with the tool that people use for them today.

What is shown is what the programs print when this is run, on the embedded sample and, where a corpus is wanted, on its
documents. It needs the extra "dev". Run it with: python docs/make_compared.py
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from trueval.sample import sample_path

PAGE: Final = Path(__file__).parent / "compared.md"
WIDTH: Final = 100
SHOWN: Final = 16  # lines of an output
# The two runs of the sample under short names. On its rubric of 1 to 5, grades 4 and 5 are relevant.
FILES: Final = {"qrels.trec": "qrels.trec", "bm25.trec": "runs/bm25.trec", "ngrams.trec": "runs/ngrams-bf16.trec"}

HEAD: Final = """\
# Twelve tasks, and how other tools do them

Each task with trueval, then with the tool that people use for it today: what is typed, and what is printed, cut after
{shown} lines. Both are run by `python docs/make_compared.py` on the embedded sample; a test runs them again and holds
ours to no more lines than theirs. The sample is small and made up: look at what is said, not at which run is better.
Its grades go from 1, not relevant, to 5; documents count from grade 4 on.

| task | lines | with | lines |
|---|---|---|---|
"""

PER_QUERY: Final = """\
import ir_measures
from ir_measures import RR, read_trec_qrels, read_trec_run
qrels, run = read_trec_qrels("qrels.trec"), read_trec_run("ngrams.trec")
for each in ir_measures.iter_calc([RR(rel=4) @ 10], qrels, run):
    print(each.query_id, each.value)
"""
RANX: Final = """\
from ranx import Qrels, Run, compare
qrels = Qrels.from_file("qrels.trec", kind="trec")
names = ("bm25", "ngrams")
runs = [Run.from_file(f"{name}.trec", kind="trec", name=name) for name in names]
print(compare(qrels, runs, ["mrr@10-l4", "map-l4"], max_p=0.05, stat_test="fisher"))
"""
RANX_LATEX: Final = RANX.replace(
    'print(compare(qrels, runs, ["mrr@10-l4", "map-l4"], max_p=0.05, stat_test="fisher"))',
    'print(compare(qrels, runs, ["mrr@10-l4"], max_p=0.05, stat_test="fisher").to_latex())',
)
OURS_DICT: Final = """\
import trueval as tv
print(tv.evaluate({"q1": {"a": 0.5, "b": 0.5, "c": 0.2}}, {"q1": {"a": 0, "b": 1}}, ["nDCG@10", "RR"]))
"""
THEIR_DICT: Final = """\
import ir_measures
from ir_measures import RR, nDCG
run, qrels = {"q1": {"a": 0.5, "b": 0.5, "c": 0.2}}, {"q1": {"a": 0, "b": 1}}
print(ir_measures.calc_aggregate([nDCG @ 10, RR], qrels, run))
"""
GATE: Final = """\
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
MARCO: Final = """\
import csv
import ir_measures
from ir_measures import RR, Qrel, ScoredDoc
with open("test.tsv") as file:
    rows = csv.DictReader(file, delimiter="\\t")
    qrels = [Qrel(row["query-id"], row["corpus-id"], int(row["score"])) for row in rows]
with open("marco.tsv") as file:
    rows = csv.reader(file, delimiter="\\t")
    run = [ScoredDoc(query, document, 1 / int(rank)) for query, document, rank in rows]
print(ir_measures.calc_aggregate([RR(rel=4) @ 10], qrels, run))
"""
FUSED: Final = """\
import json
import bm25s
from ranx import Qrels, Run, evaluate, fuse
from sentence_transformers import SentenceTransformer, util
from trueval.models.model_location import minilm_folder
def read(name):
    with open(name) as file:
        rows = [json.loads(line) for line in file]
    return {row["_id"]: f"{row.get('title', '')} {row['text']}".strip() for row in rows}
documents, queries = read("corpus/corpus.jsonl"), read("corpus/queries.jsonl")
names = list(documents)
index = bm25s.BM25()
index.index(bm25s.tokenize(list(documents.values()), show_progress=False), show_progress=False)
tokens = bm25s.tokenize(list(queries.values()), show_progress=False)
found = index.retrieve(tokens, corpus=names, k=len(names), show_progress=False)
sparse = {q: dict(zip(docs, map(float, scores))) for q, docs, scores in zip(queries, *found)}
model = SentenceTransformer(str(minilm_folder()), device="cpu")
vectors, wanted = model.encode(list(documents.values())), model.encode(list(queries.values()))
hits = util.semantic_search(wanted, vectors, top_k=len(names))
dense = {q: {names[hit["corpus_id"]]: hit["score"] for hit in each} for q, each in zip(queries, hits)}
fused = fuse(runs=[Run(sparse), Run(dense)], method="rrf")
fused.save("run.trec", kind="trec")
qrels = Qrels.from_file("labels.qrels", kind="trec")
print(evaluate(qrels, fused, "ndcg@10", make_comparable=True))
"""
OURS_OWN: Final = """\
import numpy as np
import trueval as tv
from trueval.measures import Definition, linear, register
from trueval.measures.orders.weights import WeightTable
from trueval.measures.parameters import REL, count_relevant, is_relevant
def halves(standings, measure):
    weights = WeightTable(0.5 ** np.arange(1, measure.cutoff + 1))
    relevant = is_relevant(standings.grade, measure).astype(float)
    empty = count_relevant(standings, measure) == 0
    return linear(standings, relevant, weights, np.ones(standings.queries), empty)
about = ("Halves", "Each rank worth half of the one above.", "sum of rel(d) / 2^rank(d)", "our own")
register(Definition(*about, halves, cutoff_use="required", parameters={"rel": REL}))
print(tv.evaluate("ngrams.trec", "qrels.trec", "Halves(rel=4)@10"))
"""
THEIR_OWN: Final = """\
import ir_measures
from ir_measures import read_trec_qrels, read_trec_run
def halves(qrels, run):
    qrels, run = qrels[["query_id", "doc_id", "relevance"]], run.copy()
    run["rank"] = run.groupby("query_id")["score"].rank(ascending=False, method="first")
    found = run[run["rank"] <= 10].merge(qrels, on=["query_id", "doc_id"], how="left")
    found["value"] = (found["relevance"] >= 4) / 2 ** found["rank"]
    means = found.groupby("query_id")["value"].sum()
    for query in qrels["query_id"].unique():
        yield query, means.get(query, 0.0)
Halves = ir_measures.define(halves, name="Halves", support_cutoff=False)
qrels, run = read_trec_qrels("qrels.trec"), read_trec_run("ngrams.trec")
print(ir_measures.calc_aggregate([Halves], list(qrels), list(run)))
"""


class Task(NamedTuple):
    """A task, as commands or a program of ours and of another tool.

    Attributes:
        title: what the task is.
        ours: a command, or a Python program, which has lines that begin with "import" or "from".
        tool: the other tool; "" where none that we know does it.
        theirs: as `ours`.
        about: what to look at.
        corpus: whether it begins with documents, questions and labels, which `trueval init --sample` brings.
    """

    title: str
    ours: Sequence[str]
    tool: str
    theirs: Sequence[str]
    about: str
    corpus: bool = False


TASKS: Final = (
    Task(
        "What is this run worth?",
        ('trueval evaluate qrels.trec ngrams.trec -m "nDCG@10 AP RR@10 P@5" --rel 4',),
        "ir_measures",
        ("ir_measures qrels.trec ngrams.trec 'nDCG@10 AP(rel=4) RR(rel=4)@10 P(rel=4)@5'",),
        "Nearly half of this run's documents share their score with another, so every value but P@5 depends on an "
        "order that the run does not give. trueval prints the mean over all orders, how far they reach, and the value"
        " under one order; ir_measures the value under one order, and not the same for every measure: its "
        "RR(rel=4)@10 is our lowest value.",
    ),
    Task(
        "Every query",
        ("trueval evaluate qrels.trec ngrams.trec -m RR@10 --rel 4 --per-query",),
        "ir_measures",
        (PER_QUERY,),
        "Which queries depend on ties is what one looks for here.",
    ),
    Task(
        "Is the difference real?",
        ('trueval compare qrels.trec bm25.trec ngrams.trec -m "RR@10 AP" --rel 4',),
        "ranx",
        (RANX,),
        "trueval gives each difference with an interval over queries, a range over tie orders, and a verdict in words. "
        "ranx marks what its test separates with letters of the runs; here it marks nothing, and does not say how far "
        "from it the runs are. Its order of the runs by MRR@10 comes from an order of ties.",
    ),
    Task(
        "The table of a paper",
        ("trueval compare qrels.trec bm25.trec ngrams.trec -m RR@10 --rel 4 --format latex",),
        "ranx",
        (RANX_LATEX,),
        "Both give LaTeX with booktabs, caption and label.",
    ),
    Task(
        "Dicts, in Python",
        (OURS_DICT,),
        "ir_measures",
        (THEIR_DICT,),
        "Two documents tie here, and one of them is relevant: the mean over both orders is between the two values.",
    ),
    Task(
        "Fail a build when quality falls",
        (
            "trueval evaluate qrels.trec bm25.trec -m AP --rel 4 --baseline ngrams.trec --max-drop 0.01"
            " 2>&1 >values.txt",
        ),
        "ir_measures and a script",
        (GATE,),
        "Checks go to stderr, the values to values.txt. These queries cannot tell, so the gate passes, unless"
        " `--when-unclear fail` is given. A script compares two means, so chance and the order of ties fail builds too;"
        " `--max-drop` looks at the interval of the drop over queries and tie orders ([gate.md](gate.md)).",
    ),
    Task(
        "Files of BEIR and MS MARCO",
        ("trueval evaluate test.tsv marco.tsv -m RR@10 --rel 4",),
        "ir_measures and a script",
        (MARCO,),
        "A run of three columns has ranks and no scores, so it has no ties.",
    ),
    Task(
        "From a corpus to a fused run",
        ("trueval retrieve --pipeline pipeline.toml --qrels labels.qrels --run run.trec",),
        "bm25s, sentence-transformers and ranx",
        (FUSED,),
        "`trueval init` wrote the pipeline, 11 lines without comments: change a value for another index, model or "
        "fusion.",
        corpus=True,
    ),
    Task(
        "Which configuration to ship",
        (
            "trueval sweep sweep.toml --out sweep --format csv > sweep.csv",
            "trueval frontier sweep --max-latency-ms 300",
        ),
        "",
        (),
        "Quality with its tie range and interval, latency with percentiles, and dollars, of every configuration of "
        "the file that `trueval init` wrote. AutoRAG searches for the best one by its mean, without intervals, "
        "latency or ties.",
        corpus=True,
    ),
    Task(
        "Judgments by a model, checked by people",
        (
            "trueval golden build golden.toml --out golden",
            "trueval golden audit golden --size 20 --no-serve",
        ),
        "",
        (),
        "The labels here stand in for a language model's. Without `--no-serve` the second command opens the page on "
        "which people grade the sample, blind. No tool that we know builds judgments and corrects measures by "
        "people's.",
        corpus=True,
    ),
    Task(
        "Does a model keep names apart?",
        ("trueval probe names --model all-MiniLM-L6-v2 --bm25 --queries 20",),
        "",
        (),
        "No other tool that we know has these probes.",
    ),
    Task(
        "A measure of your own",
        (OURS_OWN,),
        "ir_measures",
        (THEIR_OWN,),
        "Ours is exact under ties, with lowest, highest and standard deviation; the other takes an order of ties.",
    ),
)


def is_program(text: str) -> bool:
    """Whether a text is a program of Python, and not a command."""
    return text.startswith(("import ", "from "))


def count_lines(texts: Sequence[str]) -> int:
    """Number of lines that are typed."""
    return sum(len(text.strip().splitlines()) for text in texts)


def prepare(folder: Path) -> None:
    """Put the files that the tasks begin with into a folder."""
    for name, source in FILES.items():
        shutil.copy(sample_path() / source, folder / name)
    rows = [line.split() for line in (folder / "qrels.trec").read_text(encoding="utf-8").splitlines()]
    beir = ["query-id\tcorpus-id\tscore", *(f"{query}\t{document}\t{grade}" for query, _, document, grade in rows)]
    (folder / "test.tsv").write_text("\n".join(beir) + "\n", encoding="utf-8")
    ranked = [line.split() for line in (folder / "bm25.trec").read_text(encoding="utf-8").splitlines()]
    marco = [f"{query}\t{document}\t{rank}" for query, _, document, rank, *_ in ranked]
    (folder / "marco.tsv").write_text("\n".join(marco) + "\n", encoding="utf-8")


def prepare_corpus(folder: Path) -> None:
    """Begin a project with the sample's documents, cut and judged, in a folder."""
    for line in (
        "init --sample",
        "chunk documents --out corpus/corpus.jsonl",
        "golden build golden.toml --out golden",
    ):
        _print([sys.executable, "-m", "trueval", *line.split()], folder)


def output(text: str, folder: Path) -> str:
    """What a command or a program prints."""
    if is_program(text):
        script = folder / "program.py"
        script.write_text(text, encoding="utf-8")
        return _print([sys.executable, script.name], folder)
    line = re.sub(r"^(\w+)", rf"{sys.executable} -W ignore -m \1", text)
    return _print(["bash", "-c", line], folder)


def _print(command: Sequence[str], folder: Path) -> str:
    """Standard output, and the exit status where it is not 0; errors where it is not a gate."""
    environment = os.environ | {"COLUMNS": str(WIDTH), "PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "ignore"}
    environment["PYTHONHASHSEED"] = "0"  # ir_measures prints a set
    environment |= {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, encoding="utf-8")
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout + (f"exit status {done.returncode}\n" if done.returncode else "")


def _block(texts: Sequence[str], folder: Path) -> str:
    parts = []
    for text in texts:
        language = "python" if is_program(text) else "sh"
        lines = [line.rstrip() for line in output(text, folder).strip("\n").splitlines()]
        shown = lines if len(lines) <= SHOWN + 1 else [*lines[:SHOWN], f"... and {len(lines) - SHOWN} lines more"]
        printed = ["```text", *shown, "```", ""] if lines else []
        parts.append("\n".join([f"```{language}", text.rstrip("\n"), "```", "", *printed]))
    return "\n".join(parts)


def section(task: Task, folder: Path) -> str:
    """The section of the page about a task, both done in the folder."""
    theirs = f"With {task.tool}:\n\n{_block(task.theirs, folder)}\n" if task.tool else ""
    return f"## {task.title}\n\n{_block(task.ours, folder)}\n{theirs}{task.about}\n"


def page() -> str:
    """The whole page."""
    rows = (
        f"| [{task.title}](#{re.sub('[^a-z -]', '', task.title.lower()).replace(' ', '-')}) | {count_lines(task.ours)} "
        f"| {task.tool or '–'} | {count_lines(task.theirs) or '–'} |"
        for task in TASKS
    )
    with tempfile.TemporaryDirectory() as files, tempfile.TemporaryDirectory() as project:
        prepare(Path(files))
        prepare_corpus(Path(project))
        sections = [section(task, Path(project if task.corpus else files)) for task in TASKS]
    return "\n".join([HEAD.format(shown=SHOWN) + "\n".join(rows), "", *sections])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    print(PAGE)
