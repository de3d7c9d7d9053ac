"""A bare ASGI application: the keys, answers and errors of python_baseline/ without a framework."""

import gc
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from bench.systems.asgi.libraries import LIBRARIES
from bench.systems.asgi.stores import STORES, Answer
from python_baseline import keys, store
from python_baseline.serializers import SERIALIZERS
from python_baseline.settings import Settings
from python_baseline.verbs import one

NAN = float("nan")
REFUSED = {
    orjson.JSONDecodeError: 400, keys.BadRequest: 400, store.UnknownKey: 404, store.StoreGone: 503,
}  # fmt: skip

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
# The keys that a body asks for, and the answer made from their rows.
Verb = tuple[Callable[[object], Sequence[keys.Key]], Answer]


def _first_of(model: int) -> Answer:
    return lambda _, predicted: predicted(model)[0]


def _verbs(models: int) -> dict[str, Verb]:
    """Returns the verbs of python_baseline/verbs.py, except /given, which has no lookup."""
    every = range(models)
    return {
        "/": (one, _first_of(0)),
        "/batch": (keys.checked_list, lambda _, predicted: predicted(0)),
        "/features": (one, lambda row, _: struct.unpack_from("<f", row)[0]),
        "/all": (one, lambda _, predicted: [predicted(model)[0] for model in every]),
        **{f"/{model}": (one, _first_of(model)) for model in every},
    }


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
        """Loads the models and the features."""
        settings = Settings.read()
        load = LIBRARIES[settings.predictor]
        self._models = [load(Path(model)) for model in settings.models]
        self._store = STORES[settings.store](settings, self._models)
        self._verbs = _verbs(len(self._models))
        # These objects live as long as the worker, so the collector need not walk them.
        gc.collect()
        gc.freeze()

    def _given(self, body: object) -> float:
        row = keys.checked_row(body)
        features = [NAN if value is None else value for value in row]
        return self._models[0](SERIALIZERS["float32"].dumps(features))[0]

    async def _answer(self, path: str, receive: Receive) -> object:
        if path == "/ping":
            return "pong"
        body = orjson.loads(await _body(receive))
        if path == "/given":
            return self._given(body)
        wanted, answer = self._verbs[path]
        return await self._store.answer(wanted(body), answer)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self.open()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answers a request."""
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
