"""The benchmark's workload: the flights, the models, and what the instrumented library is trained with.

Training asks in every way that the benchmark asks: one row by both protocols, for one key and for random
ones, a hundred keys at once, full scans in every form of features, with batches and row by row, both
models, and their loading. What is not asked for counts as cold, and the compiler makes it small, not fast:
so scans also take the kernels that other processors would choose, as far as this one can run them.
"""

import contextlib
import itertools
import subprocess
from collections.abc import Mapping
from pathlib import Path

import psycopg
import xgboost

from bench.key_set import key_set
from bench.queries import model_name, write_scripts
from cluster import Cluster
from cluster.server import bin_directory
from data.flights import Request
from data.load import copy_rows, create_table, finish_table, generated
from pgo.server import DATABASE, STATE
from workbench.queries import FORMS, predict
from workbench.training import Recipe, trained

DEPTHS = {25: 6, 500: 8}
TRAINING_ROWS = 200_000
KEYS = 10_000
CLIENTS = 2
# Of each script and client; a request for a hundred keys takes as long as many for one.
TRANSACTIONS = {"hot": 20_000, "random": 20_000, "batch": 1_000}
# What a processor without AVX-512, or without any of its kind, evaluates with.
OTHER_KERNELS = ("avx2", "portable")
# Each opens the model's image anew.
CONNECTIONS = 200
# Row by row, counting, 500 trees take long: one page in five is enough.
SAMPLE = "TABLESAMPLE SYSTEM (20) REPEATABLE (1)"


def models() -> dict[int, Path]:
    """The models by their number of trees; trained once."""
    directory = STATE / "models"
    directory.mkdir(parents=True, exist_ok=True)
    return {
        trees: trained(Recipe(TRAINING_ROWS, trees, depth), directory, model_name(trees))[0].path
        for trees, depth in DEPTHS.items()
    }


def load(cluster: Cluster, request: Request) -> None:
    """Flights and models in a new database."""
    cluster.create_database(DATABASE)
    with cluster.connect(DATABASE) as connection:
        connection.execute("CREATE EXTENSION pgboost")
        with connection.transaction():
            create_table(connection)
            copy_rows(connection, generated(request), request.rows)
        finish_table(connection)
        for trees, path in models().items():
            arguments = (model_name(trees), path.read_bytes())
            connection.execute("SELECT load_model(%s, %s)", arguments)


def scripts(request: Request) -> dict[int, dict[str, list[Path]]]:
    """pgbench's scripts by trees and kind of request."""
    keys = key_set(request, KEYS)
    return {trees: write_scripts(STATE / "scripts", trees, keys) for trees in DEPTHS}


def scan(form: str, trees: int, sample: str = "") -> str:
    """The sum of the predictions for all flights, or for a sample of them."""
    return f"SELECT sum({predict(form, model_name(trees))}) FROM flights f {sample}"


def train(cluster: Cluster, request: Request) -> None:
    """Runs the workload once; profiles are written as backends end."""
    _load_again(cluster)
    _scan(cluster)
    for trees, kinds in scripts(request).items():
        for protocol in ("simple", "prepared"):
            for kind, count in TRANSACTIONS.items():
                _ask(
                    cluster,
                    protocol,
                    kinds[kind],
                    f"--transactions={max(count * 25 // trees, 1000)}",
                )
        _ask(cluster, "simple", kinds["hot"], "--connect", f"--transactions={CONNECTIONS}")


def _load_again(cluster: Cluster) -> None:
    """Further versions of the models, from both of XGBoost's formats; none of them stays."""
    with cluster.connect(DATABASE, autocommit=False) as connection:
        for trees, path in models().items():
            json_text = bytes(xgboost.Booster(model_file=path).save_raw("json"))
            for content in (path.read_bytes(), json_text):
                arguments = (model_name(trees), content)
                connection.execute("SELECT load_model(%s, %s)", arguments)
                connection.execute(
                    f"SELECT {predict('columns', model_name(trees))} FROM flights f LIMIT 1"
                )
        connection.rollback()


def _scan(cluster: Cluster) -> None:
    for batch, sample in (("on", ""), ("off", SAMPLE)):
        for form, trees in itertools.product(FORMS, DEPTHS):
            _scan_with(cluster, {"pgboost.enable_batch": batch}, scan(form, trees, sample))
        for kernel, trees in itertools.product(OTHER_KERNELS, DEPTHS):
            settings = {"pgboost.enable_batch": batch, "pgboost.kernel": kernel}
            # A processor without it is refused the setting.
            with contextlib.suppress(psycopg.errors.InvalidParameterValue):
                _scan_with(cluster, settings, scan("columns", trees, sample))


def _scan_with(cluster: Cluster, settings: Mapping[str, str], query: str) -> None:
    with cluster.connect(DATABASE) as connection:
        connection.execute("LOAD 'pgboost'")
        for name, value in ({"max_parallel_workers_per_gather": "0"} | dict(settings)).items():
            connection.execute(f"SET {name} = {value}")
        connection.execute(query).fetchone()


def _ask(cluster: Cluster, protocol: str, files: list[Path], *arguments: str) -> None:
    command = [
        bin_directory() / "pgbench", "--no-vacuum", f"--protocol={protocol}", f"--client={CLIENTS}",
        *arguments, *(word for path in files for word in ("--file", path)),
    ]  # fmt: skip
    environment = cluster.environment(DATABASE)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"pgbench failed:\n{done.stderr}")
