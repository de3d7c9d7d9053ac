"""Objects that a role plants in an extension's schema give it no privileges when it is created, updated
or used.

An object of one of the extension's own names ends the script with an error; operators and functions that fit
the script's expressions better than PostgreSQL's own are not called.
"""

import pytest
from psycopg import Connection, errors

from tests.connections import Connect
from tests.extension.lifecycle.models import constant, load, one
from tests.extension.packaging.conftest import (
    EARLIER,
    NAMES,
    attack,
    created,
    update_extensions,
)
from tests.extension.packaging.test_upgrade import schema
from tools.cluster import Cluster

TYPES = (
    "text", "name", "integer", "bigint", "smallint", "boolean", "oid", "regclass", "regprocedure", "regrole",
    "regproc", "regtype", '"char"', "text[]", "aclitem[]", "real[]", "jsonb",
)  # fmt: skip
OPERATORS = ("=", "<>", "<", ">", "~", "||", "->", "->>")
# Each with the arguments for which a script could mean PostgreSQL's own.
FUNCTIONS = (
    "format(text, regprocedure, text, text)", "format(text, regprocedure)", "format(text, text)",
    "pg_extension_config_dump(text, text)", "aclexplode(text)", "pg_has_role(regrole, text)",
    "to_timestamp(real)", "xgboost_version(text)", "current_database(text)", "now(text)",
    "predict(text, jsonb)", "predict(text, real)", "pg_stat_pgboost_reset(text)",
)  # fmt: skip
# How the attacker makes an object with the name of each of the extensions'. "any" is not for its languages.
OWN_NAMES = """
SELECT format('CREATE FUNCTION %s RETURNS integer LANGUAGE sql AS $$SELECT 1$$', p.oid::regprocedure)
  FROM pg_depend AS d JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND p.prokind = 'f'
   AND p.pronamespace = 'planted'::regnamespace
   AND NOT (p.proargtypes::oid[] && ARRAY['"any"'::regtype, 'internal'::regtype]::oid[])
UNION ALL
SELECT format(kind, c.oid::regclass)
  FROM pg_depend AS d JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid,
       unnest(ARRAY['CREATE TABLE %s (name text)', 'CREATE VIEW %s AS SELECT 1', 'CREATE SEQUENCE %s',
                    'CREATE TYPE %s AS ENUM (''a'')']) AS kind
 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
   AND c.relnamespace = 'planted'::regnamespace
UNION ALL
SELECT format('CREATE SEQUENCE %s', i.indexrelid::regclass)
  FROM pg_depend AS d JOIN pg_index AS i ON d.classid = 'pg_class'::regclass AND i.indrelid = d.objid
 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
   AND i.indrelid::regclass::text LIKE 'planted.%'
"""
TAKEN = (errors.DuplicateTable, errors.DuplicateFunction, errors.DuplicateObject)
REGISTRY = "pgboost_catalog"


@pytest.fixture
def fresh(connect: Connect, cluster: Cluster) -> list[list[tuple]]:
    """The extensions' definitions in a schema without planted objects."""
    cluster.create_database("unplanted", replace=True)
    connection = connect(dbname="unplanted")
    connection.execute("CREATE SCHEMA planted")
    created(connection)
    return definitions(connection)


def definitions(connection: Connection) -> list[list[tuple]]:
    """The extensions' definitions, shown with only pg_catalog on the path."""
    connection.execute("SET search_path = pg_catalog")
    found = [schema(connection, name) for name in NAMES]
    connection.execute("RESET search_path")
    return found


def plant(attacker: Connection) -> None:
    """Plants operators for each pair of types, functions, a cast, types, and relations."""
    for left in TYPES:
        for right in TYPES:
            attacker.execute(attack("attack", f"{left}, {right}", "boolean"))
            for operator in OPERATORS:
                attacker.execute(
                    f"CREATE OPERATOR planted.{operator} "
                    f"(FUNCTION = planted.attack, LEFTARG = {left}, RIGHTARG = {right})"
                )
    for function in FUNCTIONS:
        name, _, arguments = function.rstrip(")").partition("(")
        attacker.execute(attack(name, arguments, "text"))
    for name in ("text", "regrole", "jsonb", "aclitem"):
        attacker.execute(f"CREATE DOMAIN planted.{name} AS pg_catalog.text CHECK (VALUE IS NULL)")
    attacker.execute("CREATE TYPE planted.mine AS ENUM ('a')")
    attacker.execute(attack("mine", "planted.mine", "pg_catalog.text"))
    attacker.execute("CREATE CAST (planted.mine AS text) WITH FUNCTION planted.mine AS IMPLICIT")
    for name in ("pg_proc", "pg_init_privs", "pg_shdepend", "pg_database", "pg_stat_activity"):
        attacker.execute(f"CREATE TABLE planted.{name} (oid oid)")
    attacker.execute(
        "CREATE VIEW planted.pg_roles AS SELECT true AS rolsuper, current_user AS rolname"
    )


def test_a_careless_script_would_call_planted_objects(
    attacker: Connection, superuser: Connection
) -> None:
    """With the search path of an extension's script."""
    plant(attacker)
    superuser.execute("SET search_path = planted, pg_temp")
    for careless in ("1::oid = 'version'::regproc", "format('%s', 'version()'::regprocedure)"):
        with pytest.raises(errors.RaiseException, match="attacked as postgres"):
            superuser.execute(f"SELECT {careless}")


def test_creation_calls_no_function_of_another_role(
    attacker: Connection, superuser: Connection, fresh: list[list[tuple]]
) -> None:
    plant(attacker)
    created(superuser)
    assert definitions(superuser) == fresh


def test_an_update_calls_no_function_of_another_role(
    attacker: Connection, superuser: Connection, fresh: list[list[tuple]]
) -> None:
    created(superuser, EARLIER)
    plant(attacker)
    update_extensions(superuser)
    assert definitions(superuser) == fresh


def own_names(superuser: Connection) -> set[str]:
    superuser.execute("SET search_path = pg_catalog")
    found = {statement for (statement,) in superuser.execute(OWN_NAMES)}
    superuser.execute("RESET search_path")
    return found


def refuses(superuser: Connection, attacker: Connection, names: set[str], script: str) -> None:
    """With each of the objects planted the script fails with the error that it exists."""
    for statement in sorted(names):
        attacker.execute(statement)
        with pytest.raises(TAKEN):
            superuser.execute(script)
        superuser.execute("DROP OWNED BY planter; GRANT USAGE, CREATE ON SCHEMA planted TO planter")


def test_creation_takes_no_object_of_another_role(
    attacker: Connection, superuser: Connection, fresh: list[list[tuple]]
) -> None:
    created(superuser)
    names = own_names(superuser)
    assert len(names) > 40
    superuser.execute("DROP EXTENSION pgboost CASCADE")
    # One transaction, since either extension may be the one that fails.
    script = "; ".join(f"CREATE EXTENSION {name} SCHEMA planted" for name in NAMES)
    refuses(superuser, attacker, names, script)
    superuser.execute(script)
    assert definitions(superuser) == fresh


def test_creation_takes_no_schema_of_another_role(
    attacker: Connection, superuser: Connection
) -> None:
    """Whoever may create schemas can make that of the registry before the extension does."""
    superuser.execute("GRANT CREATE ON DATABASE planted TO planter")
    attacker.execute(f"CREATE SCHEMA {REGISTRY}")
    with pytest.raises(errors.DuplicateSchema):
        created(superuser)
    attacker.execute(f"DROP SCHEMA {REGISTRY}")
    created(superuser)
    for statement in ("CREATE TABLE {}.t (a int)", "DROP SCHEMA {}", "ALTER SCHEMA {} RENAME TO t"):
        with pytest.raises(errors.InsufficientPrivilege):
            attacker.execute(statement.format(REGISTRY))
    superuser.execute("REVOKE CREATE ON DATABASE planted FROM planter")


def test_an_update_takes_no_object_of_another_role(
    attacker: Connection, superuser: Connection, fresh: list[list[tuple]]
) -> None:
    created(superuser)
    names = own_names(superuser)
    superuser.execute("DROP EXTENSION pgboost CASCADE")
    created(superuser, EARLIER)
    names -= own_names(superuser)
    assert len(names) >= 5
    script = "; ".join(f"ALTER EXTENSION {name} UPDATE" for name in NAMES)
    refuses(superuser, attacker, names, script)
    superuser.execute(script)
    assert definitions(superuser) == fresh


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
    message = 'the schema of pgboost has another function "predict"'
    assert raised.value.diag.message_primary == message
    assert one(user, "SELECT public.of_m(1)") == 1


# Of a model with two versions, and a table whose scores are kept.
OF_MODELS = (
    "SELECT maintain_scores('public.t', 'm')",
    "INSERT INTO public.t (f1, y) SELECT i, i FROM generate_series(1, 300) AS i",
    "UPDATE public.t SET f1 = 2",
    "SELECT deploy_model('m@1')",
    "CALL refresh_scores('public.t', 10)",
    "SELECT * FROM pgboost_scores, pgboost_models, pgboost_deployments, pgboost_aliases, pg_stat_pgboost",
    "SELECT rollback_model('m')",
    "SELECT set_alias('m@1', 'best')",
    "SELECT set_unknown_category('m', 'missing')",
    "SELECT set_model_comment('m', 'a comment')",
    "SELECT export_model_sql('m')",
    "SELECT model_info('m'), model_features('m')",
    "SELECT predict('m', t), explain_prediction('m', t) FROM public.t LIMIT 3",
    "SELECT evaluate_model('m', 'public.t', 'y')",
    "SELECT compare_models('m@1', 'm@2', 'public.t', 'y')",
    "SELECT partial_dependence('m', 'public.t', 'f1')",
    "SELECT permutation_importance('m', 'public.t', 'y')",
    "SELECT set_baseline('m', 'public.t')",
    "SELECT feature_baseline('m'), feature_drift('m', 'public.t')",
    "SELECT cross_validate_model('SELECT f1, y FROM public.t', 'y', rounds => 2)",
    "SELECT train_model('trained', 'SELECT f1, y FROM public.t', 'y', rounds => 2)",
    "SELECT drop_scores('public.t')",
    "SELECT grant_model('m', 'planter'), set_model_owner('m', 'planter'), rename_model('m', 'n')",
    "SELECT drop_model('n')",
)


def test_calls_of_models_call_no_other(attacker: Connection, user: Connection) -> None:
    """Even if the caller's path has the attacker's schema before PostgreSQL's own."""
    created(user)
    user.execute("CREATE TABLE public.t (f1 real, y real)")
    for answer in (1, 2):
        load(user, "m", constant(answer))
    plant(attacker)
    user.execute("SET search_path = planted, pg_catalog")
    for call in OF_MODELS:
        user.execute(call)


# What the owner of a table can attach to it. Each call of the function by another role is an attack.
OF_TABLES = {
    "a cast": (
        "CREATE TYPE planted.mine AS ENUM ('a'); CREATE TABLE planted.t (score real, version planted.mine);"
        "INSERT INTO planted.t VALUES (1, 'a');"
        "CREATE FUNCTION planted.mine(planted.mine) RETURNS integer {body};"
        "CREATE CAST (planted.mine AS integer) WITH FUNCTION planted.mine AS IMPLICIT",
        (None, None),
    ),
    "an index": (
        "CREATE TABLE planted.t AS SELECT 1::real AS score, 1 AS version;"
        "CREATE FUNCTION planted.number(integer) RETURNS integer IMMUTABLE {body};"
        "CREATE INDEX ON planted.t (score) WHERE planted.number(1) = 1",
        (1, 1),
    ),
    "a policy": (
        "CREATE TABLE planted.t AS SELECT 1::real AS score, 1 AS version;"
        "CREATE FUNCTION planted.number(integer) RETURNS integer {body};"
        "ALTER TABLE planted.t ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY p ON planted.t USING (planted.number(version) = 1)",
        (1, None),
    ),
}  # fmt: skip
BODY = """LANGUAGE plpgsql AS $$ BEGIN
    IF current_user <> 'planter' THEN RAISE EXCEPTION 'attacked as %', current_user; END IF; RETURN 1;
END $$"""


@pytest.mark.parametrize("kind", OF_TABLES)
def test_a_view_of_scores_runs_no_code_of_a_tables_owner(
    attacker: Connection, superuser: Connection, kind: str
) -> None:
    """Who reads it has not chosen the table: neither a superuser nor another role, with its counts."""
    created(superuser)
    statements, counts = OF_TABLES[kind]
    attacker.execute(statements.format(body=BODY))
    attacker.execute(
        "CREATE TRIGGER made BEFORE INSERT OR UPDATE OF score, version ON planted.t FOR EACH ROW"
        f" EXECUTE FUNCTION planted.pgboost_maintain_score('{'0' * 36}', 'predict', 'null', '')"
    )
    superuser.execute(
        "GRANT USAGE ON SCHEMA planted TO PUBLIC; GRANT SELECT ON planted.t TO PUBLIC"
    )
    for role, count in zip(("postgres", "pg_monitor"), counts, strict=True):
        superuser.execute(f"SET ROLE {role}")
        assert one(superuser, "SELECT rows_behind FROM planted.pgboost_scores") == count, role
    superuser.execute("RESET ROLE")


def test_verify_model_calls_no_other(attacker: Connection, user: Connection) -> None:
    created(user)
    user.execute(TRAIN, (SOURCE,))
    assert user.execute("SELECT * FROM verify_model('t', %s)", (SOURCE,)).fetchone() == (100, 0, 0)
    attacker.execute(attack("predict_margin", "text, real[]", "real[]"))
    with pytest.raises(errors.AmbiguousFunction):
        user.execute("SELECT * FROM verify_model('t', %s)", (SOURCE,))
