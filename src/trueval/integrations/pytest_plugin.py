"""pytest: the fixture `trueval`, which holds runs against limits and against a baseline kept in a folder. Written for
pytest 8.3 and newer; tried with 8.3.0 and 9.2.0, and with pytest-xdist.

    def test_search(trueval):
        run = {query: search(text) for query, text in QUERIES.items()}      # {query: {document: score}}
        trueval.assert_not_worse(run, "qrels.trec", "nDCG@10", by=0.01)

`pytest --trueval-update` measures the baselines and keeps them; without it each test is held against its own. pytest
imports this module at its start, so it imports nothing of ours before a test uses the fixture.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.comparison.checks import Check
    from trueval.comparison.limits import Limit
    from trueval.comparison.resampling.clusters import Clusters
    from trueval.evaluation.evaluate import Measures
    from trueval.evaluation.scores import Scores
    from trueval.files import Source
    from trueval.judgments import Judgments, JudgmentsLike
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.run import Run, RunLike

# Name of the property of a test's report with one line per check: xdist carries it, and JUnit XML shows it.
PROPERTY: Final = "trueval"
WHEN_UNCLEAR: Final = ("warn", "fail")
UPDATE: Final = "Measure it anew with `pytest --trueval-update`, on the code to compare with."
WRITTEN: Final = "baseline written"
# What messages and pages call the run that is compared with.
BASELINE: Final = "the kept baseline"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixture `trueval`."""
    group = parser.getgroup("trueval", "retrieval held against limits and baselines (trueval)")
    group.addoption(
        "--trueval-update",
        action="store_true",
        help="keep what the tests measure now as the baselines of assert_not_worse",
    )
    group.addoption(
        "--trueval-when-unclear",
        choices=WHEN_UNCLEAR,
        help="what a test does whose queries cannot tell whether a run is worse: warn (default) or fail",
    )
    group.addoption("--trueval-pages", metavar="DIR", help="where failed tests leave a page (default: pytest's cache)")
    parser.addini("trueval_when_unclear", "warn or fail: as --trueval-when-unclear", default="warn")
    parser.addini(
        "trueval_baselines", "folder of the baselines, from the root of the tests", default="trueval-baselines"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a setting that is not accepted, before any test runs.

    Raises:
        pytest.UsageError: trueval_when_unclear is neither warn nor fail.
    """
    if config.getini("trueval_when_unclear") not in WHEN_UNCLEAR:
        got = config.getini("trueval_when_unclear")
        raise pytest.UsageError(f"trueval_when_unclear must be one of {', '.join(WHEN_UNCLEAR)}. Got {got!r}.")


@pytest.fixture
def trueval(request: pytest.FixtureRequest) -> RunAssertions:
    """Hold runs against limits and kept baselines: assert_not_worse, assert_at_least, assert_range_below."""
    config = request.config
    pages = config.getoption("--trueval-pages")
    if pages is None and hasattr(config, "cache"):
        pages = config.cache.mkdir("trueval")
    settings = Settings(
        config.rootpath,
        config.getini("trueval_baselines"),
        Path(pages or tempfile.mkdtemp(prefix="trueval-")),
        bool(config.getoption("--trueval-update")),
        config.getoption("--trueval-when-unclear") or config.getini("trueval_when_unclear"),
    )
    path, _, inside = request.node.location  # not its id, to which xdist may append a group
    return RunAssertions(settings, (*Path(path).with_suffix("").parts, inside), request.node.user_properties)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the findings of all tests, those of xdist's workers too."""
    told: dict[str, list[str]] = {}
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        lines = [str(value) for name, value in getattr(report, "user_properties", ()) if name == PROPERTY]
        if len(lines) > len(told.get(report.nodeid, ())):  # the report of a later phase repeats those of an earlier one
            told[report.nodeid] = lines
    if not told:
        return
    verdicts = Counter(line.partition(": ")[0] for lines in told.values() for line in lines)
    terminalreporter.section(f"trueval: {', '.join(f'{count} {verdict}' for verdict, count in verdicts.items())}")
    for test, lines in told.items():
        for line in lines:
            terminalreporter.write_line(f"{test}: {line}", **_markup(line))


def _markup(line: str) -> dict[str, bool]:
    """How the terminal shows a line, by the verdict that it begins with."""
    color = {"worse": "red", "failed": "red", "cannot tell": "yellow"}.get(line.partition(": ")[0], "green")
    return {color: True}


class Settings(NamedTuple):
    """What pytest was told.

    Attributes:
        root: root of the tests, from which other folders are named.
        baselines: folder of the baselines, as configured.
        pages: folder of the pages of failed tests.
        update: whether baselines are measured anew.
        when_unclear: whether a test "warn"s or "fail"s where its queries cannot tell.
    """

    root: Path
    baselines: str
    pages: Path
    update: bool
    when_unclear: str


class RunAssertions:
    """What a test asserts about runs; the fixture `trueval`.

    Args:
        settings: what pytest was told.
        test: names of the test, from its folder to itself, after which its baselines are named.
        properties: properties of the test's report, which gain one line per check.
    """

    def __init__(self, settings: Settings, test: Sequence[str], properties: list[tuple[str, object]]) -> None:
        self._settings, self._test, self._properties = settings, tuple(test), properties
        self._used: set[Path] = set()

    def assert_not_worse(
        self,
        run: RunLike,
        judgments: JudgmentsLike,
        measures: Measures,
        *,
        by: float,
        baseline: str | None = None,
        when_unclear: str | None = None,
        clusters: Clusters | Mapping[str, str] | Source | None = None,
        **choices: Unpack[PolicyChoices],
    ) -> None:
        """Assert that a run is not worse than its kept baseline by more than a limit.

        Decided by the 95 % joint interval [low, high] of run - baseline over queries and ties, as trueval.gate does:

            not worse      low >= -by
            worse          high < -by, and the assertion fails
            cannot tell    else: a TruevalWarning, or the assertion fails

        A run with the rows of its baseline is not worse. The intervals of one call hold together; those of several
        calls do not.

        Args:
            run: what trueval.Run.of takes: a path, a dict {query: {document: score}}, a frame ...
            judgments: what trueval.Judgments.of takes.
            measures: one or several.
            by: largest loss that passes, on the scale of the measures.
            baseline: name of the baseline, which several tests may share; None for the test's own.
            when_unclear: "warn" or "fail"; None as pytest was told.
            clusters: query → cluster, as in trueval.gate.
            choices: choices of the policy, as in trueval.evaluate.

        Raises:
            AssertionError: the run is worse, there is no such baseline, it was measured on other judgments, queries or
                policy, or the data are bad.
        """
        __tracebackhide__ = True
        from trueval.comparison.limits import MaxDrop

        given = _Assertion(run, judgments, measures, choices)
        unclear = self._settings.when_unclear if when_unclear is None else when_unclear
        drop = _Drop(baseline, unclear, clusters)
        if failure := self._failure(given, lambda measure: MaxDrop(measure, by), drop):
            raise AssertionError(failure)

    def assert_at_least(
        self,
        run: RunLike,
        judgments: JudgmentsLike,
        measures: Measures,
        least: float,
        **choices: Unpack[PolicyChoices],
    ) -> None:
        """Assert that the expected mean of a run, over all orders of ties, is at or above a limit.

        Args:
            run: as in assert_not_worse.
            judgments: as in assert_not_worse.
            measures: one or several, of which more is better.
            least: smallest mean that passes, on the scale of the measures.
            choices: as in assert_not_worse.

        Raises:
            AssertionError: a mean is below, or the data are bad.
        """
        __tracebackhide__ = True
        from trueval.comparison.limits import Minimum

        given = _Assertion(run, judgments, measures, choices)
        if failure := self._failure(given, lambda measure: Minimum(measure, least)):
            raise AssertionError(failure)

    def assert_range_below(
        self,
        run: RunLike,
        judgments: JudgmentsLike,
        measures: Measures,
        limit: float,
        **choices: Unpack[PolicyChoices],
    ) -> None:
        """Assert that ties leave the mean of a run no wider a range, highest - lowest, than a limit.

        Args:
            run: as in assert_not_worse.
            judgments: as in assert_not_worse.
            measures: one or several.
            limit: widest range that passes, on the scale of the measures.
            choices: as in assert_not_worse.

        Raises:
            AssertionError: a range is wider, or the data are bad.
        """
        __tracebackhide__ = True
        from trueval.comparison.limits import MaxRange

        given = _Assertion(run, judgments, measures, choices)
        if failure := self._failure(given, lambda measure: MaxRange(measure, limit)):
            raise AssertionError(failure)

    def _failure(self, given: _Assertion, limit: Callable[[str], Limit], drop: _Drop | None = None) -> str:
        """Why an assertion fails, for people; empty where it holds."""
        from trueval.comparison.checks import CANNOT_TELL
        from trueval.comparison.gate.gate import check_choice, gate
        from trueval.errors import TruevalError, TruevalWarning

        try:
            if drop is not None:
                check_choice("when_unclear", drop.when_unclear, WHEN_UNCLEAR)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TruevalWarning)  # the same lines are notes, which name the test below
                measured = given.measure()
            scores, other, place = measured.scores, None, None
            if drop is not None:
                place = self._place(drop.baseline, list(scores))
                other = replace(scores, name=BASELINE) if self._settings.update else self._read(place)
            checks = gate(
                scores,
                [limit(measure) for measure in scores],
                baseline=other,
                when_unclear="fail" if drop is not None and drop.when_unclear == "fail" else "pass",
                when_same="pass",
                missing=given.choices.get("missing"),
                clusters=None if drop is None else drop.clusters,
            )
        except TruevalError as error:
            return str(error)
        failed = [check for check in checks if not check.passed]
        if place is not None and self._settings.update and not failed:
            _write_baseline(place, scores)
            self._properties += [(PROPERTY, f"{WRITTEN}: {self._display_path(place)}")]
            return ""
        self._properties += [(PROPERTY, _line(check)) for check in checks]
        if not failed:
            unclear = [check.line for check in checks if check.verdict == CANNOT_TELL]
            for line in (*scores.notes, *unclear):
                warnings.warn(line, TruevalWarning, stacklevel=3)
            return ""
        lines = [f"{check.line}{f' {UPDATE}' if check.name == 'comparable' else ''}" for check in failed]
        return "\n".join([*lines, self._write_page(measured, other, checks)])

    def _place(self, name: str | None, measures: Sequence[str]) -> Path:
        """The folder of a baseline, one for each set of measures.

        Raises:
            InputError: the test has used it before, so that nobody knows which run is in it.
        """
        from trueval.errors import InputError

        parts = self._test if name is None else tuple(name.split("/"))
        folder = self._settings.root / self._settings.baselines
        place = folder.joinpath(*map(_file_name, (*parts, " ".join(measures))))
        if place in self._used and (name is None or self._settings.update):
            raise InputError(
                f"assert_not_worse is called twice for {' '.join(measures)} with one baseline. Each run needs its own: "
                "name them, assert_not_worse(..., baseline=NAME)."
            )
        self._used.add(place)
        return place

    def _read(self, place: Path) -> Scores:
        """The scores of a baseline.

        Raises:
            InputError: it is not there, or damaged.
        """
        from trueval.errors import InputError
        from trueval.evaluation.stored_scores import RESULTS, read_stored

        if not (place / RESULTS).is_file():
            raise InputError(
                f"{self._display_path(place)}: no baseline is kept there. It must be what --trueval-update wrote, "
                f"and stay with the tests. {UPDATE}"
            )
        return replace(read_stored(str(place)), name=BASELINE)

    def _display_path(self, place: Path) -> str:
        root = self._settings.root
        return place.relative_to(root).as_posix() if place.is_relative_to(root) else str(place)

    def _write_page(self, measured: _ScoredRun, other: Scores | None, checks: Sequence[Check]) -> str:
        """Write results, comparison and page of a failed assertion, and say where they are."""
        from trueval.errors import MissingExtraError, TruevalError
        from trueval.report.generation import write_generation
        from trueval.report.kinds import directory_of
        from trueval.report.page import page

        place = self._settings.pages.joinpath(*map(_file_name, (*self._test, " ".join(measured.scores))))

        def derive(results: Mapping[str, bytes], stage: Path) -> list[str]:
            (stage / "report.html").write_text(page(directory_of(place, results)), encoding="utf-8")
            return ["report.html"]

        try:
            files = measured.files(other, checks)
            try:
                write_generation(place, files, derive)
            except MissingExtraError as error:
                write_generation(place, files)
                return f"Results: {self._display_path(place)} ({error})"
        except (TruevalError, OSError) as error:
            return f"No page: {error}"
        return f"Page: {self._display_path(place / 'report.html')}"


class _Assertion(NamedTuple):
    """What an assertion was given to measure."""

    run: RunLike
    judgments: JudgmentsLike
    measures: Measures
    choices: PolicyChoices

    def measure(self) -> _ScoredRun:
        """Read and evaluate the run, with the hashes by which a baseline is known to be comparable.

        Raises:
            TruevalError: the data are bad, or a measure or choice is unknown.
        """
        from trueval.evaluation.content_hashes import ContentHashes, full_content
        from trueval.evaluation.evaluate import evaluate
        from trueval.evaluation.pairing import read_pair

        run, judgments, _ = read_pair(self.run, self.judgments)
        scores = evaluate(run, judgments, self.measures, **self.choices)
        known = scores.content or ContentHashes({}, judgments)
        return _ScoredRun(
            run, judgments, replace(scores, content=full_content(known, run, scores.query_ids, scores.policy))
        )


class _Drop(NamedTuple):
    """How a run is held against a baseline, other than the limit: arguments of assert_not_worse."""

    baseline: str | None
    when_unclear: str
    clusters: Clusters | Mapping[str, str] | Source | None


class _ScoredRun(NamedTuple):
    """A run with its judgments and scores."""

    run: Run
    judgments: Judgments
    scores: Scores

    def files(self, other: Scores | None, checks: Sequence[Check]) -> dict[str, str]:
        """The files of the results, by name, with the comparison where there is a baseline of the same queries.

        Args:
            other: scores of the baseline; None where there is none.
            checks: findings about the run.
        """
        from trueval.comparison.compare import compare_scores
        from trueval.comparison.views.kind import COMPARE
        from trueval.evaluation.details_result import RunEvidence
        from trueval.evaluation.scores import results
        from trueval.evaluation.views.details import DETAILS, run_evidence, to_details
        from trueval.evaluation.views.kind import EVALUATE

        comparable = other is not None and not any(check.name == "comparable" for check in checks)
        failed = tuple(check.line.removeprefix(f"{check.run}: ") for check in checks if not check.passed)
        several = [self.scores, *([other] if other is not None and comparable else [])]
        noted = [replace(each, notes=(*failed, *each.notes)) for each in several]  # notes of all are said first
        found: dict[str, Any] = results(noted, content=True)
        found["runs"][0]["checks"] = [check.to_dict() for check in checks]
        files = {"results.json": EVALUATE.write(found, "json")}
        evidence = run_evidence(self.run, self.judgments, self.scores)
        details = [evidence, *(RunEvidence(each.name, (), ()) for each in several[1:])]
        files["details.json"] = DETAILS.write(to_details(details, several, []), "json")
        if len(several) > 1:
            compared = compare_scores(several, baseline=several[1].name)
            files["comparison.json"] = COMPARE.write(compared.to_dict(), "json")
        return files


def _write_baseline(place: Path, scores: Scores) -> None:
    """Keep scores with the values of every query, in one text file that a repository can hold."""
    from trueval.evaluation.scores import results
    from trueval.evaluation.stored_scores import RESULTS
    from trueval.evaluation.views.kind import EVALUATE
    from trueval.report.generation import write_generation

    write_generation(place, {RESULTS: EVALUATE.write(results([scores], per_query=True, content=True), "json")})


def _line(check: Check) -> str:
    """A check in one line, its verdict first."""
    from trueval.comparison.views.checks import describe_result

    return f"{check.verdict}: {check.run}: {check.option}: {describe_result(check)}"


def _file_name(text: str) -> str:
    """A name for a folder on every system; where a text cannot be one, with a digest that tells it from others.

    >>> _file_name("test_search[k=10]"), _file_name("..")
    ('test_search[k=10]', '_-5ec1f7e7')
    """
    name = re.sub(r"[^\w.@=+\[\],() -]", "_", text)[:80].strip(". ") or "_"
    return name if name == text else f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
