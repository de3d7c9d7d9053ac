"""The benchmark's table, named once.

The order is the table's own, and the order of the features is the order in which
the model was trained and in which predict takes its arguments. Every feature is
a whole number well below 2**24, so that a real holds it exactly.
"""

TARGET = "depdelayminutes"

FEATURES = (
    "year",
    "quarter",
    "month",
    "distance",
    "dayofweek",
    "dayofmonth",
    "flight_number_operating_airline",
    "originairportid",
    "destairportid",
    "tail_number",
)

COLUMNS = (TARGET, *FEATURES)

# The row that the benchmark's one-row query looks up.
LOOKED_UP = {"originairportid": 14869, "year": 2019, "month": 8, "dayofmonth": 31}
