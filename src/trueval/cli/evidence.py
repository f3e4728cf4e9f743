"""What `trueval evaluate` adds for contexts: logs, sources, unjudged documents, answers, sensitivity."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer

from trueval.cli.output import talk

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.rag.answers import AccuracyGivenHit
    from trueval.rag.sensitivity import Flip, Sensitivity
    from trueval.run import Run

# Choices of the evaluation that sensitivity takes too.
SHARED = ("tie_precision", "depth", "judged_only", "missing")


class Evidence:
    """Reads judgments and runs, contexts among them, and gathers what stands beside the means.

    Args:
        measures: what is measured.
        unjudged: grade of documents without one, None to leave them so.
        correct: path of the correctness of answers.
        sources: path of the sources of documents.
        sensitivity: whether to compute the sensitivity of RA-nWG.
        facets: whether the second column of judgments holds facets; measures that need them bring them by themselves.
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        *,
        unjudged: float | None = None,
        correct: str | None = None,
        sources: str | None = None,
        sensitivity: bool = False,
        facets: bool = False,
    ) -> None:
        from trueval.rag.answers import read_correctness

        self._facets = facets or any(measure.needs_facets for measure in measures)
        self._hits = [measure for measure in measures if measure.name == "AllGold" and measure.cutoff is not None]
        if correct is not None and not self._hits:
            raise typer.BadParameter(
                "needs AllGold at a cutoff among the measures, such as AllGold@10.", param_hint="--correct"
            )
        self._subjects = [m for m in measures if m.name == "RA-nWG" and m["unjudged"] == "nothing"]
        if sensitivity and not self._subjects:
            raise typer.BadParameter("needs RA-nWG among the measures, such as RA-nWG@10.", param_hint="--sensitivity")
        self._correct_path = correct
        self._correct = None if correct is None else read_correctness(correct)
        self._sources = None if sources is None else read_sources(sources)
        self._unjudged, self._sensitivity = unjudged, sensitivity
        self._logged: dict[str, dict[str, float]] = {}
        self._runs: list[Run] = []
        self._judgments: Judgments | None = None
        self._answers: list[dict[str, AccuracyGivenHit]] = []

    def read_judgments(self, path: str) -> Judgments:
        """Judgments from a file, or the gold documents of a log of contexts."""
        from trueval.rag.contexts import read_judgments_or_contexts

        return read_judgments_or_contexts(path, facets=self._facets)

    def read_run(self, path: str, name: str | None) -> Run:
        """A run from a file, or the retrieved documents of a log of contexts, whose sources and answers are kept."""
        from trueval.rag.contexts import Contexts, contexts_or_file
        from trueval.run import Run

        found = contexts_or_file(path, name=name)
        if not isinstance(found, Contexts):
            return Run.read(found, name=name)
        self._logged[found.run.name] = dict(found.correct)
        if found.sources:
            self._sources = {**found.sources, **(self._sources or {})}
        return found.run

    def judge(self, run: Run, judgments: Judgments) -> Judgments:
        """The judgments for one run: unjudged documents graded, sources named."""
        from trueval.rag.unjudged import grade_unjudged

        if self._unjudged is not None:
            judgments = grade_unjudged(judgments, run, self._unjudged)
        if self._sources is not None:
            judgments = judgments.with_sources(self._sources)
        return judgments

    def observe(self, run: Run, judgments: Judgments, scores: Scores) -> None:
        """Notes what one run says about answers, and keeps the run where sensitivity needs it."""
        from trueval.rag.answers import accuracy_given_hit

        correct = self._correct if self._correct is not None else self._logged.get(run.name)
        found = {} if not correct else {str(hit): accuracy_given_hit(scores, hit, correct) for hit in self._hits}
        self._answers.append(found)
        if self._sensitivity:
            self._runs.append(run)

    def remember(self, judgments: Judgments) -> None:
        """Keeps the judgments as they are before any run fills them."""
        self._judgments = judgments

    def finish(self, results: dict[str, Any], policy: dict[str, Any]) -> list[str]:
        """Adds answers and sensitivity to the results, and says them in lines for people."""
        lines = list(_details(results))
        if self._judgments is not None:
            talk(_unused(self._correct_path, self._correct, self._judgments.query_ids.to_list()))
        for run, found in zip(results["runs"], self._answers, strict=True):
            if found:
                run["answers"] = {name: _no_nan(one._asdict()) for name, one in found.items()}
                lines += [_answer(run["name"], name, one) for name, one in found.items()]
        if self._sensitivity and self._judgments is not None:
            analyzed = self._all_sensitivity(policy)
            results["sensitivity"] = [one.to_dict() for one in analyzed]
            lines += [line for one in analyzed for line in sensitivity_lines(one)]
        return lines

    def _all_sensitivity(self, policy: dict[str, Any]) -> list[Sensitivity]:
        from trueval.policy.conventions import choose
        from trueval.rag.sensitivity import sensitivity
        from trueval.rag.unjudged import grade_unjudged

        judgments = self._judgments
        if judgments is None:
            return []
        for run in self._runs if self._unjudged is not None else []:
            judgments = grade_unjudged(judgments, run, self._unjudged or 0.0)
        chosen = choose(None, policy)
        shared = {name: getattr(chosen, name) for name in SHARED}
        return [sensitivity(self._runs, judgments, measure, **shared) for measure in self._subjects]


def say(lines: Sequence[str], *, on_stdout: bool) -> None:
    """Prints lines for people: under a table on stdout, else on stderr."""
    if not on_stdout:
        talk(lines)
        return
    for line in lines:
        typer.echo(line)


def must_differ(qrels: str, runs: Sequence[str]) -> list[str]:
    """The paths of which none may be given twice: a log of contexts may be the judgments and one of the runs."""
    from trueval.rag.contexts import looks_like_contexts

    return [*runs] if qrels in runs and looks_like_contexts(qrels) else [qrels, *runs]


def read_sources(path: str) -> dict[str, str]:
    """Read the source of each document: id and source on each line.

    Args:
        path: JSON lines with id and source, or two fields parted by a tab, a comma or blanks; a line of column names
            is skipped; "-" for standard input.

    Raises:
        InputError: a line is bad, or a document has two sources; with file and line.
    """
    import reprlib

    from trueval.errors import InputError
    from trueval.files.json.pairs import DOC_KEYS, Columns, as_id, read_pairs

    found: dict[str, str] = {}
    for place, doc, value in read_pairs(path, Columns(DOC_KEYS, ("source",), "a document id and its source")):
        source = as_id(value)
        if source is None:
            raise InputError(
                f"{place}: the source must be a string or an integer. Got {reprlib.repr(value)}. Correct it."
            )
        if found.setdefault(doc, source) != source:
            raise InputError(f"{place}: document {doc!r} has two sources, {found[doc]!r} and {source!r}. Give one.")
    return found


def _unused(path: str | None, named: Collection[str] | None, queries: Iterable[str]) -> Iterator[str]:
    """A line for people where answers name queries that nobody judged."""
    unknown = sorted(set(named or ()).difference(queries))
    if unknown:
        yield f"{path}: {len(unknown)} queries are not in the judgments and are ignored, the first {unknown[0]!r}."


def _details(results: dict[str, Any]) -> Iterator[str]:
    """One line for each mean that has numbers beside it."""
    for run in results["runs"]:
        for measure, entry in run["measures"].items():
            numbers = entry.get("details", {})
            if numbers:
                said = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in numbers.items())
                yield f"{run['name']}  {measure}: {said}"


def _answer(run: str, measure: str, found: AccuracyGivenHit) -> str:
    if math.isnan(found.expected):
        return f"{run}  Acc|{measure}: no query has all its gold documents, so there is nothing to average."
    left = f"; {found.unanswered} queries without an answer are left out" if found.unanswered else ""
    return (
        f"{run}  Acc|{measure}: {found.expected:.4f} over {found.hits:.4g} expected hits "
        f"({found.lowest:.4f} to {found.highest:.4f} over tie orders){left}"
    )


def sensitivity_lines(found: Sensitivity) -> Iterator[str]:
    """What sensitivity found, in lines of plain words."""
    yield f"Sensitivity of {found.measure}"
    yield "  alpha  cap4  cap3  " + "  ".join(found.runs)
    for cell in found.grid:
        means = "  ".join(f"{mean.expected:{len(name)}.4f}" for mean, name in zip(cell.means, found.runs, strict=True))
        swaps = "".join(f"  {worse} passes {better}" for better, worse in cell.swapped)
        yield f"  {cell.alpha:5g}  {cell.cap4:4g}  {cell.cap3:4g}  {means}{swaps}"
    if len(found.runs) > 1:
        changed = sum(bool(cell.swapped) for cell in found.grid)
        yield f"  Order of runs: {'as by default everywhere' if not changed else f'another in {changed} choices'}."
    for one in found.flips:
        means = f"{one.lowest_mean:.4f} and {one.highest_mean:.4f}"
        yield f"  {one.run}: under each of {one.flips} one-label flips the mean stays between {means}."
        if one.falls_when_raised:
            yield f"    Queries that fall although a label rises: {len(one.falls_when_raised)}. The worst flip of each:"
            yield from (f"      {_flip(flip)}" for flip in one.falls_when_raised)
    if len(found.runs) > 1:
        yield f"  One-label flips that reverse two runs: {len(found.swaps)}."
        yield from (f"    {_flip(flip)}: {worse} passes {better}" for flip, better, worse in found.swaps[:5])


def _flip(flip: Flip) -> str:
    return (
        f"query {flip.query}, document {flip.document}, {flip.old} to {flip.new}: {flip.before:.4f} to {flip.after:.4f}"
    )


def _no_nan(numbers: dict[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in numbers.items()}
