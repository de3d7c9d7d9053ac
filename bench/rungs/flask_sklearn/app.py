"""The contract by Flask: `app(HOW)`, for Gunicorn's workers; the model is in the environment."""

import os

import orjson
from flask import Flask, Response, request

from bench.rungs.predicting import Predictor


def app(how: str) -> Flask:
    """With `pipeline` as the document has it, with `codes` tuned."""
    made = Flask(__name__)
    predictor = Predictor(os.environ["MODEL"], os.environ["ROWS"], how, in_place=how == "codes")

    def answer(value: object) -> Response:
        return Response(orjson.dumps(value), mimetype="application/json")

    @made.post("/ping")
    def ping() -> Response:
        return answer(0)

    @made.post("/echo")
    def echo() -> Response:
        return answer(0 * len(orjson.loads(request.get_data())))

    @made.post("/features")
    def features() -> Response:
        return answer(predictor.features(orjson.loads(request.get_data())))

    @made.post("/key")
    def key() -> Response:
        return answer(predictor.keys([orjson.loads(request.get_data())])[0])

    @made.post("/keys")
    def keys() -> Response:
        return answer(predictor.keys(orjson.loads(request.get_data())))

    @made.post("/top")
    def top() -> Response:
        return answer(predictor.top(orjson.loads(request.get_data())))

    @made.post("/raw")
    def raw() -> Response:
        return answer(predictor.raw(orjson.loads(request.get_data())))

    return made
