"""Models of every XGBoost release through load_model: same numbers, same bytes, or refused."""

import re

import numpy as np
import psycopg
import pytest

from tests.extension.e2e.golden import Golden, file, models, refused, release_folders
from tests.extension.e2e.reference import assert_near, assert_same_bits, floats

RELEASES = release_folders()


def test_the_models_are_here() -> None:
    assert len(RELEASES) == 12
    assert sum(len(models(release)) for release in RELEASES) >= 774
    assert len(refused()) >= 22


def ask(connection: psycopg.Connection, function: str) -> list:
    query = f"SELECT {function}('m', features) FROM rows ORDER BY id"
    return [answer for (answer,) in connection.execute(query)]


def batch(connection: psycopg.Connection) -> np.ndarray:
    query = "SELECT predict_batch('m', array_agg(features ORDER BY id)) FROM rows"
    return floats(connection.execute(query).fetchone()[0])


def store(connection: psycopg.Connection, model: Golden) -> None:
    """The model as `m`, its rows as temporary table `rows`."""
    connection.execute("DROP TABLE IF EXISTS rows")
    connection.execute("CREATE TEMP TABLE rows (id int, features real[])")
    with connection.cursor().copy("COPY rows FROM STDIN") as copy:
        for number, row in enumerate(model.table("rows").tolist()):
            copy.write_row([number, [None if np.isnan(value) else value for value in row]])
    load = "SELECT load_model('m', %s, categories => '{}', allow_change => true)"
    connection.execute(load, (model.content,))


@pytest.mark.parametrize("release", RELEASES)
def test_models_of_a_release(connection: psycopg.Connection, release: str) -> None:
    for model in models(release):
        store(connection, model)
        try:
            assert_same_bits(floats(ask(connection, "predict_margin")), model.table("margins"))
            values = floats(ask(connection, "predict_array"))
            assert_near(values, model.table("values"))
            assert_same_bits(batch(connection).reshape(values.shape), values)
            if model.is_linear:
                with pytest.raises(psycopg.errors.FeatureNotSupported, match="has no leaves"):
                    ask(connection, "predict_leaf")
            else:
                leaves = ask(connection, "predict_leaf")
                assert leaves == (model.leaves or [[]] * len(leaves))
            (exported,) = connection.execute("SELECT export_model('m')").fetchone()
            assert exported == model.content
        except AssertionError as error:
            error.add_note(f"model {model.path.name} of {release}")
            raise


def test_unsupported_models_are_refused_by_name(connection: psycopg.Connection) -> None:
    for name, word in refused():
        with pytest.raises(psycopg.errors.FeatureNotSupported, match=re.escape(word)):
            connection.execute("SELECT load_model('refused', %s)", (file(name),))
    count = "SELECT count(*) FROM pgboost_models WHERE name = 'refused'"
    assert connection.execute(count).fetchone() == (0,)
