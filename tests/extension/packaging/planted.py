"""Objects that another role plants in the extensions' schema."""

from functools import partial

from tests.extension.packaging.releases import create_extensions

SCHEMA = "planted"
created = partial(create_extensions, schema=SCHEMA)


def attack(name: str, arguments: str, returns: str, schema: str = SCHEMA) -> str:
    """Makes a function of the attacker's, which ends what calls it."""
    body = "BEGIN RAISE EXCEPTION 'attacked as %', current_user; END"
    return f"CREATE FUNCTION {schema}.{name}({arguments}) RETURNS {returns} LANGUAGE plpgsql AS $${body}$$"
