"""A data set as a table with its model, for those who ask PostgreSQL; called on the server's host."""

import json
from pathlib import Path

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
