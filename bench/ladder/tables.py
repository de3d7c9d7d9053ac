"""A data set as a table with its model, for those who ask PostgreSQL; called on the server's host."""

import json
from pathlib import Path
from typing import TypedDict

import psycopg
from psycopg import sql

from bench.rungs.predicting import CANDIDATES, KEYS, STRIDE


def _candidates(
    connection: psycopg.Connection,
    table: sql.Identifier,
    made: sql.Identifier,
    owner: sql.Identifier,
) -> None:
    """Each key's candidates, as rungs/predicting.py has them."""
    for statement in (
        "DROP TABLE IF EXISTS {made}",
        "CREATE TABLE {made} AS SELECT key, {table}.* FROM generate_series(1, {keys}) key,"
        " generate_series(0, {last}) number, {table} WHERE id = 1 + (key * {stride} + number)"
        " % (SELECT count(*) FROM {table})",
        "CREATE INDEX ON {made} (key)",
        "VACUUM ANALYZE {made}",
        "GRANT SELECT ON {made} TO {owner}",
    ):
        known = {"keys": KEYS, "last": CANDIDATES - 1, "stride": STRIDE}
        connection.execute(sql.SQL(statement).format(table=table, made=made, owner=owner, **known))


def load(conninfo: str, role: str, directory: str, candidates: bool = False) -> None:
    """The table and the model of the directory's name, anew; the role may ask for both."""
    place = Path(directory)
    known = json.loads((place / "rows.json").read_text())
    table, owner = sql.Identifier(place.name), sql.Identifier(role)
    columns = [
        sql.SQL("{} {}").format(
            sql.Identifier(one["name"]), sql.SQL("text" if one["categories"] else "real")
        )
        for one in known["columns"]
    ]
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
        made = "CREATE TABLE {} (id integer PRIMARY KEY, {})"
        connection.execute(sql.SQL(made).format(table, sql.SQL(", ").join(columns)))
        with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(table)) as copy:
            for number, row in enumerate(known["rows"], 1):
                copy.write_row([number, *row])
        connection.execute(sql.SQL("VACUUM ANALYZE {}").format(table))
        if candidates:
            _candidates(connection, table, sql.Identifier(f"{place.name}_candidates"), owner)
        connection.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(table, owner))
        connection.execute(sql.SQL("SET ROLE {}").format(owner))
        model = (place / "model.json").read_bytes()
        connection.execute("SELECT load_model(%s, %s)", (place.name, model))


class Kept(TypedDict):
    """How a table is kept."""

    options: str
    indexed: str | None


def grow(conninfo: str, role: str, *, name: str, live: int, table_is: Kept) -> None:
    """A table of so many rows, of which the first are the data set's, that the role may update.

    `table_is` has the table's storage parameters, and a column whose index keeps updates from being HOT.
    """
    table, owner = sql.Identifier(name), sql.Identifier(role)
    options, indexed = table_is["options"], table_is["indexed"]
    with psycopg.connect(conninfo, autocommit=True) as connection:
        count = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(table)).fetchone()[0]
        query = sql.SQL("SELECT * FROM {} LIMIT 0").format(table)
        names = [sql.Identifier(one.name) for one in connection.execute(query).description[1:]]
        columns = sql.SQL(", ").join(names)
        for statement in (
            "DROP TABLE IF EXISTS {table}_old",
            "ALTER TABLE {table} RENAME TO {table}_old",
            "CREATE TABLE {table} (LIKE {table}_old) WITH (" + options + ")",
            "ALTER TABLE {table} ADD updates integer NOT NULL DEFAULT 0",
            "INSERT INTO {table} SELECT copy * {count} + id, {columns} FROM {table}_old,"
            " generate_series(0, {copies}) copy WHERE copy * {count} + id <= {live}",
            "DROP TABLE {table}_old",
            "ALTER TABLE {table} ADD PRIMARY KEY (id)",
            *(["CREATE INDEX ON {table} ({indexed})"] if indexed else []),
            "VACUUM ANALYZE {table}",
            "GRANT SELECT, UPDATE ON {table} TO {owner}",
            "CHECKPOINT",
        ):
            text = statement.replace("{table}_old", "{old}")
            connection.execute(
                sql.SQL(text).format(
                    table=table, old=sql.Identifier(f"{name}_old"), owner=owner, columns=columns,
                    indexed=sql.Identifier(indexed or ""), count=count, live=live, copies=live // count,
                )
            )  # fmt: skip


def vacuums(conninfo: str, name: str) -> list[int]:
    """When autovacuum was last done with the table, in ns since 1970."""
    query = (
        "SELECT (extract(epoch FROM last_autovacuum) * 1e9)::bigint FROM pg_stat_user_tables"
        " WHERE relname = %s AND last_autovacuum IS NOT NULL"
    )
    with psycopg.connect(conninfo, autocommit=True) as connection:
        return [one for (one,) in connection.execute(query, (name,))]


def hot_share(conninfo: str, name: str) -> float:
    """Which share of the table's updates were HOT."""
    share = "n_tup_hot_upd / greatest(n_tup_upd, 1)::float8"
    query = f"SELECT {share} FROM pg_stat_user_tables WHERE relname = %s"
    with psycopg.connect(conninfo, autocommit=True) as connection:
        return connection.execute(query, (name,)).fetchone()[0]
