"""What cannot run is refused before anything is embedded, by a pipeline and by the dry run of a golden set."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.golden import small
from tests.retrieval import models

from trueval.collection import Collection
from trueval.errors import InputError, MissingExtraError, TruevalError
from trueval.golden.build.build import build, dry_run
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.retrieval.indexes.index import make_index
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")


class Embedder:
    """Vectors of 12 numbers; a text that is embedded is in the list."""

    name, dtype, batch_size, scoring, dimension = "twelve", "float32", 4, "product", 12

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    def settings(self) -> dict[str, Any]:
        return {"model": self.name, "path": "nowhere", "dtype": self.dtype}

    def embed_documents(self, texts: Any, names: Any) -> Any:
        self.seen += texts
        return np.ones((len(texts), 12), dtype=np.float32)

    embed_queries = embed_documents


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []

    def load(name: str) -> Any:
        if name != "twelve":
            raise InputError(f"{name}: there is no such model.")
        return Embedder(found)

    models.use(monkeypatch, load)
    return found


DOCUMENTS = Collection("c", "c", {f"d{place}": f"text {place}" for place in range(20)}, {"q": "text"})

CANNOT = [
    ({"embed": {"dimension": 1000}}, "The model gives 12 dimensions. Got dimension 1000"),
    ({"index": {"spec": "pq(m=7, nbits=2)"}}, "m of pq must divide the dimension 12. Got 7"),
    ({"index": {"spec": "opq(m=5, nbits=2)"}}, "m of opq must divide the dimension 12. Got 5"),
    ({"embed": {"dimension": 8}, "index": {"spec": "pq(m=6, nbits=2)"}}, "must divide the dimension 8. Got 6"),
    ({"index": {"spec": "pq(m=6)"}}, "needs 256 documents to train with"),
    ({"index": {"spec": "ivf(nlist=21)"}}, "needs 21 documents to train with"),
    ({"rerank": {"model": "gone"}}, "gone: there is no such model"),
    ({"deduplicate": {"per_source": 2}}, "no id is that of a chunk"),
]


def settings(changed: dict[str, dict[str, Any]]) -> Any:
    tables: dict[str, dict[str, Any]] = {"embed": {"model": "twelve"}, **changed}
    tables["embed"] = {"model": "twelve", **tables["embed"]}
    return settings_of_tables(tables, "test")


@pytest.mark.parametrize(("changed", "told"), CANNOT)
def test_a_pipeline_that_cannot_run_embeds_nothing(
    changed: dict[str, Any], told: str, seen: list[str], tmp_path: Path
) -> None:
    pipeline = Pipeline(settings(changed))
    for cache in (None, tmp_path):
        with pytest.raises(TruevalError, match=told.replace("(", r"\(")):
            pipeline.retrieve(DOCUMENTS, cache=cache)
    with pytest.raises(TruevalError, match=told.replace("(", r"\(")):
        pipeline.check(DOCUMENTS)
    assert seen == []


def test_what_can_run_is_not_refused(seen: list[str], tmp_path: Path) -> None:
    Pipeline(settings({"embed": {"dimension": 12}, "index": {"spec": "pq(m=6, nbits=2)"}})).check(DOCUMENTS)
    assert seen == []


@pytest.mark.parametrize(("spec", "most"), [("elastic(search='dense')", 4096), ("milvus", 32768)])
def test_engines_say_how_many_dimensions_they_take(spec: str, most: int) -> None:
    try:
        index = make_index(spec)
    except MissingExtraError as error:
        pytest.skip(str(error))
    index.check(most, 1)
    with pytest.raises(InputError, match=f"takes {most} dimensions at most"):
        index.check(most + 1, 1)


def golden(place: Path, *, labels: str | None = None, extra: str = "", search: str = "[sparse]") -> GoldenPlan:
    path = small.written(place, small.LABELS + extra)
    path.write_text(path.read_text().replace("[sparse]", search))
    if labels is not None:
        (place / "c" / "labels.trec").write_text(labels)
    return GoldenPlan.read(path)


def tried(plan: GoldenPlan, out: Path) -> Any:
    return dry_run(plan, out, ledger=out / "ledger.sqlite")


def test_a_golden_set_without_a_label_for_a_passage_is_refused_by_the_dry_run(tmp_path: Path) -> None:
    small.corpus(tmp_path / "known")
    lines = (tmp_path / "known" / "labels.trec").read_text().splitlines(keepends=True)
    plan = golden(tmp_path, labels="".join(line for line in lines if " wings-3 " not in line))
    out = tmp_path / "out"
    (note,) = tried(plan, out).notes
    assert "23 of 72 pairs" in note
    assert "unknown" in note
    build(plan, out, until="pool")
    with pytest.raises(InputError, match="no label for a passage of 'what about wings'"):
        tried(plan, out)
    assert tried(golden(tmp_path, labels="".join(lines)), out).notes == []


def test_a_query_whose_pool_is_larger_than_its_labels_is_refused_before_it_is_found(
    seen: list[str], tmp_path: Path
) -> None:
    dense = '[embed]\nmodel = "twelve"\n[index]\nspec = "flat"'
    small.corpus(tmp_path / "known")
    lines = (tmp_path / "known" / "labels.trec").read_text().splitlines(keepends=True)
    plan = golden(tmp_path, labels="".join(lines[:-1]), search=dense)
    told = "labels.trec: the pool of 'q2' holds 8 documents at least, and 7 documents have a label for it"
    for run in (lambda: tried(plan, tmp_path / "out"), lambda: build(plan, tmp_path / "out")):
        with pytest.raises(InputError) as error:
            run()
        assert told in str(error.value)
    assert seen == []
    assert tried(golden(tmp_path, labels="".join(lines[:-1]), search=dense, extra="\nunknown = 1"), tmp_path).work


def test_labels_that_are_to_rewrite_queries_are_refused_with_the_line(tmp_path: Path) -> None:
    path = small.written(tmp_path, small.LABELS, extra='[queries]\nrewrite = "model"\n')
    with pytest.raises(InputError, match=r"golden.toml:\d+: labels know no other words for a query"):
        GoldenPlan.read(path)


def test_a_golden_set_whose_pools_cannot_be_found_is_refused_by_the_dry_run(seen: list[str], tmp_path: Path) -> None:
    for search, told in (
        ('[embed]\nmodel = "gone"', "there is no such model"),
        ('[embed]\nmodel = "twelve"\ndimension = 1000', "gives 12 dimensions"),
        ('[embed]\nmodel = "twelve"\n[index]\nspec = "pq(m=7, nbits=1)"', "must divide"),
    ):
        with pytest.raises(InputError, match=told):
            tried(golden(tmp_path, search=search, extra="\nunknown = 1"), tmp_path / "out")
    assert seen == []
