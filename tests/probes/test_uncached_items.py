"""What a probe of names would give to models: as many texts, calls and tokens as the probe then gives."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.models.hosted.loopback import serving
from tests.probes.models import KeptLetters
from typer.testing import CliRunner

from trueval.cli.main import app
from trueval.models.hosted.account import LEDGER
from trueval.probes import scorers
from trueval.probes.names_probe import designs_of, estimate_all
from trueval.probes.probe import probe_names
from trueval.probes.scorer_request import ScorerRequest
from trueval.probes.uncached_items import NamesEstimate

ABLATIONS = ("hard_name_mask", "initials_form")
FEW: dict[str, Any] = {"queries": 4, "runs": 2, "ablations": ABLATIONS}


def estimated(asked: ScorerRequest, languages: tuple[str, ...], cache: Path | None, **more: Any) -> NamesEstimate:
    return estimate_all(asked, designs_of(None, languages, **{**FEW, **more}), cache=cache)


def test_a_dry_run_counts_what_goes_through_and_loads_nothing_that_nobody_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("safetensors", reason='needs the extra "models"')
    models: list[KeptLetters] = []

    def load(name: str, **options: Any) -> KeptLetters:
        models.append(KeptLetters())
        return models[-1]

    monkeypatch.setattr(scorers, "load_embedder", load)
    monkeypatch.setattr(scorers, "find_model", lambda name, _=None: SimpleNamespace(name=name, path=name))
    cache, asked = tmp_path / "cache", ScorerRequest(("letters", "letters@8"), bm25=True, hybrid=True)
    (before,) = estimated(asked, ("en", "fr"), cache).models
    assert (before.count, before.left, models, list(tmp_path.iterdir())) == (before.count, before.count, [], [])
    probe_names(asked, languages=("en",), cache=cache, resamples=20, **FEW)
    english = len(models[-1].asked)
    assert english == estimated(asked, ("en",), None).models[0].left
    between = estimated(asked, ("fr", "en"), cache)
    assert between.models[0].left == before.count - english
    assert f"{english:,} of them kept; {before.count - english:,} go through the model." in between.sentences()[-1]
    probe_names(asked, languages=("fr", "en"), cache=cache, resamples=20, **FEW)
    assert len(models[-1].asked) == before.count - english
    after = estimated(asked, ("en", "fr"), cache)
    assert (after.models[0].count, after.models[0].left) == (before.count, 0)
    assert after.sentences()[-1].endswith("none goes through the model.")


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_a_dry_run_of_services_says_the_calls_and_tokens_that_then_go_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason='needs the extra "hosted"')
    pytest.importorskip("safetensors", reason='needs the extra "models"')
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("COHERE_API_KEY", "k")
    with serving() as service:
        hosted = {
            "base_url": service.url,
            "price_per_million_tokens": 2.0,
            "price_per_thousand_searches": 1.0,
        }
        # Of a model that runs here: no service takes it, and none is told of it.
        asked = ScorerRequest(
            ("openai:small",), ("cohere:rerank",), loading={"device": "cpu", "batch_size": 2}, hosted=hosted
        )
        cache = tmp_path / "cache"
        found = estimated(asked, ("en", "fr"), cache)
        assert (service.seen, list(tmp_path.iterdir())) == ([], [])
        embedder, reranker = found.models
        assert embedder.cost == pytest.approx(embedder.tokens * 2e-6, rel=0.01)
        probe_names(asked, languages=("en", "fr"), cache=cache, resamples=20, **FEW)
        sent = [len(each.texts) for each in service.seen if each.path.endswith("/embeddings")]
        assert (embedder.calls, embedder.left) == (len(sent), sum(sent))
        reranked = [len(each.texts) for each in service.seen if not each.path.endswith("/embeddings")]
        assert (reranker.calls, reranker.left) == (len(reranked), sum(reranked))
        assert (cache / LEDGER).is_file()
        assert [(each.left, each.calls, each.cost) for each in estimated(asked, ("en", "fr"), cache).models] == [
            (0, 0, 0),
            (0, 0, 0),
        ]
    told = replace(found, max_cost=found.cost / 2 if found.cost else None).sentences()
    assert re.search(
        r"openai:small \(embedder\): \d+ different texts, 0 of them kept; \d+ go out in \d calls of", told[2]
    )
    assert told[-1].startswith("That is more than --max-cost")
    assert found.to_dict()["calls"] == embedder.calls + reranker.calls
    unknown = ScorerRequest(("openai:small",), hosted={"base_url": "http://localhost:1"})
    assert "at a price that is not known" in estimated(unknown, ("en",), None).sentences()[-1]


def test_the_command_says_it_and_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    asked = [
        "probe",
        "names",
        "--model",
        "openai:small",
        "--queries",
        "4",
        "--runs",
        "1",
        "--ablations",
        "remove_label",
    ]
    priced = ["--price-per-million-tokens", "2", "--max-cost", "0.00001"]
    ran = CliRunner().invoke(app, [*asked, *priced, "--dry-run", "--out", "out"])
    assert ran.exit_code == 0, ran.output
    assert "en: 4 queries, 1 run, 2 conditions: 40 pairs of " in ran.stdout
    assert "That is more than --max-cost 1e-05" in ran.stdout
    assert CliRunner().invoke(app, [*asked, "--dry-run", "--format", "csv"]).exit_code == 2
    assert list(tmp_path.iterdir()) == []
