"""ALTER EXTENSION UPDATE leaves what CREATE EXTENSION makes, and the models of 1.0.0 with their answers.

release-1.0.0.sql is a dump of a server with pgboost 1.0.0, with the answers of its models in a table.
"""

from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import Connection, errors

from tests.connections import Connect
from tests.extension.lifecycle.conftest import psql, run
from tests.extension.packaging.conftest import EARLIER, NAMES, create_extensions, update_extensions
from tools.cluster import Cluster

DUMP = Path(__file__).parent / "release-1.0.0.sql"

# Each object of an extension, with its definition, rights and comment; objects are named by their kind.
SCHEMA = """
SELECT pg_describe_object(d.classid, d.objid, 0) AS object,
       coalesce(pg_get_functiondef(p.oid), pg_get_viewdef(c.oid)) AS definition,
       coalesce(p.proacl, c.relacl)::text AS rights,
       i.initprivs::text AS initial_rights,
       obj_description(d.objid, d.classid::regclass::name) AS comment,
       c.reloptions::text AS options,
       (SELECT string_agg(concat_ws(' ', attnum, attname, format_type(atttypid, atttypmod), attnotnull,
                                    attstorage, attcollation::regcollation, pg_get_expr(adbin, adrelid)),
                          ', ' ORDER BY attnum)
          FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
         WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns,
       (SELECT string_agg(pg_get_indexdef(indexrelid), ', ' ORDER BY indexrelid::regclass::text)
          FROM pg_index WHERE indrelid = c.oid) AS indexes,
       (SELECT string_agg(pg_get_constraintdef(oid), ', ' ORDER BY contype, pg_get_constraintdef(oid))
          FROM pg_constraint WHERE conrelid = c.oid) AS constraints,
       (SELECT string_agg(concat_ws(' ', pg_get_triggerdef(oid), tgenabled), ', ' ORDER BY tgname)
          FROM pg_trigger WHERE tgrelid = c.oid) AS triggers
  FROM pg_depend AS d
  LEFT JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid AND p.prokind <> 'a'
  LEFT JOIN pg_init_privs AS i ON i.classoid = d.classid AND i.objoid = d.objid
  LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = %s)
 ORDER BY pg_describe_object(d.classid, d.objid, 0) COLLATE "C"
"""


def schema(connection: Connection, extension: str) -> list[tuple]:
    """The extension's objects."""
    dumped = connection.execute(
        "SELECT extconfig::regclass[]::text, extcondition::text FROM pg_extension WHERE extname = %s",
        (extension,),
    ).fetchall()
    return dumped + connection.execute(SCHEMA, (extension,)).fetchall()


def created(connect: Connect, cluster: Cluster, dbname: str, version: str = "") -> Any:
    """A connection to a new database with both extensions, of a version or of the present one."""
    cluster.create_database(dbname, replace=True)
    connection = connect(dbname=dbname)
    create_extensions(connection, version)
    return connection


def test_an_updated_schema_equals_a_fresh_one(connect: Connect, cluster: Cluster) -> None:
    fresh = created(connect, cluster, "fresh")
    updated = created(connect, cluster, "updated", EARLIER)
    update_extensions(updated)
    for extension in NAMES:
        assert schema(updated, extension) == schema(fresh, extension)


@pytest.fixture
def earlier(connect: Connect, cluster: Cluster) -> Connection:
    """A connection to a database with the extensions and the models of 1.0.0."""
    roles = "DROP ROLE IF EXISTS {0}; CREATE ROLE {0}"
    admin = connect(dbname="postgres")
    for database in ("earlier", "dump_of_updated"):
        admin.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
    for role in ("update_owner", "update_user"):
        admin.execute(roles.format(role))
    connection = created(connect, cluster, "earlier", EARLIER)
    psql(cluster, "earlier", "-f", DUMP)
    return connection


WRONG = (
    "SELECT count(*) FROM expected AS e JOIN data AS d USING (id) WHERE {} IS DISTINCT FROM e.{}"
)


def wrong_answers(connection: Connection) -> int:
    """The rows whose answers are not those of 1.0.0, of the versions that there are."""
    return sum(
        connection.execute(WRONG.format(f"{function}(e.model, d)", column)).fetchone()[0]
        for function, column in (("predict_margin", "margins"), ("predict_array", "predictions"))
    )


def test_models_and_their_answers_stay(earlier: Connection) -> None:
    update_extensions(earlier)
    assert earlier.execute("SELECT count(*) >= 360 FROM expected").fetchone() == (True,)
    assert wrong_answers(earlier) == 0
    for query, expected in (
        ("SELECT name, alias, version FROM pgboost_aliases", [("trained", "champion", 1)]),
        ("SELECT name, version FROM pgboost_models WHERE pinned", [("decimals", 1)]),
        (
            "SELECT name, version, owner::text FROM pgboost_models WHERE deployed ORDER BY 1",
            [(name, number, "update_owner") for name, number in DEPLOYED],
        ),
        ("SELECT predicted(1, 1, 'red') = predict('trained', 1, 1, 'red')", [(True,)]),
        ("SELECT count(*) FROM feature_baseline('trained@1')", [(3,)]),
        ("SELECT model_info('decimals') ->> 'real_input'", [("float32",)]),
        ("SELECT model_info('decimals') ->> 'array_categories'", [("codes",)]),
        (
            "SELECT DISTINCT model_info('classes') ->> k FROM unnest(ARRAY['task', 'link']) AS k"
            " ORDER BY 1",
            [("multiclass",), ("softmax",)],
        ),
    ):
        assert earlier.execute(query).fetchall() == expected, query
    pinned = 'predict_pinned(\'decimals@1\', "Column_0", "Column_1")'
    earlier.execute(f"CREATE INDEX pinned_decimals ON data ({pinned})")


DEPLOYED = [("classes", 1), ("decimals", 2), ("trained", 2)]


def test_privileges_stay_and_are_dumped(
    earlier: Connection, connect: Connect, cluster: Cluster
) -> None:
    update_extensions(earlier)
    dumped = run(cluster, "earlier", "pg_dump")
    earlier.execute("SET ROLE update_user")
    assert earlier.execute("SELECT predict('trained', 1, 1, 'red') IS NOT NULL").fetchone()[0]
    with pytest.raises(errors.InsufficientPrivilege):
        earlier.execute("SELECT predict('classes', 1, 1)")
    with pytest.raises(errors.InsufficientPrivilege):
        earlier.execute("SELECT grant_model('trained', 'update_user')")
    earlier.execute("RESET ROLE")
    cluster.create_database("dump_of_updated", replace=True)
    psql(cluster, "dump_of_updated", stdin=dumped)
    restored = connect(dbname="dump_of_updated")
    for connection in (earlier, restored):
        connection.execute("SET ROLE update_owner")
        connection.execute("SELECT deploy_model('trained@1', allow_change => true)")
        connection.execute("SELECT grant_model('classes', 'update_user')")
        connection.execute("RESET ROLE")
    earlier.execute("DROP EXTENSION pgboost CASCADE")


def test_functions_of_the_earlier_release_wait_for_the_update(earlier: Connection) -> None:
    calls = earlier.execute(
        "SELECT p.proname, p.proargtypes::regtype[]::text[] FROM pg_proc AS p JOIN pg_depend AS d"
        " ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'"
        " JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname LIKE 'pgboost%'"
        " WHERE p.proargnames[1] = 'model' AND p.pronamespace = 'public'::regnamespace"
    ).fetchall()
    assert len(calls) > 25
    for name, types in calls:
        states = set()
        for reference in ("'trained'", "'trained@1'", "'trained@champion'"):
            others = [VALUES.get(type_name, f"NULL::{type_name}") for type_name in types[1:]]
            with pytest.raises(psycopg.Error) as raised:
                earlier.execute(f"SELECT {name}({', '.join([reference, *others])})")
            states.add(raised.value.sqlstate)
        assert "55000" in states, name
    with pytest.raises(errors.ObjectNotInPrerequisiteState) as raised:
        earlier.execute("SELECT predict('trained', 1, 1, 'red')")
    assert "ALTER EXTENSION" in raised.value.diag.message_hint


VALUES = {"text": "'gain'", "real[]": "'{1,1,1}'", '"any"': "1", "bytea": "'{}'", "jsonb": "'{}'",
          "boolean": "true", "integer": "1", "double precision": "1"}  # fmt: skip


def test_a_model_is_changed_after_the_update(earlier: Connection) -> None:
    update_extensions(earlier)
    source = "SELECT i AS a, i AS y FROM generate_series(1, 100) AS i"
    earlier.execute("SELECT train_model('new', %s, 'y', rounds => 5)", (source,))
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="another task"):
        earlier.execute(
            "SELECT load_model('classes', export_model('decimals@1'), deploy => false);"
            "SELECT deploy_model('classes@2')"
        )
    earlier.execute("SELECT rename_model('classes', 'kinds'), drop_model('trained@3')")
    assert earlier.execute("SELECT predict_class('kinds', 0, 0)").fetchone() == ("low",)
