"""Stage quality: which measure stages are compared by."""

import json
from pathlib import Path

from trueval.judgments import Judgments
from trueval.retrieval.pipeline.stage_quality import quality_of
from trueval.run import Run


def test_relevant_documents_are_named_and_no_measure_that_nobody_asked_for() -> None:
    """Every document has a grade above 0; --rel 4 takes the note away, and so does a grade 0."""
    runs = {"one": Run.from_dict({"q": {"b": 2.0, "a": 1.0}})}
    (note,) = quality_of(runs, Judgments.from_dict({"q": {"a": 1, "b": 5}})).notes
    assert note == (
        "judgments: every judged document counts as relevant: those with grades from 1 on do, and the lowest of the "
        "judgments is 1, the largest 5, and nDCG@10 counts the lowest grade as a gain. If low grades mean not "
        "relevant, choose --rel 4."
    )
    assert quality_of(runs, Judgments.from_dict({"q": {"a": 1, "b": 5}}), rel=4).notes == ()
    assert quality_of(runs, Judgments.from_dict({"q": {"a": 0, "b": 5}})).notes == ()


def test_stages_are_compared_on_the_scale_of_a_golden_set(tmp_path: Path) -> None:
    """One list has the 5 first, the other a passage of grade 1, which plain nDCG pays for."""
    (tmp_path / "golden.json").write_text(json.dumps({"kind": "golden", "format": 1}), encoding="utf-8")
    (tmp_path / "qrels.trec").write_text("q 0 a 1\nq 0 b 5\n", encoding="utf-8")
    runs = {"one": Run.from_dict({"q": {"b": 2.0}}), "two": Run.from_dict({"q": {"a": 2.0}})}
    golden = quality_of(runs, Judgments.read(tmp_path))
    name = "nDCG(gain='rubric')@10"
    assert [list(each) for each in golden.values] == [["R", name]] * 2
    assert [each[name].expected for each in golden.values] == [1.0, 0.0]
    assert golden.rel == 4
    plain = quality_of(runs, Judgments.from_dict({"q": {"a": 1, "b": 5}}))
    assert list(plain.values[1]) == ["R", "nDCG@10"]
    assert plain.values[1]["nDCG@10"].expected > 0
