"""The fixture `trueval` of pytest: limits, kept baselines, three answers, and what pytest shows of them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from _pytest.pytester import SysModulesSnapshot

import trueval.integrations.pytest_plugin as plugin
from trueval.errors import TruevalWarning
from trueval.integrations.pytest_plugin import PROPERTY, RunAssertions, Settings

pytest_plugins = ["pytester"]
Lists = Mapping[str, Mapping[str, float]]
QUERIES = 40
JUDGED = {f"q{query}": {"a": 1} for query in range(QUERIES)}
ROOT = Path(__file__).resolve().parents[2]


def ranked(*ranks: int) -> Lists:
    """A run that puts the relevant document of query i on rank ranks[i]; RR is the mean of their reciprocals."""
    others = ["b", "c", "d"]
    orders = [[*others[: rank - 1], "a", *others[rank - 1 :]] for rank in ranks]
    return {f"q{at}": {name: 9.0 - place for place, name in enumerate(order)} for at, order in enumerate(orders)}


OLD, WORSE = ranked(*[1] * QUERIES), ranked(*[2] * QUERIES)
NOISY = ranked(*(2 if query % 4 == 0 else 1 for query in range(QUERIES)))  # RR is .125 less, with a wide interval
Make = Callable[..., RunAssertions]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes what the fixture of a test is, in a session of its own."""

    def of(
        *, update: bool = False, when_unclear: str = "warn", test: str = "test_search", page: bool = False
    ) -> RunAssertions:
        settings = Settings(tmp_path, "kept", tmp_path / "pages", update, when_unclear)
        made = RunAssertions(settings, ("tests", "test_file", test), [])
        if not page:  # which takes a second
            made._write_page = lambda *_: ""  # type: ignore[method-assign]
        return made

    return of


def lines(assertions: RunAssertions) -> list[object]:
    return [value for name, value in assertions._properties if name == PROPERTY]


@pytest.fixture
def kept(make: Make) -> Make:
    """The same, where the baseline of RR is OLD."""
    make(update=True).assert_not_worse(OLD, JUDGED, "RR", by=0.1)
    return make


def test_a_baseline_is_one_text_file_in_a_folder_named_after_test_and_measures(kept: Make, tmp_path: Path) -> None:
    place = tmp_path / "kept" / "tests" / "test_file" / "test_search" / "RR"
    assert [path.name for path in place.iterdir() if not path.name.startswith(".")] == ["results.json"]
    before = (place / "results.json").read_bytes()
    assert len(json.loads(before)["runs"][0]["per_query"]) == QUERIES
    kept(update=True).assert_not_worse(OLD, JUDGED, "RR", by=0.1)
    assert (place / "results.json").read_bytes() == before  # a repository sees no change


def test_a_run_that_lost_more_than_the_limit_fails_and_leaves_a_page(kept: Make, tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="the extra report is not installed")
    made = kept(page=True)
    with pytest.raises(AssertionError, match=r"RR lost 0\.5 against the kept baseline; .* is beyond") as failure:
        made.assert_not_worse(WORSE, JUDGED, "RR", by=0.4)
    assert failure.value.__context__ is None
    page = tmp_path / str(failure.value).rpartition("Page: ")[2]
    text = page.read_text(encoding="utf-8")
    assert "the kept baseline" in text
    assert "RR lost 0.5 against the kept baseline" in text
    runs = json.loads((page.parent / "results.json").read_text(encoding="utf-8"))["runs"]
    # What all runs note stands first on a page: here why the test failed.
    assert [run["notes"][0].partition(";")[0] for run in runs] == ["RR lost 0.5 against the kept baseline"] * 2
    assert sorted(path.name for path in page.parent.glob("*.json")) == [
        "comparison.json",
        "details.json",
        "report.json",
        "results.json",
    ]
    assert lines(made) == ["worse: run: --max-drop RR=0.4: -0.5000 [-0.5000, -0.5000]"]


def test_a_loss_within_the_limit_and_a_gain_pass(kept: Make) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept().assert_not_worse(WORSE, JUDGED, "RR", by=0.5)
        kept(update=True, test="other").assert_not_worse(WORSE, JUDGED, "RR", by=0)
        kept(test="other").assert_not_worse(OLD, JUDGED, "RR", by=0)


def test_the_unchanged_run_passes_in_silence_however_much_is_tied(make: Make) -> None:
    tied = {query: dict.fromkeys(documents, 1.0) for query, documents in OLD.items()}
    make(update=True).assert_not_worse(tied, JUDGED, "RR nDCG@3", by=0)
    made = make(when_unclear="fail")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.assert_not_worse(tied, JUDGED, "RR nDCG@3", by=0)
    assert [str(line).partition(": ")[0] for line in lines(made)] == ["not worse", "not worse"]


def test_queries_that_cannot_tell_warn_or_fail_as_told(kept: Make) -> None:
    with pytest.warns(TruevalWarning, match="40 queries cannot tell") as found:
        kept().assert_not_worse(NOISY, JUDGED, "RR", by=0.1)
    assert found[0].filename == __file__
    for made, told in ((kept(when_unclear="fail"), None), (kept(), "fail")):
        with pytest.raises(AssertionError, match=r"does not decide --max-drop RR=0\.1"):
            made.assert_not_worse(NOISY, JUDGED, "RR", by=0.1, when_unclear=told)
    with pytest.raises(AssertionError, match=r"when_unclear must be one of warn, fail\. Got 'skip'\."):
        kept().assert_not_worse(NOISY, JUDGED, "RR", by=0.1, when_unclear="skip")


@pytest.mark.parametrize(
    ("judged", "choices", "said"),
    [
        (JUDGED | {"q3": {"b": 1}}, {}, "on different judgments"),
        (JUDGED | {"q40": {"a": 1}}, {"missing": "worst"}, r"on different judgments and queries \(1 are evaluated"),
        (JUDGED, {"rel": 0.5}, r"on different policies \(rel 0\.5 and 1"),
    ],
)
def test_a_baseline_that_was_measured_otherwise_is_refused(
    kept: Make, judged: Mapping[str, Mapping[str, int]], choices: dict[str, object], said: str
) -> None:
    with pytest.raises(AssertionError, match=said) as failure:
        kept().assert_not_worse(OLD, judged, "RR", by=1, **choices)  # type: ignore[arg-type]
    assert "Measure it anew with `pytest --trueval-update`, on the code to compare with." in str(failure.value)


def test_a_baseline_that_is_not_there_or_was_changed_is_refused(kept: Make, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"kept/tests/test_file/test_search/AP: no baseline is kept there"):
        kept().assert_not_worse(OLD, JUDGED, "AP", by=1)
    place = tmp_path / "kept" / "tests" / "test_file" / "test_search" / "RR" / "results.json"
    place.write_text(place.read_text(encoding="utf-8").replace("1.0", "0.5"), encoding="utf-8")
    with pytest.raises(AssertionError, match="was changed after it was written"):
        kept().assert_not_worse(OLD, JUDGED, "RR", by=1)
    shutil.rmtree(tmp_path / "kept")
    with pytest.raises(AssertionError, match="pytest --trueval-update"):
        kept().assert_not_worse(OLD, JUDGED, "RR", by=1)


def test_a_run_that_no_gate_would_pass_is_kept_as_no_baseline(make: Make, tmp_path: Path) -> None:
    strange = {query: {"x": 1.0} for query in OLD}
    with pytest.raises(AssertionError, match="no retrieved document is judged"):
        make(update=True).assert_not_worse(strange, JUDGED, "RR", by=1)
    few = {query: OLD[query] for query in list(OLD)[:30]}
    with pytest.raises(AssertionError, match="30 of 40 judged queries are in the run"):
        make(update=True).assert_not_worse(few, JUDGED, "RR", by=1)
    assert not (tmp_path / "kept").exists()


def test_two_runs_of_one_test_name_their_baselines(make: Make) -> None:
    both = make(update=True)
    both.assert_not_worse(OLD, JUDGED, "RR", by=0)
    with pytest.raises(AssertionError, match="called twice for RR with one baseline"):
        both.assert_not_worse(WORSE, JUDGED, "RR", by=0)
    both.assert_not_worse(WORSE, JUDGED, "RR", by=0, baseline="worse/of two")
    both.assert_not_worse(OLD, JUDGED, "AP", by=0)
    shared = make(test="another")
    shared.assert_not_worse(WORSE, JUDGED, "RR", by=0, baseline="worse/of two")
    shared.assert_not_worse(OLD, JUDGED, "RR", by=0, baseline="worse/of two")


@pytest.mark.parametrize("name", ["..", "../up", "a:b", "x" * 300, "nul\0", "é'"])
def test_a_baseline_stays_in_its_folder_whatever_its_name(make: Make, tmp_path: Path, name: str) -> None:
    make(update=True).assert_not_worse(OLD, JUDGED, "nDCG(gain='exp')@10", by=0, baseline=name)
    (file,) = tmp_path.rglob("results.json")
    assert file.resolve().is_relative_to(tmp_path / "kept")
    make().assert_not_worse(OLD, JUDGED, "nDCG(gain='exp')@10", by=0, baseline=name)


def test_a_loss_of_what_should_be_low_is_a_rise(make: Make) -> None:
    """Of Harm, the share of distractors, less is better."""
    judged = {query: {"a": 5, "b": 1} for query in JUDGED}
    make(update=True).assert_not_worse(OLD, judged, "Harm@1", by=0)
    with pytest.raises(AssertionError, match=r"Harm@1 lost 1 against the kept baseline"):
        make().assert_not_worse(WORSE, judged, "Harm@1", by=0.5)


def test_least_values_and_ranges(make: Make) -> None:
    made = make()
    made.assert_at_least(WORSE, JUDGED, "RR", 0.5)
    made.assert_range_below(WORSE, JUDGED, ["RR", "AP"], 0)
    with pytest.raises(AssertionError, match=r"RR is 0\.5, below --min RR=0\.51"):
        made.assert_at_least(WORSE, JUDGED, "RR", 0.51)
    tied = {query: dict.fromkeys(documents, 1.0) for query, documents in OLD.items()}
    with pytest.raises(AssertionError, match=r"the range of RR is 0\.75, above --max-range RR=0\.7"):
        made.assert_range_below(tied, JUDGED, "RR", 0.7)
    assert [str(line).partition(": ")[0] for line in lines(made)] == ["passed"] * 3 + ["failed"] * 2


@pytest.mark.parametrize(
    ("run", "measures", "by", "said"),
    [
        ({"q0": {"a": "high"}}, "RR", 0.1, "score"),
        (OLD, "nDGC@10", 0.1, "nDCG"),
        (OLD, "RR", -1, "must be a number >= 0"),
        ("no such file.trec", "RR", 0.1, "no such file"),
        (JUDGED, "gm(RR)", 0.1, "geometric mean"),
    ],
)
def test_bad_data_are_one_sentence_and_no_number(make: Make, run: object, measures: str, by: float, said: str) -> None:
    made = make(update=True)
    with pytest.raises(AssertionError, match=re.compile(said, re.IGNORECASE)) as failure:
        made.assert_not_worse(run, JUDGED, measures, by=by)  # type: ignore[arg-type]
    assert failure.value.__context__ is None
    assert not lines(made)


def test_without_the_extra_of_pages_results_are_left(
    kept: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(AssertionError, match=r"Results: pages.* need the extra \"report\"") as failure:
        kept(page=True).assert_not_worse(WORSE, JUDGED, "RR", by=0)
    assert "lost 0.5" in str(failure.value)
    assert len(list((tmp_path / "pages").rglob("results.json"))) == 1


SUITE = """
JUDGED = {f"q{query}": {"a": 1} for query in range(40)}
RUN = {query: {"a": SCORE, "b": 1.0} for query in JUDGED}

def test_drop(trueval):
    trueval.assert_not_worse(RUN, JUDGED, "RR", by=0.1)

def test_least(trueval):
    trueval.assert_at_least(RUN, JUDGED, "RR", 0.1)

def test_plain():
    pass
"""


def session(pytester: pytest.Pytester, score: float, *options: str) -> pytest.RunResult:
    """Run SUITE with the plugin alone, whether or not it is installed here."""
    pytester.makepyfile(test_search=SUITE.replace("SCORE", str(score)))
    return pytester.runpytest_inprocess("-p", plugin.__name__, *options)


@pytest.fixture
def alone(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder of tests, in sessions that load the plugin and no other package's.

    pytester makes Python forget what a session imported, and half of polars would be imported twice.
    """
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(SysModulesSnapshot, "restore", lambda _: sys.modules.pop("test_search", None))
    return pytester


def test_pytest_updates_compares_and_sums_up(alone: pytest.Pytester) -> None:
    first = session(alone, 2.0)
    first.assert_outcomes(failed=1, passed=2)
    first.stdout.fnmatch_lines(["E * trueval-baselines/test_search/test_drop/RR: no baseline is kept there.*"])
    session(alone, 2.0, "--trueval-update").stdout.fnmatch_lines(["* trueval: 1 baseline written, 1 passed *"])
    session(alone, 2.0).assert_outcomes(passed=3)
    worse = session(alone, 0.5, "--junitxml=junit.xml", "--trueval-pages=pages")
    worse.assert_outcomes(failed=1, passed=2)
    worse.stdout.fnmatch_lines(
        [
            ">*trueval.assert_not_worse(RUN, JUDGED, *",
            "E * RR lost 0.5 against the kept baseline; *",
            "E * Page: pages/test_search/test_drop/RR/report.html",
            "* trueval: 1 worse, 1 passed *",
            "test_search.py::test_drop: worse: run: --max-drop RR=0.1: -0.5000 *",
            "test_search.py::test_least: passed: run: --min RR=0.1: 0.5000",
        ]
    )
    assert "pytest_plugin.py" not in str(worse.stdout)  # a failure ends at the line of the test
    (found,) = ET.parse(alone.path / "junit.xml").iterfind(".//testcase[@name='test_drop']/properties/property")
    assert (found.get("name"), found.get("value")) == (
        PROPERTY,
        "worse: run: --max-drop RR=0.1: -0.5000 [-0.5000, -0.5000]",
    )


def test_settings_of_pytest_are_read_and_checked(alone: pytest.Pytester) -> None:
    alone.makeini("[pytest]\ntrueval_when_unclear = perhaps\n")
    wrong = session(alone, 2.0)
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
    wrong.stderr.fnmatch_lines(["*trueval_when_unclear must be one of warn, fail. Got 'perhaps'.*"])
    alone.makeini("[pytest]\ntrueval_baselines = kept/here\n")
    session(alone, 2.0, "--trueval-update").assert_outcomes(passed=3)
    assert (alone.path / "kept" / "here" / "test_search" / "test_drop" / "RR" / "results.json").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("options", [("-n2",), ("-n2", "--dist=loadgroup")], ids=" ".join)
def test_workers_of_xdist_say_the_same(alone: pytest.Pytester, options: tuple[str, ...]) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    session(alone, 2.0, "--trueval-update").assert_outcomes(passed=3)
    grouped = SUITE.replace("def test_drop", "import pytest\n@pytest.mark.xdist_group('one')\ndef test_drop")
    alone.makepyfile(test_search=grouped.replace("SCORE", "0.5"))
    done = alone.runpytest_subprocess("-p", plugin.__name__, "-p", "xdist.plugin", *options)
    done.assert_outcomes(failed=1, passed=2)
    done.stdout.fnmatch_lines(["* trueval: * *", "*test_drop*: worse: run: --max-drop RR=0.1: -0.5000 *"])


def test_pytest_loads_the_plugin_in_less_than_20_ms_and_nothing_else_of_ours() -> None:
    code = (
        "import time, sys, pytest; begin = time.process_time(); "
        f"import {plugin.__name__}; print(time.process_time() - begin); "
        "print(*sorted(name for name in sys.modules if name.startswith('trueval')))"
    )
    taken = []
    for _ in range(3):  # a busy machine slows some of them
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        seconds, modules = done.stdout.splitlines()
        taken.append(float(seconds))
        assert modules.split() == ["trueval", "trueval.integrations", plugin.__name__, "trueval.version"]
        if taken[-1] < 0.02:
            break
    assert min(taken) < 0.02, taken


def test_pytest_finds_the_plugin() -> None:
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert entries["pytest11"] == {"trueval": plugin.__name__}


TRIALS = 1_000


@pytest.mark.evidence
def test_swapped_runs_raise_a_false_alarm_in_5_percent_at_most_and_an_unchanged_run_never(
    make: Make,
) -> None:
    """Two systems whose lists are swapped at random, query by query, so that neither is better; some lists tie."""
    rng, alarms, unclear = np.random.default_rng(35), 0, 0
    for trial in range(TRIALS):
        ranks = rng.integers(1, 5, size=(2, QUERIES))
        tied = rng.random((2, QUERIES)) < 0.2
        one, other = (
            {
                q: dict.fromkeys(row, 1.0) if ties else row
                for (q, row), ties in zip(ranked(*of).items(), held, strict=True)
            }
            for of, held in zip(ranks.tolist(), tied.tolist(), strict=True)
        )
        make(update=True, test=f"trial {trial}").assert_not_worse(one, JUDGED, "RR nDCG@3", by=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", TruevalWarning)  # the unchanged run is not even unclear
            make(when_unclear="fail", test=f"trial {trial}").assert_not_worse(one, JUDGED, "RR nDCG@3", by=0)
        swapped = make(test=f"trial {trial}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruevalWarning)
            with suppress(AssertionError):
                swapped.assert_not_worse(other, JUDGED, "RR nDCG@3", by=0)
        verdicts = [str(line).partition(": ")[0] for line in lines(swapped)]
        assert len(verdicts) == 2  # whatever failed was held against its baseline
        alarms += "worse" in verdicts
        unclear += verdicts.count("cannot tell")
    print(f"{alarms} of {TRIALS} swaps with a false alarm, {unclear} of {2 * TRIALS} checks cannot tell")
    assert alarms <= 0.05 * TRIALS
    assert unclear > TRIALS  # a plugin that says nothing would not be noticed
