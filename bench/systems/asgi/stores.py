"""Feature stores: Redis, or the worker's memory; a row is the 40 bytes that a library reads.

All requests of one iteration of the event loop are looked up by one MGET and predicted by one call of the
library. With one client that is one row at a time; with many, no request waits for a batch to fill.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import hiredis

from bench.systems.asgi.libraries import Predictor
from data.flights import Request, blocks
from python_baseline import keys, store
from python_baseline.settings import Settings

# Makes an answer from a request's first row and the predictions for its rows, by the model's number.
Answer = Callable[[bytes, Callable[[int], Sequence[float]]], Any]
# A waiting request: its future, its keys and its answer.
Waiting = tuple["asyncio.Future[Any]", Sequence[keys.Key], Answer]


class _Batch:
    """Rows that each requested model predicts for in one call."""

    def __init__(self, models: Sequence[Predictor], rows: bytes) -> None:
        self._models, self._rows = models, rows
        self._found: dict[int, list[float]] = {}

    def of(self, first: int, end: int) -> Callable[[int], Sequence[float]]:
        """Returns a function from a model's number to its predictions for a range of the rows."""

        def predicted(model: int) -> Sequence[float]:
            if model not in self._found:
                self._found[model] = self._models[model](self._rows)
            return self._found[model][first:end]

        return predicted


def _refuse(waiting: Sequence[Waiting]) -> None:
    for future, *_ in waiting:
        if not future.done():
            future.set_exception(store.StoreGone("redis cannot be reached"))


class _Gathering:
    """Gathers the requests of an event loop's iteration; a subclass looks them up and calls `_answer`."""

    def __init__(self, models: Sequence[Predictor]) -> None:
        self._models = models
        self._gathered: list[Waiting] = []

    def ask(self, wanted: Sequence[keys.Key], answer: Answer) -> "asyncio.Future[Any]":
        """Queues a request; its future resolves to the answer."""
        loop = asyncio.get_running_loop()
        if not self._gathered:
            loop.call_soon(self._take)
        future = loop.create_future()
        self._gathered.append((future, wanted, answer))
        return future

    def _take(self) -> None:
        gathered, self._gathered = self._gathered, []
        self._look_up(gathered)

    def _look_up(self, waiting: list[Waiting]) -> None:
        raise NotImplementedError

    def _answer(self, waiting: Sequence[Waiting], found: Sequence[bytes | None]) -> None:
        """Answers the requests; `found` are the rows of all their keys, in order."""
        known, place = [], 0
        for future, wanted, answer in waiting:
            values = found[place : place + len(wanted)]
            place += len(wanted)
            if None in values:
                future.set_exception(store.UnknownKey(wanted[values.index(None)]))
            # The request of a client that has disconnected is cancelled.
            elif not future.done():
                known.append((future, values, answer))
        batch = _Batch(self._models, b"".join([row for _, values, _ in known for row in values]))
        place = 0
        for future, values, answer in known:
            first, place = place, place + len(values)
            future.set_result(answer(values[0], batch.of(first, place)))


class _Connection(_Gathering, asyncio.Protocol):
    """The connection to Redis, which all requests share."""

    def __init__(self, models: Sequence[Predictor]) -> None:
        super().__init__(models)
        self._reader = hiredis.Reader()
        self._sent: deque[list[Waiting]] = deque()
        self._transport: asyncio.Transport | None = None

    @property
    def lost(self) -> bool:
        """Whether the connection has ended."""
        return self._transport is None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        while self._sent:
            _refuse(self._sent.popleft())

    def _look_up(self, waiting: list[Waiting]) -> None:
        if self._transport is None:
            _refuse(waiting)
            return
        texts = [keys.text(key) for _, wanted, _ in waiting for key in wanted]
        self._transport.write(hiredis.pack_command(("MGET", *texts)))
        self._sent.append(waiting)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (found := self._reader.gets()) is not False:
            waiting = self._sent.popleft()
            if isinstance(found, hiredis.ReplyError):
                _refuse(waiting)
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

    async def answer(self, wanted: Sequence[keys.Key], answer: Answer) -> Any:
        """Answers a request for these keys."""
        connection = self._connection
        if connection is None or connection.lost:
            connection = await self._connected()
        return await connection.ask(wanted, answer)

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
    """Features in this worker, each key's row as bytes."""

    def __init__(self, settings: Settings, models: Sequence[Predictor]) -> None:
        super().__init__(models)
        self._rows: dict[keys.Key, bytes] = {}
        for block in blocks(Request(settings.rows, settings.seed)):
            found = map(tuple, block[:, keys.INDICES].tolist())
            for key, row in zip(found, block[:, 1:].astype("<f4"), strict=True):
                self._rows.setdefault(key, row.tobytes())

    def _look_up(self, waiting: list[Waiting]) -> None:
        self._answer(waiting, [self._rows.get(key) for _, wanted, _ in waiting for key in wanted])

    async def answer(self, wanted: Sequence[keys.Key], answer: Answer) -> Any:
        """Answers a request for these keys."""
        return await self.ask(wanted, answer)


STORES = {"redis": Redis, "memory": Memory}
