"""Random queries that predict, to compare their results with batches and without.

Every query is made from the seed alone. What a query may hold is what decides
whether and where a plan has a batch: calls in all forms and places, joins, conditions
that can fail and that cannot, aggregates, sorts, limits, subqueries, unions.
"""

from random import Random

COLUMNS = ("id", "area", "rooms", "age", "town", "price", "day")
NUMBERS = ("id", "area", "rooms", "age", "price")
CALLS = (
    "predict('price', {k}, {b}, {c})",
    "predict('price', ARRAY[{a}, {b}, {c}]::real[])",
    "predict('price', h)",
    "predict('price', jsonb_build_object('area', {a}, 'rooms', {b}, 'age', {c}))",
    "predict('price_doubled', {a}, {k}, {c})",
    "predict('tickets', day, 10, {a})",
    "predict('tickets', day, zone, hours)",
    "predict('gaps', {a}, {b})",
    "predict('large', {a}, {b}, {c})",
    "predict('nosuch', {a})",
    "predict('price', {a}, {b})",
    "predict(CASE WHEN {a} > {n} THEN 'price' ELSE 'price_doubled' END, {a}, {b}, {c})",
    "predict_class('flower', {a}, {b})",
    "predict_array('targets', {a}, {b})",
    "predict_margin('churn', {a}, {b})",
    "predict_leaf('price', {a}, {b}, {c})",
)
# Calls whose value is a number, and that fail for no row but by their features.
SAFE = slice(0, 5)
# Features that SQL computes, most of which can fail, and some do.
COMPUTED = (
    "{a} * 1.5", "{a} / nullif({b}, 0)", "1000 / ({a} - {n})", "ln({a} + 1)", "ln(100 - {a})", "{a}::int",
    "({a} * 400)::smallint", "sqrt({a} + {d})", "extract(dow from date '2024-01-01' + id::int)",
    "greatest({a}, {b})", "(ARRAY[{a}, {b}])[1 + id::int % 2]", "length(town) / (id - {n})",
    "(SELECT max(tax) FROM towns WHERE towns.town = h.town)", "substr(town, 6)::int",
    "(SELECT 1 / (tax - 2) FROM towns WHERE towns.town = h.town)", "mod(id::int, rooms)",
)  # fmt: skip
# Uses of an array, and of explanations.
ARRAYS = (
    "(predict_array('targets', {a}, {b}))[1]",
    "(predict_array('targets', {a}, {b}))[1:2]",
    "predict_array('targets', {a}, {b})::text[]",
    "predict_batch('targets', ARRAY[[{a}, {b}], [{b}, {a}]])",
    "predict_batch('price', (SELECT array_agg(ARRAY[area, rooms, age] ORDER BY id) FROM homes AS s"
    " WHERE s.id < h.id % {n}))",
    "(predict_contribs('price', {a}, {b}, {c}))[2]",
    "(predict_contribs('price', h))[{d}]",
    "unnest(predict_array('targets', {a}, {b}))",
    "generate_series(1, array_length(predict_contribs('price', {a}, {b}, {c}), 1))",
)
CONDITIONS = (
    "{a} > {n}",
    "town = 'town {d}'",
    "town <> 'town {d}' AND {a} < {n}",
    "day IS NOT NULL",
    "1000 / ({a} - {n}) > 0",
    "price * 2 > {n}",
    "{p} > {n}",
    "{p} > {n} AND {a} < {n}",
    "id <> {n} AND {p} > {n} AND 1000 / (id - {n}) > 0",
    "predict('tickets', day, zone, {a}) > {d}",
    "day <> 'doomsday' AND predict('tickets', day, zone, hours) >= {d}",
    "predict('tickets', day, 10, {a}) > {d} AND {p} > {n}",
    "{p} > {n} OR {a} < {n}",
    "1 / ({p} - 110) < 0",
    "id IN (SELECT id + 1 FROM homes WHERE area > {n})",
    "id BETWEEN {n} AND {n} + 300",
    "predict('price', {k}, {b}, {c}) > {n}",
    "{a} < {n} AND predict('price', {k}, {b}, {c}) > {n}",
    "1000 / (id - {n}) < 50 AND {p} > {n}",
    "{p} > (SELECT avg(area) FROM homes AS s WHERE s.rooms = h.rooms)",
    "(predict_array('targets', {a}, {k}))[1] > {d}",
    "EXISTS (SELECT FROM homes AS s WHERE s.id = h.id AND predict('price', 1 / (s.id - {n}), 1, 1) > 50)",
    "h.id IN (SELECT id FROM homes AS s WHERE predict('price', s.area, 100 / (s.id - {n}), 1) > 50)",
)
SOURCES = (
    "homes AS h",
    "homes AS h JOIN towns USING (town)",
    "homes AS h LEFT JOIN towns USING (town)",
    "towns LEFT JOIN homes AS h USING (town)",
    "(SELECT * FROM homes ORDER BY id OFFSET {d}) AS h",
    "(SELECT * FROM homes ORDER BY town, id LIMIT {n}) AS h",
    "parted AS h",
    "(SELECT * FROM homes UNION ALL SELECT * FROM homes) AS h",
    "(SELECT id, predict('price', area, rooms, {a}) AS area, rooms, age, town, price, day, zone, hours"
    " FROM homes UNION ALL SELECT * FROM homes) AS h",
    "towns, LATERAL (SELECT * FROM homes WHERE homes.town = towns.town OFFSET {d}) AS h",
    "(SELECT *, 1000 / (id - {n}) AS half FROM homes OFFSET {d}) AS h",
    "(SELECT id, area * 2 AS area, rooms / (rooms - {d} + 7) AS rooms, age, town, price, day, zone, hours"
    " FROM homes) AS h",
    "(SELECT DISTINCT * FROM homes) AS h",
    "(SELECT * FROM homes EXCEPT SELECT * FROM homes WHERE id < {n}) AS h",
    "(SELECT min(id) AS id, avg(area) AS area, count(*) AS rooms, max(age) AS age, town, sum(price) AS price,"
    " min(day) AS day, max(zone) AS zone, avg(hours) AS hours FROM homes GROUP BY town, id % 50) AS h",
    "(SELECT id, lag(area) OVER w AS area, row_number() OVER w AS rooms, age, town, price, day, zone,"
    " avg(hours) OVER w AS hours FROM homes WINDOW w AS (PARTITION BY town ORDER BY id)) AS h",
    "(SELECT * FROM homes WHERE 1000 / (id - {n}) < 50) AS h",
    "homes AS h JOIN towns ON towns.town = h.town AND 100 / (tax + id - {n}) < 50",
    "homes AS h JOIN (SELECT id AS other, area AS more FROM homes) AS o ON other = h.id + 1",
    "homes AS h LEFT JOIN (SELECT id AS other, area AS more FROM homes) AS o ON other = h.id + {n}",
)


class Generator:
    """Makes one query after another."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def _filled(self, template: str) -> str:
        number = self._number
        return template.format(
            a=number(), b=number(), c=number(), n=self.random.randrange(120), k=self._computed(),
            d=self.random.randrange(5), p="predict('price', area, rooms, age)",
        )  # fmt: skip

    def _one_of(self, templates: tuple[str, ...]) -> str:
        return self._filled(self.random.choice(templates))

    def _computed(self) -> str:
        if self.random.random() < 0.6:
            return self._number()
        # Most of the numbers are beyond the rows, or most queries would give an error.
        number = self.random.choice((self.random.randrange(1000), 5000, 5000))
        template, below = self.random.choice(COMPUTED), self.random.choice((0, 3, 40))
        return template.format(a=self._number(), b=self._number(), n=number, d=below)

    def _number(self) -> str:
        others = ("NULL", "7", "-1.5", "rooms::real", "hours", "id % 40")
        return self.random.choice((*NUMBERS, *others))

    def _call(self, calls: tuple[str, ...] = CALLS) -> str:
        # Calls that fail at the first row are rarer, or most queries would give an error.
        while True:
            call = self.random.choice(calls)
            fails = "nosuch" in call or call == "predict('price', {a}, {b})"
            if not fails or self.random.random() < 0.1:
                return self._filled(call)

    def _output(self) -> str:
        shape = self.random.randrange(10)
        if shape == 9:
            return self._one_of(ARRAYS)
        if shape < 4:
            return self._call()
        if shape < 6:
            return self.random.choice(COLUMNS)
        safe = self._call(CALLS[SAFE])
        return self._one_of((
            f"{safe} + id", f"CASE WHEN {{a}} > {{n}} THEN {self._call()} END", f"coalesce({safe}, area)",
            f"coalesce({{a}}, {self._call()})", f"CASE WHEN {{a}} > {{n}} THEN 0 ELSE {self._call()} END",
            f"{{a}} > {{n}} OR {self._call(CALLS[SAFE])} < {{n}}", f"1 / ({safe} - {{n}})",
            f"{safe} > {{n}} AND {safe} < {{n}}",
            f"CASE WHEN {self._call(CALLS[SAFE])} > {{n}} THEN {self._call()} END",
            f"CASE {safe} WHEN {{n}} THEN 1 / (id - 300) END", f"round({safe}::numeric, 1)",
            "100 / (id - 300 - {n})", f"row_number() OVER (ORDER BY h.id), {safe}",
            f"sum({safe}::numeric) OVER (PARTITION BY town ORDER BY h.id)",
            "predict('price', lag({a}) OVER (ORDER BY h.id), {b}, {c})", f"greatest({safe}, {{a}})",
        ))  # fmt: skip

    def _aggregate(self) -> str:
        call = self._call(CALLS[SAFE])
        return self.random.choice((
            f"avg({call})", f"max({call})", "count(*)", f"count({self._call()})",
            f"sum({call}) FILTER (WHERE id > 5)", f"count({self._call()}) FILTER (WHERE rooms > 2)",
            f"sum(CASE WHEN rooms > 2 THEN {call} ELSE 0 END)", f"max({call}) FILTER (WHERE rooms < 4)",
            "max(predict('tickets', day, zone, hours)) FILTER (WHERE day <> 'doomsday')",
            f"sum(1 / (id - 300)) FILTER (WHERE {call} > 50)", f"count(DISTINCT {call})",
            f"string_agg(({call})::text, ',' ORDER BY id)", f"max({call} + area)",
            f"(array_agg(h.id ORDER BY {call}, h.id))[1]",
            "predict('price', avg(area), count(*), max(age))",
            "predict_batch('price', array_agg(ARRAY[area, rooms, age] ORDER BY h.id, area, rooms, age))",
            f"percentile_disc(0.5) WITHIN GROUP (ORDER BY {call})",
        ))  # fmt: skip

    def _tail(self, order: str) -> str:
        parts = []
        if self.random.random() < 0.4:
            parts.append(f"ORDER BY {order}")
        if self.random.random() < 0.5:
            parts.append(f"LIMIT {self.random.choice((1, 5, 9, 20, 73, 290, 400, 900))}")
        if self.random.random() < 0.2:
            parts.append(f"OFFSET {self.random.randrange(400)}")
        return " ".join(parts)

    def by_key(self, condition: str) -> str:
        """A query of the rows that a condition with parameters selects."""
        outputs = ", ".join(self._output() for _ in range(self.random.randrange(1, 4)))
        source = f"(SELECT * FROM homes WHERE {condition}) AS h"
        return f"SELECT {outputs} FROM {source} {self._tail('h.id')}"

    def steps(self) -> tuple[str, list[str]]:
        """A kind of cursor with its steps, back only where any plan can go back."""
        kind = self.random.choice(("", "NO SCROLL ", "SCROLL ", "SCROLL ")) + "CURSOR"
        back = ("BACKWARD {}", "ABSOLUTE {}", "RELATIVE -{}", "LAST", "FIRST", "BACKWARD ALL")
        steps = []
        for _ in range(10):
            of = back if self.random.random() < 0.3 and kind == "SCROLL CURSOR" else ("FORWARD {}",)
            steps.append(self.random.choice(of).format(self.random.choice((1, 3, 20, 300, 600))))
        hold = " WITH HOLD" if self.random.random() < 0.2 else ""
        return f"{kind}{hold}", steps

    def written(self) -> str:
        """A statement that writes rows of `kept`, with the score and the prediction for each of them."""
        returning = "RETURNING score, predict('price', area, rooms, age)"
        columns = "area, rooms, age"
        source = self._one_of(SOURCES)
        condition = self._one_of(CONDITIONS)
        if self.random.random() < 0.5:
            select = f"SELECT h.{columns.replace(', ', ', h.')} FROM {source} WHERE {condition}"
            return f"INSERT INTO kept ({columns}) {select} {self._tail('h.id')} {returning}"
        column = self.random.choice(columns.split(", "))
        return f"UPDATE kept AS h SET {column} = {self._computed()} WHERE {condition} {returning}"

    def query(self) -> str:
        """The next query."""
        source = self._one_of(SOURCES)
        where = ""
        if self.random.random() < 0.5:
            where = f" WHERE {self._one_of(CONDITIONS)}"
        if self.random.random() < 0.3:
            outputs = ", ".join(self._aggregate() for _ in range(self.random.randrange(1, 3)))
            by = self.random.choice(("", "town", "rooms", self._call(CALLS[SAFE])))
            group = f" GROUP BY {by}" if by else ""
            having = ""
            if self.random.random() < 0.2:
                having = self._filled(" HAVING predict('price', avg({a}), count(*), {d}) > {n}")
            return f"SELECT {outputs}{', ' + by if by else ''} FROM {source}{where}{group}{having}"
        distinct = "DISTINCT " if self.random.random() < 0.1 else ""
        outputs = ", ".join(self._output() for _ in range(self.random.randrange(1, 4)))
        best = f"{self._call(CALLS[SAFE])} DESC, h.id"
        orders = ("h.id", "1", "h.id DESC", "town, h.id", best)
        order = "1" if distinct else self.random.choice(orders)
        select = f"SELECT {distinct}{outputs} FROM {source}{where} {self._tail(order)}"
        wrapped = self.random.randrange(8)
        if wrapped == 0:
            return f"SELECT count(*) FROM ({select}) AS s"
        if wrapped == 1:
            return f"WITH s AS MATERIALIZED ({select}) SELECT * FROM s LIMIT 50"
        return select
