"""Runs every command on the sample, for the pages of the site that show what each prints, draws and reports.

Run it with: python docs/site/commands.py FOLDER PAGES. It works in FOLDER, and writes outputs.md, ties.md, gallery.md
and the reports that it links to into PAGES. It is a process of its own, in which all commands run one after another,
since to start one takes as long as most of them do. No model is loaded: searches are BM25 alone, so that the site is
built in less than a minute. A command that fails ends the build.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "src" / "trueval" / "sample"
WIDTH = 80
MOST_LINES = 40  # of an output
SEED = 36


def lexical() -> None:
    """Leave the searches by models out of the files of the project."""
    for name in ("pipeline.toml", "golden.toml", "sweep.toml"):
        text = Path(name).read_text(encoding="utf-8")
        text = re.sub(r"^\[(embed|index|fuse)\]\n(.+\n)*\n?", "", text, flags=re.MULTILINE)
        text = text.replace('["dense", "sparse", "hybrid"]', '["sparse"]')
        Path(name).write_text(text, encoding="utf-8")


def low_precision() -> None:
    """Write scores of a run as a model in bfloat16 would give them, as a run and as logits."""
    import ml_dtypes
    import numpy as np

    rows = [line.split() for line in Path("run.trec").read_text(encoding="utf-8").splitlines()]
    exact = np.array([float(row[4]) for row in rows], dtype=np.float32)
    rounded = exact.astype(ml_dtypes.bfloat16).astype(np.float32)
    lines = (" ".join([*row[:4], repr(float(score)), "low"]) for row, score in zip(rows, rounded, strict=True))
    Path("low.trec").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ids = {name: np.array([row[at] for row in rows]) for name, at in (("query", 0), ("doc", 2))}
    np.savez("logits.npz", float32=exact[:, None], bfloat16=rounded[:, None], **ids)


def written() -> None:
    """Take the questions of the sample for questions that a tool wrote."""
    Path("written").mkdir()
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.trec"):
        shutil.copy(SAMPLE / name, "written")


def people() -> None:
    """Fill in the sheet of the audit, and write labels of a judge: every fifth label is another one."""
    rng = random.Random(SEED)

    def other(grade: int) -> int:
        return grade if rng.random() < 0.8 else max(1, min(5, grade + rng.choice((-1, 1))))

    read = {name: list(_json_lines(Path("corpus", f"{name}.jsonl"))) for name in ("corpus", "queries")}
    labels = {(q, d): int(g) for q, _, d, g in _columns("golden/qrels.trec")}
    filled = []
    for item in _json_lines(Path("sheet.jsonl")):
        query = next(each["_id"] for each in read["queries"] if each["text"] == item["question"])
        judged = (each for each in read["corpus"] if (query, each["_id"]) in labels)
        found = next(each["_id"] for each in judged if str(each["text"]).strip() in str(item["passage"]))
        filled.append(json.dumps({**item, "grade": other(labels[str(query), str(found)])}))
    Path("sheet.jsonl").write_text("\n".join(filled) + "\n", encoding="utf-8")
    judge = [f"{q} 0 {d} {other(int(g))}" for q, _, d, g in _columns("qrels.trec")]
    Path("judge.qrels").write_text("\n".join(judge) + "\n", encoding="utf-8")


def answered() -> None:
    """Write what two systems answered to three questions, and the labels of a judge."""
    passages = ["The tower was built in 1889.", "It is 330 m high."]
    questions = {"When was it built?": "1889", "How high is it?": "330 m", "Who built it?": "Eiffel's company"}
    for name, answers in {"old": ("In 1899.", "330 m.", "Eiffel."), "new": ("In 1889.", "330 m.", "Eiffel.")}.items():
        rows = [
            {"query_id": f"q{at}", "question": asked, "answer": said, "contexts": passages, "reference": reference}
            for at, ((asked, reference), said) in enumerate(zip(questions.items(), answers, strict=True), 1)
        ]
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        right = [name == "new", True, True]  # the last from what the model knows
        cells = [
            {"query": f"q{at}", "of": of, "claim": 1, "against": against, "label": "supported" if label else "not"}
            for at, good in enumerate(right, 1)
            for of, against, label in (
                ("answer", "reference", good),
                ("answer", 1, good and at == 1),
                ("answer", 2, at == 2),
                ("reference", "answer", good),
                ("reference", 1, at == 1),
                ("reference", 2, at == 2),
            )
        ]
        Path(f"{name}-table.jsonl").write_text("".join(f"{json.dumps(cell)}\n" for cell in cells), encoding="utf-8")


def generated() -> None:
    """Write references and an answers file whose generator needs no model: it copies sentences."""
    texts = {str(each["_id"]): str(each["text"]) for each in _json_lines(Path("written", "corpus.jsonl"))}
    rows_of = sorted(_columns("qrels.trec"), key=lambda row: row[3])
    best = {query: document for query, _, document, grade in rows_of if grade in "45"}  # the last one is of 5, if any
    rows = [{"query_id": query, "reference": texts[document].split(". ")[0]} for query, document in best.items()]
    Path("references.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    Path("answers.toml").write_text(
        '[corpus]\npath = "written"\n[answers]\nrun = "ngrams-bf16.trec"\nqrels = "qrels.trec"\nrel = 4\n'
        'references = "references.jsonl"\n[generate]\nmodel = "extractive"\ncontexts = 3\n',
        encoding="utf-8",
    )


def _json_lines(path: Path) -> Iterator[dict[str, object]]:
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def _columns(path: str) -> Iterator[list[str]]:
    yield from (line.split() for line in Path(path).read_text(encoding="utf-8").splitlines())


# In this order, since commands read what those before them wrote; a function does what a user does between them.
LINES: tuple[str | Callable[[], None], ...] = (
    "evaluate qrels.trec bm25.trec ngrams-bf16.trec -m 'RR(rel=4)@10 nDCG@10' --out results",
    "compare qrels.trec bm25.trec ngrams-bf16.trec -m 'RR(rel=4)@10 nDCG@10' --out results",
    "power qrels.trec bm25.trec ngrams-bf16.trec -m nDCG@10 --out power",
    "budget qrels.trec bm25.trec ngrams-bf16.trec -m nDCG@10 --prices label=0.03",
    "power --value 0.80 --queries 50 --grain 1 --difference 0.06",
    "explain qrels.trec ngrams-bf16.trec -m 'RR(rel=4)@10'",
    "check qrels.trec bm25.trec ngrams-bf16.trec",
    "leaderboard qrels.trec bm25.trec ngrams-bf16.trec -m nDCG@10",
    "measures RR",
    "report results",
    "report results",
    "init --sample",
    lexical,
    "chunk documents --out corpus/corpus.jsonl",
    "retrieve --pipeline pipeline.toml --run sparse.trec",
    "golden build golden.toml --out golden",
    "retrieve corpus --index bm25 --qrels golden --run run.trec",
    "cuts --pipeline pipeline.toml --qrels golden -k 5",
    low_precision,
    "precision audit corpus --logits logits.npz --qrels golden -m \"nDCG(gain='rubric')@10\" --out audit",
    "precision bound golden run.trec -m \"nDCG(gain='rubric')@10\" --within 'ulp(bfloat16)'",
    "precision repair low.trec --reference run.trec -k 5",
    "precision runs golden bm25:bfloat16=low.trec bm25:bfloat16:float32=run.trec -m \"nDCG(gain='rubric')@10\"",
    "probe names --bm25 --language en --out names",
    "probe noise corpus --bm25 --language en --qrels golden",
    "probe join corpus --bm25 --language en --qrels golden -m R@10",
    "sweep sweep.toml --out sweep",
    "frontier sweep --max-latency-ms 300 --out sweep",
    "golden grade golden run.trec --collection corpus --judge labels:labels.qrels --depth 5 --out more.trec",
    "golden anchor golden --collection corpus --out anchored.trec",
    "golden questions corpus --n 20 --judge gpt-5-mini --out questions --dry-run",
    written,
    "golden flatters written bm25.trec ngrams-bf16.trec",
    "golden audit golden run.trec --size 40 --export sheet.jsonl",
    people,
    "golden audit golden --import sheet.jsonl --rater ann",
    "golden agree golden",
    "golden correct golden run.trec",
    "golden next judge.qrels bm25.trec ngrams-bf16.trec -m DCG@10 --budget 150 --people qrels.trec "
    "--collection written --out next",
    "golden stress --people qrels.trec judge.qrels --runs bm25.trec --runs ngrams-bf16.trec -m nDCG@10",
    answered,
    "answers judge new.jsonl --judge gpt-5-mini --out judged --dry-run",
    "answers stress new.jsonl --judge gpt-5-mini --out stress --dry-run",
    "answers evaluate new.jsonl --judged new-table.jsonl",
    "answers compare old.jsonl new.jsonl --judged old-table.jsonl --judged new-table.jsonl -m correctness",
    "answers power old.jsonl new.jsonl --judged old-table.jsonl --judged new-table.jsonl -m correctness",
    "answers budget old.jsonl new.jsonl --judged old-table.jsonl --judged new-table.jsonl -m correctness",
    generated,
    "answers generate answers.toml --out generated",
    "answers brittle answers.toml --out brittle",
    "answers nuggets generated/system.jsonl --corpus written --qrels qrels.trec --rel 4 --judge gpt-5-mini "
    "--out nuggets --dry-run",
    "demo",
    "doctor",
    "cache",
    "schema prices",
    "help bfloat16",
)
# Folders of results, as the gallery calls their pages.
GALLERY: Mapping[str, str] = {
    "results": "Two runs: values with tie ranges, the comparison, and every query",
    "power": "How large a difference these queries can find",
    "audit": "What bfloat16 does to the scores of a model",
    "names": "Whether a scorer keeps names apart",
    "golden": "A golden set, its labels and its calls",
    "sweep": "Configurations, their frontier, and which one to ship",
}
OUTPUTS = """# Commands and what they print

Each line ran when this page was built, on the sample that the package brings, without a model: searches are BM25 alone,
low precision is the same scores rounded to bfloat16, and the graders are a random number generator. So read how a
command answers, not what it found. Names of lines are those of [commands](commands.md), where all options are. SAMPLE
is the folder that `python -c "from trueval.sample import sample_path; print(sample_path())"` prints.

```console
$ cp SAMPLE/qrels.trec SAMPLE/runs/*.trec .
```
"""
TIES = """# Ties in pictures

`ngrams-bf16` keeps its scores in bfloat16, and half of its documents share theirs with another. What is its reciprocal
rank?

## One number, or a range

Every order of the documents with equal scores is as good as another. The dot is the mean over all orders, the bar what
orders can make of it, and the tick one order, that of document ids descending.

![Value and tie range of two runs]({ranges})

## How many documents share a score

![How large the groups of equal scores are]({groups})

## Why tools disagree

Tools break ties by name, by place, at random or not at all, and differ in other choices too. Here is one run, one file
of judgments and one measure under the conventions of each, by `trueval explain`:

![One measure under each convention](explanation.svg)

The [gallery](gallery.md) has these plots on a page, [conventions](conventions.md) what each tool does, and
[formulas](formulas.md) how the mean over all orders is computed without trying any.
"""
PAGES_MADE = ("outputs.md", "ties.md", "gallery.md")


class Shown(NamedTuple):
    """A command, and what it wrote to stdout and stderr."""

    line: str
    output: str


def run(line: str) -> Shown:
    """Run a command in this process, in the current folder.

    Args:
        line: of a shell, without the name of the program.

    Raises:
        RuntimeError: the command failed.
    """
    from trueval.cli.main import main

    printed = io.StringIO()
    hidden = ["--no-serve"] if line.startswith("golden audit") else []
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        sys.argv = ["trueval", *shlex.split(line), *hidden]
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"trueval {line}: exit status {ended.code}\n{printed.getvalue()}") from ended
    said = printed.getvalue().strip("\n").replace(os.path.relpath(SAMPLE), "SAMPLE").replace(str(Path.cwd()), "…")
    lines = [each.rstrip() for each in said.splitlines()]
    more = len(lines) - MOST_LINES
    kept = lines if more <= 0 else [*lines[:MOST_LINES], f"… {more} more lines"]
    return Shown(f"trueval {line}", "\n".join(kept))


def every(folder: Path) -> list[Shown]:
    """Run all lines in a folder."""
    for source in (SAMPLE / "qrels.trec", *(SAMPLE / "runs").glob("*.trec")):
        shutil.copy(source, folder)
    settings = {"COLUMNS": str(WIDTH), "TRUEVAL_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    os.environ |= {**settings, "NO_COLOR": "1", "TERM": "dumb"}
    os.chdir(folder)
    shown = []
    with mock.patch("trueval.cli.demo_model.model_is_here", return_value=False):  # a model takes a minute
        for line in LINES:
            if isinstance(line, str):
                shown.append(run(line))
            else:
                line()
    return shown


def outputs(shown: list[Shown]) -> str:
    """The page of all commands with their output."""
    words = {each: re.match(r"trueval (answers|golden|precision|probe|route)? ?\w+", each.line) for each in shown}
    parts = [OUTPUTS]
    seen = set()
    for each in shown:
        found = words[each]
        name = found[0] if found else each.line
        if name not in seen:
            seen.add(name)
            parts.append(f"## {name}\n")
        parts.append(f"```console\n$ {each.line}\n{each.output}\n```\n")
    return "\n".join(parts)


def gallery(pages: Path) -> str:
    """The page of the gallery, whose reports it writes."""
    lines = [
        "# Gallery of pages\n",
        "What `trueval report` makes of results, on the sample: one file each, that opens offline.\n",
    ]
    (pages / "gallery").mkdir()
    for name, about in GALLERY.items():
        run(f"report {name} --no-figures")
        shutil.copy(Path(name, "report.html"), pages / "gallery" / f"{name}.html")
        lines.append(f"- [{about}](gallery/{name}.html)")
    return "\n".join([*lines, "\nThe lines that made them are under [commands and what they print](outputs.md).\n"])


def ties(pages: Path) -> str:
    """The page of pictures, which it draws."""
    import trueval
    from trueval.evaluation.views.explanation import view
    from trueval.report.figures import apply_light_colors, render_svg

    for name in ("tie-ranges", "tie-groups"):
        shutil.copy(Path("results", "figures", f"{name}.svg"), pages)
    lead = view(trueval.explain("ngrams-bf16.trec", "qrels.trec", "RR(rel=4)@10")).lead
    if lead is None:
        raise RuntimeError("the explanation has no figure")
    (pages / "explanation.svg").write_text(apply_light_colors(render_svg(lead.draw(640))), encoding="utf-8")
    return TIES.format(ranges="tie-ranges.svg", groups="tie-groups.svg")


if __name__ == "__main__":
    work, into = (Path(each).resolve() for each in sys.argv[1:])
    work.mkdir(parents=True, exist_ok=True)
    made = outputs(every(work)), ties(into), gallery(into)
    for page, text in zip(PAGES_MADE, made, strict=True):
        (into / page).write_text(text, encoding="utf-8", newline="\n")
