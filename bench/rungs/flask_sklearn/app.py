"""The contract by Flask: `app(HOW)`, for Gunicorn's workers; the model is in the environment."""

import os
from collections.abc import Callable
from typing import Any

import orjson
from flask import Flask, Response, request

from bench.rungs.predicting import Predictor


def app(how: str) -> Flask:
    """With `pipeline` as the document has it, with `codes` tuned."""
    made = Flask(__name__)
    predictor = Predictor(os.environ["MODEL"], os.environ["ROWS"], how, in_place=how == "codes")

    def route(verb: str, ask: Callable[[bytes], Any]) -> None:
        def answer() -> Response:
            return Response(orjson.dumps(ask(request.get_data())), mimetype="application/json")

        made.add_url_rule(f"/{verb}", verb, answer, methods=["POST"])

    for verb, ask in predictor.http().items():
        route(verb, ask)
    return made
