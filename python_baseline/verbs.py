"""What the service can be asked by POST: which keys a body holds, and what the answer is made of.

`/` is one prediction and `/batch` several; of several models `/0`, `/1` and so on ask one, and `/all` asks
all of them for one key. `/given` has the features in the request. `/features` reads a flight as `/` does and
answers with one of its features, so that what a prediction itself takes can be told apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from python_baseline import keys
from python_baseline.predictors import Predictor, Rows


@dataclass(frozen=True)
class Verb:
    """One of them."""

    # What is looked up for a body, or the rows of features themselves.
    wanted: Callable[[object], list[Any]]
    answer: Callable[[Sequence[Predictor], Rows], Any]
    looks_up: bool = True


def one(body: object) -> list[keys.Key]:
    """The key that a body holds, as a list."""
    return [keys.checked(body)]


def _first_of(model: int) -> Callable[[Sequence[Predictor], Rows], float]:
    return lambda models, rows: models[model](rows)[0]


def verbs(models: int) -> dict[str, Verb]:
    """By their paths, for so many models."""
    return {
        "/": Verb(one, _first_of(0)),
        "/batch": Verb(keys.checked_list, lambda models, rows: models[0](rows)),
        "/given": Verb(lambda body: [keys.checked_row(body)], _first_of(0), looks_up=False),
        "/features": Verb(one, lambda _, rows: float(rows[0][0])),
        "/all": Verb(one, lambda models, rows: [predict(rows)[0] for predict in models]),
        **{f"/{model}": Verb(one, _first_of(model)) for model in range(models)},
    }
