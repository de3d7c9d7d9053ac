"""Models are loaded, scored and trained where nothing can be written but the cluster's own directory.

As root, which mounts all else read-only, for the server alone.
"""

import os
import subprocess

import psycopg
import pytest

from tests.extension.lifecycle.models import grown, load, one
from tests.extension.lifecycle.test_crash import ROW
from tools.cluster import Cluster
from tools.cluster.server import bin_directory

# PostgreSQL's own shared memory is in /dev/shm.
RESTART = """
mount --bind "$1" "$1"
for place in $(findmnt --raw --noheadings --output TARGET); do
    case $place in
    "$1" | /proc* | /sys* | /dev*) ;;
    *) mount --options remount,bind,ro "$place" ;;
    esac
done
exec runuser --user "$2" -- "$3" restart --wait --pgdata "$1/data" --log "$1/server.log"
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def confined(spare: Cluster) -> Cluster:
    """The server of a cluster, started again."""
    place, pg_ctl = spare.place, bin_directory() / "pg_ctl"
    unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-euc", RESTART, "sh"]
    subprocess.run([*unshare, place.home, str(place.user), pg_ctl], check=True, cwd="/")
    return spare


def test_it_predicts_and_trains(confined: Cluster) -> None:
    with confined.connect() as connection:
        for directory in ("/tmp", "/var/tmp", bin_directory().parent / "lib"):
            with pytest.raises(psycopg.Error, match="Read-only file system"):
                connection.execute(f"COPY (SELECT 1) TO '{directory}/written'")
        connection.execute("CREATE EXTENSION pgboost_train CASCADE")
        load(connection, "m", grown(20, 6))
        scan = f"SELECT count(predict('m', {ROW})) FROM generate_series(1, 5000)"
        assert one(connection, scan) == 5000
        rows = "SELECT i AS a, 2 * i AS y FROM generate_series(1, 500) AS i"
        connection.execute("SELECT * FROM train_model('t', %s, 'y', rounds => 3)", (rows,))
        assert one(connection, "SELECT predict('t', 1) < predict('t', 500)")
        connection.execute("SELECT drop_model('m')")
