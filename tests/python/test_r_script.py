"""Tree ensembles that docs/tree_ensemble.R wrote predict in SQL what ranger and gbm predict.

R 4.2.2 wrote the files of r/, with ranger 0.14.1 and gbm 2.1.8.1; expected.json has what `predict` of R gave.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

import pgboost

WRITTEN = Path(__file__).parent / "r"
EXPECTED = json.loads((WRITTEN / "expected.json").read_text())
NAMES = [name for name in EXPECTED if name not in ("rows", "complete")]


@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_those_of_r(connection: psycopg.Connection, name: str) -> None:
    pgboost.push(connection, "model", WRITTEN / f"{name}.json", check=False)
    expected = np.float32(EXPECTED[name]["expected"])
    rows = EXPECTED["rows" if EXPECTED[name]["missing"] else "complete"]
    function = "predict" if expected.ndim == 1 else "predict_array"
    query = (
        f"SELECT {function}('model', a, k, b) FROM"
        " unnest(%(a)s::float8[], %(k)s::text[], %(b)s::float8[]) WITH ORDINALITY f(a, k, b, i) ORDER BY i"
    )
    found: Any = np.float32([row[0] for row in connection.execute(query, rows)])
    # R computes exponentials by another library than Rust.
    np.testing.assert_array_max_ulp(found, expected, 1)
