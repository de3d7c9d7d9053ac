"""Workloads: each system takes its sets, each cell is measured once, keys exist, all from a seed."""

import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.__main__ import matching
from bench.key_set import BATCHES, HOT, PER_BATCH, features_of, key_set, split, timed_batches
from bench.report.headline import ENOUGH
from bench.requests import PARTS, PLACES, RANKINGS, REQUESTS, RequestInputs
from bench.systems import description
from bench.systems.description import described, made
from bench.systems.http import write_bodies
from bench.workload import WORKLOADS, Cell, Set
from data.flights import Request, blocks
from data.ranking import Ranking
from python_baseline.keys import INDICES, NAMES

FULL, QUICK = WORKLOADS["full"], WORKLOADS["quick"]
SQL = Path(__file__).resolve().parents[2] / "sql"
PREDICT = "predict({model}, {columns})"


def test_every_set_that_a_system_takes_is_in_some_workload() -> None:
    known = {name for workload in WORKLOADS.values() for name in workload.cells}
    for system in described().values():
        assert {*system.takes} <= known, system.name
    labels = [one.label for system in described().values() for one in system.variants.values()]
    assert len({*labels}) == len(labels)


def test_a_new_system_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "axle"
    folder.mkdir()
    text = 'side = "service"\norder = 99\n[axle]\nwhat = "new"\nclass = "Axle"\ntakes = ["every"]\n'
    (folder / "system.toml").write_text(text + 'variants.http = {label = "axle"}\n')
    monkeypatch.setattr(description, "FOLDER", tmp_path)
    known = described.__wrapped__()
    assert [cell.name for cell in FULL.cells_of(known)] == [
        f"axle/http/random/25t/{clients}c" for clients in (20, 100)
    ]
    with pytest.raises(ModuleNotFoundError, match=r"bench\.systems\.axle"):
        made(known["axle"], None)


@pytest.mark.parametrize("name", ["asgi", "fastapi_plain", "axum", "axum_redis"])
def test_services_and_postgresql_have_the_same_cells(name: str) -> None:
    """A rival without a cell could not win."""
    cells = FULL.cells_of(described())
    # Programs also measure the best service.
    without = {"extended", *(() if name == "asgi" else ("psycopg",))}
    own, asked = (
        {replace(cell, system="", variant="") for cell in cells
         if cell.system == system and cell.variant not in without}
        for system in ("postgres_direct", name)
    )  # fmt: skip
    assert own == asked


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_cell_is_named_once(name: str) -> None:
    cells = WORKLOADS[name].cells_of(described())
    assert cells and len({cell.name for cell in cells}) == len(cells)
    assert {cell.request for cell in cells} <= {*REQUESTS}


def test_workloads_take_as_long_as_they_say() -> None:
    cells = QUICK.cells_of(described())
    assert {cell.trees for cell in cells} == {25}
    assert QUICK.planned_minutes(cells) < 6
    # make bench-quick builds neither pgboost_train nor the engine's wheel, and no vegeta is needed.
    assert not {cell.system for cell in cells} & {"postgres_libxgboost", "asgi_gbtrees"}
    assert not QUICK.training_rounds and not QUICK.has_rates and FULL.has_rates
    cells = FULL.cells_of(described())
    assert FULL.planned_minutes(cells) <= 30
    often = {cell.name for cell in cells if FULL.turns(cell) >= ENOUGH}
    for request in ("random", *RANKINGS):
        assert f"postgres_direct/prepared/{request}/25t/20c" in often


def test_a_cell_has_the_turns_of_the_set_with_more() -> None:
    sets = {
        "clients": Set(("fetch",), (1, 20), turns=1),
        "batch": Set(("random",), (20,), turns=2),
        "every": Set(("fetch",), (20, 100)),
    }
    workload = replace(FULL, cells=sets, repetitions=3)
    cells = [cell for cell in workload.cells_of(described()) if cell.system == "postgres_direct"]
    turns = {(cell.request, cell.clients): workload.turns(cell) for cell in cells}
    assert turns == {("fetch", 1): 1, ("random", 20): 2, ("fetch", 20): 3, ("fetch", 100): 3}
    for repetition in range(3):
        found = workload.in_turn(cells, repetition)
        assert {(cell.request, cell.clients) for cell in found} == {
            asked for asked, count in turns.items() if repetition < count
        }


def test_rates_of_one_kind_rise_within_each_repetition() -> None:
    cells = FULL.cells_of(described())
    for repetition in range(FULL.cells["rates"].turns):
        seen: dict[Cell, list[int]] = defaultdict(list)
        for cell in FULL.in_turn(cells, repetition):
            if cell.rate:
                seen[replace(cell, rate=None)].append(cell.rate)
        assert {tuple(rates) for rates in seen.values()} == {FULL.cells["rates"].rates}


def test_a_cell_is_repeated_for_each_delay() -> None:
    cells = QUICK.cells_of(described())
    delayed = replace(QUICK, delays_ms=(None, 0.0, 0.25)).cells_of(described())
    names = {cell.name for cell in delayed}
    assert len(names) == len(delayed) == 3 * len(cells)
    assert {f"postgres_direct/simple/random/25t/20c/{ms}ms" for ms in ("0", "0.25")} <= names


def test_each_repetition_has_every_cell_in_a_new_order() -> None:
    cells = QUICK.cells_of(described())
    first, second = QUICK.in_turn(cells, 0), QUICK.in_turn(cells, 1)
    assert set(first) == set(second) == set(cells)
    assert first != second
    assert first == QUICK.in_turn(cells, 0)


def test_cells_are_found_by_pattern() -> None:
    cells = QUICK.cells_of(described())
    assert matching(cells, None) == cells and matching(cells, ["nothing"]) == []
    name = "postgres_direct/simple/random/25t/20c"
    assert [cell.name for cell in matching(cells, [name])] == [name]
    drawn = matching(cells, ["axum*/random/*"])
    found = {(cell.system, cell.request) for cell in drawn}
    assert found == {("axum", "random"), ("axum_redis", "random")}
    assert matching(cells, ["axum*/http/random/*"]) == drawn


def test_keys_are_different_and_lead_to_flights() -> None:
    request = Request(20_000)
    keys = key_set(request, 1_000)
    assert keys[0] == HOT
    assert len({*keys}) == 1_000
    flights = np.concatenate([*blocks(request)])[:, INDICES]
    assert {*keys} <= {tuple(key) for key in flights.tolist()}
    assert keys == key_set(request, 1_000)
    assert keys != key_set(Request(20_000, seed=1), 1_000)
    with pytest.raises(ValueError, match="not 1000"):
        key_set(Request(500), 1_000)


def test_the_features_are_of_the_first_flight_of_each_key() -> None:
    request = Request(70_000)
    keys = key_set(request, 500)
    flights = np.concatenate([*blocks(request)])[::-1]
    # Backwards, so that the first of several flights with one key is kept.
    every = dict(zip(map(tuple, flights[:, INDICES].tolist()), flights[:, 1:], strict=True))
    assert np.array_equal(features_of(request, keys), [every[key] for key in keys])


def test_the_statements_are_those_of_the_sql_directory() -> None:
    def statement(name: str) -> str:
        lines = (SQL / name).read_text().splitlines()
        return " ".join(line for line in lines if not line.startswith("--")).rstrip(";")

    asked = RequestInputs(25, [HOT], PREDICT)
    for request, file in {"random": "predict.sql", "fetch": "nopredict.sql"}.items():
        (script,) = REQUESTS[request].scripts(asked)
        sent = script.splitlines()[-1]
        for name, value in zip(NAMES, HOT, strict=True):
            sent = sent.replace(f":{name}::real", str(value))
        assert sent.replace("flights_25", "flights") == statement(file)


@pytest.mark.parametrize("name", REQUESTS)
def test_every_value_is_a_parameter_of_the_statement(name: str, inputs: RequestInputs) -> None:
    """No driver writes an application's values into the text."""
    request = REQUESTS[name]
    for script in request.scripts(inputs):
        *lines, statement = script.splitlines()
        known = {line.split()[1] for line in lines} | {*request.variables(inputs)}
        used = {*re.findall(r"(?<!:):(\w+)", statement)}
        assert used <= known and len(used) == len(request.names)
        assert not re.findall(r"[=(,] ?\d+", statement.replace("LIMIT 10", ""))
    for body in request.bodies(inputs)[:20] if request.bodies else ():
        assert len(request.parameters(body)) == len(request.names) == len(request.types)


def test_rankings_have_every_offer_in_one_category_of_each_size(inputs: RequestInputs) -> None:
    ranking = inputs.ranking
    for size, members in ranking.members.items():
        assert members.shape[1] == size
        assert sorted(members.ravel().tolist()) == [*range(len(ranking.offers))]
        trips = {body[0] for body in REQUESTS[f"rank_{size}"].bodies(inputs)}
        assert {*range(ranking.count)} >= trips
    # What is written is not what others read.
    assert all(body[0] >= ranking.count for body in REQUESTS["fresh"].bodies(inputs))


@pytest.fixture(scope="module")
def inputs() -> RequestInputs:
    request = Request(20_000)
    keys = key_set(request, 1_250)
    features = features_of(request, keys[:1])[0].tolist()
    return RequestInputs(25, keys, PREDICT, features, Ranking(request))


def test_a_script_draws_every_key_and_no_other() -> None:
    keys = key_set(Request(5_000), 100)
    (script,) = REQUESTS["random"].scripts(RequestInputs(25, keys, PREDICT))
    tree = re.search(r"^\\set key (.*)$", script, re.MULTILINE)[1]
    assert "\\set i random(0, 99)\n" in script
    expression = re.sub(r"CASE WHEN :i < (\d+) THEN", r"IF(i < \1,", tree)
    expression = expression.replace("ELSE", ",").replace("END", ")").replace("IF(", "choose(")
    for index, key in enumerate(keys):
        packed = eval(expression, {"choose": lambda c, a, b: a if c else b, "i": index})
        parts = [packed // place % size for place, size in zip(PLACES, PARTS, strict=True)]
        assert tuple(parts) == key


def test_batches_are_the_same_for_sql_and_for_http(tmp_path: Path, inputs: RequestInputs) -> None:
    assert [key for together in split(inputs.keys) for key in together] == inputs.keys
    batches = timed_batches(inputs.keys)
    assert [len(together) for together in batches] == [PER_BATCH] * BATCHES
    arrays = REQUESTS["batch"].variables(inputs)
    for place, together in enumerate(batches):
        columns = [json.loads(f"[{arrays[f'{name}_{place}'][1:-1]}]") for name in NAMES]
        assert [*zip(*columns, strict=True)] == together
    bodies = write_bodies(tmp_path, inputs)["batch"].read_text().splitlines()
    assert [json.loads(body) for body in bodies] == [[[*key] for key in b] for b in batches]
