"""In a database with another encoding than UTF-8, ASCII works, and other text works or is refused."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.extension.lifecycle.models import constant, load, one, value
from tools.cluster import Cluster

MODELS = Path(__file__).resolve().parents[1] / "sql" / "models"


@pytest.fixture(scope="module", params=["LATIN1", "SQL_ASCII", "EUC_JP"])
def elsewhere(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A connection to a database of that encoding."""
    name = f"encoding_{request.param.lower()}"
    with cluster.connect() as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name}")
        admin.execute(
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{request.param}' "
            "LC_COLLATE 'C' LC_CTYPE 'C'"
        )
        with cluster.connect(name) as connection:
            connection.execute("SET client_encoding = 'UTF8'")
            connection.execute("CREATE EXTENSION pgboost")
            connection.execute("CREATE TABLE file (content bytea)")
            connection.execute(
                "INSERT INTO file VALUES (%s)", ((MODELS / "flower.json").read_bytes(),)
            )
            load(connection, "tickets", (MODELS / "tickets.ubj").read_bytes())
            yield connection
        admin.execute(f"DROP DATABASE {name}")


def test_ascii_works(elsewhere: psycopg.Connection) -> None:
    load(elsewhere, "m", constant(3))
    assert value(elsewhere) == 3
    elsewhere.execute(
        "SELECT load_model('flower', content, ARRAY['a', 'b', 'c'], ARRAY['x', 'y']) FROM file"
    )
    row = "SELECT 5 AS x, 1 AS y"
    assert one(elsewhere, f"SELECT predict_class('flower', r) FROM ({row}) AS r") == "c"
    assert one(elsewhere, f"SELECT predict_class('flower', to_jsonb(r)) FROM ({row}) AS r") == "c"


@pytest.mark.parametrize(
    ("load", "predict", "expected"),
    [
        (
            "SELECT load_model('größe', content, ARRAY['a', 'b', 'c']) FROM file",
            "SELECT predict_class('größe', 5, 1)",
            "c",
        ),
        (
            "SELECT load_model('labels', content, ARRAY['a', 'b', 'é']) FROM file",
            "SELECT predict_class('labels', 5, 1)",
            "é",
        ),
        (
            "SELECT load_model('names', content, ARRAY['a', 'b', 'c'], ARRAY['größe', 'y']) FROM file",
            """SELECT predict_class('names', r) FROM (SELECT 5 AS "größe", 1 AS y) AS r""",
            "c",
        ),
    ],
    ids=["model", "label", "feature"],
)
def test_other_text_works_or_is_refused(
    elsewhere: psycopg.Connection, load: str, predict: str, expected: str
) -> None:
    """An error is one that a user can make; nothing is stored that could not be read again."""
    before = one(elsewhere, "SELECT count(*) FROM pgboost_models")
    try:
        elsewhere.execute(load)
    except psycopg.Error as error:
        assert error.sqlstate is not None and error.sqlstate[:2] in ("0A", "22"), error
        assert "\ufffd" not in str(error)
        assert one(elsewhere, "SELECT count(*) FROM pgboost_models") == before
    else:
        assert one(elsewhere, predict) == expected


@pytest.mark.parametrize(
    "query",
    [
        "SELECT predict('größe ohne Modell', 1)", "SELECT model_info('é')",
        "SELECT deploy_model('é@1')", "SELECT drop_model('é')", "SELECT export_model('é')",
        "SELECT grant_model('é', 'é')", "SELECT grant_model('m', 'é')",
        "SELECT * FROM feature_importance('m', 'é')",
        "SELECT predict_class('m', 'é'::text)", "SELECT predict('tickets', 'é', 10, 1)",
    ],
)  # fmt: skip
def test_unknown_names_are_reported(elsewhere: psycopg.Connection, query: str) -> None:
    with pytest.raises(psycopg.Error) as raised:
        elsewhere.execute(query)
    assert raised.value.sqlstate is not None
    assert raised.value.sqlstate[:2] in ("0A", "22", "42"), raised.value
    assert not any(garbage in str(raised.value) for garbage in ("\ufffd", "ï¿½"))
    assert one(elsewhere, "SELECT 1") == 1


def test_parameters_may_be_any_text(elsewhere: psycopg.Connection) -> None:
    elsewhere.execute("SELECT load_model('p', content, params => '{\"a\": \"é\"}') FROM file")
    assert one(elsewhere, "SELECT model_info('p') #>> '{parameters,a}'") == "é"
