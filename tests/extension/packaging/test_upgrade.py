"""ALTER EXTENSION UPDATE leaves what CREATE EXTENSION makes."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg

from tests.extension.packaging.releases import (
    NAMES,
    create_extensions,
    earlier_installed,
    update_extensions,
)
from tools.cluster import Cluster

# Each object of an extension, with its definition, rights and comment; objects are named by what they are.
SCHEMA = """
SELECT pg_describe_object(d.classid, d.objid, 0) AS object,
       coalesce(pg_get_functiondef(p.oid), pg_get_viewdef(c.oid)) AS definition,
       coalesce(p.proacl, c.relacl)::text AS rights,
       obj_description(d.objid, d.classid::regclass::name) AS comment,
       c.reloptions::text AS options,
       (SELECT string_agg(concat_ws(' ', attnum, attname, format_type(atttypid, atttypmod), attnotnull,
                                    attstorage, attcollation::regcollation, pg_get_expr(adbin, adrelid)),
                          ', ' ORDER BY attnum)
          FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
         WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns,
       (SELECT string_agg(pg_get_indexdef(indexrelid), ', ' ORDER BY indexrelid::regclass::text)
          FROM pg_index WHERE indrelid = c.oid) AS indexes,
       (SELECT string_agg(pg_get_constraintdef(oid), ', ' ORDER BY conname)
          FROM pg_constraint WHERE conrelid = c.oid) AS constraints,
       (SELECT string_agg(concat_ws(' ', pg_get_triggerdef(oid), tgenabled), ', ' ORDER BY tgname)
          FROM pg_trigger WHERE tgrelid = c.oid) AS triggers
  FROM pg_depend AS d
  LEFT JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid AND p.prokind <> 'a'
  LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = %s)
 ORDER BY pg_describe_object(d.classid, d.objid, 0) COLLATE "C"
"""


def schema(connection: psycopg.Connection, extension: str) -> list[tuple]:
    """The extension's objects."""
    dumped = connection.execute(
        "SELECT extconfig::regclass[]::text, extcondition::text FROM pg_extension WHERE extname = %s",
        (extension,),
    ).fetchall()
    return dumped + connection.execute(SCHEMA, (extension,)).fetchall()


def created(connect: Callable[..., Any], cluster: Cluster, dbname: str, version: str = "") -> Any:
    """A connection to a new database with both extensions, of a version or of the present one."""
    cluster.create_database(dbname, replace=True)
    connection = connect(dbname=dbname)
    create_extensions(connection, version)
    return connection


def test_an_upgraded_schema_equals_a_fresh_one(
    connect: Callable[..., Any], cluster: Cluster, earlier: str
) -> None:
    fresh = created(connect, cluster, "fresh")
    upgraded = created(connect, cluster, "upgraded", earlier)
    update_extensions(upgraded)
    for extension in NAMES:
        assert schema(upgraded, extension) == schema(fresh, extension)


def test_models_predict_before_and_after_the_upgrade(
    connect: Callable[..., Any], cluster: Cluster, earlier: str
) -> None:
    connection = created(connect, cluster, "upgraded", earlier)
    source = "SELECT i AS a, i AS y FROM generate_series(1, 100) AS i"
    connection.execute("SELECT train_model('m', %s, 'y', rounds => 5)", (source,))
    before = connection.execute("SELECT predict('m', 50)").fetchone()
    assert connection.execute("SELECT to_regclass('pgboost_scores')").fetchone() == (None,)
    update_extensions(connection)
    assert connection.execute("SELECT predict('m', 50)").fetchone() == before
    connection.execute("SELECT train_model('m', %s, 'y', rounds => 5)", (source,))
    assert connection.execute("SELECT predict('m@2', 50)").fetchone() == before


def test_no_other_test_removes_the_scripts_of_the_earlier_version() -> None:
    """Files of tests run at the same time, and several install those scripts into one directory."""
    removed = threading.Event()

    def install_and_remove() -> None:
        with earlier_installed():
            pass
        removed.set()

    other = threading.Thread(target=install_and_remove)
    with earlier_installed():
        other.start()
        assert not removed.wait(0.5)
    other.join()
