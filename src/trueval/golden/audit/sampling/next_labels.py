"""Next labels: the passages whose grades decide between runs, batch by batch, until the decision holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trueval.errors import PolicyError

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.collection import Tell
    from trueval.golden.audit.sampling.decision_audit import DecisionKeywords
    from trueval.golden.audit.sampling.next_labels_result import NextLabels

FOLDER: Final = "next"  # name of the audit in a golden set


def next_labels(
    place: str | Path,
    runs: Sequence[str],
    *,
    out: str | Path | None = None,
    collection: str | None = None,
    people: str | Path | None = None,
    judge: str | Path | None = None,
    judge_scale: str | None = None,
    max_cost: float | None = None,
    begin: Callable[[str], None] | None = None,
    tell: Tell = None,
    step: Callable[[str, int, int], None] | None = None,
    **choices: Unpack[DecisionKeywords],
) -> NextLabels:
    """Say what people's labels decide between runs, and draw the passages to label next.

    The first call plans the batches and draws the first; later ones draw the next when the last is
    answered, until the decision holds or the budget ends. People use `trueval golden audit`.

    Args:
        place: a golden set, or a file of judgments.
        runs: paths, or name=path.
        out: folder of the audit; `next` in a golden set by default.
        collection: path or name of the collection with the texts.
        people: judgments by people, who grade the passages until the decision holds.
        judge: who grades them instead: a model, labels:FILE or a file with [judge].
        judge_scale: grades of the audit for the judge's, such as "1:0,2:0,3:1,4:2,5:3".
        max_cost: most that the judge's calls may cost.
        begin: called with each file before it is read.
        tell: called repeatedly with the number of documents read so far.
        step: called with the progress of the judge's calls.
        choices: as in `DecisionChoices`; the first call needs a budget, later ones keep it.

    Raises:
        InputError: a file is bad, a text is missing, or another process serves the audit.
        PolicyError: a choice is unknown, or differs from what was fixed before.

    >>> import tempfile, trueval as tv
    >>> from trueval.sample import sample_path
    >>> runs = [str(sample_path() / "runs" / f"{name}.trec") for name in ("bm25", "ngrams-bf16")]
    >>> with tempfile.TemporaryDirectory() as out:
    ...     found = tv.next_labels(sample_path(), runs, measure="DCG@5", budget=100, out=out)
    >>> found.state, found.reachable
    ('waiting', 164)
    """
    from trueval.comparison.labels.label_decision import OPEN
    from trueval.golden.audit.sampling.audit_source import open_texts, read_source
    from trueval.golden.audit.sampling.decision_audit import DecisionAudit, DecisionChoices
    from trueval.golden.audit.sampling.judge_grades import AuditJudge
    from trueval.golden.audit.sampling.next_labels_result import WAITING
    from trueval.golden.audit.sampling.person_grades import record_grades
    from trueval.golden.audit.store.audit_manifest import is_audit
    from trueval.golden.build.golden_plan import read_judge
    from trueval.judgments import Judgments, grade_map
    from trueval.rag.context_inputs import InputRules

    if people is not None and judge is not None:
        raise PolicyError("Passages are graded by people or by a judge. Name one of them.")
    rater = None
    if judge is not None:
        mapped = None if judge_scale is None else grade_map(judge_scale)
        rater = AuditJudge(read_judge(str(judge), {}), mapped, max_cost)
    place, folder, chosen = Path(place), _folder(Path(place), out), DecisionChoices(**choices)
    if begin is not None:
        begin(str(place))
    source, judged = read_source(place, collection), Judgments.read(str(place))
    lists = [each.run for each in InputRules().read_runs(runs, judged, begin)]
    texts = open_texts(source, collection, tell)
    if is_audit(folder):
        audit = DecisionAudit.open(folder, judged, lists, chosen)
    else:
        audit = DecisionAudit.plan(folder, source, judged, lists, chosen)
        audit = audit.draw(texts, None, audit.contrasts)
    grades = None if people is None else Judgments.read(str(people))
    while True:
        if grades is not None:
            record_grades(folder, grades)
        if rater is not None:
            rater.grade(folder, step)
        found, known = audit.result()
        if found.open or found.state != WAITING:
            return found
        pairs = zip(audit.contrasts, found.pairs, strict=True)
        audit = audit.draw(texts, known, [contrast for contrast, pair in pairs if pair.verdict == OPEN])


def _folder(place: Path, out: str | Path | None) -> Path:
    """The folder of the audit.

    Raises:
        PolicyError: there is none for judgments that are no golden set.
    """
    if out is not None:
        return Path(out)
    from trueval.golden.audit.sampling.audit_source import is_golden

    if not is_golden(place):
        raise PolicyError(f"{place}: judgments have no folder for an audit. Name one with --out.")
    return place / FOLDER
