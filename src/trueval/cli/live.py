"""The options of `trueval retrieve --live`, and the calls of a live retriever."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.output import talk

if TYPE_CHECKING:
    from trueval.collection import Collection
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.retrieval.live.live import LiveRetrieval


@dataclass(frozen=True, eq=False, repr=False)
class LiveOptions:
    """What is asked in place of a pipeline, how often, and how patiently."""

    panel: ClassVar = "Live"

    live: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Ask a retriever that answers: a URL with {text} and {k}, the TOML file of an engine, a command that "
            "prints JSON, or module:name of one in Python (LangChain, LlamaIndex, Haystack, a function).",
        ),
    ] = None
    repeats: Annotated[
        int | None,
        typer.Option(
            metavar="R", min=1, help="Calls for each query: two or more show what differs between them. Default: 1."
        ),
    ] = None
    at_once: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Calls at once. Default: 8 to a URL, 1 to a command or to Python."),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="S", min=0.001, help="Seconds that an answer of a URL or a command may take. Default: 60."
        ),
    ] = None
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measures", "-m", metavar="LIST", help="Measures, as in evaluate. Default: those of trueval cuts at K."
        ),
    ] = None

    def refuse_alone(self) -> None:
        """Refuse these options without --live."""
        for name in ("repeats", "at_once", "timeout", "measures"):
            if getattr(self, name) is not None:
                raise typer.BadParameter("goes with --live.", param_hint=f"--{name.replace('_', '-')}")

    def ask(
        self, texts: "Collection", k: int, rel: float | None, cache: Path | None
    ) -> "tuple[LiveRetrieval, LedgerPlace]":
        """Send every query of a collection to the retriever.

        Args:
            texts: the collection.
            k: documents to ask for.
            rel: grade from which a document is relevant.
            cache: folder where answers are kept until the results are written; None for none.
        """
        from trueval.measures import parse_list
        from trueval.retrieval.live.live import retrieve_live

        ledger = LedgerPlace.of(cache, str(self.live), texts, k)
        wanted = None if self.measures is None else parse_list(self.measures)
        if wanted is not None and texts.judgments is None:
            raise typer.BadParameter("needs judgments: name them by --qrels.", param_hint="--measures")
        choices: PolicyChoices = {} if rel is None else {"rel": rel}
        with interruptible(ledger.resume_note), remarks(), bars() as bar:
            step = bar("asking")
            found = retrieve_live(
                str(self.live),
                texts,
                k,
                repeats=self.repeats or 1,
                measures=wanted,
                at_once=self.at_once,
                timeout=self.timeout,
                ledger=ledger.path,
                done=step,
                **choices,
            )
        talk(found.result.notes)
        return found, ledger


@dataclass(frozen=True, eq=False, repr=False)
class LedgerPlace:
    """Where answers are kept until the results are written."""

    path: Path | None

    @classmethod
    def of(cls, cache: Path | None, spec: str, texts: "Collection", k: int) -> "LedgerPlace":
        """The ledger of a job, by what is asked."""
        from hashlib import sha256

        if cache is None:
            return cls(None)
        name = sha256(repr((spec, k, texts.source, str(Path.cwd()))).encode()).hexdigest()[:12]
        return cls(cache / f"live-{name}.jsonl")

    @property
    def resume_note(self) -> str:
        """What an interrupted job leaves."""
        if self.path is None:
            return "Nothing is kept. With --cache DIR answers are."
        return f"What was answered is kept in {self.path}. The same command goes on from there."

    def remove(self) -> None:
        """Removes it, as the results are written: the next job asks anew."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def number_file(file: Path, number: int) -> Path:
    """The file name of the run of one call."""
    return file if number == 1 else file.with_name(f"{file.stem}-{number}{file.suffix}")
