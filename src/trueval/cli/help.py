"""`trueval help`: search commands, options, measures, pages and errors by words."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

MOST: Final = 5  # entries of each sort that are shown
WIDTH: Final = 100  # characters of an entry
ERRORS: Final = ("InputError", "MeasureError", "PolicyError", "BadParameter", "error")
# Pages of the documentation, with search terms.
PAGES: Final = {
    "docs/files.md": "which files are read: TREC, BEIR, MS MARCO, csv, jsonl, parquet, logs, gzip, memory",
    "docs/measures.md": "every measure with formula, source and example",
    "docs/conventions.md": "agree with trec_eval, pytrec_eval, ranx, ir_measures, mteb, sklearn, torchmetrics",
    "docs/compare.md": "is a difference real: significance, intervals, p values, leaderboards, ranks",
    "docs/power.md": "how many queries are enough, published means",
    "docs/gate.md": "a gate for continuous integration: baseline, max-drop, false alarms, GitHub",
    "docs/report.md": "the page, figures and tables for papers",
    "docs/evidence.md": "RAG contexts: RA-nWG, N-Recall, Harm, PROC, logs of LangChain, LlamaIndex, Haystack, Ragas",
    "docs/cuts.md": "ties at the cut at K, in each search engine",
    "docs/retrieval.md": "make a run from a corpus: chunk, embed, index, BM25, fuse, rerank, cache",
    "docs/precision.md": "bfloat16, float16, float32: low precision and what it ties",
    "docs/golden.md": "judgments by a language model, budget, prompts, Top-20",
    "docs/audit.md": "people check labels, corrected measures, agreement, kappa",
    "docs/probes.md": "names, typos, chatter, denoising",
    "docs/tradeoff.md": "sweeps, cost, latency, prices, frontier, which configuration to ship",
    "docs/cost.md": "what judging, retrieval and sweeps cost: calls, tokens, money, hours, dry-run, max-cost",
    "docs/glossary.md": "words of the papers beside ours",
    "docs/keys.md": "keys of pipeline, sweep, golden and price files",
    "docs/python.md": "the same in Python, a measure of your own",
    "docs/formulas.md": "what every number is",
}


# Words that people search these pages for, and the pages do not show.
SYNONYMS: Final = {
    "docs/files.md": "input format columns upload dataframe pandas trace traces opentelemetry phoenix "
    "langfuse mlflow langsmith",
    "docs/measures.md": "metric metrics mrr map hit rate ndcg recall precision score formula",
    "docs/conventions.md": "fallback defaults different number reproduce mismatch match missing unjudged tie breaking",
    "docs/compare.md": "significant significance p-value pvalue t-test confidence winner better "
    "per-query wins ab test identical",
    "docs/power.md": "sample size how many enough power trust small effect mde",
    "docs/gate.md": "ci regression flaky flakiness pytest pull request fail build alert action junit",
    "docs/report.md": "html plot chart figure latex pdf",
    "docs/evidence.md": "rag contexts context window hallucination grounding faithful generation answer",
    "docs/cuts.md": "flaky nondeterministic random top-k truncation repeat unstable order shuffle",
    "docs/retrieval.md": "search engine vector database elasticsearch opensearch qdrant vespa pgvector "
    "live api hybrid rrf retriever",
    "docs/precision.md": "quantization half fp16 bf16 rounding gpu dtype numeric",
    "docs/golden.md": "llm judge ground truth gold labels annotate dataset synthetic questions test set relevance",
    "docs/audit.md": "trust human annotation annotators labels wrong noise bias agreement raters correct correction",
    "docs/probes.md": "robustness bias author perturb stress spelling",
    "docs/tradeoff.md": "pareto speed price budget slo choose ship tune hyperparameter grid",
    "docs/cost.md": "price money budget expensive tokens time estimate",
    "docs/python.md": "api library notebook import jupyter custom metric",
}


# A question of several words is answered by what has so many of them, where nothing has all.
FEWEST = 2


class Entry(NamedTuple):
    """A searchable entry.

    Attributes:
        sort: "commands", "measures", "pages" or "errors".
        name: what to type or open.
        text: one line about it.
        key: further search terms.
    """

    sort: str
    name: str
    text: str
    key: str = ""

    def score(self, words: Sequence[str]) -> float:
        """Number of the words it contains; words of its name count twice."""
        name, text = _words(self.name), _words(f"{self.text} {self.key}")
        return sum(2 * _begins(word, name) + _begins(word, text) for word in words)

    def count(self, words: Sequence[str]) -> int:
        """Number of the words that it contains."""
        every = _words(f"{self.name} {self.text} {self.key}")
        return sum(_begins(word, every) for word in words)


def help(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORDS...", help="What you look for: max drop, ndcg, NaN.")
    ] = None,
) -> None:
    """Finds a command, an option, a measure, a page or an error.

    Example: trueval help bfloat16
    """
    wanted = sorted({word for each in words or () for word in _words(each)})
    if not wanted:
        typer.echo(
            "Say what you look for, such as: trueval help max drop. trueval --help lists every command.", err=True
        )
        raise typer.Exit(2)
    counts = {each: each.count(wanted) for each in _entries()}
    most = max(counts.values())
    found = [each for each, count in counts.items() if count == most]
    if most < len(wanted):
        missed = f"Nothing has all of these words: {' '.join(wanted)}."
        if most < FEWEST:
            typer.echo(f"{missed} Fewer words find more.", err=True)
            raise typer.Exit(1)
        typer.echo(f"{missed} These have {most} of {len(wanted)}:", err=True)
    for sort in ("commands", "measures", "pages", "errors"):
        of_sort = sorted(_distinct(found, sort), key=lambda each: -each.score(wanted))
        if of_sort:
            typer.echo(sort)
        for each in of_sort[:MOST]:
            line = "  ".join(("", each.name, each.text) if each.name else ("", each.text))
            typer.echo(line if len(line) <= WIDTH or sort == "errors" else f"{line[: WIDTH - 1]}…")
        if len(of_sort) > MOST:
            typer.echo(f"  … {len(of_sort) - MOST} more; another word finds fewer")


help.settings = {"ignore_unknown_options": True}  # type: ignore[attr-defined]  # options are words here


def _distinct(found: Sequence[Entry], sort: str) -> list[Entry]:
    """The entries of one sort; an option that several commands share appears once."""
    first = {(each.name.rpartition(" ")[2], each.text): each for each in reversed(found) if each.sort == sort}
    return list(reversed(first.values()))


def _entries() -> Iterator[Entry]:
    yield from _commands()
    from trueval.measures import registry

    for name, measure in registry().items():
        yield Entry("measures", name, f"{measure.summary} {measure.formula}", measure.source)
    yield from (Entry("pages", page, about, SYNONYMS.get(page, "")) for page, about in PAGES.items())
    yield from error_messages()


def _commands() -> Iterator[Entry]:
    from trueval.cli.main import COMMANDS, LazyCommands, as_command, command_function

    for name in COMMANDS:
        command = as_command(name, command_function(name))
        inside = command.panel_of if isinstance(command, LazyCommands) else ()
        for whole in [f"{name} {each}" for each in inside] or [name]:
            home, _, own = whole.rpartition(" ")
            one = as_command(own, command_function(own, f"trueval.cli.{home}")) if home else command
            yield Entry("commands", f"trueval {whole}", one.help.split("\n")[0])
            for option in one.params:
                if option.param_type_name == "option" and option.name not in ("verbose", "help_all"):
                    yield Entry(
                        "commands", f"trueval {whole} {option.opts[0]}", (option.help or "").replace("\\[", "[")
                    )


def error_messages() -> Iterator[Entry]:
    """Error messages from the source of the package, with an ellipsis for what they fill in."""
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "raise " not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and _function_name(node) in ERRORS and node.args:
                said = _literal_text(node.args[0])
                if len(said) > 20:
                    where = path.relative_to(root).with_suffix("").as_posix().replace("/", ".")
                    yield Entry("errors", "", said, where)


def _function_name(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _literal_text(node: ast.expr) -> str:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(each.value) if isinstance(each, ast.Constant) else "…" for each in parts)


def _words(text: str) -> list[str]:
    return re.findall(r"[\w+]+", text.lower().replace("-", " "))


def _begins(word: str, among: Sequence[str]) -> bool:
    """Whether one of several words begins with it, ignoring a plural ending."""
    stem = word.removesuffix("s") if len(word) > 3 else word
    return any(each.startswith(stem) for each in among)
