"""The models: training data and parameters.

A case is a function that returns a `Trained`. Cases marked `core` are trained by every release, the others by
those that ../README.md names. `since` is the first release that can train the case.
"""

import dataclasses

import numpy as np
import pandas as pd

import lightgbm as lgb

RELEASE = tuple(int(part) for part in lgb.__version__.split(".")[:2])
ROUNDS = 5
CASES = {}


@dataclasses.dataclass
class Trained:
    """A booster, its f64 table, and its categorical features."""

    booster: lgb.Booster
    table: np.ndarray
    categorical: tuple = ()
    frame: pd.DataFrame | None = None


def case(core=False, since=(2, 2)):
    """Registers a function as the case of its name."""

    def add(train):
        CASES[train.__name__] = {"train": train, "core": core, "since": since}
        return train

    return add


def numbers(rows=300, seed=1, missing=0.1):
    """Returns numbers of several scales, some missing, and labels that depend on all of them."""
    random = np.random.default_rng(seed)
    table = random.normal(size=(rows, 6)) * [1, 1e-3, 1e4, 1, 1, 1]
    table[:, 3] = np.round(table[:, 3] * 4) / 4
    table[:, 4] *= random.random(rows) < 0.5
    score = table[:, 0] + np.sign(table[:, 1]) + table[:, 2] / 1e4 + table[:, 3] * (table[:, 4] > 0)
    score = score + random.normal(size=rows) * 0.2
    table[random.random(table.shape) < missing] = np.nan
    return table, score


def codes(rows=600, seed=2, missing=0.05):
    """Returns two columns of numbers and two of category codes, with few and with many values."""
    random = np.random.default_rng(seed)
    table = random.normal(size=(rows, 4))
    table[:, 1] = random.integers(0, 4, rows)
    table[:, 2] = random.integers(0, 70, rows)
    score = (
        table[:, 0]
        + (table[:, 1] == 2)
        + np.sin(table[:, 2] * 12.9)
        + random.normal(size=rows) * 0.1
    )
    table[random.random(table.shape) < missing] = np.nan
    return table, score


def trained(
    table,
    label,
    categorical=(),
    rounds=ROUNDS,
    frame=None,
    group=None,
    init=None,
    fobj=None,
    **params,
):
    """Trains with one thread and a fixed seed."""
    params = {
        "objective": "regression",
        "num_leaves": 7,
        "min_data_in_leaf": 3,
        "verbosity": -1,
        "num_threads": 1,
        "seed": 7,
        **params,
    }
    given = table if frame is None else frame
    arguments = {"categorical_feature": list(categorical)} if categorical and frame is None else {}
    data = lgb.Dataset(given, label, group=group, free_raw_data=False, **arguments)
    more = {"init_model": init} if init else {}
    if fobj:
        if RELEASE >= (4, 0):
            params["objective"] = fobj
        else:
            params["objective"], more["fobj"] = "none", fobj
    booster = lgb.train(params, data, rounds, **more)
    return Trained(booster, table, tuple(categorical), frame)


def positive(score):
    return np.exp(np.clip(score, -3, 3))


def classes(score, count=3):
    return np.digitize(score, np.quantile(score, np.linspace(0, 1, count + 1)[1:-1]))


@case(core=True)
def regression():
    return trained(*numbers())


@case()
def regression_sqrt():
    return trained(*numbers(), reg_sqrt=True)


@case()
def quantile_sqrt():
    return trained(*numbers(), objective="quantile", alpha=0.3, reg_sqrt=True)


def objective_case(objective, label, core=False, since=(2, 2), **params):
    def train():
        table, score = numbers()
        return trained(table, label(score), objective=objective, **params)

    train.__name__ = params.pop("name", objective)
    case(core, since)(train)


for name in ["regression_l1", "huber", "fair", "quantile", "mape"]:
    objective_case(name, lambda score: score)
for name in ["poisson", "gamma", "tweedie"]:
    objective_case(name, positive, core=name == "poisson")
objective_case("binary", lambda score: score > 0, core=True)
objective_case("binary", lambda score: score > 0, name="binary_sigmoid", sigmoid=1.55177)
objective_case("multiclass", classes, core=True, num_class=3)
objective_case("multiclassova", classes, num_class=3, sigmoid=12.1048)
objective_case("cross_entropy", lambda score: 1 / (1 + np.exp(-score)))
objective_case("cross_entropy_lambda", lambda score: 1 / (1 + np.exp(-score)))
for name in ["lambdarank", "rank_xendcg"]:
    objective_case(
        name,
        classes,
        since=(2, 2) if name == "lambdarank" else (3, 0),
        group=[30] * 10,
        core=name == "lambdarank",
    )


@case(core=True)
def custom():
    def squares(predicted, data):
        return predicted - data.get_label(), np.ones_like(predicted)

    return trained(*numbers(), fobj=squares)


@case()
def custom_classes():
    def apart(predicted, data):
        wanted = np.eye(3)[data.get_label().astype(int)]
        shaped = predicted.reshape(wanted.shape, order="F" if predicted.ndim == 1 else "C")
        gradient = shaped - wanted
        return (
            (gradient, np.ones_like(gradient))
            if predicted.ndim > 1
            else (gradient.ravel("F"), np.ones(wanted.size))
        )

    table, score = numbers()
    return trained(table, classes(score), fobj=apart, num_class=3)


@case()
def missing_none():
    return trained(*numbers(missing=0))


@case(core=True)
def missing_zero():
    return trained(*numbers(), zero_as_missing=True)


@case()
def missing_unused():
    return trained(*numbers(), use_missing=False)


@case(core=True)
def missing_mixed():
    """Trains trees without missing values, then trees with them."""
    table, score = numbers(missing=0)
    first = trained(table, score, rounds=3)
    table, score = numbers(missing=0.2, seed=3)
    return trained(table, score, rounds=3, init=first.booster)


@case(core=True)
def categorical():
    return trained(*codes(), categorical=(1, 2), min_data_per_group=5, cat_smooth=1)


@case()
def categorical_one_hot():
    return trained(*codes(), categorical=(1, 2), max_cat_to_onehot=100)


@case()
def categorical_no_missing():
    return trained(*codes(missing=0), categorical=(1, 2), min_data_per_group=5)


@case()
def categorical_zero_missing():
    return trained(*codes(), categorical=(1, 2), min_data_per_group=5, zero_as_missing=True)


@case()
def categorical_classes():
    table, score = codes()
    return trained(
        table,
        classes(score),
        categorical=(1, 2),
        objective="multiclass",
        num_class=3,
        min_data_per_group=5,
    )


@case(core=True)
def dart():
    return trained(*numbers(), boosting="dart", drop_rate=0.5, skip_drop=0, rounds=10)


@case()
def dart_xgboost():
    return trained(
        *numbers(), boosting="dart", drop_rate=0.5, skip_drop=0, rounds=10, xgboost_dart_mode=True
    )


FOREST = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5, "feature_fraction": 0.5}


@case(core=True)
def forest():
    return trained(*numbers(), rounds=7, **FOREST)


@case()
def forest_binary():
    table, score = numbers()
    return trained(table, score > 0, objective="binary", rounds=3, **FOREST)


@case()
def forest_classes():
    table, score = numbers()
    return trained(table, classes(score), objective="multiclass", num_class=3, rounds=3, **FOREST)


@case(core=True)
def goss():
    return trained(*numbers(), boosting="goss", learning_rate=0.5)


@case(core=True)
def one_leaf():
    """No split is worthwhile, so every tree is a leaf."""
    table, score = numbers()
    return trained(table, np.full(len(score), 2.5), min_gain_to_split=1e6)


@case()
def one_leaf_later():
    """Trees of one leaf among others: a class without rows."""
    table, score = numbers()
    return trained(table, classes(score), objective="multiclass", num_class=5)


@case()
def monotone():
    return trained(*numbers(), monotone_constraints=[1, 0, 1, 0, 0, -1])


@case()
def large():
    """Extreme thresholds; LightGBM clips infinity to 1e300."""
    table, score = numbers(missing=0)
    table[:, 0] = np.sign(table[:, 0]) * 10.0 ** (np.abs(table[:, 0]) * 120)
    table[:20, 2] = np.inf
    table[20:40, 2] = -np.inf
    return trained(table, score)


@case()
def small():
    """Thresholds as close to 0 as LightGBM distinguishes."""
    random = np.random.default_rng(5)
    table = random.choice([0, 1e-30, -1e-30, 2e-35, -2e-35, 1, -1], size=(300, 3))
    return trained(table, np.sign(table[:, 0]) + 2 * np.sign(table[:, 1]) * (table[:, 2] == 0))


@case()
def deep():
    table, score = numbers(rows=1500)
    return trained(table, score, num_leaves=200, min_data_in_leaf=1, rounds=2)


@case()
def wide():
    random = np.random.default_rng(6)
    table = random.normal(size=(200, 120))
    return trained(table, table[:, ::7].sum(axis=1))


@case(core=True)
def single():
    """Columns of f32."""
    table, score = numbers()
    return trained(table.astype(np.float32).astype(np.float64), score, num_leaves=15)


@case()
def integers():
    random = np.random.default_rng(8)
    table = random.integers(-(2**40), 2**40, size=(300, 4)) // [2**38, 2**20, 2**8, 1]
    score = table @ [0.5, 2**-20, 2**-31, 2**-39]
    return trained(table.astype(np.float64), score, num_leaves=15)


def frame_of(rows=400, ordered=False):
    """Returns a data frame with a column of categories of each type, and a constant one."""
    random = np.random.default_rng(9)

    def chosen(values, **kind):
        return pd.Categorical(
            random.choice(np.array(values, dtype=object), rows), categories=values, **kind
        )

    columns = {
        "weight": random.normal(size=rows),
        "colour": chosen(["red", "gre en", "bl\u00fc", "x=y:1", "\u65e5\u672c"]),
        "size": chosen([30, 10, 20]),
        "ratio": chosen([0.5, 2.0, 1.0, 0.1]),
        "kind": chosen([False, True]),
        "same": pd.Categorical(["one"] * rows),
    }
    if ordered:
        columns["rank"] = chosen(["low", "middle", "high"], ordered=True)
        del columns["size"], columns["kind"], columns["same"]
    frame = pd.DataFrame(columns)
    coded = np.column_stack(
        [frame[c].cat.codes if hasattr(frame[c], "cat") else frame[c] for c in frame]
    ).astype(float)
    score = (
        coded @ np.arange(1, coded.shape[1] + 1)
        + np.sin(coded.sum(axis=1))
        + random.normal(size=rows) * 0.1
    )
    for place, column in enumerate(frame):
        gone = random.random(rows) < 0.05
        frame.loc[gone, column] = np.nan
        coded[gone, place] = np.nan
    return frame, coded, score


@case(core=True)
def frame():
    data, table, score = frame_of()
    return trained(
        table, score, (1, 2, 3, 4, 5), frame=data, num_leaves=20, min_data_per_group=5, cat_smooth=1
    )


@case()
def frame_ordered():
    data, table, score = frame_of(ordered=True)
    return trained(
        table, score, (1, 2, 3), frame=data, num_leaves=20, min_data_per_group=5, cat_smooth=1
    )


LINEAR = {"linear_tree": True, "learning_rate": 0.5}


@case(since=(3, 3))
def linear():
    """The first tree has leaves without features."""
    return trained(*numbers(), **LINEAR)


@case(since=(3, 3))
def linear_binary():
    table, score = numbers()
    return trained(table, score > 0, objective="binary", **LINEAR)


@case(since=(3, 3))
def linear_classes():
    table, score = numbers()
    return trained(table, classes(score), objective="multiclass", num_class=3, **LINEAR)


@case(since=(3, 3))
def linear_dart():
    return trained(*numbers(), boosting="dart", drop_rate=0.5, skip_drop=0, rounds=10, **LINEAR)


@case(since=(3, 3))
def linear_forest():
    return trained(*numbers(), rounds=7, **FOREST, **LINEAR)


@case(since=(3, 3))
def linear_mixed():
    """Trees of one leaf, trees with values in their leaves, and trees with linear models."""
    table, score = numbers()
    lone = trained(table, score, rounds=2, min_gain_to_split=1e6).booster
    plain = trained(table, score, rounds=2, init=lone).booster
    return trained(table, score, init=plain, **LINEAR)


@case(since=(3, 3))
def linear_frame():
    """Ordered categories are numbers, which linear models multiply."""
    data, table, score = frame_of(ordered=True)
    return trained(
        table, score, (1, 2, 3), frame=data, num_leaves=20, min_data_per_group=5, **LINEAR
    )


@case()
def early_stopping():
    """The file has the trees up to the best iteration."""
    table, score = numbers()
    known, unknown = np.arange(200), np.arange(200, 300)
    data = lgb.Dataset(table[known], score[known])
    valid = lgb.Dataset(table[unknown], score[unknown], reference=data)
    params = {
        "objective": "regression",
        "num_leaves": 31,
        "min_data_in_leaf": 1,
        "learning_rate": 0.9,
    }
    params |= {"verbosity": -1, "num_threads": 1, "metric": "l2"}
    if RELEASE >= (4, 0):
        stop = {"callbacks": [lgb.early_stopping(2, verbose=False)]}
    else:
        stop = {"early_stopping_rounds": 2, "verbose_eval": False}
    return Trained(lgb.train(params, data, 50, valid_sets=[valid], **stop), table)
