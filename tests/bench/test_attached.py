"""What leads the harness to servers elsewhere; docker compose's own test asks real ones."""

import pytest

from bench.attached import Attached
from bench.workload import WORKLOADS

SAID = {
    "PGHOST": "postgres", "PGDATABASE": "flights", "PGUSER": "flights", "PGPASSWORD": "a 'b\\",
    "BENCH_PGBOUNCER": "pgbouncer:6432", "BENCH_SERVICE": "service:8000",
    "BASELINE_REDIS_URL": "redis://redis:6379/0", "FLIGHTS": "20000", "TREES": "50",
}  # fmt: skip


def test_the_environment_names_every_place_and_what_was_loaded() -> None:
    found = Attached.read(SAID)
    assert found.postgresql == ("postgres", 5432)
    assert found.pgbouncer == ("pgbouncer", 6432)
    assert found.password == SAID["PGPASSWORD"]
    asked = found.workload(WORKLOADS["attached"])
    assert (asked.rows, asked.keys) == (20_000, 10_000)
    assert {tree for one in asked.cells.values() for tree in one.trees} == {50}


@pytest.mark.parametrize("name", SAID)
def test_a_place_that_is_not_named_is_an_error(name: str) -> None:
    less = {key: value for key, value in SAID.items() if key != name}
    with pytest.raises(SystemExit, match=f"error: {name} is not set"):
        Attached.read(less)


@pytest.mark.parametrize(
    "wrong", [{"BENCH_SERVICE": "service"}, {"BENCH_PGBOUNCER": ":6432"}, {"TREES": "many"}]
)
def test_a_place_that_is_none_is_an_error(wrong: dict[str, str]) -> None:
    with pytest.raises(SystemExit, match="error: "):
        Attached.read(SAID | wrong)
