"""The columns of the benchmark's table, in its order.

The model was trained with the features in this order, which is also that of predict's arguments. Every
feature is a whole number well below 2**24, which a real represents exactly.
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
