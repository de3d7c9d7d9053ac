"""The recipes of docs/formats.md for libraries that the tests' environments do not have.

To run them, install ngboost, or econml with the scikit-learn that goes with it.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

import pgboost

PAGE = Path("docs/formats.md").read_text()
GENERATOR = np.random.default_rng(8)
ROWS = np.round(GENERATOR.normal(size=(800, 4)), 2)


def recipe(title: str) -> dict[str, Any]:
    """Runs the function of a recipe, with which its block begins."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    block = section.partition("```python\n")[2].partition("\n\n\n")[0]
    names: dict[str, Any] = {"np": np, "json": json}
    exec(block, names)
    return names


def array(row: Any) -> str:
    return f"ARRAY[{', '.join(map(repr, map(float, row)))}]::float8[]"


def test_ngboost(connection: psycopg.Connection) -> None:
    ngboost = pytest.importorskip("ngboost")
    target = ROWS[:, 0] + np.abs(ROWS[:, 1]) * GENERATOR.normal(size=len(ROWS))
    model = ngboost.NGBRegressor(n_estimators=60, verbose=False, col_sample=0.5).fit(ROWS, target)
    content = recipe("NGBoost")["ngboost_file"](model)
    pgboost.push(connection, "demand", content, check=False)
    found = pgboost.predict(connection, "demand", ROWS)
    law = model.pred_dist(ROWS)
    np.testing.assert_allclose(found, np.float32(np.c_[law.loc, law.scale**2]), rtol=2e-7)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("discrete", [True, False])
def test_causal_forests(connection: psycopg.Connection, intercept: bool, discrete: bool) -> None:
    dml = pytest.importorskip("econml.dml")
    treated = GENERATOR.random(len(ROWS)) < 0.5 if discrete else ROWS[:, 1] + ROWS[:, 2]
    treated = treated * 1.0 + (0 if discrete else GENERATOR.normal(size=len(ROWS)))
    target = ROWS[:, 0] * treated + ROWS[:, 1] + GENERATOR.normal(size=len(ROWS)) * 0.1
    options = {"n_estimators": 40, "random_state": 1, "n_jobs": 1, "fit_intercept": intercept}
    model = dml.CausalForestDML(discrete_treatment=discrete, **options)
    model.fit(target, treated, X=ROWS)
    forest = model.model_cate.estimators_[0]
    content = recipe("Causal forests of econml")["causal_forest_file"](forest)
    pgboost.push(connection, "uplift", content, check=False)
    effect = (
        re.findall(r"^SELECT (\(m.*) AS effect$", PAGE, re.M)[0] if intercept else "m[1] / m[2]"
    )
    rows = ", ".join(f"({number}, {array(row)})" for number, row in enumerate(ROWS))
    found = connection.execute(
        f"SELECT {effect} FROM (VALUES {rows}) AS r(n, a),"
        " LATERAL (SELECT predict_array('uplift', a)::float8[] AS m) AS sides ORDER BY n"
    ).fetchall()
    expected = np.ravel(model.effect(ROWS))
    scale = np.abs(expected).max()
    assert np.abs(np.ravel(found) - expected).max() < 5e-7 * scale
