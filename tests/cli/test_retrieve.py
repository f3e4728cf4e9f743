"""`trueval retrieve`: runs from a corpus, with their manifest and page."""

import json
from pathlib import Path

import pytest
from tests.extras import need
from tests.models.hosted.loopback import serving

import trueval as tv
from trueval.cli.retrieve import PipelineOptions
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.sample import sample_path

need("bm25s", extra="retrieval")


def test_an_index_makes_a_run_that_can_be_evaluated(trueval, tmp_path: Path):
    run = tmp_path / "bm25.trec"
    status, out, err = trueval("retrieve", sample_path(), "--index", "bm25", "--depth", 20, "--run", run, columns=99)
    assert status == 0, err
    assert out.startswith("There is one list, sparse: nDCG@10 is ")
    assert "stage  queries candidates lost   tied" in out
    read = tv.Run.read(run)
    assert len(read.query_ids) == 24
    assert read.documents.height <= 480
    assert not read.notes
    assert tv.evaluate(read, sample_path() / "qrels.trec", ["nDCG@10"])["nDCG@10"].expected > 0.5


def test_a_corpus_without_judgments_is_searched_by_queries_from_elsewhere(trueval, tmp_path: Path):
    folder = tmp_path / "corpus" / "corpus"
    folder.mkdir(parents=True)
    (folder / "part-0.jsonl").write_text('{"_id": "a", "text": "Wings lift."}\n{"_id": "b", "text": ""}\n')
    (folder / "part-1.jsonl").write_text('{"_id": "c", "text": "A wing."}\n')
    (tmp_path / "asked.jsonl").write_text('{"_id": "q", "text": "wings"}\n')
    words = ["retrieve", tmp_path / "corpus", "--index", "bm25", "--run", tmp_path / "r.trec"]
    found = trueval(*words, "--queries", tmp_path / "asked.jsonl")
    assert found.status == 0, found.err
    assert sorted(tv.Run.read(tmp_path / "r.trec").documents["doc_id"]) == ["a", "c"]
    assert "1 of 3 documents have no text, such as 'b'." in " ".join(found.err.split())
    (tmp_path / "corpus" / "queries.jsonl").write_text('{"_id": "q", "text": "wings"}\n')
    found = trueval("precision", "audit", tmp_path / "corpus", "--model", "none")
    assert found.status == 1
    assert "there are no judgments, and this needs some" in " ".join(found.err.split())
    found = trueval(*words, "--memory", "10")
    assert (found.status, "to read it takes" in found.err) == (1, True)


@pytest.mark.slow
def test_a_result_directory_holds_run_manifest_and_page(trueval, tmp_path: Path):
    pytest.importorskip("altair", reason='needs the extra "report"')
    toml = tmp_path / "p.toml"
    toml.write_text(f"[corpus]\npath = {json.dumps(str(sample_path()))}\n[sparse]\ndepth = 10\n[deduplicate]\n")
    out = tmp_path / "out"
    found = trueval("retrieve", "--pipeline", toml, "--out", out, "--format", "json")
    assert found.status == 0, found.err
    manifest = json.loads(found.out)
    assert [stage["name"] for stage in manifest["stages"]] == ["sparse", "deduplicate"]
    assert manifest["collection"]["documents"] == 100
    assert manifest["settings"]["corpus"]["path"] == sample_path().name
    results = {f"retrieval.{form}" for form in ("json", "csv", "md", "tex")}
    assert {"run.trec", *results, "report.html", "report.json"} == {path.name for path in out.iterdir()}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Deduplication changes nothing: nDCG@10 is that of sparse, the best single list." in page
    again = json.loads(trueval("retrieve", "--pipeline", toml, "--out", out, "--format", "json").out)
    assert [stage["cached"] for stage in again["stages"]] == [True, True]
    assert again["run"] == manifest["run"]
    for form in ("csv", "markdown", "latex", "table"):
        assert "sparse" in trueval("retrieve", "--pipeline", toml, "--out", out, "--format", form).out


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["--index", "bm25"], 2, "--run FILE, --contexts FILE, or --out DIR"),
        (["--run", "x.trec"], 2, "a file, or one index"),
        (["--index", "bm25", "--pipeline", "p.toml", "--run", "x.trec"], 2, "a file, or one index"),
        (
            ["--pipeline", "p.toml", "--depth", "3", "--run", "x.trec"],
            2,
            "Invalid value for --depth: goes with --index",
        ),
        (
            ["--pipeline", "p.toml", "--model", "m", "--run", "x.trec"],
            2,
            "Invalid value for --model: goes with --index",
        ),
        (["--index", "bn25", "--run", "x.trec"], 2, "Did you mean bm25"),
        (["--index", "bm25(k=3)", "--run", "x.trec"], 2, "no parameter 'k'"),
        (["--index", "flat", "--run", "x.trec"], 2, "name the embedder too"),
        (["--index", "bm25", "--model", "m", "--run", "x.trec"], 2, "takes no model"),
        (["--index", "bm25", "--scoring", "lo", "--run", "x.trec"], 2, "'high' or 'low'"),
        (["--index", "bm25", "-k", "3", "--run", "x.trec"], 2, "--contexts FILE, or --out DIR"),
        (["--index", "bm25", "--contexts", "bad.toml/x"], 2, "the folder bad.toml cannot be made (File exists)"),
        (["--pipeline", "bad.toml", "--run", "x.trec"], 1, "bad.toml:2: index of [sparse]: No index is called bn25"),
        (["--pipeline", "key.toml", "--run", "x.trec"], 1, "Did you mean threshold?"),
        (["--index", "bm25", "--run", "bad.toml/x.trec"], 2, "the folder bad.toml cannot be made (File exists)"),
        (["--pipeline", "absent.toml", "--run", "x.trec"], 1, "absent.toml: cannot be read"),
    ],
)
def test_misuse_is_refused_before_the_work(trueval, tmp_path: Path, monkeypatch, arguments, status: int, told: str):
    monkeypatch.chdir(tmp_path)
    Path("bad.toml").write_text("[sparse]\nindex = 'bn25'\n")
    Path("key.toml").write_text("[sparse]\n[deduplicate]\ntreshold = 1\n")
    found = trueval("retrieve", sample_path(), *arguments)
    assert found.status == status
    assert told in " ".join(found.err.replace("│", " ").split())


def test_contexts_are_written_and_can_be_evaluated(trueval, tmp_path: Path):
    log = tmp_path / "contexts.jsonl"
    status, out, err = trueval(
        "retrieve", sample_path(), "--index", "bm25", "--contexts", log, "-k", 3, "--rel", 4, "--format", "json"
    )
    assert status == 0, err
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 24
    assert max(len(row["documents"]) for row in rows) == 3
    assert all(document["text"] for row in rows for document in row["documents"])
    scores = tv.evaluate(log, sample_path() / "qrels.trec", ["P@3"], rel=4)
    run = tmp_path / "run.trec"
    trueval("retrieve", sample_path(), "--index", "bm25", "--run", run)
    assert scores["P@3"].expected == tv.evaluate(run, sample_path() / "qrels.trec", ["P@3"], rel=4)["P@3"].tie_broken
    (stage,) = json.loads(out)["stages"]
    assert stage["relevant"] > 0
    whole = tv.evaluate(run, sample_path() / "qrels.trec", ["nDCG@10"], rel=4)["nDCG@10"]
    assert stage["measures"]["nDCG@10"]["expected"] == whole.expected


def test_generate_says_how_long_contexts_are(trueval, tmp_path: Path):
    toml = tmp_path / "p.toml"
    toml.write_text("[sparse]\n[generate]\ncontexts = 2\n")
    out = tmp_path / "out"
    found = trueval("retrieve", sample_path(), "--pipeline", toml, "--out", out)
    assert found.status == 0, found.err
    rows = [json.loads(line) for line in (out / "contexts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert max(len(row["documents"]) for row in rows) == 2
    found = trueval("retrieve", sample_path(), "--pipeline", toml, "--run", tmp_path / "r.trec", columns=99)
    assert (found.status, "for [generate]: name a file" in found.err) == (2, True), found.err


@pytest.mark.parametrize(
    ("corpus", "queries", "told"),
    [
        ("", '{"_id": "q", "text": "a"}', "corpus.jsonl: there is no document. It must hold one at least"),
        ('{"_id": "d", "text": "x"}', "", "queries.jsonl: there is no query"),
        ('{"_id": "d", "text": ""}', '{"_id": "q", "text": "a"}', "corpus.jsonl: no document has a text"),
        ('{"_id": "d", "text": "x"}\n{"_id": "d", "text": "y"}', '{"_id": "q", "text": "a"}', "'d' appears twice"),
        ('{"_id": "d", "text": "x"}', '{"_id": "q", "text": "zebra"}', "no query finds a document"),
        ('{"_id": "d"', '{"_id": "q", "text": "zebra"}', "corpus.jsonl:1"),
    ],
)
def test_bad_collections_are_one_clear_line(trueval, tmp_path: Path, corpus: str, queries: str, told: str):
    (tmp_path / "corpus.jsonl").write_text(corpus)
    (tmp_path / "queries.jsonl").write_text(queries)
    (tmp_path / "qrels.trec").write_text("q 0 d 1\n")
    found = trueval("retrieve", tmp_path, "--index", "bm25", "--run", tmp_path / "x.trec")
    assert found.status == 1
    assert told in found.err
    assert found.err.count("\n") == 1
    assert not (tmp_path / "x.trec").exists()


def test_documents_without_text_are_remarked(trueval, tmp_path: Path):
    texts = ["wing", "", "heat"]
    (tmp_path / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": f"d{place}", "text": text}) + "\n" for place, text in enumerate(texts))
    )
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "wing"}\n{"_id": "p", "text": "zebra"}\n')
    (tmp_path / "qrels.trec").write_text("q 0 d0 1\n")
    found = trueval("retrieve", tmp_path, "--index", "bm25", "--run", tmp_path / "x.trec")
    assert found.status == 0, found.err
    assert "1 of 3 documents have no term" in found.out
    assert "1 of 2 queries find nothing, such as 'p'" in found.out


@pytest.mark.parametrize("kept", ["kept", "cache of the user", None])
def test_an_interruption_says_what_is_kept(trueval, tmp_path: Path, monkeypatch, kept: str | None):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trueval.retrieval.pipeline.pipeline.Pipeline.retrieve", interrupted)
    place = ("--cache", tmp_path / "kept") if kept == "kept" else ()
    if kept is None:
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("TRUEVAL_CACHE", str(tmp_path / "file" / "cache"))
    found = trueval("retrieve", sample_path(), "--index", "bm25", "--run", tmp_path / "r.trec", *place)
    assert (found.status, found.out) == (130, "")
    *_, line = found.err.strip().splitlines()
    assert "interrupted" in line
    assert ("Nothing is kept." if kept is None else f"is kept in {tmp_path / kept}. The same command goes on") in line


def test_hosted_models_say_what_leaves_and_stop_at_max_cost(trueval, tmp_path: Path, monkeypatch):
    pytest.importorskip("httpx2", reason='needs the extra "hosted"')
    pytest.importorskip("faiss", reason='needs the extra "retrieval"')
    monkeypatch.delenv("http_proxy", raising=False)
    monkeypatch.delenv("HTTP_PROXY", raising=False)
    with serving() as service:
        toml = tmp_path / "p.toml"
        toml.write_text(
            f"[corpus]\npath = {json.dumps(str(sample_path()))}\n[embed]\nmodel = 'voyage:voyage-3.5'\n"
            f"base_url = '{service.url}/v1'\nprice_per_million_tokens = 1000\n"
        )
        command = ("retrieve", "--pipeline", toml, "--run", tmp_path / "r.trec", "--cache", tmp_path / "cache")
        dry = trueval(*command, "--dry-run", "--max-cost", 0.001)
        assert dry.status == 0, dry.err
        assert dry.out.endswith("max_cost is 0.001: it stops before the limit is exceeded, and keeps what is done.\n")
        said = json.loads(trueval(*command, "--dry-run", "--format", "json").out)
        assert service.seen == []
        assert [each.name for each in tmp_path.iterdir()] == ["p.toml"]
        status, _, err = trueval(*command, "--max-cost", 0.001)
        assert status == 1
        assert "100 documents for voyage:voyage-3.5 would cost about" in err
        assert service.seen == []
        status, _, err = trueval(*command, "--max-cost", 100)
        assert status == 0, err
        assert "note: documents: 100 texts in 1 call to voyage:voyage-3.5, about" in err
        assert f"It goes to {service.url.removeprefix('http://')}; 0 of at most 100 is spent." in err
        assert [each["items"] for each in said["work"]] == [len(each.texts) for each in service.seen] == [100, 24]
        for line in dry.out.splitlines()[:2]:
            assert f"note: {line} It goes to " in err, "the notice begins with the sentence of the dry run"
        again = trueval(*command, "--dry-run")
        assert again.out == "Nothing goes through a model: all outputs are in the cache.\n"
        # One line before each call, and one after it.
        assert len((tmp_path / "cache" / "ledger.jsonl").read_text().splitlines()) == 2 * len(service.seen)
    assert trueval("retrieve", sample_path(), "--index", "bm25", "--run", "x", "--max-cost", -1).status == 2


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--index", "milvus"], "searches vectors"),
        (["--index", "milvus(search='hybrid')"], "searches vectors"),
        (["--index", "elastic", "--model", "all-MiniLM-L6-v2"], "searches words"),
        (["--index", "milvus(search='bm25')", "--model", "all-MiniLM-L6-v2"], "searches words"),
    ],
)
def test_what_an_engine_takes_is_in_its_parameters(trueval, tmp_path: Path, given: list[str], told: str):
    status, _, err = trueval("retrieve", sample_path(), *given, "--run", tmp_path / "run.trec")
    assert status == 2
    assert told in err


def test_two_precisions_are_two_runs(trueval, tmp_path: Path):
    run = tmp_path / "x.trec"
    found = trueval("retrieve", sample_path(), "--index", "bm25", "--scoring", "both", "--run", run, "--format", "json")
    assert found.status == 0, found.err
    result = json.loads(found.out)
    assert result["settings"]["pipeline"] == {"scoring": "both"}
    assert [stage["name"] for stage in result["low"]["stages"]] == ["sparse"]
    assert tv.Run.read(tmp_path / "x-low.trec").frame.equals(tv.Run.read(run).frame)  # no model, one precision


def test_scoring_goes_with_models(tmp_path: Path):
    chosen = {"depth": 7, "spec": "flat", "scoring": "index"}
    for form in ("both", "high"):
        found = PipelineOptions(index="flat", model="all-MiniLM-L6-v2", depth=7, scoring=form).read().settings
        assert (found["pipeline"], found["index"]) == ({"scoring": form}, chosen)
    file = tmp_path / "p.toml"
    file.write_text('[embed]\nmodel = "openai:m"\n[sparse]\n[fuse]\nweights = [1, 2]\n[rerank]\nmodel = "cohere:r"\n')
    found = PipelineOptions(pipeline=file, scoring="low").read().settings
    assert found == {"pipeline": {"scoring": "low"}, **Pipeline.read(file).settings}


def test_a_file_names_collections_of_libraries(tmp_path: Path):
    options = PipelineOptions(pipeline=tmp_path / "p.toml")
    chosen = Pipeline(
        {"corpus": {"path": "ir_datasets:no-such/set", "fields": ("text",)}, "sparse": {}}, source=options.pipeline
    )
    with pytest.raises(tv.errors.InputError, match=r"^ir_datasets:no-such|the package ir_datasets"):
        options.collection(None, chosen)


def test_a_grade_without_judgments_is_refused(trueval, tmp_path: Path):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "Wings lift."}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "wings"}\n')
    found = trueval("retrieve", tmp_path, "--index", "bm25", "--run", tmp_path / "r.trec", "--rel", 2)
    assert (found.status, "has no judgments" in found.err) == (2, True)


def test_reuse_is_told_to_every_model_that_runs_here(tmp_path: Path):
    file = tmp_path / "p.toml"
    file.write_text('[embed]\nmodel = "all-MiniLM-L6-v2"\n[rerank]\nmodel = "cohere:r"\n')
    found = PipelineOptions(pipeline=file, reuse="text").read().settings
    assert (found["embed"]["reuse"], "reuse" in found["rerank"]) == ("text", False)
    assert PipelineOptions(pipeline=file).read().settings["embed"]["reuse"] == "pass"


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder here that nobody can write")
@pytest.mark.parametrize("option", ["--run", "--contexts"])
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(trueval, tmp_path: Path, option: str) -> None:
    """Else it is told when all was paid for."""
    done = trueval("retrieve", tmp_path / "gone", "--index", "bm25", option, "/proc/self/run.trec", columns=300)
    assert done.status == 2
    assert "the folder /proc/self cannot be written" in done.err
