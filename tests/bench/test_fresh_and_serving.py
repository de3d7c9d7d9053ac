"""What is started for services and stores, and what their logs say, without starting any."""

import numpy as np

from bench import serving
from bench.fresh import __main__ as fresh
from bench.fresh import stores
from bench.generators.request_log import Window
from bench.rungs import described


def test_a_service_has_one_core_with_one_worker_and_all_with_one_and_as_many_as_cores() -> None:
    found = [one for one in serving.services(4) if one.of == "http_fastapi"]
    assert [(one.cores, one.workers) for one in found] == [
        (serving.ONE, 1),
        (serving.ALL, 1),
        (serving.ALL, 4),
    ]
    assert found[0].rung.command[:3] == ("taskset", "--cpu-list", "0")
    assert "--workers=4" in found[2].rung.command


def test_every_service_that_is_started_knows_what_it_is_asked_for() -> None:
    names = {one.of for one in serving.services(2)}
    assert {"http_go", "http_fastapi", "http_flask", "http_axum", *serving.POSTGRES} == names
    assert all(described()[name].serving for name in names - {*serving.POSTGRES})


def test_a_store_is_started_as_it_is_described() -> None:
    rungs = {one.name: one.rung(123) for one in stores.STORES}
    assert rungs["go_flat"].command[-2:] == ("flat", "123")
    assert rungs["go_limit"].environment == {"GOGC": "off", "GOMEMLIMIT": "1GiB"}
    assert rungs["python_frozen"].environment["LIVE"] == "123"
    assert rungs["pg_auto"].postgres == "socket" and not rungs["pg_auto"].command


def test_every_rate_is_asked_of_every_store_and_other_sizes_of_some() -> None:
    plan = fresh.asked(stores.STORES, 8, 30)
    middle = {one.store.name: one for one in plan if one.live == fresh.LIVE}
    assert middle.keys() == {one.name for one in stores.STORES}
    for one in middle.values():
        assert {500, 2_000, 8_000} <= {*one.updates}
        assert (0 in one.updates) == one.store.plain
        assert dict(zip(one.updates, one.seconds, strict=True))[8_000] == 30
    grown = {(one.store.name, one.live) for one in plan if one.live != fresh.LIVE}
    names = ("go_map", "go_flat", "pg_auto")
    assert grown == {(name, live) for name in names for live in (10_000, 10_000_000)}
    assert sum(one.planned_seconds for one in plan) < 20 * 60


def test_a_timeline_has_the_slowest_of_each_tenth_of_a_second() -> None:
    # Due, sent and done; the first second does not count, nor does what is due after the end.
    requests = np.array(
        [
            [0.5, 0.5, 9.0],
            [1.0, 1.0, 1.002],
            [1.05, 1.05, 1.058],
            [1.95, 2.0, 2.15],
            [2.0, 2.0, 2.5],
        ]
    )
    found = fresh._timeline(requests, Window(1, 1))
    assert found == [8.0, *[0.0] * 8, 200.0]


def test_snapshots_are_found_in_the_log_of_redis() -> None:
    log = (
        "17:M 22 Nov 2026 14:43:01.250 * Background saving started by pid 18\n"
        "18:C 22 Nov 2026 14:43:01.500 * DB saved on disk\n"
        "17:M 22 Nov 2026 14:43:01.750 * Background saving terminated with success\n"
    )
    (found,) = stores._snapshots(log)
    assert found % 1_000_000_000 == 750_000_000
