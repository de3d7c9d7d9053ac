"""Trains models in the database by the extension pgboost_train."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from psycopg import sql

from .connecting import Connection, Database, connected
from .errors import InvalidDataError, needed, translated
from .extension import Extension
from .rows import source_of

if TYPE_CHECKING:
    import pandas

# How often the progress is read, in seconds.
_INTERVAL = 0.1
_PROGRESS = """
    SELECT phase, rows_read, round, rounds, metric FROM {} WHERE pid = %s
"""


@translated(InvalidDataError)
def train(  # noqa: PLR0913 (SQL's arguments)
    connection: Connection,
    model: str,
    source: Any,
    target: str,
    params: Mapping[str, Any] | None = None,
    *,
    rounds: int | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    qid: str | None = None,
    label_upper_bound: str | None = None,
    eval_fraction: float | None = None,
    eval_source: str | None = None,
    early_stopping_rounds: int | None = None,
    seed: int | None = None,
    continue_from: str | None = None,
    deploy: bool = True,
    allow_change: bool = False,
    progress: bool = False,
) -> pandas.DataFrame:
    """Trains a model as a new version and deploys it, as SQL's `train_model` does.

    `source` is a table, a view, a query or a pandas `DataFrame`, and `target` its column to learn; the other
    arguments are SQL's. Returns set, metric, best_round and value. `progress` shows the phases and the rounds
    with tqdm, which a second connection to the same server reads meanwhile.
    """
    # SQL's arguments have the same names.
    given = {**locals(), "allow_change": allow_change or None}
    del given["connection"], given["progress"]
    with connected(connection) as database:
        extension = Extension(database, "pgboost_train")
        shown = _shown(extension) if progress else nullcontext()
        with source_of(extension, source) as rows, shown:
            return extension.table("train_model", {**given, "source": rows})


@contextmanager
def _shown(extension: Extension) -> Iterator[None]:
    bar = needed("tqdm.auto", "progress").tqdm(unit="round")
    query = sql.SQL(_PROGRESS).format(extension.name("pg_stat_progress_train_model"))
    ((pid,),) = extension.rows(sql.SQL("SELECT pg_backend_pid()"))
    ended = Event()
    with bar, extension.database.another() as second:
        reader = Database(second)

        def watch() -> None:
            while not ended.wait(_INTERVAL):
                for phase, read, number, rounds, metric in reader.fetched(query, [pid])[1]:
                    bar.total, bar.n = rounds, number or 0
                    bar.set_description(phase, refresh=False)
                    bar.set_postfix_str(str(metric or f"{read or 0:,} rows"))

        thread = Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
