"""Trains models outside the database, with XGBoost in Python, as users do.

A model is a .ubj file in the state directory, next to a .json file with its recipe and its error. It is
trained again only when data, parameters or XGBoost's version change.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import xgboost
from numpy.typing import NDArray
from tqdm import tqdm

from data.columns import FEATURES
from data.flights import DEFAULT_SEED, NULL, Request, blocks

# Every fourth flight is held out for the test.
TEST_EVERY = 4


@dataclass(frozen=True)
class Recipe:
    """The inputs that determine a model."""

    rows: int
    rounds: int
    depth: int = 6
    seed: int = DEFAULT_SEED
    xgboost: str = xgboost.__version__


@dataclass(frozen=True)
class Trained:
    """A model's file, its error on held-out flights, and that of a constant."""

    path: Path
    rmse: float
    rmse_of_mean: float


def departed(recipe: Recipe) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Returns features and delays of the flights that were not cancelled."""
    rows = np.concatenate([*blocks(Request(recipe.rows, recipe.seed))])
    rows = rows[rows[:, 0] != NULL].astype(np.float32)
    return rows[:, 1:], rows[:, 0]


def _rmse(errors: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.mean(np.square(errors, dtype=np.float64))))


def _train(recipe: Recipe, path: Path) -> Trained:
    features, delay = departed(recipe)
    test = np.arange(len(delay)) % TEST_EVERY == 0
    train = xgboost.DMatrix(features[~test], delay[~test], feature_names=FEATURES)
    model = xgboost.Booster({"max_depth": recipe.depth}, [train])
    for round_ in tqdm(range(recipe.rounds), unit=" rounds", disable=None):
        model.update(train, round_)
    model.save_model(path)
    predicted = model.predict(xgboost.DMatrix(features[test], feature_names=FEATURES))
    return Trained(path, _rmse(delay[test] - predicted), _rmse(delay[test] - delay[~test].mean()))


def trained(recipe: Recipe, directory: Path, name: str) -> tuple[Trained, bool]:
    """Returns the model of the recipe, and whether it had to be trained."""
    path, record = directory / f"{name}.ubj", directory / f"{name}.json"
    if record.exists() and path.exists():
        known = json.loads(record.read_text())
        if known["recipe"] == asdict(recipe):
            return Trained(path, known["rmse"], known["rmse_of_mean"]), False
    record.unlink(missing_ok=True)
    model = _train(recipe, path)
    errors = {"rmse": model.rmse, "rmse_of_mean": model.rmse_of_mean}
    record.write_text(json.dumps({"recipe": asdict(recipe), **errors}) + "\n")
    return model, True
