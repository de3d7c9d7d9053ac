"""The verbs of the service: the keys of a POST's body, and the answer to it.

`/` is one prediction and `/batch` several. With several models `/0`, `/1` and so on use one of them. `/given`
takes the features from the request. `/features` looks up a flight as `/` does and answers with one of its
features, so that the cost of the prediction can be told apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from python_baseline import keys
from python_baseline.predictors import Predictor, Rows


@dataclass(frozen=True)
class Verb:
    """A verb."""

    # Returns the keys of a body, or its rows of features.
    wanted: Callable[[object], list[Any]]
    answer: Callable[[Sequence[Predictor], Rows], Any]
    looks_up: bool = True


def one(body: object) -> list[keys.Key]:
    """Returns the key of a body, as a list."""
    return [keys.checked(body)]


def _first_of(model: int) -> Callable[[Sequence[Predictor], Rows], float]:
    return lambda models, rows: models[model](rows)[0]


def verbs(models: int) -> dict[str, Verb]:
    """Returns the verbs by path, for that number of models."""
    return {
        "/": Verb(one, _first_of(0)),
        "/batch": Verb(keys.checked_list, lambda models, rows: models[0](rows)),
        "/given": Verb(lambda body: [keys.checked_row(body)], _first_of(0), looks_up=False),
        "/features": Verb(one, lambda _, rows: float(rows[0][0])),
        **{f"/{model}": Verb(one, _first_of(model)) for model in range(models)},
    }
