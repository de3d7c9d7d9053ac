"""The web application: POST / for one prediction, POST /batch for several, and two ways to no prediction.

Of several models POST /0, /1 and so on ask one, and POST /all asks all of them for one key. POST /given has
the features in the request, and looks nothing up.

GET /ping asks nothing; POST /features reads a flight's features as POST / does and answers with one of
them, so that what a prediction itself takes can be told apart. A request's body is a key (or a
list of keys) in JSON, the answer a number (or a list of them). Whatever goes wrong is answered with a
status of 4xx or 5xx and {"error": "..."}; what was not foreseen goes to the server's log, never to
the client.

The model is loaded by `open`, in the worker and not before: OpenMP's threads do not
survive the fork that makes one.
"""

from collections.abc import Callable

import flask
import orjson
from werkzeug.exceptions import BadRequest as BadHttpRequest
from werkzeug.exceptions import HTTPException

from python_baseline import keys, predictors, stores
from python_baseline.settings import Settings

LARGEST_BODY = 1 << 20


def _read_with_flask() -> object:
    return flask.request.get_json()


def _read_with_orjson() -> object:
    try:
        return orjson.loads(flask.request.get_data(cache=False))
    except orjson.JSONDecodeError as error:
        raise keys.BadRequest(f"the body is not JSON: {error}") from None


def _answer_with_flask(value: object) -> flask.Response:
    return flask.jsonify(value)


def _answer_with_orjson(value: object) -> flask.Response:
    return flask.Response(orjson.dumps(value), mimetype="application/json")


# What reads a request and what writes an answer.
HTTP_JSON: dict[str, tuple[Callable[[], object], Callable[[object], flask.Response]]] = {
    "json": (_read_with_flask, _answer_with_flask),
    "orjson": (_read_with_orjson, _answer_with_orjson),
}


class Service:
    """A model and the features to predict from."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self) -> None:
        """Loads the model and connects to the features."""
        self._models = predictors.load(self._settings)
        self._store = stores.open_store(self._settings)

    def predict(self, wanted: list[keys.Key], model: int = 0) -> list[float]:
        """The prediction for each key."""
        return self._models[model](self._store.fetch(wanted))

    def given(self, row: list[float | None]) -> float:
        """The prediction for features."""
        return self._models[0]([row])[0]

    def all(self, wanted: keys.Key) -> list[float]:
        """Each model's prediction for a key."""
        rows = self._store.fetch([wanted])
        return [predict(rows)[0] for predict in self._models]

    def first_feature(self, wanted: keys.Key) -> float:
        """The first of a flight's features: all that a prediction takes but the prediction."""
        return float(self._store.fetch([wanted])[0][0])


def _add_errors(app: flask.Flask) -> None:
    def refuse(status: int) -> Callable[[Exception], tuple[flask.Response, int]]:
        return lambda error: (flask.jsonify(error=str(error)), status)

    app.register_error_handler(keys.BadRequest, refuse(400))
    app.register_error_handler(stores.UnknownKey, refuse(404))
    app.register_error_handler(stores.StoreGone, refuse(503))

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
    """The application, whose service is yet to be opened."""
    settings = Settings.read()
    read, answer = HTTP_JSON[settings.http_json]
    app = flask.Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = LARGEST_BODY
    service = app.extensions["service"] = Service(settings)
    _add_errors(app)

    @app.post("/")
    def one() -> flask.Response:
        return answer(service.predict([keys.checked(read())])[0])

    @app.post("/batch")
    def batch() -> flask.Response:
        return answer(service.predict(keys.checked_list(read())))

    for number in range(len(settings.models)):
        app.add_url_rule(
            f"/{number}", str(number), methods=["POST"],
            view_func=lambda n=number: answer(service.predict([keys.checked(read())], n)[0]),
        )  # fmt: skip

    @app.post("/all")
    def of_all() -> flask.Response:
        return answer(service.all(keys.checked(read())))

    @app.post("/given")
    def given() -> flask.Response:
        return answer(service.given(keys.checked_row(read())))

    @app.post("/features")
    def features() -> flask.Response:
        return answer(service.first_feature(keys.checked(read())))

    @app.get("/ping")
    def ping() -> flask.Response:
        return answer("pong")

    return app


def opened_app() -> flask.Flask:
    """The application with its model loaded, for a server that calls this in the worker."""
    app = prepared_app()
    app.extensions["service"].open()
    return app
