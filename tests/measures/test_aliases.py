"""Names of other tools: what they are read as, what is said of those that differ, and what trec_eval calls ours."""

import pytest

import trueval as tv
from trueval.errors import MeasureError, TruevalWarning
from trueval.measures import parse, parse_list, registry
from trueval.measures.aliases import trec_name

ALIASES = {
    # trec_eval and pytrec_eval
    "ndcg": "nDCG",
    "ndcg_cut_10": "nDCG@10",
    "ndcg_cut.10": "nDCG@10",
    "map": "AP",
    "map_cut_100": "AP@100",
    "recip_rank": "RR",
    "P_10": "P@10",
    "P.10": "P@10",
    "recall_100": "R@100",
    "recall.100": "R@100",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "success_1": "Success@1",
    "set_P": "P",
    "set_recall": "R",
    "set_F": "F1",
    "num_rel_ret": "Hits",
    "gm_map": "gm(AP)",
    "gm_bpref": "gm(bpref)",
    "iprec_at_recall_0.10": "IPrec(recall=0.1)",
    "iprec_at_recall.0.50": "IPrec(recall=0.5)",
    "11pt_avg": "IPrec11",
    # ranx
    "ndcg@10": "nDCG@10",
    "ndcg_burges@10": "nDCG(gain='exp')@10",
    "dcg@10": "DCG@10",
    "dcg_burges": "DCG(gain='exp')",
    "mrr": "RR",
    "mrr@10": "RR@10",
    "map@100": "AP@100",
    "map@100-l2": "AP(rel=2)@100",
    "recall@100": "R@100",
    "precision@10": "P@10",
    "hit_rate@10": "Success@10",
    "hits@10": "Hits@10",
    "r-precision": "Rprec",
    "f1@10": "F1@10",
    # ir_measures
    "NDCG@10": "nDCG@10",
    "nDCG(dcg='exp-log2')@10": "nDCG(gain='exp')@10",
    "nDCG(gains={1:3,2:9})@10": "nDCG(gain={1:3.0,2:9.0})@10",
    "nDCG(dcg='log2',gains={1:3})@10": "nDCG(gain={1:3.0})@10",
    "nDCG(gains={1:3},dcg='log2')@10": "nDCG(gain={1:3.0})@10",
    "MAP(rel=2)": "AP(rel=2)",
    "MRR@10": "RR@10",
    "AP(judged_only=False)": "AP",
    "Precision@5": "P@5",
    "Recall@100": "R@100",
    "RPrec": "Rprec",
    "BPref": "bpref",
    "SetP": "P",
    "SetR(rel=2)": "R(rel=2)",
    "SetF": "F1",
    "IPrec@0.1": "IPrec(recall=0.1)",
    "IPrec(rel=2)@0.1": "IPrec(recall=0.1, rel=2)",
    "α_nDCG@10": "alpha_nDCG@10",
    # mteb
    "ndcg_at_10": "nDCG@10",
    "mrr_at_10": "RR@10",
    # ours in another case
    "ra_nwg@10": "RA-nWG@10",
    "N-RECALL4+@10": "N-Recall4+@10",
    "gm(map)": "gm(AP)",
}


@pytest.mark.parametrize(("alias", "ours"), ALIASES.items())
def test_names_of_other_tools_are_read_and_printed_in_ours(alias: str, ours: str) -> None:
    assert str(parse(alias)) == ours


def test_every_measure_of_ours_is_read_in_lower_and_upper_case() -> None:
    for name, measure in registry().items():
        folded = name.lower().replace("-", "_")
        # RBP and Hit mean other things elsewhere; a lower-case rbp without its number is refused.
        if folded != "rbp":
            assert parse(name.lower()).name == measure.name
            assert parse(name.upper()).name == measure.name


def test_a_list_of_numbers_repeats_the_name_before_it() -> None:
    assert [str(one) for one in parse_list("P.5,10 ndcg_cut.5,10 AP")] == ["P@5", "P@10", "nDCG@5", "nDCG@10", "AP"]
    with pytest.raises(MeasureError, match="Unknown measure '10'"):
        parse_list("AP 10")


def test_rbp_of_ranx_says_what_it_does_with_grades() -> None:
    with pytest.warns(TruevalWarning, match=r"rbp\.95 is read as RBP\(p=0\.95\).*ranx multiplies by the grade"):
        assert str(parse("rbp.95")) == "RBP(p=0.95)"
    with pytest.raises(MeasureError, match="may mean two things"):
        parse("rbp@95")  # p = .95 in ranx, a cutoff in ir_measures and here
    assert str(parse("RBP@95")) == "RBP@95"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("infAP", "no measure infAP: it estimates AP.*AP and bpref"),
        ("num_q", "it is a count"),
        ("accuracy@10", "Success@k"),
        ("hit@10", "AllGold@k"),
        ("set_map", "P times R"),
        ("Compat", "no measure Compat"),
        ("ndcg_cut", "needs a number, for example ndcg_cut_10"),
        ("rbp", r"for example rbp\.95"),
        ("ndcg@10-l2", "has no threshold.*--grades"),
        ("AP(judged_only=True)", "--judged-only"),
        ("nDCG(dcg='exp-log2',gains={1:3})@10", "gains and dcg of nDCG both choose the gain"),
        ("nDCG(gains={1:3},dcg='exp-log2')@10", "gains and dcg of nDCG both choose the gain"),
        ("nDCG(gain='linear', gains={1:3})@10", "gain and gains of nDCG both choose the gain"),
        ("ndgc_cut_10", "Did you mean ndcg_cut, our nDCG"),
        ("recip_rnk", "Did you mean recip_rank, our RR"),
        ("gm_mapp", r"Did you mean gm_map, our gm\(AP\)"),
        ("map_10.5", "must be an integer"),
    ],
)
def test_what_we_lack_or_cannot_read_says_so(name: str, words: str) -> None:
    with pytest.raises(MeasureError, match=words):
        parse(name)


def test_several_bad_names_are_reported_at_once() -> None:
    with pytest.raises(MeasureError) as caught:
        parse_list("ndgc@10, AP mapp infAP nDCG@x")
    lines = str(caught.value).splitlines()
    assert lines[0] == "4 measures cannot be read."
    assert "Did you mean nDCG?" in lines[1]
    assert "Did you mean map, our AP?" in lines[2]
    assert "infAP" in lines[3]
    assert "'x'" in lines[4]
    assert str(caught.value).count("lists them all") == 1


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("nDCG", "ndcg"),
        ("nDCG@10", "ndcg_cut_10"),
        ("AP", "map"),
        ("AP@100", "map_cut_100"),
        ("RR", "recip_rank"),
        ("P@10", "P_10"),
        ("P", "set_P"),
        ("R@100", "recall_100"),
        ("Success@1", "success_1"),
        ("gm(bpref)", "gm_bpref"),
        ("IPrec(recall=0.1)", "iprec_at_recall_0.10"),
        ("IPrec11", "11pt_avg"),
        # where trec_eval has none
        ("RR@10", "RR@10"),
        ("Success", "Success"),
        ("nDCG(gain='exp')@10", "nDCG(gain='exp')@10"),
        ("AP(rel=2)", "AP(rel=2)"),
        ("IPrec(recall=0.125)", "IPrec(recall=0.125)"),
        ("RA-nWG@10", "RA-nWG@10"),
        ("gm(RR)", "gm(RR)"),
    ],
)
def test_trec_evals_own_names(ours: str, theirs: str) -> None:
    assert trec_name(parse(ours)) == theirs
    assert parse(theirs) == parse(ours)


def test_measures_of_ir_measures_are_measures() -> None:
    """One alone, several beside texts, and as the key of a result; IPrec has its recall where others have a cutoff."""
    theirs = pytest.importorskip("ir_measures")
    one, iprec = theirs.nDCG(dcg="exp-log2") @ 10, theirs.IPrec @ 0.1
    assert parse(one) == parse("nDCG(gain='exp')@10")
    assert parse_list(theirs.RR) == (parse("RR"),)
    assert [str(each) for each in parse_list([one, "AP P@5", iprec])] == [
        *("nDCG(gain='exp')@10", "AP", "P@5", "IPrec(recall=0.1)"),
    ]
    run, judgments = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 1}}
    scores = tv.evaluate(run, judgments, [theirs.RR, one])
    assert scores[theirs.RR].expected == scores["RR"].expected == 0.5
    assert (theirs.RR in scores, theirs.AP in scores) == (True, False)
    assert tv.evaluate(run, judgments, theirs.RR)["RR"].expected == 0.5
    assert tv.evaluate_arrays([[2.0, 1.0]], [[0, 1]], theirs.RR)["RR"].expected == 0.5
    assert str(tv.explain(run, judgments, theirs.RR).measure) == "RR"
    with pytest.warns(TruevalWarning, match="weighs grades; RBP here counts a document as relevant from rel on"):
        assert parse(theirs.RBP(p=0.9)) == parse("RBP(p=0.9)")
    assert parse(theirs.RBP(p=0.9, rel=1)) == parse("RBP(p=0.9, rel=1)")
    with pytest.raises(MeasureError, match="no measure infAP"):
        tv.evaluate(run, judgments, [theirs.infAP])


@pytest.mark.parametrize("given", [5, None, [5], [None], [{"q": {"a": 1.0}}], [object()]])
def test_what_is_no_measure_is_refused_as_such(given: object) -> None:
    with pytest.raises(MeasureError, match="A measure is a text such as 'nDCG@10'"):
        parse_list(given)
