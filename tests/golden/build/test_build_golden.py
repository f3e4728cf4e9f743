"""`build_golden`: a golden set in one call, from the file of its plan."""

from pathlib import Path

import pytest
from tests.extras import need
from tests.golden import small

import trueval as tv
from trueval.golden.build.golden_plan import GoldenPlan

need("bm25s", extra="retrieval")


def test_a_file_and_its_plan_build_the_same(tmp_path: Path):
    file = small.written(tmp_path, 'model = "labels:c/labels.trec"')
    by_file = tv.build_golden(str(file), tmp_path / "one")
    by_plan = tv.build_golden(GoldenPlan.read(file), str(tmp_path / "two"), reuse="text")
    qrels = [(tmp_path / name / "qrels.trec").read_text(encoding="utf-8") for name in ("one", "two")]
    assert qrels[0] == qrels[1] != ""
    assert by_file.to_dict()["judge"] == by_plan.to_dict()["judge"]


def test_it_stops_where_it_is_told_to(tmp_path: Path):
    file = small.written(tmp_path, 'model = "labels:c/labels.trec"')
    tv.build_golden(file, tmp_path / "out", until="pool")
    assert (tmp_path / "out" / "pool.parquet").is_file()
    assert not (tmp_path / "out" / "graded.parquet").exists()
    with pytest.raises(tv.errors.PolicyError, match="Did you mean pool"):
        tv.build_golden(file, tmp_path / "out", until="pol")
