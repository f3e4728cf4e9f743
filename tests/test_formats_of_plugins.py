"""Number formats that other packages register by entry points `trueval.formats`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from trueval import numerics
from trueval.errors import PolicyError
from trueval.numerics import FORMATS, Format, find_format, formats, round_to, spacings, storage_dtype
from trueval.precision import score_grid
from trueval.precision.run_grids import grid_runs
from trueval.precision.stage_formats import low_formats
from trueval.score_width import ScoreWidth
from trueval.scoring import softmax

PLUGIN = Path(__file__).parent / "plugin"


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    """No plugin has been looked for before a test, and none is kept after it."""
    for kept in (formats, score_grid._fixed_grids):
        kept.cache_clear()
    yield
    for kept in (formats, score_grid._fixed_grids):
        kept.cache_clear()


@pytest.fixture
def tf32(monkeypatch: pytest.MonkeyPatch) -> Format:
    monkeypatch.syspath_prepend(str(PLUGIN))
    return find_format("tf32")


def test_it_stands_among_ours_by_its_resolution(tf32: Format) -> None:
    assert list(formats()) == ["float64", "float32", "float16", "tf32", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
    assert "tf32" not in FORMATS
    assert low_formats()[:2] == ("float16", "tf32")
    with pytest.raises(PolicyError, match=r"one of float64, float32, float16, tf32, .* Did you mean 'tf32'"):
        find_format("tf23")


def test_numbers_are_rounded_to_it(tf32: Format) -> None:
    """It has the mantissa of float16 and the exponents of bfloat16, so within float16's normal values it is float16."""
    values = np.random.default_rng(0).normal(size=10_000)
    values = values[np.abs(values) > 2.0**-14]
    assert np.array_equal(round_to(values, "tf32"), round_to(values, "float16"))
    assert round_to(1e-30, "tf32") == pytest.approx(1e-30, rel=2.0**-11)
    assert storage_dtype("tf32") == np.float32
    assert spacings(np.array([0.75]), "tf32").tolist() == [2.0**-11]
    assert str(ScoreWidth.parse("tf32")) == "0.5 ulp(tf32)"
    logits = np.array([[0.0, 1.3], [0.2, -4.0]])
    assert np.array_equal(softmax(logits, "tf32"), softmax(logits, "float16"))


def test_torch_which_lacks_it_rounds_the_same(tf32: Format) -> None:
    torch = pytest.importorskip("torch")
    logits = torch.tensor([[0.0, 1.3], [0.2, -4.0], [3.0, 3.125]])
    assert softmax(logits, "tf32").tolist() == softmax(logits, "float16").tolist()


def test_grids_of_runs_know_it(tf32: Format) -> None:
    """Scores below float16's smallest values, where of the formats that we know only it holds them."""
    scores = round_to(np.exp(np.random.default_rng(1).uniform(-60, -40, 400)), "tf32")
    run = {"q": {f"d{at}": score for at, score in enumerate(scores.tolist())}}
    assert grid_runs([run]).runs[0].grid == "tf32"


def test_commands_and_pipeline_files_take_it(tf32: Format, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(40, 2)).astype(np.float32)
    queries, documents = [f"q{at // 10}" for at in range(40)], [f"d{at}" for at in range(40)]
    np.savez(tmp_path / "logits.npz", query=queries, doc=documents, tf32=round_to(logits, "tf32"), float32=logits)
    (tmp_path / "corpus.jsonl").write_text("".join(f'{{"_id": "{d}", "text": "{d}"}}\n' for d in documents))
    (tmp_path / "queries.jsonl").write_text("".join(f'{{"_id": "q{at}", "text": "q{at}"}}\n' for at in range(4)))
    grades = zip(queries, documents, strict=True)
    (tmp_path / "qrels.trec").write_text("".join(f"{q} 0 {d} {int(d[-1] == '3')}\n" for q, d in grades))
    (tmp_path / "pipeline.toml").write_text('[embed]\nmodel = "m"\n[index]\nscoring = "tf32"\n')
    told = _run("precision", "audit", str(tmp_path), "--logits", str(tmp_path / "logits.npz"), "-m", "RR")
    regimes = [(each["model_dtype"], each["scoring_format"]) for each in json.loads(told)["regimes"]]
    assert regimes == [("float32", "float32"), ("tf32", "tf32"), ("tf32", "float32")]
    with pytest.raises(subprocess.CalledProcessError) as caught:  # the file is read: only its model is missing
        _run("retrieve", str(tmp_path), "--pipeline", str(tmp_path / "pipeline.toml"), "--run", str(tmp_path / "run"))
    assert "tf32" not in caught.value.stderr
    assert "'m'" in caught.value.stderr or " m " in caught.value.stderr


def _run(*arguments: str) -> str:
    path = os.pathsep.join([str(PLUGIN), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "trueval", *arguments]
    return subprocess.run(
        [*command, "--format", "json"],
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        check=True,
        text=True,
    ).stdout


@pytest.mark.parametrize(
    ("entry", "because"),
    [
        ("a = nowhere_at_all:A", "cannot be imported: No module named 'nowhere_at_all'"),
        ("a = math:pi", "must be a Format of that name. Got 3.14"),
        ("b = given_format:A", "must be a Format of that name. Got Format\\(name='a'"),
        ("bfloat16 = given_format:TAKEN", "has a name that is taken"),
        ("wide = given_format:WIDE", "1 to 22 of mantissa and a largest value that float32 has. Got 11, 30"),
    ],
)
def test_what_is_no_format_is_refused(
    entry: str, because: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "other_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[trueval.formats]\n{entry}\n")
    (tmp_path / "given_format.py").write_text(
        "from trueval.numerics import FORMATS, Format\n"
        "A, WIDE, TAKEN = Format('a', 5, 4, 8.0), Format('wide', 11, 30, 8.0), FORMATS['bfloat16']\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(PolicyError, match=because):
        find_format("tf32")
    assert find_format("bfloat16") is numerics.FORMATS["bfloat16"]  # ours are found all the same
