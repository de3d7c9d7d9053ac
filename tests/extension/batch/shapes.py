"""Queries as people write them: features that SQL computes, and results that are used further.

Each is a statement of shapes.toml with a place for the call, and the call's features. In place of the call
may stand the cheapest function of the same features. `TABLES` makes what they read of flights; the models are
any two of its ten features, called small and large.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    """A statement, in which {p} is the call, and the call's arguments."""

    sql: str
    features: str = PLAIN
    function: str = "predict"
    # The reason why PostgreSQL does not let batches compute it.
    reason: str = ""
    # A second call, of the large model.
    second: bool = False
    # Measured by a model of LightGBM's defaults, too.
    leafwise: bool = False

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


FRAGMENTS = {
    "PLAIN": PLAIN, "REST": REST, "LAST": LAST, "ROW": ROW, "OBJECT": OBJECT, "GROUPED": GROUPED,
    "LAGGED": LAGGED, "OF_GROUP": OF_GROUP, "JOIN": "events AS e JOIN products AS p USING (product)",
}  # fmt: skip


def _shape(known: dict[str, Any]) -> Shape:
    def whole(text: Any) -> Any:
        return (
            re.sub("<([A-Z_]+)>", lambda found: FRAGMENTS[found[1]], text)
            if text is not True
            else text
        )

    return Shape(**{name: whole(value) for name, value in known.items()})


_KNOWN = tomllib.loads(Path(__file__).with_name("shapes.toml").read_text())
SHAPES = {name: _shape(one) for name, one in _KNOWN.items()}


# Results are not sent: that takes longer than many predictions.
def unsent(statement: str) -> str:
    """The statement without its output."""
    return (
        f"COPY ({statement}) TO '/dev/null'"
        if statement.startswith(("SELECT", "WITH"))
        else statement
    )
