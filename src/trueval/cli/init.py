"""`trueval init`: the files of a project, from flags or five questions."""

import json
import shutil
import sys
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

import typer

from trueval.cli.output import check_folder, say, write_atomically
from trueval.cli.short_help import common_options

DOCUMENTS: Final = "documents"
GOLDEN: Final = "golden"
LABELS: Final = "labels.qrels"
SCHEMAS: Final = "schemas"
WORKFLOW: Final = ".github/workflows/retrieval.yml"
FILES: Final = ("pipeline", "golden", "sweep")
QUESTION: Final = '{"_id": "q1", "text": "..."} in each line'


_MODEL: Final = """base_url = "https://api.openai.com/v1"    # any server that speaks this protocol
api_key_env = "OPENAI_API_KEY"             # the variable of the environment that holds the key
# price_per_million_input = 0.25           # dollars; with prices the dry run says what it costs
# price_per_million_output = 2.0
# max_cost = 5.0
"""
_LABELS: Final = """unknown = 1               # grade of what has no label
# grades = "0:1,1:3,2:5"  # grades 1 to 5 for those of the file
"""


class Project(NamedTuple):
    """The answers that the files contain.

    Attributes:
        corpus: folder with corpus.jsonl and queries.jsonl.
        language: language of the texts.
        model: the embedder; "" for BM25 alone.
        reranker: "" for none.
        judge: a model, or labels:FILE.
        judgments: file of judgments, or folder of the golden set to build.
    """

    corpus: str
    language: str
    model: str
    reranker: str
    judge: str
    judgments: str


@common_options("language", "model", "reranker", "judge", "sample", "out")
def init(
    corpus: Annotated[
        str | None, typer.Argument(metavar="[CORPUS]", help="Folder with corpus.jsonl and queries.jsonl.")
    ] = None,
    *,
    language: Annotated[Literal["en", "fr"] | None, typer.Option(help="Of the texts: stems of BM25, chatter.")] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Embedder: a recipe, a folder, an id of the hub; '' for BM25 alone."),
    ] = None,
    reranker: Annotated[str | None, typer.Option(metavar="NAME", help="Reranker; '' for none.")] = None,
    judge: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Language model that grades passages, or labels:FILE of your own."),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Bring the sample's documents, questions and labels to try it on.")
    ] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the files go; what is there stays.")] = Path(),
) -> None:
    """Writes the files of a project: pipeline, golden set, sweep, workflow.

    Example: trueval init corpus --language en --model all-MiniLM-L6-v2 --judge gpt-5-mini

    Example: trueval init --sample
    """
    check_folder(out)
    if sample:
        corpus, language, reranker = corpus or "corpus", language or "en", reranker or ""
        model, judge = "all-MiniLM-L6-v2" if model is None else model, judge or f"labels:{LABELS}"
    folder = _ask(corpus, "Folder of the corpus", "corpus")
    project = Project(
        folder,
        _ask(language, "Language, en or fr", "en"),
        _ask(model, "Embedder (empty: BM25 alone)", "all-MiniLM-L6-v2"),
        _ask(reranker, "Reranker (empty: none)", ""),
        _ask(judge, "Judge of passages, a model or labels:FILE", "gpt-5-mini"),
        _judgments(out / folder) or GOLDEN,
    )
    from trueval.cli.schema import schema_of

    texts = {
        "pipeline.toml": pipeline_text(project),
        "golden.toml": golden_text(project),
        "sweep.toml": sweep_text(project),
        WORKFLOW: workflow_text(project),
        **{f"{SCHEMAS}/{name}.json": json.dumps(schema_of(name), indent=1) + "\n" for name in FILES},
    }
    if sample:
        _bring_sample(out, out / folder)
    for name, text in texts.items():
        path = out / name
        if path.exists():
            say(f"{path} is there and stays")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
        say(f"wrote {path}")
    corpus_file = out / folder / "corpus.jsonl"
    if sample:
        say(f"Next: trueval chunk {out / DOCUMENTS} --out {corpus_file}")
    elif not corpus_file.parent.is_dir():
        questions = corpus_file.with_name("queries.jsonl")
        say(f"{corpus_file.parent} is not there. Your questions go to {questions}: {QUESTION}")
        say("Where you have none, trueval golden questions writes such a file, after trueval chunk.")
        say(f"Next: trueval chunk DOCUMENTS --out {corpus_file}")
    else:
        say(f"Next: trueval retrieve --pipeline {out / 'pipeline.toml'} --run run.trec")


def _judgments(corpus: Path) -> str:
    """The path of the collection's judgments below its folder; "" if it has none."""
    found = (*corpus.glob("qrels.*"), *corpus.glob("qrels/*.tsv"))
    return str(min(found).relative_to(corpus)) if found else ""


def _bring_sample(out: Path, corpus: Path) -> None:
    """Copy the sample's documents, questions and labels; existing files stay."""
    from trueval.sample import sample_path

    corpus.mkdir(parents=True, exist_ok=True)
    copies = [(each, out / DOCUMENTS / each.name) for each in sorted((sample_path() / DOCUMENTS).iterdir())]
    copies += [(sample_path() / "questions.jsonl", corpus / "queries.jsonl"), (sample_path() / LABELS, out / LABELS)]
    for source, target in copies:
        target.parent.mkdir(exist_ok=True)
        if not target.exists():
            shutil.copy(source, target)
    from trueval.report.number_texts import count_phrase

    say(f"wrote {count_phrase(len(copies) - 2, 'document', 'documents')} of the sample, its questions and its labels")


def _ask(given: str | None, question: str, default: str) -> str:
    """The value of a flag, the answer at the terminal, or the default."""
    if given is not None:
        return given
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return default
    answer: str = typer.prompt(question, default=default, show_default=bool(default))
    return answer.strip()


def pipeline_text(project: Project) -> str:
    """pipeline.toml: the retrieval pipeline."""
    return f"""#:schema {SCHEMAS}/pipeline.json
# What finds documents: trueval retrieve --pipeline pipeline.toml --run run.trec
# Omit a table to skip its stage. All keys: trueval schema pipeline, or docs/keys.md.

{_searches(project)}{_rerank_table(project, 50)}"""


def golden_text(project: Project) -> str:
    """golden.toml: judgments by a language model."""
    about = _LABELS if project.judge.startswith("labels:") else _MODEL
    return f"""#:schema {SCHEMAS}/golden.json
# Judgments by a language model: trueval golden build golden.toml --out golden --dry-run
# The dry run says calls, tokens and money, and asks nothing.

{_searches(project)}
[pool]
depth = 20                # documents of each search that are judged

[judge]
model = {json.dumps(project.judge)}
{about}"""


def sweep_text(project: Project) -> str:
    """sweep.toml: configurations to compare."""
    dense = f"""
[embed]
model = {json.dumps(project.model)}

[index]
spec = ["flat", "hnsw(M=16)"]
"""
    fused = '\n[fuse]\nmethod = "rrf"\n'
    found = ["dense", "sparse", "hybrid"] if project.model else ["sparse"]
    methods = [*found, f"{found[-1]}+rerank"] if project.reranker else found
    return f"""#:schema {SCHEMAS}/sweep.json
# Configurations to compare: trueval sweep sweep.toml --dry-run, then --out sweep
# A list in place of a value makes one configuration for each.

[corpus]
path = {json.dumps(project.corpus)}

[pipeline]
methods = {json.dumps(methods)}
{dense if project.model else ""}
[sparse]
index = {json.dumps(_bm25(project))}
{fused if project.model else ""}{_rerank_table(project, "[20, 50]")}
[generate]
contexts = [5, 10, 20]    # K: documents in a prompt

[measure]
names = ["RA-nWG@K", "N-Recall4+@K", "Harm@K"]    # the first one is the quality
{_measured_on(project)}

[latency]
queries = 30
repeats = 3

[limits]
# latency_ms = 300        # what a configuration must keep to be chosen
# cost = 1.0              # dollars for 1,000 queries
"""


def workflow_text(project: Project) -> str:
    """A workflow of GitHub that fails where a change makes retrieval worse."""
    return f"""# Fails a pull request that makes retrieval worse (docs/gate.md). It needs judgments in the repository,
# {_path_of(project)}, and the run of the main branch, baseline.trec.
name: retrieval
on: pull_request
permissions:
  contents: read
jobs:
  gate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-python@v6
        with:
          python-version: "3.12"
      - run: python -m pip install "trueval[retrieval,models]"
      - run: trueval retrieve --pipeline pipeline.toml --run new.trec
      - run: >
          trueval evaluate {_path_of(project)} new.trec -m RA-nWG@10
          --baseline baseline.trec --max-drop RA-nWG@10=0.01 --when-same pass --out results
"""


def _searches(project: Project) -> str:
    dense = f"""
[embed]
model = {json.dumps(project.model)}

[index]
spec = "flat"             # exact; hnsw(M=16) for large corpora
"""
    fused = """
[fuse]
method = "rrf"            # by ranks; "weighted" by scores
"""
    return f"""[corpus]
path = {json.dumps(project.corpus)}
{dense if project.model else ""}
[sparse]
index = {json.dumps(_bm25(project))}
{fused if project.model else ""}"""


def _measured_on(project: Project) -> str:
    if project.judgments == GOLDEN:
        return f'judgments = "{GOLDEN}"      # of trueval golden build; without this line, those of the corpus'
    return '# judgments = "golden"    # instead of those of the corpus, such as a golden set'


def _path_of(project: Project) -> str:
    return GOLDEN if project.judgments == GOLDEN else f"{project.corpus}/{project.judgments}"


def _bm25(project: Project) -> str:
    return "bm25" if project.language == "en" else f"bm25(language='{project.language}')"


def _rerank_table(project: Project, depth: object) -> str:
    if not project.reranker:
        return ""
    return f"\n[rerank]\nmodel = {json.dumps(project.reranker)}\ndepth = {depth}\n"
