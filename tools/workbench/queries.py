"""The demo's SQL: one prediction in each form of predict's arguments."""

from data.columns import FEATURES

MODEL = "flights"
COLUMNS = ", ".join(FEATURES)

# The features of the row f, by the name of the form.
FORMS = {
    "columns": COLUMNS,
    "array": f"ARRAY[{COLUMNS}]",
    "row": "f",
    "jsonb": "to_jsonb(f)",
}

# The cheapest function of the same ten arguments, the control of predict.
CONTROL = f"array_length(ARRAY[{COLUMNS}], 1)"

# The control for a row.
ROW_CONTROL = "pg_column_size(f)"

# The control for jsonb; constructing the object takes most of the time of predict with jsonb.
JSONB_CONTROL = "pg_column_size(to_jsonb(f))"


def predict(form: str, model: str = MODEL) -> str:
    """Returns the call of predict for a row f of flights."""
    return f"predict('{model}', {FORMS[form]})"
