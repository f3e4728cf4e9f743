"""`trueval probe noise` on the sample: what it prints is what the library finds; a judge behind a loopback server."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Outcome
from tests.extras import need
from tests.golden.chat import chat_server, thirds
from tests.models.hosted import loopback

from trueval.collection import Collection
from trueval.probes.noise import probe_pipelines
from trueval.probes.noise_settings import NoiseSettings
from trueval.probes.noise_summary import summarize_noise
from trueval.probes.probe_systems import systems
from trueval.sample import sample_path

need("bm25s", extra="retrieval")

Command = Callable[..., Outcome]
GIVEN = (
    "probe",
    "noise",
    sample_path(),
    "--bm25",
    "--levels",
    "0,2",
    "--queries",
    "5",
    "-m",
    "R(rel=4)@10",
    "--seed",
    "3",
)


def test_what_is_printed_and_saved_is_what_the_library_finds(trueval: Command, tmp_path: Path) -> None:
    done = trueval(*GIVEN, "--format", "json", "--out", tmp_path / "out")
    assert done.status == 0, done.err
    sample = Collection.read(str(sample_path()))
    (bm25,) = systems((), "flat", language="en", bm25=True, hybrid=False)
    (probe,) = probe_pipelines(
        [bm25], sample, NoiseSettings("en", levels=(0, 2), queries=5, seed=3), measures="R(rel=4)@10"
    )
    expected = json.loads(json.dumps(summarize_noise([probe], sample).to_dict()))
    found = json.loads(done.out)
    assert found["models"] == expected["models"]
    assert found["denoiser"] == expected["denoiser"]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"probe-noise.json", "probe-noise.csv", "probe-noise.md", "probe-noise.tex"} <= names
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "bm25: R(rel=4)@10 by level of noise" in page
    assert "Table 13: average drop from clean to high noise" in page


def test_the_table_says_what_was_measured(trueval: Command) -> None:
    done = trueval(*GIVEN, columns=200)
    assert "2 held-out rules" in done.out
    assert "not measured by trueval" not in done.out  # what is published is on the page alone


def test_a_judge_rewrites_and_is_asked_once(trueval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_JUDGE_KEY", "secret")
    with chat_server(lambda query, text: 3) as server:
        plan = tmp_path / "judge.toml"
        plan.write_text(
            f'[judge]\nmodel = "served"\nbase_url = "{server.url}"\napi_key_env = "TEST_JUDGE_KEY"\n'
            "price_per_million_input = 1.0\nprice_per_million_output = 2.0\n"
        )
        given = (
            *GIVEN,
            "--denoise",
            "none,judge",
            "--templates",
            "known",
            "--judge",
            plan,
            "--cache",
            tmp_path / "cache",
        )
        dry = trueval(*given, "--dry-run")
        assert dry.status == 0, dry.err
        assert dry.out.startswith("rewrite: 10 queries in 10 calls to served, about ")
        assert not server.seen
        done = trueval(*given, "--format", "json")
        assert done.status == 0, done.err
        assert len(server.seen) == 10
        assert "10 calls" in done.err
        again = trueval(*given, "--format", "json")
        assert len(server.seen) == 10
        assert json.loads(again.out)["models"][0]["levels"] == json.loads(done.out)["models"][0]["levels"]
        poor = trueval(*given, "--seed", "4", "--max-cost", "0.00000001")
        assert poor.status == 1
        assert "max_cost" in poor.err
    ways = [(each["level"], each["denoised"]) for each in json.loads(done.out)["models"][0]["levels"]]
    assert (2, "judge") in ways


def test_judge_and_hosted_models_share_one_limit(
    trueval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason='needs the extra "hosted"')
    pytest.importorskip("faiss", reason='needs the extra "retrieval"')
    monkeypatch.setattr(loopback, "tokens", lambda text: len(text.encode()) // 3)
    with chat_server(lambda query, text: 3) as server, loopback.serving() as service:
        judge, pipeline = tmp_path / "judge.toml", tmp_path / "dense.toml"

        def probe(price: float, *more: Any) -> tuple[Outcome, float, float]:
            judge.write_text(
                f'[judge]\nmodel = "served"\nbase_url = "{server.url}"\napi_key_env = ""\n'
                "price_per_million_input = 1.0\nprice_per_million_output = 2.0\n"
            )
            pipeline.write_text(
                f'[corpus]\npath = "{sample_path()}"\n[embed]\nmodel = "openai:m"\nbase_url = "{service.url}"\n'
                f"batch_size = 1\nprice_per_million_tokens = {price}\n[index]\n"
            )
            kept = tmp_path / f"cache-{price}"
            server.billed.clear()
            service.seen.clear()
            given = [*GIVEN[:3], "--pipeline", pipeline, *GIVEN[4:], "--denoise", "none,judge", "--judge", judge]
            done = trueval(*given, *more, "--cache", kept)
            judged = sum(asked + 2 * told for asked, told in server.billed) / 1e6
            return (
                done,
                judged,
                sum(loopback.tokens(text) for each in service.seen for text in each.texts) * price / 1e6,
            )

        server.bills = thirds
        done, judged, embedded = probe(1.0)
        assert done.status == 0, done.err
        price = 2 * judged / embedded
        done, judged, embedded = probe(price, "--max-cost", 2.6 * judged)
        assert done.status == 1
        assert judged > 0
        assert judged + embedded <= 2.6 * judged
        assert "max_cost" in done.err


def test_misuse(trueval: Command) -> None:
    assert "Name a system" in trueval("probe", "noise", sample_path()).err
    assert "needs a judge" in trueval(*GIVEN, "--denoise", "judge").err
    assert "levels from 0 to 4" in trueval("probe", "noise", sample_path(), "--bm25", "--levels", "low").err
    unknown = trueval("probe", "noise", sample_path(), "--bm25", "--denoise", "rule")
    assert unknown.status == 1
    assert "Did you mean rules?" in unknown.err
