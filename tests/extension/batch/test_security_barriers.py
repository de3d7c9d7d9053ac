"""Rows that a policy or a security barrier hides are hidden from functions in a batch's arguments, too.

Their conditions come first, also where they predict and cost more.
"""

import psycopg
import pytest

from tests.connections import Connect, plan_of

PRICE = "predict('price', spied(id), rooms, age) > -1"
# Costs more than the other, and some rows meet it.
SHOWN = "predict('large', area, rooms, age) > 20 AND id < 990"
QUERIES = {
    "policy": f"SELECT count(*) FROM guarded WHERE {PRICE}",
    "policy of a join": "SELECT count(*) FROM guarded AS g JOIN towns AS t ON t.town = g.town"
    " AND predict('price', spied(g.id), t.tax, age) > -1",
    "error": "SELECT count(*) FROM guarded WHERE predict('price', 1 / (id - 995), rooms, age) > -1",
    "view": f"SELECT count(*) FROM shown WHERE {PRICE}",
    "changed": f"UPDATE guarded SET age = age WHERE {PRICE} RETURNING id",
}

pytestmark = pytest.mark.usefixtures("tables")
EXTRA = (
    "CREATE TABLE guarded AS TABLE homes",
    "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY",
    f"CREATE POLICY shown ON guarded USING ({SHOWN})",
    f"CREATE VIEW shown WITH (security_barrier) AS SELECT * FROM homes WHERE {SHOWN}",
    """CREATE FUNCTION spied(id int) RETURNS real LANGUAGE plpgsql STABLE COST 0.0001 AS
       $$ BEGIN RAISE NOTICE '%', id; RETURN id; END $$""",
    "CREATE ROLE spy LOGIN",
    "GRANT SELECT, UPDATE ON guarded, shown, towns TO spy",
    "SELECT grant_model(name, 'spy') FROM unnest('{price,large}'::text[]) AS name",
    "ANALYZE guarded",
)


def outcome(spy: psycopg.Connection, query: str, batch: str) -> tuple[str, object, set[str]]:
    """The plan, the rows or the error, and the ids that the function has seen."""
    spy.execute(f"SET pgboost.enable_batch = {batch}")
    plan = plan_of(spy, query)
    seen: set[str] = set()

    def note(notice: psycopg.errors.Diagnostic) -> None:
        seen.add(notice.message_primary or "")

    spy.add_notice_handler(note)
    try:
        with spy.transaction(force_rollback=True):
            answer: object = sorted(spy.execute(query).fetchall())
    except psycopg.Error as error:
        answer = error.sqlstate
    spy.remove_notice_handler(note)
    return plan, answer, seen


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_hidden_rows_are_not_seen(connect: Connect, query: str) -> None:
    spy = connect(user="spy")
    plan, *found = outcome(spy, query, "on")
    assert "BatchPredict" in plan, plan
    assert found == list(outcome(spy, query, "off")[1:])
    assert not {"990", "999"} & found[1]
