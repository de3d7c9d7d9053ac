"""A physical standby predicts as its primary, and its connections see changes."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection, errors

from tests.connections import in_parallel, plan_of, until
from tests.extension.lifecycle.conftest import folder_of, mapped
from tests.extension.lifecycle.models import ROW, constant, grown, load, one, value
from tests.extension.lifecycle.test_logical_replication import changes_follow
from tools.cluster import Cluster
from tools.cluster.server import follow, promote, stop_server

NAMED_ROWS = "SELECT {}, i FROM generate_series(1, 9) AS i".format(
    ", ".join(f"i / 10.0 AS f{number}" for number in range(1, 11))
)
EVALUATIONS = (
    f"evaluate_model('grown', '{NAMED_ROWS}', 'i')",
    f"compare_models('grown', 'grown', '{NAMED_ROWS}', 'i')",
    f"partial_dependence('grown', '{NAMED_ROWS}', 'f1')",
    f"permutation_importance('grown', '{NAMED_ROWS}', 'i')",
    f"feature_drift('grown', '{NAMED_ROWS}')",
    f"verify_model('grown', '{NAMED_ROWS}')",
    f"explain_prediction('grown', {ROW})",
    "model_features('grown')",
    "feature_importance('grown', 'weight')",
)
FUNCTIONS = (
    "predict", "predict_array", "predict_margin", "predict_leaf", "predict_contribs",
    "predict_interactions", "xgboost_predict",
)  # fmt: skip
Pair = tuple[Connection, Connection]


@pytest.fixture(scope="module")
def standby(spare: Cluster) -> Iterator[Cluster]:
    """A copy of the spare cluster that follows it; the model grown is there from before."""
    with spare.connect() as primary:
        primary.execute("CREATE EXTENSION pgboost_train")
        load(primary, "grown", grown(50, 6))
        primary.execute("SELECT set_baseline('grown', %s)", (NAMED_ROWS,))
        load(primary, "m", constant(1))
        primary.execute("CREATE ROLE follower LOGIN")
    home = Path(spare.place.home, "standby")
    copy = follow(spare, home, {"listen_addresses": ""})
    yield copy
    stop_server(copy, "immediate")
    shutil.rmtree(home)


@pytest.fixture
def pair(spare: Cluster, standby: Cluster) -> Iterator[Pair]:
    """A connection to the primary and one to the standby."""
    with spare.connect() as primary, standby.connect() as replica:
        yield primary, replica


def replayed(primary: Connection, replica: Connection) -> None:
    """Returns once the standby has replayed what the primary has written."""
    # The cluster commits without waiting for its log; this one is written out, and all before it.
    with primary.transaction():
        primary.execute("SET LOCAL synchronous_commit = on")
        primary.execute("SELECT pg_logical_emit_message(true, 'tests', 'written')")
    position = (one(primary, "SELECT pg_current_wal_flush_lsn()::text"),)
    until(lambda: one(replica, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", position))


def test_it_is_a_standby_and_gives_the_same_bits(pair: Pair) -> None:
    primary, replica = pair
    assert one(replica, "SELECT pg_is_in_recovery()")
    features = "ARRAY[x, 1 - x, x * x, x, 0.5, x / 2, x, 1 - x, x, x]::real[]"
    rows = "SELECT i / 1000.0 FROM generate_series(0, 999) AS i"
    bits = f"float4send(predict('grown', {features}))"
    scan = f"SELECT array_agg({bits} ORDER BY x) FROM ({rows}) AS v (x)"
    expected = one(primary, scan)
    assert len(set(expected)) > 100
    assert one(replica, scan) == expected


def test_images_of_dropped_versions_are_removed(standby: Cluster, pair: Pair) -> None:
    """A connection that notices the drop removes them, and a while later new connections do."""
    primary, replica = pair
    folder = folder_of(standby, replica)
    found = lambda: {path.name for path in folder.iterdir() if path.suffix == ".image"}  # noqa: E731
    value(replica)
    before = found()

    def predicted(count: int) -> None:
        for number in range(count):
            load(primary, "nightly", constant(1000 + number))
            replayed(primary, replica)
            assert value(replica, "nightly") == 1000 + number
        assert len(found() - before) == count

    predicted(6)
    for version in range(1, 6):
        primary.execute(f"SELECT drop_model('nightly@{version}')")
    replayed(primary, replica)
    assert value(replica, "nightly") == 1005
    assert len(found() - before) == 1
    primary.execute("SELECT drop_model('nightly')")
    replayed(primary, replica)
    long_ago = time.time() - 100
    os.utime(folder / "made", (long_ago, long_ago))
    with standby.connect() as fresh:
        assert value(fresh) == value(primary)
    assert not found() - before


def test_a_pinned_version_predicts(pair: Pair) -> None:
    """Which takes a lock of the kind that a standby may take; there it keeps no owner waiting."""
    primary, replica = pair
    load(primary, "pinned", constant(7))
    primary.execute("SELECT pin_model('pinned@1')")
    replayed(primary, replica)
    with replica.transaction():
        assert one(replica, "SELECT predict_pinned('pinned@1', x) FROM (SELECT 1.0 AS x) AS r") == 7
        primary.execute("SELECT unpin_model('pinned@1'), drop_model('pinned')")
    replayed(primary, replica)
    with pytest.raises(errors.UndefinedObject):
        replica.execute("SELECT predict_pinned('pinned@1', 1)")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT array_agg(v::text ORDER BY name, version) FROM pgboost_models AS v",
        "SELECT model_info('grown')",
        "SELECT array_agg(d::text ORDER BY name, number) FROM pgboost_deployments AS d",
        "SELECT export_model('grown')",
        "SELECT export_model_sql('grown')",
        f"SELECT predict_batch('grown', ARRAY[{ROW}, {ROW}])",
        f"SELECT mean_abs_contribs(predict_contribs('grown', {ROW}))",
        *[f"SELECT {function}('grown', {ROW})" for function in FUNCTIONS],
        *[f"SELECT array_agg(r::text) FROM {evaluation} AS r" for evaluation in EVALUATIONS],
    ],
)
def test_a_look_at_a_model_needs_no_writing(pair: Pair, query: str) -> None:
    """Nor does it need a transaction id, which a standby cannot assign."""
    primary, replica = pair
    replayed(primary, replica)
    with primary.transaction():
        expected = one(primary, query)
        assert expected is not None and one(replica, query) == expected
        assert one(primary, "SELECT pg_current_xact_id_if_assigned()") is None


def test_changes_are_seen_after_replay_without_reconnecting(pair: Pair, standby: Cluster) -> None:
    primary, replica = pair
    with standby.connect(user="follower") as user:
        changes_follow(primary, replica, user, lambda: replayed(primary, replica))
    load(primary, "m", constant(1))


def test_a_repeatable_read_on_the_standby_keeps_its_version(pair: Pair) -> None:
    primary, replica = pair
    replayed(primary, replica)
    replica.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    assert value(replica) == 1
    load(primary, "m", constant(9))
    replayed(primary, replica)
    assert value(replica) == 1
    replica.execute("COMMIT")
    assert value(replica) == 9
    primary.execute("SELECT deploy_model('m@1')")


@pytest.mark.parametrize(
    "call",
    [
        "load_model('new', '{}')", "load_model('m', 'no model')", "deploy_model('m@1')",
        "maintain_scores('pg_class', 'm')",
        "rollback_model('m')", "set_unknown_category('m', 'missing')", "set_model_comment('m', 'x')",
        "drop_model('m')", "grant_model('m', 'public')", "revoke_model('m', 'public')",
        "set_alias('m@1', 'best')", "drop_alias('m@best')", "pin_model('m@1')",
        "unpin_model('m@1')", "create_predict_function('m')", "set_baseline('m', '[]')",
        "set_baseline('m', 'SELECT 1 AS f1')", "train_model('n', 'SELECT 1 AS a, 2 AS y', 'y')",
    ],
)  # fmt: skip
def test_it_refuses_to_write(pair: Pair, call: str) -> None:
    _, replica = pair
    with pytest.raises(errors.ReadOnlySqlTransaction) as raised:
        replica.execute(f"SELECT {call}")
    function = call.partition("(")[0]
    message = f"cannot execute {function}() in a read-only transaction"
    assert raised.value.diag.message_primary == message


def test_it_makes_its_own_image(pair: Pair, standby: Cluster) -> None:
    primary, _ = pair
    expected = one(primary, f"SELECT predict('grown', {ROW})")
    folder = standby.place.data / "pgboost"
    shutil.rmtree(folder, ignore_errors=True)
    for _ in range(2):
        with standby.connect() as fresh:
            assert one(fresh, f"SELECT predict('grown', {ROW})") == expected
            (path,) = folder.glob("*/*.image")
            assert list(mapped(fresh)) == [str(path)]


def test_workers_predict_on_the_standby(pair: Pair) -> None:
    primary, replica = pair
    primary.execute(
        "CREATE TABLE xs AS SELECT x / 20000.0 AS x FROM generate_series(1, 20000) AS x"
    )
    primary.execute("ANALYZE xs")
    replayed(primary, replica)
    in_parallel(replica)
    query = (
        "SELECT sum(predict('grown', ARRAY[x, x, x, x, x, x, x, x, x, x]::real[])::numeric) FROM xs"
    )
    assert "Workers Launched: 2" in plan_of(replica, query, "(ANALYZE)")
    assert one(replica, query) == one(primary, query)


def test_many_changes_are_followed(pair: Pair) -> None:
    primary, replica = pair
    answers: list[float] = []
    with primary.pipeline():
        for number in range(100, 200):
            primary.execute("SELECT load_model('m', %s)", (constant(number),))

    def newest() -> float:
        answers.append(value(replica))
        return answers[-1]

    until(newest, 199)
    newer = [answer for answer in answers if answer >= 100]
    assert newer == sorted(newer)


def test_models_by_column_work_on_a_standby(pair: Pair) -> None:
    primary, replica = pair
    for number in (3, 4):
        load(primary, "named", constant(number))
    replayed(primary, replica)
    by_column = (
        "SELECT sum(predict('named@' || mod(i, 2) + 1, 1)) FROM generate_series(1, 200) AS i"
    )
    assert one(replica, by_column) == 700
    batched = (
        "SELECT sum(predict(CASE mod(i, 2) WHEN 0 THEN 'named@1' ELSE 'named' END, 1)) FROM {}"
    )
    assert one(replica, batched.format("generate_series(1, 200) AS i")) == 700


def test_a_standby_counts_for_itself(pair: Pair) -> None:
    primary, replica = pair
    load(primary, "counted", constant(1))
    replayed(primary, replica)
    replica.execute("SET pgboost.track_predictions = on")
    assert value(replica, "counted") == 1
    counted = "SELECT rows FROM pg_stat_pgboost WHERE name = 'counted'"
    assert (one(replica, counted), one(primary, counted)) == (1, 0)


def test_a_promoted_standby_predicts_and_writes(spare: Cluster, standby: Cluster) -> None:
    with standby.connect() as replica, spare.connect() as primary:
        replayed(primary, replica)
        expected = one(replica, f"SELECT predict('grown', {ROW})")
        promote(standby)
        assert one(replica, f"SELECT predict('grown', {ROW})") == expected
        load(replica, "m", constant(77))
        assert value(replica) == 77
        assert value(primary) == 199
