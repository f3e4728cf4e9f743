"""ir_measures with our values: its own where no order of ties matters or is named, and the range that it hides."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed: make integrations")
from tests.integrations.pairs import FOLDERS, PLANTED, read

from trueval.errors import InputError, MeasureError, MissingExtraError, PolicyError
from trueval.integrations import hosts
from trueval.integrations.ir_measures import NAME, Provider, install, measures

TREC = [
    *("P@5", "P(rel=2)@20", "RR", "RR(rel=2)", "Rprec", "AP", "AP(rel=2)@10", "nDCG", "nDCG@10", "R@100", "R(rel=2)@5"),
    *("Bpref", "SetP", "SetR", "SetF", "Success@1", "IPrec@0.5", "NumRet(rel=1)", "P(judged_only=True)@5"),
    *("nDCG(gains={1:3,2:7})@5", "AP(judged_only=True)"),
]


def parsed(*names: str) -> list[ir_measures.Measure]:
    return [ir_measures.parse_measure(name) for name in names]


def values(evaluator: ir_measures.Evaluator, run: object) -> dict[tuple[str, str], float]:
    return {(str(each.measure), each.query_id): each.value for each in evaluator.iter_calc(run)}


# What runs and judgments lack is a warning of ours, and no other value.
real = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")


@real
@pytest.mark.parametrize("name", FOLDERS)
def test_every_value_of_trec_eval_is_ours_under_its_order(name: str) -> None:
    asked = parsed(*TREC)
    ours = Provider("tie-broken", tie_precision="float32")
    assert all(ours.supports(each) for each in asked)
    for run, qrels in read(name):
        theirs = values(ir_measures.pytrec_eval.evaluator(asked, qrels), run)
        found = values(ours.evaluator(asked, qrels), run)
        assert found.keys() == theirs.keys()
        for key, value in theirs.items():
            assert found[key] == pytest.approx(value, abs=1e-9), key


@real
@pytest.mark.parametrize("name", FOLDERS)
def test_reciprocal_rank_with_a_cutoff_and_the_judged_share_are_theirs_by_ascending_ids(name: str) -> None:
    """Other providers break ties the other way round, which is why one call can print two numbers for one list.

    A grade below 0 is a judgment to their judged share, and none to ours.
    """
    providers = {"RR@10": ir_measures.msmarco, "Judged@10": ir_measures.judged}
    for run, graded in read(name):
        qrels = {q: {d: g for d, g in row.items() if g >= 0} for q, row in graded.items()}
        for text, provider in providers.items():
            asked = parsed(text)
            theirs = values(provider.evaluator(asked, qrels), run)
            found = values(Provider("tie-broken", tie_order="docid-asc").evaluator(asked, qrels), run)
            assert found == pytest.approx(theirs, abs=1e-12)


def test_the_range_that_one_call_of_ir_measures_hides() -> None:
    run, qrels = PLANTED
    asked = parsed("RR", "RR@10", "AP")
    one, another, ap = asked
    theirs = ir_measures.calc_aggregate(asked, qrels, run)
    # One list, two orders of its ties: pytrec_eval takes the larger id first, and msmarco the smaller.
    assert (theirs[one], theirs[another]) == (Fraction(1, 2), Fraction(1, 1))
    with install():
        spread = parsed("AP_lowest", "AP_highest", "AP_range", "RR_range")
        ours = ir_measures.calc_aggregate([*asked, *spread], qrels, run)
    assert ours[one] == ours[another] == Fraction(3, 4)
    found = [ours[ap], *(ours[each] for each in spread)]
    low, high = (Fraction(1, 2) + Fraction(2, 3)) / 2, (1 + Fraction(2, 3)) / 2
    assert found == pytest.approx([float(x) for x in ((low + high) / 2, low, high, high - low, Fraction(1, 2))])


@pytest.mark.parametrize(
    ("ties", "value"), [("expected", 0.75), ("lowest", 0.5), ("highest", 1.0), ("tie-broken", 0.5)]
)
def test_install_gives_the_statistic_that_is_asked_for(ties: str, value: float) -> None:
    run, qrels = PLANTED
    (rr,) = parsed("RR")
    with install(ties):
        assert ir_measures.calc_aggregate([rr], qrels, run)[rr] == value


def test_leaving_the_context_undoes_everything() -> None:
    run, qrels = PLANTED
    (rr,) = parsed("RR")
    state = [list(ir_measures.DefaultPipeline.providers)]
    state += [dict(each.registry) for each in (ir_measures.measures, ir_measures.providers)]
    with install(), install("lowest"):
        assert NAME in ir_measures.providers.registry
        assert ir_measures.calc_aggregate([rr], qrels, run)[rr] == 0.5
    after = [list(ir_measures.DefaultPipeline.providers)]
    after += [dict(each.registry) for each in (ir_measures.measures, ir_measures.providers)]
    assert after == state
    assert ir_measures.calc_aggregate([rr], qrels, run)[rr] == 0.5
    with pytest.raises(NameError):
        parsed("RR_range")


def test_what_trueval_lacks_is_left_to_the_other_providers() -> None:
    run, qrels = PLANTED
    asked = parsed("infAP", "Accuracy", "NumQ", "NumRet", "SetF(beta=2.0)", "SetRelP", "RR")
    theirs = ir_measures.calc_aggregate(asked, qrels, run)
    with install():
        found = ir_measures.calc_aggregate(asked, qrels, run)
    changed = {str(each) for each in asked if found[each] != theirs[each]}
    assert changed == {"RR"}


def test_our_own_measures_have_names_that_python_can_parse() -> None:
    """RA-nWG@1 of a tie of grades 5 and 1 is 1 or 0; a query without gain has none, and the mean leaves it out."""
    run, qrels = {"q": {"a": 1.0, "b": 1.0}, "empty": {"a": 1.0}}, {"q": {"a": 5, "b": 1}, "empty": {"a": 1}}
    with install():
        names = ("RA_nWG@1", "RA_nWG_range@1", "Harm_lowest@1", "N_Recall4plus@1", "DCG@1")
        asked = parsed(*names)
        found = ir_measures.calc_aggregate(asked, qrels, run)
        per_query = list(ir_measures.iter_calc(asked, qrels, run))
    # Harm is better if lower, and the query without gain is one of its own.
    assert [found[each] for each in asked] == [0.5, 1.0, 0.5, 0.5, (3.0 + 1.0) / 2]
    assert math.isnan(next(m.value for m in per_query if (m.query_id, str(m.measure)) == ("empty", "RA_nWG@1")))
    assert all(name.isidentifier() for name in measures())


def test_measures_are_importable_by_name() -> None:
    from trueval.integrations.ir_measures import RA_nWG, RR_range

    assert (str(RA_nWG @ 10), str(RR_range(rel=2))) == ("RA_nWG@10", "RR_range(rel=2)")
    with pytest.raises(ImportError, match="cannot import name 'RR_rage'"):
        from trueval.integrations.ir_measures import RR_rage  # noqa: F401


@pytest.mark.filterwarnings("ignore")
def test_novelty_takes_the_iterations_of_the_judgments_as_facets() -> None:
    pytest.importorskip("pyndeval", reason="pyndeval is not installed")
    qrels = [
        ir_measures.Qrel("q", *row)
        for row in [("a", 1, "1"), ("b", 1, "1"), ("b", 1, "2"), ("c", 1, "3"), ("d", 0, "1")]
    ]
    run = {"q": {"a": 4.0, "d": 3.0, "b": 2.0, "c": 1.0}}
    for text in ("alpha_nDCG@3", "alpha_nDCG(alpha=0.2)@4", "NRBP"):  # theirs uses up the run at the first parameters
        (asked,) = parsed(text)
        theirs = ir_measures.calc_aggregate([asked], iter(qrels), run)
        assert Provider().calc_aggregate([asked], iter(qrels), run)[asked] == pytest.approx(theirs[asked], abs=1e-6)


def test_frames_named_tuples_and_dicts_give_one_value() -> None:
    import pandas as pd

    run, qrels = PLANTED
    scored = [ir_measures.ScoredDoc(q, d, s) for q, row in run.items() for d, s in row.items()]
    graded = [ir_measures.Qrel(q, d, g) for q, row in qrels.items() for d, g in row.items()]
    asked = parsed("RR", "nDCG@2")
    expected = Provider().calc_aggregate(asked, qrels, run)
    for one, other in ((iter(graded), iter(scored)), (pd.DataFrame(graded), pd.DataFrame(scored))):
        assert Provider().calc_aggregate(asked, one, other) == expected


def test_a_query_without_a_list_gets_the_worst_value_and_nothing_at_all_the_default() -> None:
    qrels = {"q": {"a": 1}, "absent": {"a": 1}}
    (rr,) = parsed("RR")
    with pytest.warns(UserWarning, match="absent"):
        assert Provider().calc_aggregate([rr], qrels, {"q": {"a": 1.0}})[rr] == 0.5
    assert Provider().calc_aggregate([rr], qrels, {})[rr] == 0.0
    assert list(Provider().iter_calc([rr], {}, {"q": {"a": 1.0}})) == []
    with install():
        harm = ir_measures.parse_measure("Harm@1")
        assert ir_measures.calc_aggregate([harm], qrels, {})[harm] == 1.0


def test_bad_input_is_one_sentence() -> None:
    run, qrels = PLANTED
    with pytest.raises(
        PolicyError, match=r"^ties must be one of expected, lowest, highest, tie-broken\. Got 'mean'\.$"
    ):
        install("mean")
    with pytest.raises(PolicyError, match="Tie order must be one of"):
        install(tie_order="docid")
    with pytest.raises(MeasureError, match="trueval has no infAP of ir_measures"):
        Provider().calc_aggregate(parsed("infAP"), qrels, run)
    with pytest.raises(InputError, match="no query of the run is judged"):
        Provider().calc_aggregate(parsed("RR"), qrels, {"other": {"a": 1.0}})
    with pytest.raises(InputError, match="'a' is in query 'q' twice"):
        Provider().calc_aggregate(parsed("RR"), qrels, [ir_measures.ScoredDoc("q", "a", 1.0)] * 2)


def test_an_old_release_is_named_with_what_it_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "version", lambda name: "0.1")
    with pytest.raises(MissingExtraError) as error:
        hosts.need_host("ir_measures", "0.3.3")
    assert str(error.value) == (
        'Values inside ir_measures, of which 0.1 is installed, need the package "ir_measures>=0.3.3". Install it with: '
        'pip install "ir_measures>=0.3.3"'
    )


def run_command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "qrels.trec").write_text("q 0 a 1\n")
    (folder / "run.trec").write_text("q Q0 a 1 1.0 x\nq Q0 b 2 1.0 x\n")
    line = [sys.executable, "-m", "trueval.integrations.ir_measures", "qrels.trec", "run.trec", *arguments]
    return subprocess.run(line, cwd=folder, env=dict(os.environ), capture_output=True, text=True)


def test_the_command_line_is_theirs_with_our_values(tmp_path: Path) -> None:
    done = run_command(tmp_path, "RR RR_range RR@1", "-p", "2")
    assert (done.stdout, done.stderr) == ("RR\t0.75\nRR_range\t0.50\nRR@1\t0.50\n", "")
    assert run_command(tmp_path, "RR", "--ties", "highest").stdout == "RR\t1.0000\n"
    assert "--ties" in run_command(tmp_path, "RR", "--ties", "mean").stderr


def test_the_command_line_says_what_is_wrong_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    done = run_command(tmp_path, "RR", "--provider", "trueval", "--ties", "lowest")
    assert done.stdout == "RR\t0.5000\n"
    done = run_command(tmp_path, "infAP", "--provider", "trueval")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("trueval has no infAP")
