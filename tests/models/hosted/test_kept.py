"""What was paid for is kept: nothing is sent twice, not after a crash, and not for another collection."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.models.hosted.loopback import Loopback, Trouble, score, vector

import trueval
from trueval.collection import Collection, candidate_lists
from trueval.errors import InputError, TruevalWarning
from trueval.judgments import Judgments
from trueval.models.outputs import model_outputs

need("safetensors", extra="hosted")
pytestmark = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")

DOCUMENTS = {f"d{number:02}": f"text {number} " + "word " * (number % 5) for number in range(20)}
JUDGMENTS = Judgments.from_dict({"q1": dict.fromkeys(DOCUMENTS, 1), "q2": {"d03": 1, "d07": 0}})


def collection(**more: str) -> Collection:
    return Collection("c", "c", {**DOCUMENTS, **more}, {"q1": "text of q1", "q2": "text of q2"}, JUDGMENTS)


def sent(service: Loopback) -> list[str]:
    return [text for call in service.seen for text in call.texts]


def outputs(model: Any, store: Path, read: Collection | None = None) -> Any:
    found = read or collection()
    return model_outputs(model, found, candidate_lists(found, "corpus"), folder=store)


def test_a_second_pass_sends_nothing_and_needs_no_key(
    service: Loopback, load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MINE", "key")
    first = outputs(load("voyage:m", batch_size=6, api_key_env="MINE"), tmp_path)
    assert len(service.seen) == 5, "queries, and 20 documents by 6"
    service.seen.clear()
    monkeypatch.delenv("MINE")
    again = outputs(load("voyage:m", batch_size=3, api_key_env="MINE", price_per_million_tokens=9), tmp_path)
    assert service.seen == [], "batches, keys and prices change no answer"
    for found in (first, again):
        assert np.asarray(found.arrays["documents"]).tolist() == [vector(text).tolist() for text in DOCUMENTS.values()]
        assert found.batch_sizes == ()
    assert isinstance(again.arrays["documents"], np.memmap)
    assert again.to_dict()["model"] == "voyage:m"


def test_finished_scores_are_kept_in_all_their_digits(
    service: Loopback, load: Callable[..., Any], tmp_path: Path
) -> None:
    outputs(load("cohere:rerank-v3.5"), tmp_path)
    service.seen.clear()
    found = outputs(load("cohere:rerank-v3.5"), tmp_path).arrays["pairs"]
    assert service.seen == []
    queries = collection().queries.values()
    assert found[:, 0].tolist() == [score(query, text) for query in queries for text in DOCUMENTS.values()]


def test_other_settings_are_other_answers(service: Loopback, load: Callable[..., Any], tmp_path: Path) -> None:
    outputs(load("openai:m"), tmp_path)
    for other in (
        load("openai:m", dimension=3),
        load("openai:n"),
        load("voyage:m"),
        load("openai:m", encoding="float"),
        load("openai:m", base_url=f"{service.url}/other"),
    ):
        service.seen.clear()
        outputs(other, tmp_path)
        assert len(sent(service)) == 22


def test_a_larger_collection_sends_what_is_new(service: Loopback, load: Callable[..., Any], tmp_path: Path) -> None:
    for name, known in (("openai:m", 2), ("jina:m", 2)):
        outputs(load(name), tmp_path)
        service.seen.clear()
        grown = collection(d99="a new text", d98=DOCUMENTS["d04"])
        found = outputs(load(name), tmp_path, grown)
        assert sent(service) == ["a new text"] * (1 if name == "openai:m" else known)
        service.seen.clear()
        texts = [*DOCUMENTS.values(), "a new text", DOCUMENTS["d04"]]
        if name == "openai:m":
            assert np.asarray(found.arrays["documents"]).tolist() == [vector(text).tolist() for text in texts]
        else:
            scores = [score(query, text) for query in grown.queries.values() for text in texts]
            assert found.arrays["pairs"][:, 0].tolist() == scores


@pytest.mark.parametrize("name", ["openai:m", "jina:m"])
def test_texts_that_are_there_often_are_sent_once_however_far_apart(
    service: Loopback, load: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("trueval.models.hosted.hosted_model.BLOCK", 3)
    same = {f"s{number}": f"text of {number % 4}" for number in range(20)}
    read = collection(**same)
    found = outputs(load(name, batch_size=2), tmp_path, read).arrays
    texts = list(read.documents.values())
    if name == "openai:m":
        assert Counter(sent(service)) == Counter({*texts, *read.queries.values()})
        assert np.asarray(found["documents"]).tolist() == [vector(text).tolist() for text in texts]
    else:
        assert Counter(sent(service)) == dict.fromkeys(texts, 2), "once for each query"
        scores = [score(query, text) for query in read.queries.values() for text in texts]
        assert found["pairs"][:, 0].tolist() == scores


def test_what_came_before_a_failure_is_kept(service: Loopback, load: Callable[..., Any], tmp_path: Path) -> None:
    service.troubles = [Trouble(), Trouble(), Trouble(), Trouble(400, body='{"detail": "no"}')]
    with pytest.raises(InputError, match="HTTP 400: no"):
        outputs(load("voyage:m", batch_size=5), tmp_path)
    assert len(service.seen) == 4, "queries, and two calls of documents, and the one that failed"
    answered = [text for call in service.seen[:3] for text in call.texts]
    service.seen.clear()
    found = outputs(load("voyage:m", batch_size=4), tmp_path)
    assert sorted(sent(service)) == sorted({*DOCUMENTS.values()} - {*answered})
    assert np.asarray(found.arrays["documents"]).tolist() == [vector(text).tolist() for text in DOCUMENTS.values()]
    # And also where the pass is of a larger collection: parts that are not complete are looked into, too.
    service.troubles = [Trouble(), Trouble(400, body='{"detail": "no"}')]
    grown = collection(**{f"e{number}": f"more {number}" for number in range(9)})
    with pytest.raises(InputError, match="HTTP 400"):
        outputs(load("voyage:m", batch_size=5), tmp_path, grown)
    service.seen.clear()
    outputs(load("voyage:m"), tmp_path, collection(**{f"e{number}": f"more {number}" for number in range(7)}))
    assert sent(service) == ["more 5", "more 6"]


def test_damaged_answers_of_another_collection_are_asked_again(
    service: Loopback, load: Callable[..., Any], tmp_path: Path
) -> None:
    outputs(load("voyage:m"), tmp_path)
    for file in tmp_path.glob("*documents*/rows.npy"):
        file.write_bytes(b"half")
    service.seen.clear()
    with pytest.warns(TruevalWarning, match="damaged outputs .*which are not taken"):
        found = outputs(load("voyage:m"), tmp_path, collection(d99="new"))
    assert len(sent(service)) == 21
    assert np.asarray(found.arrays["documents"])[:20].tolist() == [vector(text).tolist() for text in DOCUMENTS.values()]


def test_a_service_that_changes_its_model_is_noticed(
    service: Loopback, load: Callable[..., Any], tmp_path: Path
) -> None:
    longer = json.dumps({"data": [{"index": i, "embedding": [0.5] * 9} for i in range(5)]})
    service.troubles = [Trouble(), Trouble(), Trouble(body=longer)]
    with pytest.raises(InputError, match="answers of 6 numbers for a text before, and of 9 now"):
        outputs(load("voyage:m", batch_size=5), tmp_path)


def test_two_programs_at_once_pay_once(service: Loopback, load: Callable[..., Any], tmp_path: Path) -> None:
    service.on_call = lambda number: time.sleep(0.02)
    found: list[Any] = []
    models = [load("voyage:m", batch_size=3) for _ in range(2)]
    both = [threading.Thread(target=lambda m=model: found.append(outputs(m, tmp_path))) for model in models]
    for each in both:
        each.start()
    for each in both:
        each.join(30)
    one, other = (np.asarray(each.arrays["documents"]).tolist() for each in found)
    assert one == other == [vector(text).tolist() for text in DOCUMENTS.values()]
    assert max(Counter(sent(service)).values()) == 1


def test_a_damaged_answer_is_asked_again(service: Loopback, load: Callable[..., Any], tmp_path: Path) -> None:
    service.troubles = [Trouble(), Trouble(), Trouble(), Trouble(), Trouble(400, body="{}")]
    with pytest.raises(InputError, match="HTTP 400"):
        outputs(load("voyage:m", batch_size=5), tmp_path)
    (damaged,) = tmp_path.glob("*-documents-*/shard-00001.safetensors")
    damaged.write_bytes(b"half")
    lost = service.seen[2].texts
    unanswered = service.seen[4].texts
    service.seen.clear()
    with pytest.warns(TruevalWarning, match=r"shard-00001.*a damaged shard .*made again: its texts are sent once more"):
        found = outputs(load("voyage:m"), tmp_path)
    assert sorted(sent(service)) == sorted([*lost, *unanswered])
    assert np.asarray(found.arrays["documents"]).tolist() == [vector(text).tolist() for text in DOCUMENTS.values()]


def test_more_shards_than_five_digits_count_are_kept_in_their_order(
    service: Loopback, load: Callable[..., Any], tmp_path: Path
) -> None:
    service.troubles = [Trouble(), Trouble(), Trouble(), Trouble(), Trouble(400, body="{}")]
    with pytest.raises(InputError, match="HTTP 400"):
        outputs(load("voyage:m", batch_size=5), tmp_path)
    (place,) = tmp_path.glob("*-documents-*")
    # As after many calls, without so many files: by name, 100000 would come before 10001 and take its place.
    for old, new in ((0, "10000"), (1, "10001"), (2, "100000")):
        (place / f"shard-{old:05}.safetensors").rename(place / f"shard-{new}.safetensors")
    before = {file.read_bytes() for file in place.glob("shard-*")}
    service.troubles = [Trouble(400, body="{}")]
    with pytest.raises(InputError, match="HTTP 400"):
        outputs(load("voyage:m"), tmp_path)
    assert {file.read_bytes() for file in place.glob("shard-*")} == before
    assert [file.name for file in sorted(place.glob("shard-*"))] == [f"shard-{n:05}.safetensors" for n in range(3)]


PROGRAM = """
import sys, warnings
from pathlib import Path
from trueval.collection import Collection, candidate_lists
from trueval.judgments import Judgments
from trueval.models import load_model
from trueval.models.hosted.account import Account
from trueval.models.outputs import model_outputs

warnings.simplefilter("ignore")
url, store = sys.argv[1:3]
documents = {f"d{number:02}": f"text {number}" for number in range(40)}
judgments = Judgments.from_dict({"q1": {"d00": 1}})
found = Collection("c", "c", documents, {"q1": "text of q1"}, judgments)
account = Account(ledger=Path(store) / "ledger.jsonl")
model = load_model("voyage:m", base_url=url + "/v1", batch_size=2, concurrency=int(sys.argv[3]), account=account,
                   price_per_million_tokens=1e6)
rows = model_outputs(model, found, candidate_lists(found, "corpus"), folder=Path(store) / "outputs").arrays["documents"]
print(float(rows.astype("float64").sum()))
"""


@pytest.mark.parametrize("beside", [1, pytest.param(3, marks=pytest.mark.evidence)])
def test_a_killed_program_sends_nothing_twice_but_what_was_under_way(
    service: Loopback, tmp_path: Path, beside: int
) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if "proxy" not in name.lower()},
        "PYTHONPATH": str(Path(trueval.__file__).parents[1]),
    }
    command = [sys.executable, "-c", PROGRAM, service.url, str(tmp_path), str(beside)]
    reached, go_on = threading.Event(), threading.Event()

    def stop_in_the_middle(number: int) -> None:
        if number > 9:
            reached.set()
            go_on.wait(20)

    service.on_call = stop_in_the_middle
    with subprocess.Popen(command, env=environment) as running:
        assert reached.wait(30)
        # One call was of queries; the answers to the eight others are kept while the next are under way.
        for _ in range(500):
            if len(list(tmp_path.glob("outputs/*-documents-*/shard-*.safetensors"))) == 8:
                break
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)  # while calls are under way: the service has not answered them
    go_on.set()
    service.on_call = lambda number: None
    before = len(service.seen)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    texts = [f"text {number}" for number in range(40)]
    assert float(done.stdout) == pytest.approx(float(sum(vector(text).astype(np.float64).sum() for text in texts)))
    twice = {text for text, times in Counter(sent(service)).items() if times > 1}
    under_way = {text for call in service.seen[9:before] for text in call.texts}
    assert twice == under_way
    assert len(under_way) <= 2 * beside
    ledger = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text(encoding="utf-8").splitlines()]
    calls = [line["call"] for line in ledger]
    assert len(set(calls)) == len(service.seen), "every call that was sent is in the ledger"
    ended = {line["call"] for line in ledger if line["status"] == "200"}
    assert len(set(calls) - ended) == before - 9, "and each that was cut is one without an end"
