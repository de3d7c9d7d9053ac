"""The forms of a source, the privileges that count, and the rows that it may have."""

import pytest
from psycopg import Connection

from tests.connections import Connect, Notice
from tests.extension.train.conftest import Raises
from tests.extension.train.rows import verified

ROWS = (
    "SELECT i::real AS a, (i % 7)::real AS b, (i * 2)::real AS y FROM generate_series(1, 500) AS i"
)
TRAIN = "SELECT * FROM train_model('m', %s, %s, rounds => 3, allow_change => true)"


@pytest.fixture(autouse=True)
def table(connection: Connection) -> None:
    connection.execute("DROP TABLE IF EXISTS rows CASCADE")
    connection.execute(f"CREATE TABLE rows AS {ROWS}")


def _digest(connection: Connection, source: str, target: str = "y") -> str:
    connection.execute(TRAIN, (source, target))
    (digest,) = connection.execute("SELECT model_info('m') ->> 'sha256'").fetchone()
    return digest


def test_table_view_and_query_give_the_same_model(connection: Connection) -> None:
    connection.execute("CREATE VIEW seen AS SELECT * FROM rows")
    connection.execute('CREATE SCHEMA "a b"; CREATE TABLE "a b"."C""d" AS SELECT * FROM rows')
    sources = [
        "rows", "seen", "public.rows", '"a b"."C""d"', "SELECT * FROM rows", " ( TABLE rows )",
        "-- a comment\nWITH w AS (SELECT * FROM rows) SELECT * FROM w;", "/* /* b */ */ select * from rows",
        "SELECT * FROM rows ; -- a; comment\n /* b; */;",
        f"VALUES {', '.join(f'({i}::real, {i % 7}::real, {i * 2}::real)' for i in range(1, 501))}",
    ]  # fmt: skip
    digests = [_digest(connection, source) for source in sources[:-1]]
    assert len(set(digests)) == 1
    assert _digest(connection, sources[-1], "column3")
    connection.execute('DROP SCHEMA "a b" CASCADE')


@pytest.mark.parametrize(("setting", "value"), [
    ("datestyle", "German, DMY"), ("extra_float_digits", "-9"), ("intervalstyle", "sql_standard"),
])  # fmt: skip
def test_settings_of_the_session_are_not_in_the_labels(
    connection: Connection, setting: str, value: str
) -> None:
    targets = {
        "DATE '2020-01-31' + (i % 3)": ["2020-01-31", "2020-02-01", "2020-02-02"],
        "TIMESTAMP '2020-01-31 12:00' + (i % 2) * INTERVAL '0.5 s'": [
            "2020-01-31 12:00:00", "2020-01-31 12:00:00.5"],
        "0.3::float8 + (i % 2) * 6e-17::float8": ["0.3", "0.30000000000000004"],
        "(i % 2)::real / 3::real": ["0", "0.33333334"],
    }  # fmt: skip
    connection.execute("SELECT set_config(%s, %s, false)", (setting, value))
    for target, labels in targets.items():
        objective = "multi:softprob" if len(labels) > 2 else "binary:logistic"
        source = f"SELECT i AS a, {target} AS y FROM generate_series(1, 90) AS i"
        train = TRAIN.replace(
            "rounds", "params => jsonb_build_object('objective', %s::text), rounds"
        )
        connection.execute(train, (source, "y", objective))
        (found,) = connection.execute("SELECT model_info('m') -> 'labels'").fetchone()
        assert found == labels


@pytest.mark.parametrize(("source", "sqlstate"), [
    ("rows; DROP TABLE rows", "42601"),
    ("SELECT * FROM rows; DROP TABLE rows", "42601"),
    ("SELECT * FROM rows) AS x; DROP TABLE rows; --", "42601"),
    ("SELECT 1; SELECT 2", "42601"),
    ("WITH gone AS (DELETE FROM rows RETURNING *) SELECT * FROM gone", "0A000"),
    ("SELECT * INTO copied FROM rows", "42601"),
    ("SELECT * FROM rows FOR UPDATE", "0A000"),
    ("DELETE FROM rows RETURNING *", "42601"),
    ("SELECT", "42P01"),
    ("nowhere", "42P01"),
    ("SELECT * FROM nowhere", "42P01"),
    ("SELECT a, b, y, y FROM rows", "42702"),
    ("", "42602"),
    ("99999999", "42601"),
])  # fmt: skip
def test_source_is_one_select(
    connection: Connection, raises: Raises, source: str, sqlstate: str
) -> None:
    raises(sqlstate, TRAIN, (source, "y"))
    assert connection.execute("SELECT count(*) FROM rows").fetchone() == (500,)
    assert connection.execute("SELECT to_regclass('copied')").fetchone() == (None,)


def test_nearest_column_is_hinted_at(raises: Raises) -> None:
    call = "SELECT train_model('m', 'SELECT a AS distance, y FROM rows', 'y', features => '{distanse}')"
    said = raises("42703", call)
    assert said.message_primary == 'column "distanse" is not in the source'
    assert said.message_hint == 'Perhaps you mean "distance".'


def test_rights_are_those_of_the_caller(
    connection: Connection, connect: Connect, raises: Raises
) -> None:
    trainer = connect("trainer", new=True)
    call = "SELECT set FROM train_model('theirs', %s, 'y', rounds => 2)"
    said = raises("42501", call, ("rows",), on=trainer)
    assert "train_model" in said.message_primary
    connection.execute("GRANT EXECUTE ON FUNCTION train_model TO trainer")
    said = raises("42501", call, ("rows",), on=trainer)
    assert said.message_primary == "permission denied for function load_model"
    connection.execute("GRANT EXECUTE ON FUNCTION load_model TO trainer")
    for source in ("rows", "SELECT * FROM rows"):
        assert "table rows" in raises("42501", call, (source,), on=trainer).message_primary
    connection.execute("GRANT SELECT (a, y) ON rows TO trainer")
    raises("42501", call, ("rows",), on=trainer)
    own = "SELECT set FROM train_model('theirs', 'rows', 'y', rounds => 2, features => '{a}')"
    assert trainer.execute(own).fetchall() == [("train",)]
    connection.execute("SELECT drop_model('theirs')")


def test_row_level_security_hides_rows_from_the_training(
    connection: Connection, connect: Connect
) -> None:
    half = connect("half", new=True)
    connection.execute(
        "GRANT SELECT ON rows TO half; ALTER TABLE rows ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY small ON rows FOR SELECT TO half USING (a <= 200);"
        "GRANT EXECUTE ON FUNCTION train_model, load_model TO half"
    )
    half.execute("SELECT train_model('halved', 'rows', 'y', rounds => 2)")
    (rows,) = half.execute("SELECT model_info('halved') -> 'metrics' -> 'train_rows'").fetchone()
    assert rows == 200
    connection.execute("SELECT drop_model('halved')")


def test_few_rows(connection: Connection, raises: Raises) -> None:
    raises("22000", TRAIN, ("SELECT * FROM rows LIMIT 0", "y"))
    said = raises("22000", TRAIN, ("SELECT a, NULL::real AS y FROM rows", "y"))
    assert said.message_detail == "The target is null in all of them."
    one = "SELECT * FROM rows LIMIT 1"
    ((_, metric, _, value),) = connection.execute(TRAIN, (one, "y")).fetchall()
    assert (metric, value) == ("rmse", pytest.approx(0, abs=1e-4))
    constant = "SELECT a, b, 5.5::real AS y FROM rows"
    connection.execute(TRAIN, (constant, "y"))
    assert connection.execute("SELECT predict('m', 1.0, 2.0)").fetchone() == (5.5,)
    for target in ("'only'::text", "true"):
        said = raises("22023", TRAIN, (f"SELECT a, {target} AS y FROM rows", "y"))
        assert "two distinct values, not of 1" in said.message_primary
    for fraction, purpose in (("1e-12", "evaluate"), ("0.999999999999", "train")):
        call = f"SELECT train_model('m', 'rows', 'y', eval_fraction => {fraction})"
        message = f"eval_fraction leaves no rows to {purpose} on"
        assert raises("22023", call).message_primary == message
    raises("22023", TRAIN, ("SELECT y FROM rows", "y"))


def test_rows_without_a_target_are_left_out_and_counted(
    connection: Connection, notices: list[Notice]
) -> None:
    plain = _digest(connection, "SELECT * FROM rows WHERE a > 30")
    holes = _digest(connection, "SELECT a, b, CASE WHEN a > 30 THEN y END AS y FROM rows")
    assert plain == holes
    said = [notice.message for notice in notices if not notice.message.startswith("training")]
    assert said == ["30 rows were left out because their target is null"]
    query = "SELECT model_info('m') -> 'metrics' -> 'skipped_rows'"
    assert connection.execute(query).fetchone() == (30,)


def test_every_type_is_read_as_by_predict(connection: Connection) -> None:
    """The model has learned the values of the row, so that pgboost and libxgboost agree."""
    connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
    connection.execute("CREATE DOMAIN percentage AS numeric CHECK (VALUE BETWEEN 0 AND 100)")
    connection.execute("""
        CREATE TABLE typed AS SELECT (i % 9)::smallint AS i2, i AS i4, i::bigint * 3 AS i8, i / 7.0 AS n,
               (i / 3.0)::real AS f4, (i / 9.0)::float8 AS f8, i % 2 = 0 AS flag, (i % 100)::percentage AS p,
               date '1990-01-01' + i AS day, timestamp '2020-01-01' + i * interval '1 hour' AS at,
               timestamptz '2020-01-01 UTC' + i * interval '1 day' AS tz, 'text ' || i % 4 AS t,
               ('v' || i % 3)::varchar(5) AS v, ('c' || i % 5)::char(6) AS c,
               (ARRAY['sad', 'ok', 'happy'])[i % 3 + 1]::mood AS m, ('n' || i % 2)::name AS who,
               (i * 0.5 + i % 4 * 30 + i % 3 * 50)::real AS y
        FROM generate_series(1, 2000) AS i""")
    connection.execute(
        "SELECT train_model('typed', 'typed', 'y', '{\"max_cat_to_onehot\": 1}', rounds => 30)"
    )
    categorical = connection.execute(
        "SELECT feature, categories FROM model_features('typed') WHERE type = 'categorical'"
    ).fetchall()
    assert dict(categorical) == {
        "t": ["text 0", "text 1", "text 2", "text 3"], "v": ["v0", "v1", "v2"],
        "c": ["c0", "c1", "c2", "c3", "c4"], "m": ["happy", "ok", "sad"], "who": ["n0", "n1"],
    }  # fmt: skip
    assert verified(connection, "typed", "typed") == (2000, 0, 0)
    worst = "SELECT max(abs(predict('typed', typed) - y)) < 40 FROM typed"
    assert connection.execute(worst).fetchone() == (True,)
    connection.execute("DROP TABLE typed; DROP DOMAIN percentage; DROP TYPE mood")


@pytest.mark.parametrize(("column", "sqlstate", "words"), [
    ("'{a,b}'::text[]", "42804", 'column "x" of type text[] cannot be a feature'),
    ("'\\x00'::bytea", "42804", "bytea"),
    ("'infinity'::real", "22003", 'a value of column "x" is infinite or out of range for type real'),
    ("1e300::float8", "22003", "out of range"),
    ("'infinity'::date", "22003", "infinite"),
    ("repeat(i::text, 5000)", "54000", "too long ones"),
    ("i::text", "54000", 'column "x" has more than 65536 distinct texts, or too long ones'),
])  # fmt: skip
def test_values_that_cannot_be_features(
    raises: Raises, column: str, sqlstate: str, words: str
) -> None:
    query = f"SELECT {column} AS x, i AS y FROM generate_series(1, 70000) AS i"
    said = raises(sqlstate, TRAIN, (query, "y"))
    assert words in said.message_primary
    assert said.message_hint


@pytest.mark.parametrize(("columns", "sqlstate"), [
    ("'NaN'::real AS y", "22000"), ("'infinity'::real AS y", "22003"), ("'{}'::int[] AS y", "42804"),
    ("i AS y, NULL::real AS w", "22000"), ("i AS y, -1::real AS w", "22000"),
    ("i AS y, 'NaN'::real AS w", "22000"),
    ("i AS y, 'NaN'::real AS u", "22000"), ("i AS y, i - 1 AS u", "22000"), ("0 AS y, 0 AS u", "22000"),
    ("i AS y, '-infinity'::real AS u", "22000"),
])  # fmt: skip
def test_values_that_cannot_be_targets_weights_or_bounds(
    raises: Raises, columns: str, sqlstate: str
) -> None:
    query, name = f"SELECT i AS x, {columns} FROM generate_series(1, 10) AS i", columns[-1]
    role = {"w": ", weight => 'w'", "u": ", label_upper_bound => 'u'"}.get(name, "")
    said = raises(sqlstate, f"SELECT train_model('m', %s, 'y'{role})", (query,))
    assert f'column "{name}"' in said.message_primary


def test_groups_must_be_together(raises: Raises, connection: Connection) -> None:
    query = "SELECT a, b, (a::int % 3)::real AS y, (a::int % 5) AS g FROM rows"
    call = "SELECT * FROM train_model('m', %s, 'y', rounds => 2, qid => 'g', allow_change => true)"
    said = raises("22023", call, (query,))
    assert said.message_hint == "Order the query by the column of the group."
    assert connection.execute(call, (f"{query} ORDER BY g",)).fetchall()
    connection.execute(f"CREATE VIEW grouped AS {query}")
    assert connection.execute(call, ("grouped",)).fetchall(), (
        "of a view, groups are brought together"
    )


def test_one_column_has_one_role(raises: Raises) -> None:
    for features in ("{a,a}", "{a,y}"):
        raises("42701", "SELECT train_model('m', 'rows', 'y', features => %s)", (features,))


def test_rows_changed_meanwhile_are_not_seen(connection: Connection, connect: Connect) -> None:
    """Source and eval_source are read under the snapshot of the statement."""
    query = "SELECT *, (SELECT count(*) FROM rows)::real AS n FROM rows"
    with connect(autocommit=False) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1 FROM rows LIMIT 1")
        connection.execute("INSERT INTO rows SELECT 1, 1, 1 FROM generate_series(1, 100)")
        reader.execute(
            "SELECT train_model('m', %s, 'y', rounds => 2, eval_source => 'rows', features => '{a}', "
            "allow_change => true)",
            (query,),
        )
        (metrics,) = reader.execute("SELECT model_info('m') -> 'metrics'").fetchone()
        assert (metrics["train_rows"], metrics["eval_rows"]) == (500, 500)


@pytest.mark.parametrize(("other", "sqlstate"), [
    ("SELECT a, 'x' || b AS t, y > 500 AS y FROM rows", None),
    ("SELECT a, 'new' AS t, y > 500 AS y FROM rows", None),
    ("SELECT y > 500 AS y, 1 AS further, 'x' || b AS t, a FROM rows", None),
    ("SELECT a, y > 500 AS y FROM rows", "42703"),
    ("SELECT a, b AS t, y > 500 AS y FROM rows", "42804"),
    ("SELECT a, 'x' AS t, 'maybe' AS y FROM rows", "22P02"),
    ("SELECT a, 'x' AS t, NULL::boolean AS y FROM rows", "22000"),
    ("nowhere", "42P01"),
])  # fmt: skip
def test_rows_for_evaluation_have_the_same_columns(
    connection: Connection, raises: Raises, other: str, sqlstate: str | None
) -> None:
    source = "SELECT a, 'x' || b AS t, y > 500 AS y FROM rows"
    call = "SELECT set FROM train_model('m', %s, 'y', rounds => 2, eval_source => %s, allow_change => true)"
    if sqlstate:
        raises(sqlstate, call, (source, other))
    else:
        assert connection.execute(call, (source, other)).fetchall() == [("train",), ("eval",)]


def test_errors_in_subtransactions_leave_nothing_behind(connection: Connection) -> None:
    connection.execute("""
        DO $$ BEGIN FOR i IN 1..50 LOOP
          BEGIN PERFORM train_model('z', 'SELECT a, 1 / (50 - a::int) AS y FROM rows', 'y');
            EXCEPTION WHEN division_by_zero THEN NULL; END;
          BEGIN PERFORM train_model('z', 'SELECT 1 AS a, -1 AS y', 'y', '{"objective": "count:poisson"}');
            EXCEPTION WHEN numeric_value_out_of_range THEN NULL; END;
          BEGIN PERFORM train_model('z', 'SELECT a, a < 9 AS y FROM rows', 'y',
                                    '{"objective": "binary:logistic", "base_score": 2}');
            EXCEPTION WHEN external_routine_exception THEN NULL; END;
          BEGIN PERFORM train_model('z', 'rows', 'y', rounds => 1, allow_change => true); RAISE EXCEPTION 'x';
            EXCEPTION WHEN raise_exception THEN NULL; END;
        END LOOP; END $$""")
    assert connection.execute("SELECT count(*) FROM pg_ls_tmpdir()").fetchone() == (0,)
    stored = "SELECT count(*) FROM pgboost_models WHERE name = 'z'"
    assert connection.execute(stored).fetchone() == (0,)
    assert connection.execute(TRAIN, ("rows", "y")).fetchall()
