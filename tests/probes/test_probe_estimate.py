"""What a probe of names would give to models: as many texts, calls and tokens as the probe then gives."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.models.hosted.loopback import serving
from tests.probes.models import KeptLetters, KeptTokens
from typer.testing import CliRunner

from trueval.cli.main import app
from trueval.models.hosted.account import LEDGER
from trueval.models.missing_work import DryRun
from trueval.models.model_speed import BY_SPEED
from trueval.probes import scorers
from trueval.probes.names_probe import designs_of, estimate_all
from trueval.probes.probe import probe_names
from trueval.probes.scorer_request import ScorerRequest

ABLATIONS = ("hard_name_mask", "initials_form")
FEW: dict[str, Any] = {"queries": 4, "runs": 2, "ablations": ABLATIONS}


def estimated(asked: ScorerRequest, languages: tuple[str, ...], cache: Path | None, **more: Any) -> DryRun:
    designs = designs_of(None, languages, **{**FEW, **more})
    return estimate_all(asked, designs, cache=cache, trial=lambda _, __, places: 0.5 * len(places))


def texts(found: DryRun) -> tuple[int, int]:
    """Texts that go through models, and texts that are kept."""
    return sum(each.items for each in found.work), sum(each.kept for each in found.work)


def test_a_dry_run_counts_what_goes_through_and_how_long_that_takes(
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
    before = texts(estimated(asked, ("en", "fr"), cache))
    assert (before[1], [each.asked for each in models], list(tmp_path.iterdir())) == (0, [[]], [])
    minutes = [each.seconds / each.items for each in estimated(asked, ("en",), cache).work if each.seconds]
    assert minutes == [0.5] * 2  # queries and documents of the one model, by the speed of the trial
    said = estimated(asked, ("en",), cache).sentences()
    assert re.search(r"documents: [\d,]+ texts through letters, about [\d.]+ minutes\.", " ".join(said))
    assert said[-1] == BY_SPEED
    probe_names(asked, languages=("en",), cache=cache, resamples=20, **FEW)
    english = len(models[-1].asked)
    assert texts(estimated(asked, ("en",), None)) == (english, 0)
    between = estimated(asked, ("fr", "en"), cache)
    assert texts(between) == (before[0] - english, english)
    last = between.work[-1]
    kept = f"{last.items:,} texts through letters, about {(last.seconds or 0) / 60:.1f} minutes. {last.kept:,} more are"
    assert kept in between.sentences()[-2]
    probe_names(asked, languages=("fr", "en"), cache=cache, resamples=20, **FEW)
    assert len(models[-1].asked) == before[0] - english
    after = estimated(asked, ("en", "fr"), cache)
    assert texts(after) == (0, before[0])
    assert after.sentences()[-1].startswith("Nothing goes through a model")


def test_token_vectors_are_kept_text_by_text_as_the_dry_run_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("safetensors", reason='needs the extra "models"')
    models: dict[bool, KeptLetters | KeptTokens] = {}

    def load(name: str, recipe: str | None = None, **options: Any) -> KeptLetters | KeptTokens:
        models[recipe is not None] = KeptTokens() if recipe else KeptLetters()
        return models[recipe is not None]

    monkeypatch.setattr(scorers, "load_embedder", load)
    monkeypatch.setattr(scorers, "find_model", lambda name, _=None: SimpleNamespace(name=name, path=name))
    cache, asked = tmp_path / "cache", ScorerRequest(("letters",), maxsim=True)
    probe_names(asked, languages=("en",), cache=cache, resamples=20, **FEW)
    english = len(models[True].asked)
    said = [each for each in estimated(asked, ("fr", "en"), cache).work if "MaxSim" in each.stage]
    assert sum(each.kept for each in said) == english > 0
    probe_names(asked, languages=("fr", "en"), cache=cache, resamples=20, **FEW)
    assert sum(each.items for each in said) == len(models[True].asked) > 0


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
        *embedder, reranker = found.work
        assert [each.stage for each in found.work] == ["queries", "documents", "pairs"]
        for each in embedder:
            assert each.cost == pytest.approx(each.tokens * 2e-6, rel=0.01)
        probe_names(asked, languages=("en", "fr"), cache=cache, resamples=20, **FEW)
        sent = [len(each.texts) for each in service.seen if each.path.endswith("/embeddings")]
        assert [sum(each.calls for each in embedder), sum(each.items for each in embedder)] == [len(sent), sum(sent)]
        reranked = [len(each.texts) for each in service.seen if not each.path.endswith("/embeddings")]
        assert (reranker.calls, reranker.items) == (len(reranked), sum(reranked))
        assert (cache / LEDGER).is_file()
        again = estimated(asked, ("en", "fr"), cache).work
        assert [(each.items, each.calls, each.cost) for each in again] == [(0, 0, 0)] * 3
    told = replace(found, max_cost=found.cost / 2 if found.cost else None).sentences()
    assert re.search(r"queries: \d+ texts in \d calls? to openai:small, about [\d,]+ tokens, for about", told[2])
    assert told[-1].endswith("it stops before the limit is exceeded, and keeps what is done.")
    assert found.to_dict()["calls"] == sum(each.calls for each in found.work)
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
    assert "max_cost is 1e-05: it stops before the limit is exceeded" in ran.stdout
    assert CliRunner().invoke(app, [*asked, "--dry-run", "--format", "csv"]).exit_code == 2
    assert list(tmp_path.iterdir()) == []
