"""Runs the examples of docs/use/*.md and writes what they print below each.

Run it with: python docs/make_use.py [PAGE...]. A page runs in the environment of its tool, as `make integrations` makes
it. Its blocks of Python run one after another in one process; what each prints is the block of text after it. A page
may need what its reader has and it does not show, such as a model: that is in PREPARED.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

USE: Final = Path(__file__).parent / "use"
BLOCKS: Final = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK: Final = "-- the next block --"

SAMPLE: Final = """
import warnings; warnings.filterwarnings("ignore", module="(?!trueval)")
import trueval
from trueval.sample import sample_path
runs = {name: trueval.Run.read(sample_path() / "runs" / f"{name}.trec") for name in ("bm25", "ngrams-bf16")}
judged = trueval.Judgments.read(sample_path() / "qrels.trec")
def nested(frame, value):
    found = {}
    for query, document, number in frame.select("query_id", "doc_id", value).iter_rows():
        found.setdefault(query, {})[document] = number
    return found
# On the rubric of the sample, 4 and 5 are relevant.
qrels = {q: {d: int(g >= 4) for d, g in row.items()} for q, row in nested(judged.frame, "grade").items()}
bm25, ngrams = (nested(run.frame, "score") for run in runs.values())
"""
PREPARED: Final = {
    "ir_measures": SAMPLE,
    "pytrec_eval": SAMPLE,
    "loggers": SAMPLE + "run = ngrams\n",
    "pytest": SAMPLE
    + """
import json, os, subprocess, sys
from pathlib import Path
for name, value in {"ngrams": ngrams, "bm25": bm25, "judged": qrels}.items():
    Path(name + ".json").write_text(json.dumps(value))
BEFORE = "import json; NGRAMS, BM25, JUDGED = (json.load(open(n + '.json')) for n in ('ngrams', 'bm25', 'judged'))"
def session(tests, *options):
    Path("test_search.py").write_text(BEFORE + tests)
    # As it is installed everywhere else, and nothing of what is installed here beside it.
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "80"}
    command = [sys.executable, "-m", "pytest", "-p", "trueval.integrations.pytest_plugin", *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith(("E  ", "test_search.py::test_search: ")) or " trueval: " in line:
            print(line)
""",
    "ranx": SAMPLE
    + """
import os, sys
sys.stderr = open(os.devnull, "w")
trec = {name: str(sample_path() / "runs" / f"{name}.trec") for name in ("bm25", "ngrams-bf16")}
""",
    "langchain": SAMPLE
    + """
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
queries = dict(trueval.Collection.read(str(sample_path())).queries)
class Store(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager=None):
        (name,) = (name for name, text in queries.items() if text == query)
        best = sorted(ngrams[name].items(), key=lambda pair: -pair[1])[:10]
        return [Document(id=d, page_content="...", metadata={"score": s}) for d, s in best]
retriever = Store()
""",
    "llamaindex": SAMPLE
    + """
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
queries = dict(trueval.Collection.read(str(sample_path())).queries)
class Index(BaseRetriever):
    def _retrieve(self, bundle):
        (name,) = (name for name, text in queries.items() if text == bundle.query_str)
        best = sorted(ngrams[name].items(), key=lambda pair: -pair[1])[:10]
        return [NodeWithScore(node=TextNode(id_=d, text="..."), score=s) for d, s in best]
retriever = Index()
""",
    "engines": SAMPLE
    + """
import json, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
queries = dict(trueval.Collection.read(str(sample_path())).queries)
class Engine(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        (name,) = (name for name, text in queries.items() if text == body["query"]["match"]["text"])
        best = sorted(ngrams[name].items(), key=lambda pair: -pair[1])[: int(body["size"])]
        hits = [{"_id": d, "_score": s} for d, s in best]
        answer = json.dumps({"_shards": {"total": 1, "successful": 1, "failed": 0}, "timed_out": False,
            "hits": {"total": {"value": len(ngrams[name])}, "hits": hits}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    def log_message(self, *parts): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
threading.Thread(target=server.serve_forever, daemon=True).start()
host = f"http://127.0.0.1:{server.server_port}"
""",
    "pyterrier": SAMPLE
    + """
import pandas as pd
def frame(rows, value): return pd.DataFrame(
    [(q, d, n) for q, row in rows.items() for d, n in row.items()], columns=["qid", "docno", value])
qrels = frame(qrels, "label")
bm25, ngrams = (frame(run, "score").assign(rank=0) for run in (bm25, ngrams))
topics = pd.DataFrame({"qid": qrels["qid"].unique()}).assign(query="")
pd.set_option("display.width", 120)
""",
    "sentence_transformers": SAMPLE
    + """
from trueval.models.model_location import minilm_folder
from sentence_transformers import SentenceTransformer
similarity = {"binary": lambda queries, documents: queries.sign() @ documents.sign().T}
collection = trueval.Collection.read(str(sample_path()))
queries, corpus = dict(collection.queries), dict(collection.documents)
relevant_docs = {q: {d for d, grade in row.items() if grade} for q, row in qrels.items()}
model = SentenceTransformer(str(minilm_folder()), device="cpu")
""",
    "mteb": SAMPLE
    + """
from datasets import Dataset
from mteb.abstasks import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.model_meta import ModelMeta
texts = trueval.Collection.read(str(sample_path()))
class Sample(AbsTaskRetrieval):
    metadata = TaskMetadata(name="Sample", dataset={"path": "none", "revision": "1"}, description="", type="Retrieval",
        category="t2t", eval_splits=["test"], eval_langs=["eng-Latn"], main_score="ndcg_at_10")
    def load_data(self, *args, **kwargs):
        self.dataset = {"default": {"test": {
            "corpus": Dataset.from_list([{"id": d, "text": t, "title": ""} for d, t in texts.documents.items()]),
            "queries": Dataset.from_list([{"id": q, "text": t} for q, t in texts.queries.items()]),
            "relevant_docs": qrels, "top_ranked": None}}}
        self.data_loaded = True
class Model:
    def __init__(self, name, run):
        self.run, self.mteb_model_meta = run, ModelMeta.create_empty({"name": f"own/{name}", "revision": "1"})
    def index(self, corpus, **options): pass
    def search(self, queries, **options): return {q: dict(row) for q, row in self.run.items()}
task, model, other = Sample(), Model("ngrams", ngrams), Model("bm25", bm25)
""",
    "mlflow": """
import warnings; warnings.filterwarnings("ignore")
import logging; logging.disable()
import mlflow
mlflow.set_tracking_uri("sqlite:///mlflow.db")
documents = [("a", 0.5), ("b", 0.5), ("c", 0.25)]
@mlflow.trace(span_type="RETRIEVER")
def retrieve(question):
    return [{"page_content": "...", "metadata": {"doc_uri": d, "score": s}} for d, s in documents]
def app(question):
    retrieve(question)
    return "answer"
import io, contextlib
mlflow.genai.evaluate = (lambda run: lambda **options: _quietly(run, options))(mlflow.genai.evaluate)
def _quietly(run, options):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return run(**options)
""",
}


class Example(NamedTuple):
    """A block of Python and what the page says that it prints."""

    code: str
    shown: str


def examples(page: Path) -> list[Example]:
    """The examples of a page, in order."""
    return [Example(*found) for found in BLOCKS.findall(page.read_text(encoding="utf-8"))]


def run(page: Path) -> list[str]:
    """What the examples of a page print.

    Raises:
        RuntimeError: they fail.
    """
    codes = [example.code for example in examples(page)]
    program = PREPARED[page.stem] + "".join(f"\nprint({MARK!r})\n{code}" for code in codes)
    with tempfile.TemporaryDirectory() as folder:
        # mlflow.set_experiment leaves its choice there, for the processes that follow.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
        environment |= {"HF_HUB_OFFLINE": "1", "MTEB_CACHE": folder, "TOKENIZERS_PARALLELISM": "false"}
        environment |= {"PYTHONIOENCODING": "utf-8", "TQDM_DISABLE": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise RuntimeError(f"{page.name}: {done.stderr[-3000:]}")
    return [printed.lstrip("\n") for printed in done.stdout.split(f"{MARK}\n")[1:]]


def main() -> None:
    """Write anew what the named pages print, or those of all tools that are installed here."""
    for page in [USE / f"{name}.md" for name in sys.argv[1:]] or sorted(USE.glob("*.md")):
        printed = iter(run(page))
        text = page.read_text(encoding="utf-8")
        page.write_text(
            BLOCKS.sub(lambda match: f"```python\n{match[1]}```\n\n```text\n{next(printed)}```", text),  # noqa: B023
            encoding="utf-8",
        )
        print(page)


if __name__ == "__main__":
    main()
