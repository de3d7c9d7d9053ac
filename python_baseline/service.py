"""The web application: POST for the verbs of verbs.py, and GET /ping, which predicts nothing.

A request's body is a key (or a list of keys) in JSON, the answer a number (or a list of them). Errors have a
status of 4xx or 5xx and the body {"error": "..."}; details of unexpected ones go to the server's log only.

`open` loads the model in the worker, because OpenMP's threads do not survive the fork.
"""

from collections.abc import Callable

import flask
import orjson
from werkzeug.exceptions import BadRequest as BadHttpRequest
from werkzeug.exceptions import HTTPException

from python_baseline import keys, predictors, store
from python_baseline.settings import Settings
from python_baseline.verbs import Verb, verbs

LARGEST_BODY = 1 << 20


def _read_with_orjson() -> object:
    try:
        return orjson.loads(flask.request.get_data(cache=False))
    except orjson.JSONDecodeError as error:
        raise keys.BadRequest(f"the body is not JSON: {error}") from None


def _answer_with_orjson(value: object) -> flask.Response:
    return flask.Response(orjson.dumps(value), mimetype="application/json")


# The reader of requests and the writer of answers.
HTTP_JSON: dict[str, tuple[Callable[[], object], Callable[[object], flask.Response]]] = {
    # flask.request exists only during a request.
    "json": (lambda: flask.request.get_json(), flask.jsonify),  # noqa: PLW0108
    "orjson": (_read_with_orjson, _answer_with_orjson),
}


class Service:
    """The models and the store of a worker."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self) -> None:
        """Loads the models and connects to the features."""
        self._models = predictors.load(self._settings)
        self._store = store.open_store(self._settings)

    def answer(self, verb: Verb, body: object) -> object:
        """Answers a request."""
        wanted = verb.wanted(body)
        return verb.answer(self._models, self._store.fetch(wanted) if verb.looks_up else wanted)


def _add_errors(app: flask.Flask) -> None:
    def refuse(status: int) -> Callable[[Exception], tuple[flask.Response, int]]:
        return lambda error: (flask.jsonify(error=str(error)), status)

    app.register_error_handler(keys.BadRequest, refuse(400))
    app.register_error_handler(store.UnknownKey, refuse(404))
    app.register_error_handler(store.StoreGone, refuse(503))

    @app.errorhandler(HTTPException)
    def by_flask(error: HTTPException) -> tuple[flask.Response, int]:
        bad = type(error) is BadHttpRequest
        message = "the body is not JSON" if bad else (error.description or error.name)
        return flask.jsonify(error=message), error.code or 500

    @app.errorhandler(Exception)
    def unforeseen(error: Exception) -> tuple[flask.Response, int]:
        app.logger.error("a request failed", exc_info=error)
        return flask.jsonify(error="internal error"), 500


def prepared_app() -> flask.Flask:
    """Returns the application, whose service is not yet opened."""
    settings = Settings.read()
    read, write = HTTP_JSON[settings.http_json]
    app = flask.Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = LARGEST_BODY
    service = app.extensions["service"] = Service(settings)
    _add_errors(app)
    for path, verb in verbs(len(settings.models)).items():

        def view(verb: Verb = verb) -> flask.Response:
            return write(service.answer(verb, read()))

        app.add_url_rule(path, path, view, methods=["POST"])
    app.add_url_rule("/ping", "ping", lambda: write("pong"), methods=["GET"])
    return app


def opened_app() -> flask.Flask:
    """Returns the application with its model loaded, for servers that call this in the worker."""
    app = prepared_app()
    app.extensions["service"].open()
    return app
