"""Queries as people write them: features that SQL computes, and results that are used further.

Each is a statement with a place for the call, and the call's features. In place of the call may stand the
cheapest function of the same features. `TABLES` makes what they read of flights; the models are any two
of its ten features, called small and large.
"""

from dataclasses import dataclass

from data.columns import FEATURES

TABLES = """
DROP TABLE IF EXISTS events, products, results;
CREATE TABLE events AS
    SELECT (row_number() OVER ())::int AS id, f.*, 5 + (distance * 0.01)::float8 AS price,
           (dayofweek - 3)::float8 AS discount, month::int::text AS code,
           (ARRAY['web', 'shop', 'phone'])[1 + dayofweek::int % 3] AS channel,
           (flight_number_operating_airline::int % 2000) AS customer, (tail_number::int % 100) AS product,
           timestamptz '2024-01-01 00:00+00' + distance * interval '1 hour' AS at,
           date '1950-01-01' + (distance * 5)::int AS born
      FROM flights AS f ORDER BY originairportid, tail_number, distance;
CREATE UNIQUE INDEX ON events (id);
CREATE TABLE products AS
    SELECT product, avg(price)::real AS avg_price, count(*)::int AS sold FROM events GROUP BY product;
CREATE TABLE results (id int, value real);
ANALYZE events, products;
"""
PLAIN = ", ".join(FEATURES)
# The features behind the first, and behind the first four.
REST, LAST = ", ".join(FEATURES[1:]), ", ".join(FEATURES[4:])
ROW = ", ".join(f"{name} * 1.0 AS {name}" for name in FEATURES[:1]) + f", {REST}"
OBJECT = ", ".join(f"'{name}', {name}" for name in FEATURES)
GROUPED = """SELECT customer, count(*) AS n, avg(price) AS mean, max(price) - min(price) AS spread,
 sum(discount) AS discount FROM events GROUP BY customer"""
LAGGED = """SELECT id, channel, price, lag(price) OVER w AS before, avg(price) OVER w AS mean,
 row_number() OVER w AS n FROM events WINDOW w AS (PARTITION BY customer ORDER BY id)"""
OF_GROUP = f"n, mean, spread, discount, {', '.join(['1'] * 6)}"


@dataclass(frozen=True)
class Shape:
    """A statement, in which {p} is the call, and what the call is given."""

    sql: str
    features: str = PLAIN
    function: str = "predict"
    # What PostgreSQL does not let batches do.
    reason: str = ""
    # A second call, of the large model.
    second: bool = False

    def statement(self, model: str) -> str:
        """The statement with the call."""
        call = f"{self.function}('{model}', {self.features})"
        return self.sql.format(p=call, q=f"predict('large', {self.features})")

    def control(self) -> str:
        """The same with the cheapest function of these features."""
        size = f"array_length(ARRAY[{self.features}]::float8[], 1)"
        one = self.features in ("e", "s") or "jsonb" in self.features
        call = f"pg_column_size({self.features})" if one else size
        if self.function.endswith(("array", "contribs")):
            call = f"ARRAY[{call}]::real[]"
        return self.sql.format(p=call, q=call)


def _sum(source: str, features: str = PLAIN) -> Shape:
    return Shape(f"SELECT sum({{p}}) FROM {source}", features)


def _rows(outputs: str, source: str = "events", features: str = PLAIN) -> Shape:
    return Shape(f"SELECT {outputs} FROM {source}", features)


JOIN = "events AS e JOIN products AS p USING (product)"
FILTERED = f"SELECT count(*) FROM {JOIN} WHERE {{p}} > 5"
SHAPES = {
    "columns": _sum("events"),
    "`coalesce`, `CASE`, a comparison as a number": _sum(
        "events",
        "coalesce(year, 0), CASE channel WHEN 'web' THEN 1 ELSE 2 END, (channel = 'web')::int,"
        f" distance, {LAST}",
    ),
    "arithmetic": _sum(
        "events", f"distance * 1.609, price / nullif(discount, 0), month + 1, year - 2000, {LAST}"
    ),
    "casts that can fail": _sum(
        "events", f"year::int, price::smallint, code::int, price::numeric, {LAST}"
    ),
    "`ln`, `sqrt`": _sum("events", f"ln(distance + 1), sqrt(price), month, year, {LAST}"),
    "`extract`, `date_part`, `age`": _sum(
        "events",
        "extract(year from at), extract(dow from at), date_part('year', age(born)),"
        f" current_date - born, {LAST}",
    ),
    "join": _sum(JOIN, f"price - avg_price, sold, month, year, {LAST}"),
    "left join": _sum(
        "events AS e LEFT JOIN products AS p ON p.product = e.product AND sold > 400",
        f"price - avg_price, sold, month, year, {LAST}",
    ),
    "join, in `WHERE`": Shape(FILTERED, f"price - avg_price, sold, month, year, {LAST}"),
    "join, in `WHERE` of one table's columns": Shape(FILTERED),
    "aggregates of a subquery": _sum(f"({GROUPED}) AS s", OF_GROUP),
    "aggregates of the same query": _rows(
        "customer, {p}", "events GROUP BY customer",
        "count(*), avg(price), max(price) - min(price), sum(discount), 1, 1, 1, 1, 1, 1",
    ),
    "aggregates, in `HAVING`": _rows(
        "customer", "events GROUP BY customer HAVING {p} > 5",
        "count(*), avg(price), max(price) - min(price), sum(discount), 1, 1, 1, 1, 1, 1",
    ),
    "window functions of a subquery": _sum(
        f"({LAGGED}) AS s", "price, before, mean, n, 1, 1, 1, 1, 1, 1"
    ),
    "window functions of the same query": _rows(
        "id, {p}", "events WINDOW w AS (PARTITION BY customer ORDER BY id)",
        f"price, lag(price) OVER w, avg(price) OVER w, row_number() OVER w, {LAST}",
    ),
    "`DISTINCT`": _sum(
        f"(SELECT DISTINCT {PLAIN}, price / 2 AS half FROM events) AS s", f"half, {REST}"
    ),
    "correlated subquery": _sum(
        "events AS e",
        f"(SELECT avg_price * 2 FROM products AS p WHERE p.product = e.product), {REST}",
    ),
    "`jsonb_build_object`": _sum("events", f"jsonb_build_object({OBJECT})"),
    "`to_jsonb` of a subquery": _sum(f"(SELECT {ROW} FROM events) AS s", "to_jsonb(s)"),
    "row of a table": _sum("events AS e", "e"),
    "row of a subquery": _sum(f"(SELECT {ROW} FROM events) AS s", "s"),
    "`(predict_array(...))[1]`": Shape(
        "SELECT sum(({p})[1]) FROM events", function="predict_array"
    ),
    "`(predict_contribs(...))[1]`": Shape(
        "SELECT sum(({p})[1]) FROM events", function="predict_contribs"
    ),
    "`(predict_contribs(...))[1:2]`": Shape(
        "SELECT count(({p})[1:2]) FROM events", function="predict_contribs"
    ),
    "`unnest(predict_contribs(...))` as output": Shape(
        "SELECT id, unnest({p}) FROM events", function="predict_contribs"
    ),
    "`unnest(predict_contribs(...))` in `FROM`": Shape(
        "SELECT count(c) FROM events, unnest({p}) AS c", function="predict_contribs",
        reason="PostgreSQL calls a function in FROM for one row of the other table at a time, by parameters",
    ),
    "`explain_prediction` in `FROM`": Shape(
        "SELECT count(x) FROM events AS e, {p} AS x WHERE id <= 2000", "e", "explain_prediction",
        reason="the same",
    ),
    "`UNION ALL`": Shape(
        "SELECT sum(v) FROM (SELECT {p} AS v FROM events UNION ALL SELECT avg_price FROM products) AS s"
    ),
    "`round(p::numeric, 1)`": _rows("id, round({p}::numeric, 1)"),
    "`p * distance`": _rows("id, {p} * distance"),
    "`greatest(p, 0)`": _rows("id, greatest({p}, 0)"),
    "`coalesce(p, 0)`": _rows("id, coalesce({p}, 0)"),
    "`p > 5` in an outer query": Shape(
        "SELECT id FROM (SELECT id, {p} AS v FROM events) AS s WHERE v > 5"
    ),
    "two models": Shape("SELECT id, {p} - {q} FROM events", second=True),
    "common table expression": Shape(
        "WITH s AS MATERIALIZED (SELECT id, price / 2 AS half, {p} AS v FROM events)"
        " SELECT sum(v + half) FROM s",
        f"price / 3, {REST}",
    ),
    "window function over p": Shape(
        "SELECT id, rank() OVER (PARTITION BY customer ORDER BY {p}) FROM events"
    ),
    "`avg(p) OVER`": _rows("id, avg({p}) OVER (PARTITION BY customer)"),
    "`FILTER (WHERE p > 5)`": _rows("count(*) FILTER (WHERE {p} > 5)"),
    "`array_agg(id ORDER BY p)`": _rows(
        "customer, (array_agg(id ORDER BY {p} DESC))[1]", "events GROUP BY customer"
    ),
    "`ORDER BY p LIMIT 5`": Shape(
        "SELECT id FROM events ORDER BY {p} DESC, id LIMIT 5", f"price / 2, {REST}"
    ),
    "`INSERT`": Shape("INSERT INTO results SELECT id, {p} FROM events", f"price / 2, {REST}"),
    "`UPDATE`": Shape("UPDATE events SET price = {p} + 5 WHERE id <= 20000", f"price / 2, {REST}"),
    "`CREATE TABLE AS`": Shape(
        "CREATE TEMP TABLE made AS SELECT id, {p} AS v FROM events", f"price / 2, {REST}"
    ),
}  # fmt: skip


# What a statement returns is not sent: it takes longer than many predictions.
def unsent(statement: str) -> str:
    """The statement, whose rows go nowhere."""
    return (
        f"COPY ({statement}) TO '/dev/null'"
        if statement.startswith(("SELECT", "WITH"))
        else statement
    )
