"""The generator keeps its promises: same bytes, a possible calendar, a signal, a looked-up row."""

import datetime
import hashlib
import io

import numpy as np
import pandas as pd
import pytest
import xgboost

from data import flights, world
from data.columns import COLUMNS, FEATURES, LOOKED_UP, TARGET
from data.flights import BLOCK, HEADER, NULL, Request, blocks, render

# `python -m data.flights | sha256sum`, with nothing but the defaults; documented in data/README.md.
MILLION = "eaaade3cdf586a7db0b855bc8a680e35bfc89470aa046e2317848f60900d3a0a"


def csv(request: Request) -> bytes:
    return HEADER + b"".join(map(render, blocks(request)))


def table(request: Request) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(csv(request)))


def test_a_million_flights_have_the_documented_bytes() -> None:
    digest = hashlib.sha256(HEADER)
    for rows in blocks(Request(1_000_000)):
        digest.update(render(rows))
    assert digest.hexdigest() == MILLION


def test_a_smaller_set_is_the_beginning_of_a_larger_one() -> None:
    long = csv(Request(2 * BLOCK + 17, seed=5))
    for rows in (1, 100, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK):
        short = csv(Request(rows, seed=5))
        assert short.count(b"\n") == rows + 1
        assert long.startswith(short)


def test_flights_depend_on_the_seed_and_the_block() -> None:
    assert csv(Request(1000, seed=1)) != csv(Request(1000, seed=2))
    assert csv(Request(0)) == HEADER
    first, second = (flights._block(7, block) for block in (0, 1))
    assert (first == second).mean() < 0.5


@pytest.mark.parametrize("rows", [1, 10_000, BLOCK + 5])
@pytest.mark.parametrize("seed", [0, 1, 2022])
@pytest.mark.parametrize("missing", [0.0, 0.9])
def test_the_looked_up_flight_is_there(rows: int, seed: int, missing: float) -> None:
    frame = table(Request(rows, seed, missing))
    found = frame[np.logical_and.reduce([frame[name] == LOOKED_UP[name] for name in LOOKED_UP])]
    assert len(found) >= 1
    assert found[list(FEATURES)].notna().all(axis=1).any()


def test_dates_exist_and_agree() -> None:
    frame = table(Request(100_000))
    for row in frame.drop_duplicates(["year", "month", "dayofmonth"]).itertuples():
        day = datetime.date(row.year, row.month, row.dayofmonth)
        assert world.FIRST_DAY <= day <= world.LAST_DAY
        assert row.dayofweek == day.isoweekday()
        assert row.quarter == (day.month - 1) // 3 + 1
    assert frame.groupby(["year", "month", "dayofmonth"])[["dayofweek"]].nunique().max().item() == 1


def test_distances_are_the_same_both_ways_and_airports_differ() -> None:
    frame = table(Request(200_000))
    assert (frame.originairportid != frame.destairportid).all()
    there = frame.groupby(["originairportid", "destairportid"]).distance.agg(["min", "max"])
    assert (there["min"] == there["max"]).all()
    back = there["min"].swaplevel().rename("back").rename_axis(there.index.names)
    both = pd.concat([there["min"], back], axis=1, join="inner")
    assert len(both) > 1000
    assert (both["min"] == both["back"]).all()


def test_values_look_real_and_are_exact_in_a_real() -> None:
    frame = table(Request(1_000_000))
    airports = set(frame.originairportid)
    assert len(airports) == world.AIRPORTS
    assert min(airports) >= 10135 and max(airports) <= 16869
    # Only the delay is null, and only seldom.
    assert frame[list(FEATURES)].notna().all(axis=None)
    assert 0.005 < frame[TARGET].isna().mean() < 0.05
    assert (frame[TARGET].dropna() >= 0).all()
    known = frame.fillna(0)
    assert (known.astype(np.float32).astype(np.float64) == known).all(axis=None)


def test_missing_makes_features_null_at_the_rate_and_nothing_else() -> None:
    whole, holed = (np.concatenate([*blocks(Request(100_000, 3, rate))]) for rate in (0.0, 0.25))
    assert (whole[:, 0] == holed[:, 0]).all()
    rates = (holed[:, 1:] == NULL).mean(axis=0)
    assert np.abs(rates - 0.25).max() < 0.01
    kept = holed != NULL
    assert (whole[kept] == holed[kept]).all()


def test_trees_learn_the_delay_and_depth_helps() -> None:
    rows = np.concatenate([*blocks(Request(300_000))]).astype(np.float32)
    rows = rows[rows[:, 0] != NULL]
    train = xgboost.DMatrix(rows[:200_000, 1:], rows[:200_000, 0])
    test = xgboost.DMatrix(rows[200_000:, 1:])
    truth = rows[200_000:, 0]

    def error(depth: int) -> float:
        model = xgboost.train({"max_depth": depth, "nthread": 1}, train, 25)
        return float(np.mean((model.predict(test) - truth) ** 2))

    constant = float(np.var(truth))
    assert error(6) < 0.85 * constant
    assert error(6) < 0.9 * error(1)


def test_values_that_the_text_table_does_not_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="lies outside"):
        render(np.full((1, len(COLUMNS)), 100_000, dtype=np.int32))
