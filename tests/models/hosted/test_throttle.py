"""The throttle: halves where a server has too many calls, grows where it has not, and waits as long as it asks."""

import threading

import pytest

from trueval.models.hosted.throttle import BEGIN, LongPauseError, Throttle


def test_it_doubles_with_a_limits_worth_of_answers_until_the_server_refuses_one() -> None:
    throttle = Throttle(100)
    assert throttle.limit == BEGIN
    for _ in range(BEGIN):
        throttle.record_success()
    assert throttle.limit == 2 * BEGIN
    for _ in range(100):
        throttle.record_success()
    assert throttle.limit == 100


def test_then_it_grows_by_one_for_a_limits_worth_of_answers() -> None:
    throttle = Throttle(100)
    throttle.limit = 2.0 * BEGIN
    throttle.record_rate_limit(began=1.0, wait=None)
    limits = [throttle.limit]
    for _ in range(BEGIN):
        throttle.record_success()
    limits.append(throttle.limit)
    assert limits[0] == BEGIN
    assert BEGIN + 0.8 < limits[1] <= BEGIN + 1
    for _ in range(20_000):
        throttle.record_success()
    assert throttle.limit == 100


def test_it_is_halved_once_for_calls_that_were_under_way_together() -> None:
    clock = [0.0]
    throttle = Throttle(64, now=lambda: clock[0])
    throttle.limit = 16.0
    clock[0] = 5.0
    for _ in range(8):
        throttle.record_rate_limit(began=4.0, wait=None)
    assert throttle.limit == 8.0
    clock[0] = 6.0
    throttle.record_rate_limit(began=5.5, wait=None)
    assert throttle.limit == 4.0
    for number in range(9):
        throttle.record_rate_limit(began=7.0 + number, wait=None)
        clock[0] = 7.5 + number
    assert throttle.limit == 1.0


def test_everybody_waits_as_long_as_the_server_asks() -> None:
    clock = [0.0]
    throttle = Throttle(4, now=lambda: clock[0])
    throttle.record_rate_limit(began=0.0, wait=3.0)
    throttle.record_rate_limit(began=0.0, wait=1.0)
    assert throttle._wait() == 3.0
    clock[0] = 3.0
    assert throttle._wait() == 0.0


def test_no_more_than_the_limit_are_under_way() -> None:
    throttle = Throttle(3)
    throttle.limit = 2.0
    peak, lock = [0], threading.Lock()
    gate = threading.Barrier(2, timeout=10)

    def work() -> None:
        with throttle.turn():
            with lock:
                peak[0] = max(peak[0], throttle.under_way)
            gate.wait()  # two are inside at the same time, or it breaks

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert peak[0] == 2
    assert throttle.under_way == 0


def test_a_pause_beyond_all_patience_is_told_and_not_waited_for() -> None:
    clock = [0.0]
    throttle = Throttle(4, now=lambda: clock[0], patience=60.0)
    throttle.record_rate_limit(began=0.0, wait=3600.0)
    with pytest.raises(LongPauseError) as pause, throttle.turn():
        pass
    assert pause.value.seconds == 3600.0
    assert throttle.under_way == 0
    clock[0] = 3600.0
    with throttle.turn():
        assert throttle.under_way == 1
