"""Feature stores: Redis, or the worker's memory; a flight is the 40 bytes that a library reads.

All requests of one iteration of the event loop are looked up by one MGET and predicted by one call of the
library for each model. With one client that is one row at a time; with many, no request waits for a batch to
fill.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import hiredis
import numpy as np
from numpy.typing import NDArray

from bench.systems.asgi.libraries import ROW_BYTES, Predictor
from data.flights import Request, blocks
from data.ranking import Ranking
from python_baseline import keys, store
from python_baseline.load import redis_values
from python_baseline.settings import Settings

# What a value is stored under: a flight's key, or the name of a trip, an offer or a category.
Name = keys.Key | str
Values = Sequence[bytes]


@dataclass(frozen=True)
class Verb:
    """The needs of a request, and the maker of its answer."""

    # The names of the values that a body needs.
    wanted: Callable[[Any], Sequence[Name]]
    # Makes the answer from the body, the values, and the predictions for the rows.
    answer: Callable[[Any, Values, NDArray[np.float32]], Any]
    # Makes the model's rows, one after another; None if nothing is predicted.
    rows: Callable[[Any, Values], bytes] | None = lambda _, values: b"".join(values)
    model: int = 0
    # A name and a value that are written before anything is read.
    written: Callable[[Any], tuple[str, bytes]] | None = None


NOTHING = np.empty(0, np.float32)
# A waiting request: its future, its body, what it wants, and its verb.
Waiting = tuple["asyncio.Future[Any]", Any, Sequence[Name], Verb]


def text(name: Name) -> str:
    """Returns the key in Redis."""
    return name if isinstance(name, str) else keys.text(name)


def _refuse(waiting: Sequence[Waiting]) -> None:
    for future, *_ in waiting:
        if not future.done():
            future.set_exception(store.StoreGone("redis cannot be reached"))


class _Gathering:
    """Gathers the requests of an event loop's iteration; a subclass looks them up and calls `_answer`."""

    def __init__(self, models: Sequence[Predictor]) -> None:
        self._models = models
        self._gathered: list[Waiting] = []

    def ask(self, body: Any, verb: Verb) -> "asyncio.Future[Any]":
        """Queues a request; its future resolves to the answer."""
        loop = asyncio.get_running_loop()
        wanted = verb.wanted(body)
        if not self._gathered:
            loop.call_soon(self._take)
        future = loop.create_future()
        self._gathered.append((future, body, wanted, verb))
        return future

    def _take(self) -> None:
        gathered, self._gathered = self._gathered, []
        self._look_up(gathered)

    def _look_up(self, waiting: list[Waiting]) -> None:
        raise NotImplementedError

    def _answer(self, waiting: Sequence[Waiting], found: Sequence[bytes | None]) -> None:
        """Answers the requests; `found` are the values of all their names, in order."""
        by_model: dict[int, list[tuple[Any, ...]]] = {}
        place = 0
        for future, body, wanted, verb in waiting:
            values = found[place : place + len(wanted)]
            place += len(wanted)
            if None in values:
                future.set_exception(store.UnknownKey(wanted[values.index(None)]))
            # The request of a client that has disconnected is cancelled.
            elif not future.done() and verb.rows is None:
                future.set_result(verb.answer(body, values, NOTHING))
            elif not future.done():
                known = (future, body, values, verb, verb.rows(body, values))
                by_model.setdefault(verb.model, []).append(known)
        for model, known in by_model.items():
            predicted = self._models[model](b"".join([rows for *_, rows in known]))
            place = 0
            for future, body, values, verb, rows in known:
                first, place = place, place + len(rows) // ROW_BYTES
                future.set_result(verb.answer(body, values, predicted[first:place]))


class _Connection(_Gathering, asyncio.Protocol):
    """The connection to Redis, which all requests share."""

    def __init__(self, models: Sequence[Predictor]) -> None:
        super().__init__(models)
        self._reader = hiredis.Reader()
        # The requests of each MGET, and whether the answer to an MSET comes first.
        self._sent: deque[tuple[list[Waiting], bool]] = deque()
        self._transport: asyncio.Transport | None = None

    @property
    def lost(self) -> bool:
        return self._transport is None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        while self._sent:
            _refuse(self._sent.popleft()[0])

    def _look_up(self, waiting: list[Waiting]) -> None:
        texts = [text(name) for _, _, wanted, _ in waiting for name in wanted]
        if not texts:
            self._answer(waiting, ())
            return
        if self._transport is None:
            _refuse(waiting)
            return
        written = [verb.written(body) for _, body, _, verb in waiting if verb.written]
        command = hiredis.pack_command(("MGET", *texts))
        if written:
            pairs = [part for pair in written for part in pair]
            command = hiredis.pack_command(("MSET", *pairs)) + command
        self._transport.write(command)
        self._sent.append((waiting, bool(written)))

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (found := self._reader.gets()) is not False:
            waiting, writing = self._sent.popleft()
            if isinstance(found, hiredis.ReplyError):
                _refuse(waiting)
            elif writing and found == b"OK":
                self._sent.appendleft((waiting, False))
            else:
                self._answer(waiting, found)


class Redis:
    """Features in Redis, over a connection that is reopened when lost."""

    def __init__(self, settings: Settings, models: Sequence[Predictor]) -> None:
        self._models = models
        place = urlsplit(settings.redis_url)
        self._place = place.hostname, place.port
        self._connection: _Connection | None = None
        self._connecting = asyncio.Lock()

    async def answer(self, body: Any, verb: Verb) -> Any:
        connection = self._connection
        if connection is None or connection.lost:
            connection = await self._connected()
        return await connection.ask(body, verb)

    async def _connected(self) -> _Connection:
        async with self._connecting:
            if self._connection is None or self._connection.lost:
                loop = asyncio.get_running_loop()
                try:
                    _, self._connection = await loop.create_connection(
                        lambda: _Connection(self._models), *self._place
                    )
                except OSError as error:
                    raise store.StoreGone("redis cannot be reached") from error
            return self._connection


class Memory(_Gathering):
    """Features in this worker, as the bytes that Redis would have."""

    def __init__(self, settings: Settings, models: Sequence[Predictor]) -> None:
        super().__init__(models)
        self._values: dict[Name, bytes] = {}
        flights = Request(settings.rows, settings.seed)
        for block in blocks(flights):
            found = map(tuple, block[:, keys.INDICES].tolist())
            for key, row in zip(found, block[:, 1:].astype("<f4"), strict=True):
                self._values.setdefault(key, row.tobytes())
        for known in redis_values(Ranking(flights), "float32"):
            self._values |= known

    def _look_up(self, waiting: list[Waiting]) -> None:
        for _, body, _, verb in waiting:
            if verb.written:
                self._values.update([verb.written(body)])
        names = [name for _, _, wanted, _ in waiting for name in wanted]
        self._answer(waiting, [*map(self._values.get, names)])

    async def answer(self, body: Any, verb: Verb) -> Any:
        return await self.ask(body, verb)


STORES = {"redis": Redis, "memory": Memory}
