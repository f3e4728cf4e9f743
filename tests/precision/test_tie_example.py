"""The query that ties move most, by hand; and the pictures of an audit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.extras import need

from trueval import Collection, Judgments, Run
from trueval.collection import candidate_lists
from trueval.numerics import FORMATS
from trueval.precision.audit import audit, audit_passes
from trueval.precision.audit_result import PrecisionAudit
from trueval.precision.model_passes import Passes
from trueval.precision.regimes import Regime, plan
from trueval.precision.views.audit import view
from trueval.precision.views.figures import groups_plot, layout_plot
from trueval.precision.views.kind import PRECISION
from trueval.report.figures import specification

GRADES = [[0, 1, 2], [0, 0, 1], [1, 0, 0]]
FINE = [[0.9, 0.5, 0.1], [0.498, 0.499, 0.5], [0.3, 0.301, 0.2]]
LOW = [[0.9, 0.5, 0.1], [0.5, 0.5, 0.5], [0.3, 0.3, 0.2]]


@pytest.fixture
def found() -> PrecisionAudit:
    regimes = {"bfloat16": LOW, "float32": FINE}
    runs = {Regime("m", "softmax", "bfloat16", form): Run.from_arrays(lists) for form, lists in regimes.items()}
    return audit(runs, Judgments.from_arrays(GRADES), ["RR", "P@1"]).result()


def test_the_query_with_the_widest_range_of_the_first_measure_is_shown(found: PrecisionAudit) -> None:
    """RR: the second query is anywhere from 1/3 to 1, the third from 1/2 to 1."""
    example = found.example
    assert example is not None
    second = Run.from_arrays(LOW).query_ids[1]
    assert (example.model, example.label, example.query, example.measure) == ("m", "bfloat16_bfloat16", second, "RR")
    assert (example.lowest, example.highest, example.range) == pytest.approx((1 / 3, 1.0, 2 / 3))
    assert [each.grade for each in example.documents] == [0.0, 0.0, 1.0]
    assert [each.score for each in example.documents] == [0.5, 0.5, 0.5]
    assert [(each.finer, each.finer_rank) for each in example.documents] == [(0.498, 3), (0.499, 2), (0.5, 1)]
    assert example.count == 3
    assert PrecisionAudit.from_dict(found.to_dict()).to_dict() == found.to_dict()


def test_without_ties_or_float32_there_is_less_to_show() -> None:
    judgments = Judgments.from_arrays(GRADES)
    fine = audit({Regime("m", "softmax", "bfloat16", "bfloat16"): Run.from_arrays(FINE)}, judgments, "RR").result()
    assert fine.example is None
    assert "example" not in fine.to_dict()
    assert "The query that ties move most" not in [section.title for section in view(fine).sections]
    alone = audit({Regime("m", "softmax", "bfloat16", "bfloat16"): Run.from_arrays(LOW)}, judgments, "RR").result()
    assert alone.example is not None
    assert {(each.finer, each.finer_rank) for each in alone.example.documents} == {(None, None)}
    high = audit({Regime("m", "softmax", "float32", "float32"): Run.from_arrays(LOW)}, judgments, "RR").result()
    assert high.example is None  # ties of float32 are nobody's rounding


@pytest.mark.parametrize("kind", ["corpus", "judged"])
def test_of_a_whole_corpus_it_is_that_of_its_lists(kind: str) -> None:
    """Vectors over a corpus are scored without lists; the example has the scores of that query all the same."""
    rng = np.random.default_rng(6)
    documents = {f"d{at}": str(at) for at in range(40)}
    queries = {f"q{at}": str(at) for at in range(5)}
    grades = {query: {f"d{at}": int(rng.integers(0, 3)) for at in range(40)} for query in queries}
    read = Collection("c", "c", documents, queries, Judgments.from_dict(grades))
    arrays = {
        "queries": rng.choice([0.25, 0.5, 0.75], (5, 2)).astype(np.float16),
        "documents": rng.choice([0.25, 0.5, 0.75], (40, 2)).astype(np.float16),
    }
    outputs = [(regime, arrays) for regime in plan("m", "product", "float16")]
    result = audit_passes(Passes(read, candidate_lists(read, kind), outputs, []), "nDCG@5").result()
    example = result.example
    assert example is not None
    at = list(queries).index(example.query)
    scores = arrays["documents"].astype(np.float64) @ arrays["queries"][at].astype(np.float64)
    order = np.argsort(-scores, kind="stable")[:12]
    assert [each.document for each in example.documents] == [f"d{place}" for place in order]
    assert [each.score for each in example.documents] == scores[order].tolist()
    assert [each.grade for each in example.documents] == [grades[example.query][f"d{place}"] for place in order]
    assert example.count == 40


def test_pictures_have_what_they_show(found: PrecisionAudit, tmp_path: Path) -> None:
    need("altair", "vl_convert", extra="report")
    assert found.example is not None
    text = str(specification(groups_plot(found.example, ("BF16 → BF16", "BF16 → FP32"), 640)))
    assert "grade 1" in text
    assert "0.498" in text
    text = str(specification(layout_plot(["float32", "bfloat16"], 640)))
    assert "127 values" in text  # of bfloat16 between one half and one, P-A Appendix A
    assert "8,388,607 values" in text
    assert all(str(FORMATS[name].mantissa_bits) in text for name in ("float32", "bfloat16"))
    titles = [section.title for section in view(found).sections]
    assert titles.index("The query that ties move most") < titles.index("Formats")
    assert PRECISION.page is not None
