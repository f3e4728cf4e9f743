"""Money: what a call costs is told before, held to a limit, and written down after."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.models.hosted.loopback import Loopback, Trouble

from trueval.collection import text_hash
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.models.hosted.account import Account, Price, ServiceUsage
from trueval.models.hosted.call_batches import CallLimits, calls, estimate_tokens
from trueval.models.hosted.call_log import CallLog, amount
from trueval.models.hosted.call_owners import OWNER
from trueval.models.hosted.failures import CallError, FailureKind
from trueval.models.hosted.services import is_this_machine

TEXTS = ["one", "two words", "three more words"]  # 2, 4 and 7 tokens as we count, 1, 2 and 3 as the service does
QUIET = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")


def told(model: Any, ask: Callable[[Any], Any]) -> str:
    """The notice before the first call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask(model)
    (notice,) = caught
    assert notice.category is TruevalWarning
    return str(notice.message)


def lines(ledger: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]


def test_a_notice_says_what_goes_to_whom_for_how_much(service: Loopback, load: Callable[..., Any]) -> None:
    def ask(model: Any) -> Any:
        return model.embed_documents(TEXTS) if hasattr(model, "embed_documents") else model.logits("q", TEXTS)

    host = service.url.removeprefix("http://")
    cheap = load("openai:m", price_per_million_tokens=1000, account=Account(max_cost=1))
    assert told(cheap, ask) == (
        "documents: 3 texts in 1 call to openai:m, about 13 tokens, for about 0.014, at most 0.052. It goes to "
        f"{host}; 0 of at most 1 is spent."
    )
    unknown = load("voyage:m", batch_size=2)
    assert told(unknown, ask).endswith(f"13 tokens, at a price that is not known. It goes to {host}.")
    searches = load("cohere:m", price_per_thousand_searches=2)
    assert "pairs: 3 pairs in 1 call to cohere:m, about" in told(searches, ask)
    assert ", for about 0.002, at most 0.002." in told(searches, ask)
    assert is_this_machine("http://localhost:1")
    assert is_this_machine("http://[::1]:8080/v1")
    assert not is_this_machine("https://localhost.example.org")


def test_what_leaves_this_machine_is_said_so(load: Callable[..., Any]) -> None:
    model = load("openai:m", base_url=None, api_key_env="NOT_SET_ANYWHERE")
    leaves = r"that is not known\. It leaves this machine for api\.openai\.com, with the key in NOT_SET_ANYWHERE\."
    with pytest.warns(TruevalWarning, match=leaves), pytest.raises(InputError, match="NOT_SET_ANYWHERE is not set"):
        model.embed_queries(["q"])


@QUIET
def test_every_call_is_in_the_ledger_as_it_was_billed(
    service: Loopback, load: Callable[..., Any], tmp_path: Path
) -> None:
    ledger = tmp_path / "new" / "ledger.jsonl"
    account = Account(ledger=ledger)
    service.troubles = [Trouble(429, body="{}"), Trouble(body="<html>")]
    load("openai:m", price_per_million_tokens=5e5, batch_size=2, account=account).embed_documents(TEXTS)
    load("cohere:m", price_per_thousand_searches=2, account=account).logits("q", TEXTS)
    load("tei:m", account=account).logits("q", TEXTS)
    every = lines(ledger)
    assert [line["status"] for line in every[::2]] == ["sent"] * 6
    assert [line["call"] for line in every[::2]] == [line["call"] for line in every[1::2]]
    assert len({line["call"] for line in every}) == 6
    busy, broken, first, second, searched, free = every[1::2]
    assert [line["status"] for line in every[1::2]] == ["429", "broken answer", "200", "200", "200", "200"]
    most = (len("one") + 8 + len("two words") + 8) / 2
    assert (every[0]["cost"], every[0]["at_most"]) == (None, most), "no token is shorter than a byte"
    assert (busy["cost"], busy["at_most"]) == (0.0, None), "a refusal is not billed"
    assert (broken["cost"], broken["at_most"]) == (None, most), "half an answer may be"
    assert busy["batch"] == first["batch"] == text_hash(("", "one", "two words"))
    host = service.url.removeprefix("http://")
    assert [first[name] for name in ("service", "host", "model", "part", "texts")] == [
        "openai",
        host,
        "m",
        "documents",
        2,
    ]
    assert (first["tokens"], first["estimated_tokens"], first["cost"]) == (3, 6, 1.5)
    assert (second["tokens"], second["cost"]) == (3, 1.5)
    assert (searched["searches"], searched["cost"]) == (1, 0.002)
    assert (free["tokens"], free["cost"]) == (None, None), "TEI bills nobody"
    assert account.spent == 3.002 + most
    assert account.at_most == most
    assert "one" not in ledger.read_text(encoding="utf-8"), "texts stay out of the ledger"
    assert first["time"] < searched["time"]
    assert first["time"].endswith("+00:00")


@QUIET
def test_too_dear_is_refused_before_anything_is_sent(service: Loopback, load: Callable[..., Any]) -> None:
    model = load("openai:m", price_per_million_tokens=1e6, account=Account(max_cost=13))
    with pytest.raises(InputError, match=r"3 documents for openai:m would cost about 14 with 0 spent, .*of 13"):
        model.embed_documents(TEXTS)
    unknown = load("voyage:m", account=Account(max_cost=1))
    with pytest.raises(InputError, match=r"max_cost is 1, and the price is not known. Give price_per_million_tokens"):
        unknown.embed_documents(TEXTS)
    by_tokens = load("cohere:m", price_per_million_tokens=1, account=Account(max_cost=1))
    with pytest.raises(InputError, match="the price is not known"):
        by_tokens.logits("q", TEXTS)
    assert service.seen == []


@QUIET
def test_the_limit_holds_when_a_service_bills_more_than_expected(service: Loopback, load: Callable[..., Any]) -> None:
    def dear(found: Any) -> Any:
        return {**found, "usage": {"total_tokens": 40}}

    service.troubles = [Trouble(change=dear)] * 10
    account = Account(max_cost=100)
    model = load("openai:m", price_per_million_tokens=1e6, batch_size=1, account=account)
    with pytest.raises(InputError, match=r"stopped before the max_cost of 100 is exceeded, with 80 spent.*is kept"):
        model.embed_documents([f"t{number}" for number in range(10)])
    assert (len(service.seen), account.spent) == (2, 80.0)


@QUIET
def test_models_share_an_account(service: Loopback, load: Callable[..., Any]) -> None:
    account = Account(max_cost=30)
    load("openai:m", price_per_million_tokens=1e6, account=account).embed_documents(TEXTS)
    assert account.spent == 6
    other = load("jina:m", price_per_million_tokens=1e6, account=account)
    with pytest.raises(InputError, match=r"would cost about 25 with 6 spent"):
        other.logits("some query", ["one", "two words", "three"])


def test_calls_beside_each_other_share_what_is_left() -> None:
    account = Account(max_cost=10)
    with account.call(6, {}, "m") as first:
        waiting = threading.Thread(target=lambda: pay(account, 6, 1))
        waiting.start()
        time.sleep(0.05)
        assert account.spent == 0, "the second waits: with both 12 could be spent"
        first.record_response(4, {})
    waiting.join()
    assert account.spent == 5
    with pytest.raises(InputError, match=r"m: stopped before the max_cost of 10 is exceeded, with 5 spent; .* up to 6"):
        pay(account, 6, 1)
    pay(account, 5, 5)
    assert account.spent == 10


def test_accounts_within_one_share_its_limit_and_keep_their_own() -> None:
    limit = Account(10)
    one, other = Account(within=limit), Account(4, within=limit)
    pay(one, 6, 5)
    pay(other, 4, 4)
    for account in (one, other):
        with pytest.raises(InputError, match="max_cost of"):
            pay(account, 2, 1)
        with pytest.raises(InputError, match="Nothing of this was sent"):
            account.expect(2, "more")
    assert (one.spent, other.spent, limit.spent) == (5, 4, 9), "what was not sent costs nothing in any of them"
    with pytest.raises(CallError), one.call(0.5, {}, "m"):
        raise CallError(FailureKind.BUSY, "cut: half an answer", billed=True)
    assert (one.spent, limit.spent, limit.at_most) == (5.5, 9.5, 0.5)
    with pytest.raises(CallError), one.call(0.5, {}, "m"):
        raise CallError(FailureKind.BUSY, "HTTP 500", 500)
    assert (one.spent, limit.spent) == (5.5, 9.5)


@pytest.mark.parametrize(
    "owner", [None, 7, "x", "a:b", f"{socket.gethostname()}:x:y", f"{socket.gethostname()}:{10**20}:y"]
)
@pytest.mark.parametrize("most", [0.5, 10**400, "0.5"])
def test_a_line_of_a_log_that_is_not_ours_ends_nothing(tmp_path: Path, owner: Any, most: Any) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_text(json.dumps({"call": "a", "status": "sent", "owner": owner, "at_most": most, "time": known_time()}))
    file.write_text(file.read_text() + "\n")
    account = Account(10, file, shared=True)
    assert account.spent == (0.5 if most == 0.5 else 0.0)
    pay(account, 1, 1)


def pay(account: Account, most: float | None, cost: float | None) -> None:
    with account.call(most, {}, "m") as sent:
        sent.record_response(cost, {})


@pytest.mark.parametrize(
    ("damage", "lines"),
    [
        (lambda text: text, 0),
        (lambda text: text + '{"call": "3f", "sta\n', 0),  # half a line: a program was stopped
        (lambda text: "\0\0\0\n" + text, 0),
        (lambda text: text.replace('"cost": 0.25', '"cost": 0.2\x00'), 1),
        (lambda text: "PK\n" + text + "what is this\n[1]\n", 3),
    ],
)
def test_a_log_that_was_damaged_is_said_to_be_once(tmp_path: Path, damage: Callable[[str], str], lines: int) -> None:
    log = tmp_path / "calls.jsonl"
    with Account(ledger=log, shared=True).call(1.0, {}, "it") as sent:
        sent.record_response(0.25, {})
    log.write_text(damage(log.read_text()))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        account = Account(5.0, log, shared=True)
        with account.call(1.0, {}, "it") as sent:  # it looks again
            sent.record_response(0.5, {})
    assert len(caught) == (lines > 0)
    said = f"calls.jsonl: {lines} line{'s' * (lines > 1)} cannot be read, and what was spent by them is not counted"
    assert all(said in str(each.message) for each in caught)


@QUIET
def test_what_is_billed_in_another_unit_counts_as_estimated(service: Loopback, load: Callable[..., Any]) -> None:
    def in_tokens(found: Any) -> Any:
        return {"results": found["results"], "usage": {"total_tokens": 10**400}}

    service.troubles = [Trouble(change=in_tokens), Trouble(change=lambda found: {"results": found["results"]})]
    account = Account(max_cost=1)
    model = load("cohere:m", price_per_thousand_searches=400, account=account)
    model.logits("q", TEXTS)
    model.logits("r", TEXTS)
    assert account.spent == 0.8
    with pytest.raises(InputError, match=r"with 0\.8 spent"):
        model.logits("s", TEXTS)
    assert len(service.seen) == 2


def test_what_was_set_aside_becomes_what_was_paid_in_one_step() -> None:
    account = Account(max_cost=10)
    pay(account, 6, 8)
    with pytest.raises(InputError, match="with 8 spent"):
        pay(account, 3, 1)
    pay(account, 2, 2)


def test_a_call_whose_bill_is_not_known_counts_at_its_most(tmp_path: Path) -> None:
    account = Account(10, tmp_path / "calls.jsonl", shared=True)
    for failure in (CallError(FailureKind.BUSY, "cut: it broke off", billed=True), KeyboardInterrupt()):
        with pytest.raises(type(failure)), account.call(2, {"model": "m"}, "m"):
            raise failure
    with pytest.raises(CallError), account.call(2, {"model": "m"}, "m"):
        raise CallError(FailureKind.LOST, "no connection")
    assert (account.spent, account.at_most) == (4, 4)
    with pytest.raises(InputError, match=r"with 4 spent \(up to 4 of it for calls whose bill is not known\)"):
        pay(account, 7, 1)
    known = next(line for line in lines(tmp_path / "calls.jsonl") if line["status"] == "cut")
    with (tmp_path / "calls.jsonl").open("a") as file:  # somebody looked into the account there
        file.write(json.dumps({"call": known["call"], "status": "cut", "cost": 0.5}) + "\n")
    assert (Account(10, tmp_path / "calls.jsonl", shared=True).spent) == 2.5


def test_what_another_program_has_under_way_is_waited_for(tmp_path: Path) -> None:
    one, other = (Account(10, tmp_path / "calls.jsonl", shared=True) for _ in range(2))
    with one.call(9, {}, "m") as sent:
        waiting = threading.Thread(target=lambda: pay(other, 5, 1))
        waiting.start()
        time.sleep(0.05)
        assert waiting.is_alive()
        sent.record_response(3, {})
    waiting.join(5)
    assert other.spent == 4
    host, _, word = OWNER.rsplit(":", 2)
    line = {"call": "x", "status": "sent", "owner": f"{host}:999999999:{word}", "time": known_time(), "at_most": 5}
    with (tmp_path / "calls.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    with pytest.raises(InputError, match="up to 5 of it for calls whose bill is not known"):
        pay(other, 5, 1)  # that program was killed: nobody waits for it


def known_time() -> str:
    return datetime.now(UTC).isoformat()


def test_many_at_once_from_several_programs_never_exceed_the_limit(tmp_path: Path) -> None:
    """Accounts that read and write one file, as several programs do; each call is billed what it may be at most."""
    billed: list[float] = []

    def spend(account: Account, rng: random.Random) -> None:
        with suppress(InputError):
            while True:
                most = rng.uniform(0.1, 0.9)
                with account.call(most, {}, "m") as sent:
                    cost = most if rng.random() < 0.5 else most / 10
                    billed.append(cost)
                    time.sleep(rng.uniform(0, 0.002))
                    sent.record_response(cost, {})

    accounts = [Account(12, tmp_path / "calls.jsonl", shared=True) for _ in range(4)]
    threads = [threading.Thread(target=spend, args=(accounts[n % 4], random.Random(n))) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 11 < sum(billed) <= 12
    assert accounts[0].spent <= 12
    assert Account(12, tmp_path / "calls.jsonl", shared=True).spent == pytest.approx(sum(billed))


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -1.0])
def test_prices_that_no_limit_can_hold_are_refused(load: Callable[..., Any], price: float) -> None:
    for name in ("price_per_million_tokens", "price_per_thousand_searches"):
        with pytest.raises(PolicyError, match=f"{name} of a hosted model must be a number of at least 0"):
            load("cohere:m", **{name: price})


@QUIET
def test_half_a_line_spoils_no_other(service: Loopback, load: Callable[..., Any], tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_bytes('{"time": "2026", "é'.encode()[:-1])
    load("voyage:m", batch_size=2, account=Account(ledger=ledger)).embed_documents(TEXTS)
    half, *whole = ledger.read_bytes().splitlines()
    assert half.startswith(b'{"time": "2026"')
    assert [json.loads(line)["texts"] for line in whole] == [2, 2, 1, 1]


@QUIET
def test_a_ledger_that_cannot_be_written_is_told_before_anything_is_paid(
    service: Loopback, load: Callable[..., Any], tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.jsonl"
    ledger.mkdir()
    with pytest.raises(InputError, match=r"ledger\.jsonl: cannot be written \(.*Nothing of this was sent"):
        load("voyage:m", account=Account(ledger=ledger)).embed_documents(TEXTS)
    assert service.seen == []


def test_a_limit_must_be_a_number_and_prices_have_one_unit() -> None:
    for wrong in (-1.0, float("nan")):
        with pytest.raises(PolicyError, match="max_cost must be a number of at least 0"):
            Account(max_cost=wrong)
    assert Price(2.5).cost(ServiceUsage(1_000_000)) == 2.5
    assert Price(2.5).cost(ServiceUsage(5, searches=1000)) is None
    assert Price(None, 2).cost(ServiceUsage(5, searches=1000)) == 2


def test_no_text_has_more_tokens_than_bytes_and_none_is_free() -> None:
    for text in ("", "a", "a" * 30, "é" * 30, "検" * 30, "\ud800"):
        assert 1 <= estimate_tokens(text) <= len(text.encode("utf-8", "surrogatepass")) + 1


def test_calls_hold_no_more_than_they_may() -> None:
    texts = [f"{number} " * (number % 7 + 1) for number in range(60)]
    for limits in (CallLimits(1, 10**9), CallLimits(7, 10**9), CallLimits(10**9, 25), CallLimits(4, 13)):
        cut = calls("documents", "", enumerate(texts), limits)
        assert [place for call in cut for group in call.groups for place in group] == list(range(60))
        assert all(len(call.texts) <= limits.texts for call in cut)
        assert all(call.tokens <= limits.tokens or len(call.texts) == 1 for call in cut)
        pairs = list(pairwise(cut))
        full = [a.tokens + b.tokens > limits.tokens or len(a.texts) == limits.texts for a, b in pairs]
        assert sum(full) >= len(pairs) // 2, "calls are filled"


@QUIET
@pytest.mark.parametrize("said", [True, False, 0, -50, 12.5, "7", None, 2**60, [1]])
def test_what_is_no_count_of_tokens_counts_at_its_most(service: Loopback, load: Callable[..., Any], said: Any) -> None:
    service.troubles = [Trouble(change=lambda found: {**found, "usage": {"total_tokens": said}})]
    account = Account()
    load("openai:m", price_per_million_tokens=1e6, account=account).embed_queries(["lift"])
    assert account.spent == account.at_most == len("lift") + 8


def test_lines_beside_a_damaged_one_are_counted_where_the_warning_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b'PK\n{"call": "a", "cost": 0.5}\n')
    log = CallLog(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TruevalWarning, match="1 line cannot be read"):
            log.new_lines()
        assert [amount(entry) for entry in log.new_lines()] == [0.5]
    assert log.new_lines() == []
