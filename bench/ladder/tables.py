"""A data set as a table with its model, for those who ask PostgreSQL; called on the server's host."""

import json
from pathlib import Path

import psycopg
from psycopg import sql


def load(conninfo: str, role: str, directory: str) -> None:
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
        connection.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(table, owner))
        connection.execute(sql.SQL("SET ROLE {}").format(owner))
        model = (place / "model.json").read_bytes()
        connection.execute("SELECT load_model(%s, %s)", (place.name, model))
