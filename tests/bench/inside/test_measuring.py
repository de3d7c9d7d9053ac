"""`make speed`: interleaved measurements, stale answers, versions of a model, XGBoost in Python."""

from pathlib import Path

import numpy as np
import pytest
import xgboost

from bench.inside.deploys import stale, variants
from bench.inside.reference import beside, predict_all
from bench.interleaving import interleaved
from data.flights import Request, blocks
from tools.cluster import ClusterError
from tools.workbench.training import Recipe, trained


def test_measures_take_turns_in_an_order_drawn_anew() -> None:
    order: list[str] = []

    def measure(name: str) -> float:
        order.append(name)
        return float(len(order))

    values = interleaved({name: lambda name=name: measure(name) for name in "abcde"}, 3, warm_ups=1)
    rounds = ["".join(order[place : place + 5]) for place in range(0, 20, 5)]
    assert {"".join(sorted(one)) for one in rounds} == {"abcde"}
    assert len({*rounds}) > 1
    # Warm-ups are not counted.
    assert sorted(value for series in values.values() for value in series) == [*range(6, 21)]


# Version 1 was committed at 1 and version 2 at 5, by a statement that had begun at 4.
CHANGES = [(0.0, 1.0, 10.0), (4.0, 5.0, 20.0)]


@pytest.mark.parametrize(
    ("statement", "count"),
    [
        ((2.0, 0.1, 10.0), 0),
        ((2.0, 0.1, 20.0), 1),
        ((5.1, 0.1, 20.0), 0),
        ((5.1, 0.1, 10.0), 1),
        # Between a change's start and the return of its commit both answers are right.
        ((4.5, 0.1, 10.0), 0),
        ((4.5, 0.1, 20.0), 0),
        ((3.95, 0.1, 20.0), 0),
        # Statements before the first change and after the end are ignored.
        ((0.5, 0.1, 20.0), 0),
        ((9.5, 0.1, 10.0), 0),
    ],
)
def test_an_answer_is_stale_that_began_after_a_commit(
    statement: tuple[float, float, float], count: int
) -> None:
    assert stale(np.array([statement, (2.0, 0.1, 10.0)]), CHANGES, 0.0, 9.0) == count


def test_variants_of_a_model_differ_in_what_they_predict() -> None:
    rows = np.arange(20, dtype=np.float32).reshape(10, 2)
    labels = rows[:, 0] + 1.5
    model = xgboost.train({"max_depth": 2}, xgboost.DMatrix(rows, labels), 3)
    content = bytes(model.save_raw("ubj"))
    found = [*variants(content)]
    assert len(found) == 9
    predictions = {
        float(xgboost.Booster(model_file=bytearray(one)).inplace_predict(rows)[0])
        for one in [content, *found]
    }
    assert len(predictions) == 10
    assert {len(one) for one in found} == {len(content)}
    with pytest.raises(ClusterError, match="base score"):
        next(variants(b"{}"))


def test_xgboost_beside_predicts_for_the_same_flights(tmp_path: Path) -> None:
    file = trained(Recipe(2_000, 3), tmp_path, "model")[0].path
    features = np.concatenate([*blocks(Request(2_000))])[:, 1:].astype(np.float32)
    booster = xgboost.Booster(model_file=file)
    booster.feature_names = None
    expected = booster.inplace_predict(features).view(np.int32).sum(dtype=np.int64)
    with beside(2_000, {"small": file}) as python:
        assert python.submit(predict_all, "small").result()[1] == expected
