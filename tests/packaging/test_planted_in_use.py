"""What another role planted in an extension's schema gains it nothing while the extension is used.

Until ALTER EXTENSION UPDATE the new library works with the tables and functions of an earlier release, and
the names of later ones are free.
"""

import psycopg
import pytest
from psycopg import errors

from tests.lifecycle.models import constant, load, one
from tests.packaging.planted import attack, created
from tests.packaging.releases import RELEASES

LATER = {
    "pgboost_alias": "model text, alias text, version integer",
    "pgboost_profile": "model text, version integer",
    "pgboost_function": "model text, function text",
}
SOURCE = "SELECT i AS a, i AS y FROM generate_series(1, 100) AS i"
TRAIN = "SELECT planted.train_model('t', %s, 'y', rounds => 2)"
# So many rows that the table has more than the four pages that are read without an index.
RIGHTS = 2000


@pytest.fixture
def user(superuser: psycopg.Connection) -> psycopg.Connection:
    """The superuser, who finds the extension by its path."""
    superuser.execute("SET search_path = pg_catalog, planted, public")
    return superuser


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("key", ["model text", "model bigint"])
def test_tables_of_later_releases_are_none_of_the_registrys(
    attacker: psycopg.Connection, user: psycopg.Connection, release: str, key: str
) -> None:
    created(user, release)
    attacker.execute(attack("attack", "", "trigger"))
    for table, columns in LATER.items():
        attacker.execute(f"CREATE TABLE planted.{table} ({columns.replace('model text', key)})")
        for moment in ("INSERT", "UPDATE", "DELETE"):
            attacker.execute(
                f"CREATE TRIGGER on_{moment} BEFORE {moment} ON planted.{table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION planted.attack()"
            )
    attacker.execute("ALTER TABLE planted.pgboost_alias DISABLE TRIGGER ALL")
    attacker.execute("ALTER TABLE planted.pgboost_function DISABLE TRIGGER ALL")
    model = "m" if key == "model text" else "1"
    attacker.execute("INSERT INTO planted.pgboost_alias VALUES (%s, 'best', 1)", (model,))
    attacker.execute("INSERT INTO planted.pgboost_function VALUES (%s, 'public.kept()')", (model,))
    user.execute("CREATE FUNCTION public.kept() RETURNS integer LANGUAGE sql RETURN 1")
    for value in (1, 2):
        load(user, model, constant(value))
    with pytest.raises(errors.UndefinedObject):
        one(user, f"SELECT predict('{model}@best', 1)")
    user.execute(f"SELECT drop_model('{model}', 1)")
    user.execute(f"SELECT drop_model('{model}')")
    assert one(user, "SELECT public.kept()") == 1


@pytest.mark.parametrize("release", RELEASES)
def test_functions_of_later_releases_are_not_called(
    attacker: psycopg.Connection, user: psycopg.Connection, release: str
) -> None:
    created(user, release)
    attacker.execute(attack("load_profile", "text, jsonb", "void"))
    attacker.execute(attack("load_model", "text, bytea, text[], text[], jsonb, jsonb", "integer"))
    user.execute(TRAIN, (SOURCE,))
    assert one(user, "SELECT count(*) FROM pgboost_models") == 1


@pytest.mark.parametrize("release", RELEASES)
def test_an_index_of_anothers_says_nothing_about_rights(
    attacker: psycopg.Connection, user: psycopg.Connection, release: str
) -> None:
    """An earlier release does not name its keys, so that they are made beside one that is planted."""
    attacker.execute('CREATE TABLE planted.mine (model text COLLATE "C", role oid, privilege text)')
    attacker.execute("CREATE INDEX pgboost_privilege_pkey ON planted.mine (model, role)")
    created(user, release)
    load(user, "m", constant(1))
    load(user, "theirs", constant(2))
    user.execute("CREATE ROLE planted_user NOLOGIN")
    user.execute(
        "INSERT INTO pgboost_privilege SELECT 'filler ' || i, 'planted_user', 'predict' "
        "FROM generate_series(1, %s) AS i",
        (RIGHTS,),
    )
    user.execute("SELECT grant_model('theirs', 'planter')")
    assert one(user, "SELECT pg_relation_size('pgboost_privilege') / 8192") > 4
    # Points to each row, the attacker's own among them, for the model of others.
    attacker.execute(
        "INSERT INTO planted.mine SELECT 'm', 0, '' FROM generate_series(1, %s)", (RIGHTS + 3,)
    )
    attacker.execute("SET search_path = pg_catalog, planted")
    for call in ("predict('m', 1)", "export_model('m')"):
        with pytest.raises(errors.InsufficientPrivilege):
            attacker.execute(f"SELECT {call}")
    assert one(attacker, "SELECT predict('theirs', 1)") == 2
    assert one(user, "SELECT predict('m', 1)") == 1
    user.execute(
        "DROP OWNED BY planted_user; DELETE FROM pgboost_privilege; DROP ROLE planted_user"
    )


def test_a_function_made_of_a_model_calls_no_other(
    attacker: psycopg.Connection, user: psycopg.Connection
) -> None:
    created(user)
    load(user, "m", constant(1))
    user.execute("SELECT create_predict_function('m', 'of_m', 'public')")
    assert one(user, "SELECT public.of_m(1)") == 1
    attacker.execute(attack("predict", "text, VARIADIC real[]", "real"))
    with pytest.raises(errors.AmbiguousFunction) as raised:
        user.execute("SELECT create_predict_function('m', 'of_m_too', 'public')")
    assert (
        raised.value.diag.message_primary == 'the schema of pgboost has another function "predict"'
    )
    assert one(user, "SELECT public.of_m(1)") == 1


def test_verify_model_calls_no_other(
    attacker: psycopg.Connection, user: psycopg.Connection
) -> None:
    created(user)
    user.execute(TRAIN, (SOURCE,))
    assert user.execute("SELECT * FROM verify_model('t', %s)", (SOURCE,)).fetchone() == (100, 0, 0)
    attacker.execute(attack("predict_margin", "text, real[]", "real[]"))
    with pytest.raises(errors.AmbiguousFunction):
        user.execute("SELECT * FROM verify_model('t', %s)", (SOURCE,))
