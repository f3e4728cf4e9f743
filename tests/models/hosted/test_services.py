"""Services: how a model is named, where it is reached, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trueval.errors import InputError, PolicyError
from trueval.models import load_embedder, load_model, load_reranker
from trueval.models.embedder import Embedder
from trueval.models.hosted.services import SERVICES, base_url_of, is_hosted, key_name, parse_hosted_name
from trueval.models.model_location import find_model
from trueval.models.reranker import Reranker


def test_names_are_read_in_any_case_and_are_of_no_folder(tmp_path: Path) -> None:
    assert {name for name in SERVICES if is_hosted(f"{name}:m") and is_hosted(f"{name.upper()}:m")} == set(SERVICES)
    for local in ("openai", "openai:", "cross-encoder:cross-encoder/ms-marco", "C:\\models\\bge", str(tmp_path)):
        assert not is_hosted(local)
    found = find_model("cohere:rerank-v3.5")
    assert (found.name, found.recipe.name, found.recipe.kind) == ("cohere:rerank-v3.5", "cohere", "hosted")
    assert found.recipe.scoring == "none"
    assert find_model("openai:m").recipe.scoring == "product"
    assert find_model("tei:http://localhost:1").recipe.scoring == "sigmoid"


@pytest.mark.parametrize("name", ["openai:m", "voyage:voyage-3.5"])
def test_embedders_have_the_role(name: str) -> None:
    model = load_embedder(name)
    assert isinstance(model, Embedder)
    with pytest.raises(InputError, match="is an embedder"):
        load_reranker(name)


@pytest.mark.parametrize("name", ["voyage:rerank-2.5-lite", "cohere:m", "jina:m", "tei:http://h:1", "vllm:a/b"])
def test_rerankers_have_the_role(name: str) -> None:
    model = load_reranker(name, base_url="http://h:2")
    assert isinstance(model, Reranker)
    assert model.url == "http://h:2"
    with pytest.raises(InputError, match="is a reranker"):
        load_embedder(name, base_url="http://h:2")
    with pytest.raises(PolicyError, match="is a reranker, which has no dimension"):
        load_model(name, base_url="http://h:2", dimension=8)


def test_services_of_ones_own_need_their_url() -> None:
    assert base_url_of(parse_hosted_name("tei:https://h/x/"), None) == "https://h/x"
    assert base_url_of(parse_hosted_name("openai:m"), None) == "https://api.openai.com/v1"
    for name in ("tei:m", "vllm:a/b"):
        with pytest.raises(InputError, match=r"a server of one's own needs its URL\. Give base_url"):
            load_model(name)
    for url in (
        "h:8000",
        "ftp://h",
        "http://",
        "file:///etc",
        "http://[::1",
        "http://h:99999",
        "http://h\n/",
        "http://a b",
    ):
        with pytest.raises(InputError, match="base_url must begin with http"):
            load_model("vllm:a/b", base_url=url)
    for url in ("http://me:secret@h", "http://h/?key=1", "ftp://me:secret@h", "http://h/#secret"):
        with pytest.raises(InputError, match="base_url must hold no user, password or query") as caught:
            load_model("vllm:a/b", base_url=url)
        assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match=r"^tei: base_url must hold no user"):
        load_model("tei:http://me:secret@h")


def test_the_key_of_a_service_goes_there_alone() -> None:
    openai, tei = SERVICES["openai"], SERVICES["tei"]
    assert key_name(openai, "https://api.openai.com/v1", None) == "OPENAI_API_KEY"
    assert key_name(openai, "https://api.openai.com.example.org/v1", None) == ""
    assert key_name(openai, "http://api.openai.com/v1", None) == "", "anybody on the way could read it"
    assert key_name(openai, "http://localhost:8000/v1", None) == ""
    assert key_name(openai, "http://localhost:8000/v1", "MINE") == "MINE"
    assert key_name(openai, "https://api.openai.com/v1", "") == "", "none is asked for"
    assert key_name(tei, "http://h", None) == ""


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_a_named_key_goes_over_plain_http_to_this_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "sk-secret")
    for name, url in (("openai:m", "http://192.0.2.1:8000/v1"), ("tei:http://192.0.2.1", None)):
        model = load_model(name, base_url=url, api_key_env="MINE")
        with pytest.raises(InputError, match=r"MINE.*192\.0\.2\.1.* over plain http.*Nothing of this was sent"):
            model.embed_queries(["q"]) if name == "openai:m" else model.logits("q", ["d"])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"dtype": "bfloat16"}, "its service decides its dtype. Leave dtype out"),
        ({"instruction": "Find"}, "its service decides its instruction"),
        ({"base_ur": "http://h"}, "has no setting 'base_ur'. Did you mean base_url"),
        ({"encoding": "json"}, "encoding must be one of base64, float"),
        ({"concurrency": 0}, "concurrency of a hosted model must be above 0"),
        ({"timeout": -1.0}, "timeout of a hosted model must be above 0"),
    ],
)
def test_settings_that_do_not_go_with_a_service_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        load_model("openai:m", **options)


def test_a_model_that_runs_here_takes_no_settings_of_services() -> None:
    with pytest.raises(PolicyError, match=r"runs on this machine\. Only a hosted model takes base_url"):
        load_model("all-MiniLM-L6-v2", base_url="http://h")
