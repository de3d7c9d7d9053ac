"""What leads the harness to servers elsewhere; docker compose's own test asks real ones."""

import pytest

from bench.attached.places import Address, Places

SAID = {
    "PGHOST": "postgres", "PGDATABASE": "flights", "PGUSER": "flights", "PGPASSWORD": "a 'b\\",
    "BENCH_PGBOUNCER": "pgbouncer:6432", "BENCH_SERVICE": "service:8000",
    "BASELINE_REDIS_URL": "redis://redis:6379/0", "FLIGHTS": "20000", "TREES": "25",
}  # fmt: skip


def test_the_environment_names_every_place() -> None:
    places = Places.read(SAID)
    assert places.postgresql.at == Address("postgres", 5432)
    assert places.pgbouncer.at == Address("pgbouncer", 6432)
    assert places.service == Address("service", 8000)
    assert (places.rows, places.trees) == (20_000, 25)
    assert places.pgbouncer.environment()["PGPASSWORD"] == SAID["PGPASSWORD"]
    assert "dbname=pgbouncer" in places.pgbouncer.conninfo("pgbouncer")


@pytest.mark.parametrize("name", SAID)
def test_a_place_that_is_not_named_is_an_error(name: str) -> None:
    less = {key: value for key, value in SAID.items() if key != name}
    with pytest.raises(SystemExit, match=f"error: {name} is not set"):
        Places.read(less)


@pytest.mark.parametrize(
    "wrong", [{"BENCH_SERVICE": "service"}, {"BENCH_PGBOUNCER": ":6432"}, {"TREES": "many"}]
)
def test_a_place_that_is_none_is_an_error(wrong: dict[str, str]) -> None:
    with pytest.raises(SystemExit, match="error: "):
        Places.read(SAID | wrong)
