"""The server's errors, notices and warnings become the package's errors and its warning."""

import sys
import warnings
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg
import psycopg2
import pytest
import sqlalchemy
import xgboost
from psycopg import Connection
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import catboost
import lightgbm
import pgboost
from pgboost.connecting import connected
from tests.python import models
from tools.cluster import Cluster

FRAME = models.numbers()
MODEL = xgboost.XGBRegressor(n_estimators=3).fit(FRAME, models.target(FRAME))
SPOKEN = "DO $$ BEGIN RAISE {} USING MESSAGE = 'said', DETAIL = 'The detail.', HINT = 'The hint.', ERRCODE = '01004'; END $$"  # fmt: skip  # noqa: E501


@pytest.mark.parametrize("severity", ["NOTICE", "WARNING", "INFO"])
def test_messages_are_warnings(given: Any, severity: str) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with connected(given) as database, connected(database.connection) as inner:
            for one in (severity, "LOG", "DEBUG"):
                inner.connection.cursor().execute(SPOKEN.format(one))
    (one,) = found
    assert one.filename == __file__
    assert type(one.message) is pgboost.PgboostWarning
    assert str(one.message) == "said\nThe detail.\nThe hint."
    by_psycopg2 = "psycopg2" in type(database.connection).__module__
    state = None if by_psycopg2 else "01004"
    assert (one.message.severity, one.message.sqlstate) == (severity, state)


def test_code_without_a_module_is_warned(cluster: Cluster, dbname: str) -> None:
    call = "with connected(conninfo) as database:\n    database.connection.execute(said)"
    given = {"connected": connected, "conninfo": cluster.conninfo(dbname)}
    with pytest.warns(pgboost.PgboostWarning, match="said"):
        exec(call, {**given, "said": SPOKEN.format("NOTICE")})


DOUBLES = HistGradientBoostingRegressor(max_iter=2).fit(FRAME, models.target(FRAME))
QUANTILES = catboost.CatBoostRegressor(
    iterations=2, loss_function="MultiQuantile:alpha=0.1,0.9", **models.SILENT
).fit(FRAME, models.target(FRAME))
IS_LARGE = (FRAME["whole"] > 0).astype(int)
BINARY = xgboost.XGBClassifier(n_estimators=2).fit(FRAME, IS_LARGE)


def of_rounds(connection: Any) -> None:
    given = {"early_stopping_rounds": 1, "learning_rate": 3.0, "n_estimators": 9}
    model = xgboost.XGBRegressor(**given)
    model.fit(FRAME, models.target(FRAME), eval_set=[(FRAME, models.target(FRAME))], verbose=False)
    pgboost.push(connection, "other", bytes(model.get_booster().save_raw("json")), check=False)


def of_codes(connection: Any) -> None:
    frame = FRAME.assign(code=IS_LARGE.astype("category"))
    model = xgboost.XGBRegressor(n_estimators=2, enable_categorical=True).fit(frame, IS_LARGE)
    file = bytes(model.get_booster()[:1].save_raw("ubj"))
    pgboost.push(connection, "other", file, check=False)


def of_reals(connection: Any) -> None:
    pgboost.push(connection, "other", DOUBLES, real_input="float32")
    pgboost.push(connection, "other", DOUBLES)


def of_deployments(connection: Any) -> None:
    pgboost.push(connection, "m", BINARY, deploy=False)
    pgboost.deploy(connection, "m@2")


HINTS: list[tuple[str, Callable[[Any], Any]]] = [
    ("Pass allow_change=True if that is meant, or deploy=False to store",
     lambda c: pgboost.push(c, "m", BINARY)),
    ("Pass allow_change=True if that is meant.$", of_deployments),
    ('Pass real_input="float32" to pgboost.push to read', of_reals),
    ("with rounds=1 to use the best rounds alone, or with rounds=2 to use", of_rounds),
    ("or categories={} if the training", of_codes),
    (r"such as quantile_alpha=\[0.1, 0.5, 0.9\].", lambda c: [
        pgboost.push(c, "levels", QUANTILES),
        pgboost.evaluate(c, "levels", FRAME, "whole", quantile_alpha=[0.1])]),
    ("Use pgboost.predict for all values.", lambda c: [
        pgboost.push(c, "levels", QUANTILES), pgboost.predict_class(c, "levels", FRAME)]),
    ("Deploy one with pgboost.deploy", lambda c: [
        pgboost.push(c, "none", MODEL, deploy=False), pgboost.predict(c, "none", FRAME)]),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "call"), HINTS, ids=[one[0] for one in HINTS])
@pytest.mark.parametrize("driver", [psycopg, psycopg2])
def test_hints_are_those_of_python(
    cluster: Cluster, dbname: str, driver: Any, hint: str, call: Callable[[Any], Any]
) -> None:
    """The server writes its hints for SQL."""
    expected = pytest.raises((pgboost.PgboostError, pgboost.PgboostWarning), match=hint)
    with closing(driver.connect(cluster.conninfo(dbname))) as connection:
        pgboost.push(connection, "m", MODEL)
        with warnings.catch_warnings(), expected:
            warnings.simplefilter("error")
            call(connection)


def test_a_connection_has_its_own_messages_afterwards(cluster: Cluster, dbname: str) -> None:
    connection = psycopg2.connect(cluster.conninfo(dbname))
    before = connection.notices
    with pytest.warns(pgboost.PgboostWarning), connected(connection) as database:
        database.connection.cursor().execute(SPOKEN.format("NOTICE"))
    assert connection.notices is before
    assert before[-1].startswith("NOTICE:  said")
    connection.close()
    with psycopg.connect(cluster.conninfo(dbname)) as other:
        heard: list[Any] = []
        other.add_notice_handler(heard.append)
        with pytest.warns(pgboost.PgboostWarning), connected(other):
            other.execute(SPOKEN.format("NOTICE"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            other.execute(SPOKEN.format("NOTICE"))
        assert len(heard) == 2


def test_a_number_that_may_be_a_class_is_noticed_or_an_error(connection: Connection) -> None:
    connection.execute("CREATE EXTENSION IF NOT EXISTS pgboost_train")
    rows = FRAME.assign(y=(FRAME["whole"] > 0).astype(int))
    with pytest.warns(pgboost.PgboostWarning, match="has two values, 0 and 1") as found:
        pgboost.train(connection, "told", rows, "y", rounds=2)
    assert {one.message.severity for one in found} == {"NOTICE"}
    assert {one.filename for one in found} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(pgboost.PgboostWarning):
            pgboost.train(connection, "error", rows, "y", rounds=2)


class Broken(xgboost.XGBRegressor):
    """A model whose library fails."""

    error: Exception = ZeroDivisionError("by zero")

    def __init__(self) -> None:
        self.__dict__ = dict(MODEL.__dict__)

    def predict(self, _: Any) -> Any:
        raise self.error


class Stated(Exception):
    """An error with an SQLSTATE that is no database's, as MLflow's are."""

    sqlstate = "22023"


class BrokenWithState(Broken):
    """A model whose library fails with such an error."""

    error = Stated("no model")


UNFITTED = [
    xgboost.XGBRegressor(), lightgbm.LGBMRegressor(), catboost.CatBoostRegressor(),
    RandomForestRegressor(), make_pipeline(StandardScaler(), RandomForestRegressor()),
]  # fmt: skip
ERRORS: list[tuple[type[Exception], str, Callable[[Connection], Any]]] = [
    (pgboost.ArgumentError, r"pass \(connection, name, model\)", lambda c: pgboost.push(c, MODEL, "m")),
    (pgboost.ArgumentError, "pass .connection, name", lambda c: pgboost.verify(c, MODEL, "m", FRAME)),
    (pgboost.ArgumentError, "model must be text", lambda c: pgboost.predict(c, 5, FRAME)),
    (pgboost.ArgumentError, "rounds must be a whole", lambda c: pgboost.push(c, "m", MODEL, rounds=1.5)),
    (pgboost.ArgumentError, "params must be an object", lambda c: pgboost.push(c, "m", MODEL, params=[])),
    (pgboost.ArgumentError, "labels must be a list", lambda c: pgboost.push(c, "m", MODEL, labels="ab")),
    (pgboost.ArgumentError, "feature_names must be a list", lambda c: pgboost.push(
        c, "m", MODEL, feature_names="ab")),
    (pgboost.ArgumentError, "labels must be a list, not a dict", lambda _: pgboost.export_sql(
        MODEL, "m", labels={0: "a"})),
    (pgboost.ArgumentError, "features must be a list", lambda c: pgboost.train(
        c, "m", FRAME, "whole", features="single")),
    (pgboost.ArgumentError, "percentiles must be a list", lambda c: pgboost.partial_dependence(
        c, "m", FRAME, "single", percentiles=0.5)),
    (pgboost.ArgumentError, "unexpected keyword", lambda c: pgboost.push(c, "m", MODEL, roundz=1)),
    (pgboost.DatabaseError, "no baseline", lambda c: pgboost.drift(c, "m", FRAME)),
    (pgboost.DatabaseError, "closed", lambda c: [c.close(), pgboost.models(c)]),
    (pgboost.DatabaseError, "nowhere", lambda _: pgboost.models("host=nowhere.invalid")),
    (pgboost.DatabaseError, "nowhere", lambda _: pgboost.models(sqlalchemy.create_engine(
        "postgresql+psycopg://nowhere.invalid/x"))),
    (pgboost.InvalidDataError, "no column 'single'", lambda c: pgboost.predict(c, "m", FRAME[["whole"]])),
    (pgboost.InvalidDataError, "be of type text", lambda c: pgboost.predict(c, "m", FRAME.astype(str))),
    (pgboost.InvalidDataError, "the model does not predict the rows: ZeroDivisionError",
     lambda c: pgboost.verify(c, "m", Broken(), FRAME)),
    (pgboost.InvalidDataError, "the model does not predict the rows: Stated: no model",
     lambda c: pgboost.verify(c, "m", BrokenWithState(), FRAME)),
    (pgboost.InvalidDataError, "neither the name of a table", lambda c: pgboost.evaluate(c, "m", "a b", "y")),
    (pgboost.InvalidModelError, "name", lambda c: pgboost.push(c, "a@b", MODEL)),
    *[(pgboost.UnsupportedModelError, f"the {type(one).__name__} is not fitted",
       lambda c, one=one: pgboost.push(c, "m", one)) for one in UNFITTED],
    (pgboost.InvalidModelError, "surrogates", lambda c: pgboost.push(c, "\udc80", MODEL)),
    (pgboost.ArgumentError, "requires an .Explanation", lambda _: pgboost.plots.beeswarm(FRAME)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "reason", "call"), ERRORS, ids=[one[1] for one in ERRORS])
def test_errors_are_of_the_package(
    connection: Connection, kind: type[Exception], reason: str, call: Callable[[Connection], Any]
) -> None:
    pgboost.push(connection, "m", MODEL)
    with pytest.raises(pgboost.PgboostError, match=reason) as found:
        call(connection)
    assert type(found.value) is kind


def test_a_cause_is_kept(connection: Connection) -> None:
    with pytest.raises(LookupError) as found:
        pgboost.predict(connection, "none", FRAME)
    assert found.value.__cause__.sqlstate == "42704"
    with pytest.raises(pgboost.UnsupportedModelError, match=r"xgboost .*another release") as unread:
        broken = xgboost.XGBRegressor(n_estimators=2).fit(FRAME, models.target(FRAME))
        del broken.booster
        pgboost.push(connection, "broken", broken)
    assert isinstance(unread.value.__cause__, AttributeError)


def test_a_missing_library_is_an_error_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=r"pip install 'pgboost\[plots\]'") as found:
        pgboost.explain("", "m", FRAME)
    assert isinstance(found.value, pgboost.PgboostError)
