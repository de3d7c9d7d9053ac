"""The workload names every cell once, asks for keys that exist, and repeats from its seed."""

import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.__main__ import matching
from bench.key_set import BATCHES, HOT, PER_BATCH, key_set, split, timed_batches
from bench.queries import PLACES, SIZES, columns, fetch, one, write_scripts
from bench.systems import SYSTEMS
from bench.systems.python import write_bodies
from bench.workload import FULL, IN_THE_SERVER, MAIN, QUICK, RATES, Cell, Workload
from data.flights import Request, blocks
from python_baseline.keys import INDICES

VARIANTS = {name: ("http",) if name.startswith("python") else ("simple",) for name in SYSTEMS}
SQL = Path(__file__).resolve().parents[2] / "sql"


@pytest.mark.parametrize("workload", [QUICK, FULL], ids=lambda workload: workload.name)
def test_every_cell_is_named_once(workload: Workload) -> None:
    cells = workload.cells(VARIANTS)
    assert {cell.system for cell in cells} <= SYSTEMS.keys()
    names = [cell.name for cell in cells]
    assert len(set(names)) == len(names)


def test_the_quick_workload_is_what_it_is_called() -> None:
    cells = QUICK.cells(VARIANTS)
    assert {cell.trees for cell in cells} == {25}
    assert {cell.clients for cell in cells} == {1, 5, 20}
    assert QUICK.repetitions == 1
    assert QUICK.planned_minutes(cells) < 6


def test_the_full_workload_takes_less_than_an_hour() -> None:
    cells = FULL.cells(VARIANTS)
    assert FULL.planned_minutes(cells) < 60
    assert FULL.repetitions >= 5
    # A cell of PostgreSQL that a bar is set for has its control.
    names = {cell.name for cell in cells}
    for cell in cells:
        if cell.system.startswith("postgres") and cell.request == "hot" and cell.trees == 25:
            control = replace(cell, request="columns")
            assert cell.rate or cell.system in IN_THE_SERVER or control.name in names


def test_rates_of_one_kind_rise_within_each_repetition() -> None:
    cells = FULL.cells(VARIANTS)
    for repetition in range(2):
        seen: dict[Cell, list[int]] = defaultdict(list)
        for cell in FULL.in_turn(cells, repetition):
            if cell.rate:
                seen[replace(cell, rate=None)].append(cell.rate)
        assert len(seen) == len(MAIN)
        assert {tuple(rates) for rates in seen.values()} == {RATES}


def test_some_systems_and_other_models_can_be_asked_for() -> None:
    few = QUICK.among(["postgres_direct", "elsewhere"], [7])
    cells = few.cells(VARIANTS)
    assert {cell.system for cell in cells} == {"postgres_direct"}
    assert {cell.trees for cell in cells} == {7}
    every = [cell for cell in QUICK.cells(VARIANTS) if cell.system == "postgres_direct"]
    assert len(cells) == len(every)


def test_a_cell_is_repeated_for_each_delay() -> None:
    delayed = replace(QUICK, delays_ms=(None, 0.0, 0.25)).cells(VARIANTS)
    assert len(delayed) == 3 * len(QUICK.cells(VARIANTS))
    names = {cell.name for cell in delayed}
    assert len(names) == len(delayed)
    assert "postgres_direct/simple/hot/25t/20c/2000r/0.25ms" in names
    assert "postgres_direct/simple/hot/25t/20c/0ms" in names


def test_each_repetition_has_every_cell_in_an_order_of_its_own() -> None:
    cells = QUICK.cells(VARIANTS)
    first, second = QUICK.in_turn(cells, 0), QUICK.in_turn(cells, 1)
    assert set(first) == set(second) == set(cells)
    assert first != second
    assert first == QUICK.in_turn(cells, 0)


def test_cells_are_found_by_pattern() -> None:
    cells = QUICK.cells(VARIANTS)
    assert matching(cells, None) == cells
    one_cell = matching(cells, ["postgres_direct/simple/hot/25t/20c"])
    assert [cell.name for cell in one_cell] == ["postgres_direct/simple/hot/25t/20c"]
    hot = matching(cells, ["python_*/hot/*"])
    assert {cell.request for cell in hot} == {"hot"}
    assert len(hot) == 9 + 6
    assert matching(cells, ["nothing"]) == []


def test_keys_are_different_and_lead_to_flights() -> None:
    request = Request(20_000)
    keys = key_set(request, 1_000)
    assert keys[0] == HOT
    assert len({*keys}) == 1_000
    flights = np.concatenate([*blocks(request)])[:, INDICES]
    assert {*keys} <= {tuple(key) for key in flights.tolist()}
    assert keys == key_set(request, 1_000)
    assert keys != key_set(Request(20_000, seed=1), 1_000)


def test_more_keys_than_there_are_is_an_error() -> None:
    with pytest.raises(ValueError, match="not 1000"):
        key_set(Request(500), 1_000)


def test_the_statements_are_those_of_the_sql_directory() -> None:
    def statement(name: str) -> str:
        lines = (SQL / name).read_text().splitlines()
        return " ".join(line for line in lines if not line.startswith("--")).rstrip(";")

    assert one(25, HOT).replace("flights_25", "flights") == statement("predict.sql")
    assert fetch(HOT) == statement("nopredict.sql")
    assert columns(HOT) == statement("control.sql")


def test_a_script_draws_every_key_and_no_other(tmp_path: Path) -> None:
    keys = key_set(Request(5_000), 100)
    script = write_scripts(tmp_path, 25, keys)["random"][0].read_text()
    tree = re.search(r"^\\set key (.*)$", script, re.MULTILINE)[1]
    assert "\\set i random(0, 99)\n" in script
    expression = re.sub(r"CASE WHEN :i < (\d+) THEN", r"IF(i < \1,", tree)
    expression = expression.replace("ELSE", ",").replace("END", ")").replace("IF(", "choose(")
    for index, key in enumerate(keys):
        packed = eval(expression, {"choose": lambda c, a, b: a if c else b, "i": index})
        parts = [packed // place % size for place, size in zip(PLACES, SIZES, strict=True)]
        assert tuple(parts) == key


def test_batches_are_the_same_for_sql_and_for_http(tmp_path: Path) -> None:
    keys = key_set(Request(20_000), 1_250)
    assert [key for together in split(keys) for key in together] == keys
    batches = timed_batches(keys)
    assert [len(together) for together in batches] == [PER_BATCH] * BATCHES
    scripts = write_scripts(tmp_path, 25, keys)["batch"]
    for script, together in zip(scripts, batches, strict=True):
        rows = re.findall(r"\((\d+), (\d+), (\d+), (\d+), (\d+)\)", script.read_text())
        assert [(place, *key) for place, key in enumerate(together)] == [
            tuple(map(int, row)) for row in rows
        ]
    bodies = write_bodies(tmp_path, keys)["batch"].read_text().splitlines()
    assert [json.loads(body) for body in bodies] == [[[*key] for key in b] for b in batches]
