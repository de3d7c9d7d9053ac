"""predict_proba is equal to that of each library's scikit-learn wrapper, by the labels of the classes."""

import numpy as np
import pytest
import xgboost as xgb
from psycopg import Connection

import lightgbm as lgb
import pgboost
from catboost import CatBoostClassifier
from tests.extension.e2e.datasets import load

WRAPPERS = {
    "xgboost": lambda: xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1),
    "lightgbm": lambda: lgb.LGBMClassifier(n_estimators=5, num_leaves=7, n_jobs=1, verbose=-1),
    "catboost": lambda: CatBoostClassifier(
        iterations=5, depth=3, thread_count=1, verbose=False, allow_writing_files=False
    ),
}


@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
@pytest.mark.parametrize("library", WRAPPERS)
def test_as_the_wrapper(connection: Connection, library: str, name: str) -> None:
    dataset = load(name)
    target = dataset.target.astype(int)
    model = WRAPPERS[library]().fit(dataset.features, target)
    dataset.store(connection)
    pgboost.push(connection, "m", model)
    columns = ", ".join(f't."{column}"' for column in dataset.names)
    query = f"SELECT predict_proba('m', ARRAY[{columns}]) FROM {name} AS t ORDER BY id"
    found = [row[0] for row in connection.execute(query)]
    labels = [str(label) for label in model.classes_]
    assert all(sorted(row) == sorted(labels) for row in found)
    given = np.array([[row[label] for label in labels] for row in found])
    assert np.allclose(given, model.predict_proba(dataset.features), rtol=3e-7, atol=1e-9)
    # Summed by class, in batches as by row.
    connection.execute("SET pgboost.enable_batch = off")
    assert found == [row[0] for row in connection.execute(query)]
