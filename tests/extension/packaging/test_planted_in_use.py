"""Objects that a role plants in an extension's schema give it no privileges while the extension is used."""

import pytest
from psycopg import Connection, errors

from tests.extension.lifecycle.models import constant, load, one
from tests.extension.packaging.planted import attack, created

SOURCE = "SELECT i AS a, i AS y FROM generate_series(1, 100) AS i"
TRAIN = "SELECT planted.train_model('t', %s, 'y', rounds => 2)"


@pytest.fixture
def user(superuser: Connection) -> Connection:
    """The superuser, who finds the extension by its path."""
    superuser.execute("SET search_path = pg_catalog, planted, public")
    return superuser


def test_a_function_made_of_a_model_calls_no_other(attacker: Connection, user: Connection) -> None:
    created(user)
    load(user, "m", constant(1))
    user.execute("SELECT create_predict_function('m', 'of_m', 'public')")
    assert one(user, "SELECT public.of_m(1)") == 1
    attacker.execute(attack("predict", "text, VARIADIC double precision[]", "real"))
    with pytest.raises(errors.AmbiguousFunction) as raised:
        user.execute("SELECT create_predict_function('m', 'of_m_too', 'public')")
    assert (
        raised.value.diag.message_primary == 'the schema of pgboost has another function "predict"'
    )
    assert one(user, "SELECT public.of_m(1)") == 1


def test_verify_model_calls_no_other(attacker: Connection, user: Connection) -> None:
    created(user)
    user.execute(TRAIN, (SOURCE,))
    assert user.execute("SELECT * FROM verify_model('t', %s)", (SOURCE,)).fetchone() == (100, 0, 0)
    attacker.execute(attack("predict_margin", "text, real[]", "real[]"))
    with pytest.raises(errors.AmbiguousFunction):
        user.execute("SELECT * FROM verify_model('t', %s)", (SOURCE,))
