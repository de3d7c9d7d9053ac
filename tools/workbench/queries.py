"""The demo's SQL: one prediction in each of the forms that predict takes its arguments in."""

from data.columns import FEATURES

MODEL = "flights"
COLUMNS = ", ".join(FEATURES)

# What stands for the features of the row f, by the name of the form.
FORMS = {
    "columns": COLUMNS,
    "array": f"ARRAY[{COLUMNS}]",
    "row": "f",
    "jsonb": "to_jsonb(f)",
}

# The cheapest function of the same ten arguments: what predict is measured against.
CONTROL = f"array_length(ARRAY[{COLUMNS}], 1)"

# The same of a row.
ROW_CONTROL = "pg_column_size(f)"

# Making the object takes most of the time that predict with jsonb does.
JSONB_CONTROL = "pg_column_size(to_jsonb(f))"


def predict(form: str, model: str = MODEL) -> str:
    """The call of predict for a row f of flights."""
    return f"predict('{model}', {FORMS[form]})"
