"""A bare ASGI application: the keys, answers and errors of python_baseline/ without a framework."""

import gc
import struct
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from bench.systems.asgi import ranking
from bench.systems.asgi.libraries import LIBRARIES
from bench.systems.asgi.stores import STORES, Values, Verb
from data.ranking import SIZES
from python_baseline import keys, store
from python_baseline.settings import Settings
from python_baseline.store import SERIALIZERS
from python_baseline.verbs import one

NAN = float("nan")
REFUSED = {
    orjson.JSONDecodeError: 400, keys.BadRequest: 400, store.UnknownKey: 404, store.StoreGone: 503,
}  # fmt: skip

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


def _first(_: object, __: Values, predicted: NDArray[np.float32]) -> float:
    return float(predicted[0])


def _given(row: object) -> bytes:
    features = [NAN if value is None else value for value in keys.checked_row(row)]
    return SERIALIZERS["float32"].dumps(features)


def _verbs(models: int) -> dict[str, Verb]:
    """Returns the verbs of python_baseline/verbs.py, and the rankings."""
    return {
        "/": Verb(one, _first),
        "/batch": Verb(keys.checked_list, lambda _, __, predicted: predicted.tolist()),
        "/features": Verb(one, lambda _, values, __: struct.unpack_from("<f", values[0])[0], None),
        "/given": Verb(lambda body: keys.checked_row(body) and (), _first, lambda body, _: _given(body)),
        **{f"/{model}": Verb(one, _first, model=model) for model in range(models)},
        **{f"/rank/{size}": ranking.of_category(size) for size in SIZES},
        "/rank_ids": ranking.OF_IDS,
        "/fresh": ranking.WRITTEN,
    }  # fmt: skip


async def _body(receive: Receive) -> bytes:
    message = await receive()
    body = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    return body


class Application:
    """A worker's service, opened when the worker starts."""

    def open(self) -> None:
        settings = Settings.read()
        load = LIBRARIES[settings.predictor]
        self._models = [load(Path(model)) for model in settings.models]
        self._store = STORES[settings.store](settings, self._models)
        self._verbs = _verbs(len(self._models))
        # These objects live as long as the worker, so the collector need not walk them.
        gc.collect()
        gc.freeze()

    async def _answer(self, path: str, receive: Receive) -> object:
        if path == "/ping":
            return "pong"
        body = orjson.loads(await _body(receive))
        return await self._store.answer(body, self._verbs[path])

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self.open()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        try:
            status, found = 200, await self._answer(scope["path"], receive)
        except (*REFUSED,) as error:
            status = REFUSED[type(error)]
            malformed = isinstance(error, orjson.JSONDecodeError)
            found = {"error": "the body is not JSON" if malformed else str(error)}
        except KeyError:
            status, found = 404, {"error": "there is nothing of that name"}
        body = orjson.dumps(found)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


app = Application()
