"""The models: one case for each thing that a scorer of CatBoost's files can get wrong.

A case has a name, the first release that can train it, and whether every release trains it (`core`) or only
those that generate.sh lists as complete.
"""

import numpy as np
import pandas as pd

import catboost
from catboost import CatBoost, Pool

RELEASE = tuple(int(part) for part in catboost.__version__.split("."))[:2]
COMMON = {
    "iterations": 5,
    "depth": 3,
    "learning_rate": 0.4,
    "random_seed": 5,
    "thread_count": 1,
    "verbose": False,
    "allow_writing_files": False,
    "bootstrap_type": "No",
}
ROWS = 240
CASES = {}


class Trained:
    """A model, the table that its scoring rows come from, and which columns hold categories."""

    def __init__(self, model, table, categorical=()):
        self.model = model
        self.table = table
        self.categorical = list(categorical)


def case(name, since=(0, 0), core=False):
    """Registers a function that trains one model."""

    def register(train):
        CASES[name] = {"train": train, "since": since, "core": core}
        return train

    return register


def numbers(seed=7, gaps=True):
    """Five columns: normal, normal with gaps, small integers, skewed with gaps, large values."""
    draw = np.random.RandomState(seed)
    table = np.empty((ROWS, 5), dtype=np.float32)
    table[:, 0] = draw.normal(size=ROWS)
    table[:, 1] = draw.normal(size=ROWS)
    table[:, 2] = draw.randint(-3, 4, size=ROWS)
    table[:, 3] = draw.exponential(size=ROWS)
    table[:, 4] = draw.uniform(-1000, 1000, size=ROWS)
    if gaps:
        table[draw.rand(ROWS) < 0.15, 1] = np.nan
        table[draw.rand(ROWS) < 0.30, 3] = np.nan
    return table


def signal(table, seed=11):
    """A target that depends on every column, and on whether the gappy ones are there."""
    draw = np.random.RandomState(seed)
    present = np.nan_to_num(table.astype(np.float64))
    target = present[:, 0] + 0.5 * present[:, 1] * np.sign(present[:, 4]) + 0.3 * present[:, 2]
    target += np.where(np.isnan(table[:, 3]), 1.5, -0.4 * present[:, 3])
    target += np.where(np.isnan(table[:, 1]), -0.8, 0.0)
    return target + draw.normal(scale=0.3, size=len(table))


def classes(table, count):
    """The signal cut into classes of equal size, 0 to count - 1."""
    target = signal(table)
    return np.searchsorted(np.quantile(target, np.arange(1, count) / count), target)


def fit(table, label, prepare=None, pool=None, **params):
    """Trains on a table; `pool` has further arguments of the Pool, `prepare` changes the model."""
    model = CatBoost({**COMMON, **params})
    model.fit(Pool(table, label, **(pool or {})))
    if prepare:
        prepare(model)
    return model


def simple(name, label, since=(0, 0), core=False, pool=None, prepare=None, gaps=True, **params):
    """A case that is one call of fit on the common table."""

    @case(name, since=since, core=core)
    def train():
        table = numbers(gaps=gaps)
        return Trained(fit(table, label(table), prepare, pool, **params), table)


def positive(table):
    """A target above 0."""
    return np.exp(signal(table) / 2)


def unit(table):
    """A target in (0, 1)."""
    return 1 / (1 + np.exp(-signal(table)))


def two(table):
    """Two classes."""
    return classes(table, 2)


def three(table):
    """Three classes."""
    return classes(table, 3)


def pair(table):
    """Two targets."""
    return np.stack([signal(table), -2 * signal(table, 12)], axis=1)


def flags(table):
    """Two labels that a row may have or not."""
    return (pair(table) > 0).astype(int)


def named(names):
    """Classes with names."""
    return lambda table: np.array(names)[classes(table, len(names))]


GROUPS = {"group_id": np.arange(ROWS) // 12}

for _loss in [
    "MAE",
    "Quantile:alpha=0.7",
    "Expectile:alpha=0.3",
    "Huber:delta=1.0",
    "LogCosh",
    "Lq:q=3",
    "MAPE",
]:
    simple(_loss.split(":")[0].lower(), positive, since=(1, 0), loss_function=_loss)
simple("rmse", signal, core=True, loss_function="RMSE")
simple("log_lin_quantile", positive, loss_function="LogLinQuantile")
simple("poisson", positive, core=True, loss_function="Poisson")
simple("tweedie", positive, loss_function="Tweedie:variance_power=1.5")
simple("cox", signal, since=(1, 2), loss_function="Cox")
simple("uncertainty", signal, core=True, loss_function="RMSEWithUncertainty")
simple("logloss", two, core=True, loss_function="Logloss")
simple("cross_entropy", unit, loss_function="CrossEntropy")
simple("focal", two, since=(1, 2), loss_function="Focal:focal_alpha=0.4;focal_gamma=2.0")
simple("multiclass", three, core=True, loss_function="MultiClass")
simple("one_versus_all", three, core=True, loss_function="MultiClassOneVsAll")
simple("multi_rmse", pair, loss_function="MultiRMSE")
simple("multi_logloss", flags, since=(1, 0), loss_function="MultiLogloss")
simple("multi_quantile", signal, since=(1, 1), loss_function="MultiQuantile:alpha=0.1,0.5,0.9")
for _loss in ["YetiRank", "PairLogit", "QueryRMSE", "QuerySoftMax", "StochasticRank:metric=NDCG"]:
    simple(_loss.split(":")[0].lower(), unit, pool=GROUPS, loss_function=_loss)

simple("nan_min", signal, core=True, nan_mode="Min")
simple("nan_max", signal, core=True, nan_mode="Max")
simple("nan_unseen", signal, core=True, gaps=False, nan_mode="Max")
simple("nan_max_lossguide", signal, nan_mode="Max", grow_policy="Lossguide", max_leaves=6)

simple("depthwise", signal, core=True, grow_policy="Depthwise", depth=4, min_data_in_leaf=12)
simple("lossguide", signal, core=True, grow_policy="Lossguide", max_leaves=9, depth=8)
simple(
    "lossguide_multiclass",
    three,
    core=True,
    grow_policy="Lossguide",
    max_leaves=7,
    loss_function="MultiClass",
)
simple(
    "depthwise_uncertainty", signal, grow_policy="Depthwise", loss_function="RMSEWithUncertainty"
)
simple("stumps", signal, depth=1, iterations=20)
simple("deep", signal, depth=10, iterations=2)
simple("constant", lambda table: np.ones(ROWS), since=(0, 25), allow_const_label=True)
simple(
    "constant_depthwise",
    lambda table: np.ones(ROWS),
    since=(0, 25),
    allow_const_label=True,
    grow_policy="Depthwise",
)

simple("labels_text", named(["no", "yés"]), core=True, loss_function="Logloss")
simple("labels_integers", named([-4, 7, 12]), core=True, loss_function="MultiClass")
simple("labels_floats", named([0.5, 2.0, 10.0]), loss_function="MultiClass")
simple("labels_booleans", lambda table: two(table) == 1, since=(1, 0), loss_function="Logloss")
simple(
    "labels_declared",
    named(["a", "b", "d"]),
    loss_function="MultiClass",
    class_names=["d", "c", "b", "a"],
)
simple(
    "scale_and_bias", signal, core=True, prepare=lambda model: model.set_scale_and_bias(0.3, 7.7)
)
simple(
    "scale_and_biases",
    three,
    since=(0, 25),
    prepare=lambda model: model.set_scale_and_bias(1.7, [0.1, -0.2, 0.3]),
    loss_function="MultiClass",
)


@case("named_features", core=True)
def _named_features():
    table = numbers()
    pool = {"feature_names": ["speed", "hauteur é", "step", "x y", "distance"]}
    return Trained(fit(table, signal(table), pool=pool, ignored_features=[2]), table)


@case("threshold", since=(1, 0))
def _threshold():
    table = numbers()
    model = catboost.CatBoostClassifier(**COMMON)
    model.fit(table, two(table))
    model.set_probability_threshold(0.3)
    return Trained(model, table)


@case("sum_of_models")
def _sum_of_models():
    table = numbers()
    models = [fit(table, signal(table), random_seed=seed) for seed in (1, 2)]
    return Trained(catboost.sum_models(models, weights=[0.3, 0.7]), table)


LONG = "abcdefghijklmnopqrstuvwxyz"
TEXTS = ["red", "green", "blé", LONG[:5], LONG[:12], LONG, LONG * 2, LONG * 5]


def with_categories():
    """A table of text, integers and numbers, and a target that depends on all of them."""
    draw = np.random.RandomState(3)
    table = pd.DataFrame(
        {
            "text": [TEXTS[index] for index in draw.randint(0, len(TEXTS), ROWS)],
            "number": numbers()[:, 1],
            "integer": draw.randint(-3, 12, ROWS),
            "unused": draw.randint(0, 3, ROWS).astype(str),
            "other": numbers()[:, 0],
        }
    )
    effect = draw.normal(scale=2, size=len(TEXTS))
    target = effect[[TEXTS.index(text) for text in table["text"]]]
    target = target + np.abs(table["integer"] - 4) + 0.5 * table["other"].to_numpy(dtype=np.float64)
    return table, target.to_numpy()


def categories(name, label=lambda target: target, core=False, **params):
    """A case with one-hot features."""

    @case(name, core=core)
    def train():
        table, target = with_categories()
        columns = [0, 2, 3]
        pool = {"cat_features": columns}
        model = fit(
            table,
            label(target),
            pool=pool,
            one_hot_max_size=20,
            **{"depth": 4, "iterations": 12, **params},
        )
        return Trained(model, table, columns)


categories("one_hot", core=True)
categories("one_hot_lossguide", core=True, grow_policy="Lossguide", max_leaves=8)
categories("one_hot_depthwise", grow_policy="Depthwise")
categories(
    "one_hot_multiclass", lambda target: np.digitize(target, [2, 4]), loss_function="MultiClass"
)
