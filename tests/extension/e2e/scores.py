"""scikit-learn's scores of a model's values, each computed when it is called, since some raise."""

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn import metrics

Scores = dict[str, Callable[[], float]]


NUMBERS: dict[str, Callable[..., float]] = {
    "rmse": metrics.root_mean_squared_error,
    "mse": metrics.mean_squared_error,
    "mae": metrics.mean_absolute_error,
    "mape": metrics.mean_absolute_percentage_error,
    "r2": metrics.r2_score,
}


def of_numbers(truth: np.ndarray, values: np.ndarray, weight: np.ndarray) -> Scores:
    return {
        name: partial(score, truth, values[:, 0], sample_weight=weight)
        for name, score in NUMBERS.items()
    }


def of_quantiles(
    truth: np.ndarray, values: np.ndarray, weight: np.ndarray, levels: list[float]
) -> Scores:
    each = {
        f"quantile@{level}": partial(
            metrics.mean_pinball_loss, truth, column, alpha=level, sample_weight=weight
        )
        for level, column in zip(levels, values.T, strict=True)
    }
    return {"quantile": lambda: float(np.mean([score() for score in each.values()])), **each}


def of_two_classes(
    truth: np.ndarray, values: np.ndarray, weight: np.ndarray, probabilities: bool = True
) -> Scores:
    (score,) = values.T
    given = {"sample_weight": weight}
    found = {
        "error": partial(metrics.zero_one_loss, truth, score > 0.5, **given),
        "auc": partial(metrics.roc_auc_score, truth, score, **given),
        "aucpr": partial(metrics.average_precision_score, truth, score, **given),
        **_of_labels(truth, score > 0.5, weight, "binary"),
    }
    if probabilities:
        found["logloss"] = partial(metrics.log_loss, truth, score, **given)
    return found


def of_classes(truth: np.ndarray, values: np.ndarray, weight: np.ndarray) -> Scores:
    """Of the probabilities of all classes, or of the class alone."""
    count = values.shape[1]
    given = values.argmax(axis=1) if count > 1 else values[:, 0].astype(int)
    found = {
        "merror": partial(metrics.zero_one_loss, truth, given, sample_weight=weight),
        **_of_labels(truth, given, weight, "macro"),
    }
    if count > 1:

        def loss() -> float:
            with warnings.catch_warnings(action="ignore"):  # probabilities of 32 bits
                return metrics.log_loss(truth, values, sample_weight=weight, labels=range(count))

        found["mlogloss"] = loss
    return found


def _of_labels(truth: np.ndarray, given: np.ndarray, weight: np.ndarray, average: str) -> Scores:
    arguments = {"sample_weight": weight, "average": average, "zero_division": 0}
    return {
        "precision": partial(metrics.precision_score, truth, given, **arguments),
        "recall": partial(metrics.recall_score, truth, given, **arguments),
        "f1": partial(metrics.f1_score, truth, given, **arguments),
    }
