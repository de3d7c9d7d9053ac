"""The models: a case for each fault that a scorer of CatBoost's files can have.

A case has a name, the first release that can train it, and whether every release trains it (`core`) or only
those that generate.sh lists as complete.
"""

import os
import tempfile

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
    """A model, the table of its scoring rows, and its categorical columns."""

    def __init__(self, model, table, categorical=(), whole=0, formats=("cbm", "json")):
        self.model = model
        self.table = table
        self.categorical = list(categorical)
        # The number of the table's rows that are scored unchanged.
        self.whole = whole
        # The formats that can represent the model.
        self.formats = formats


def case(name, since=(0, 0), core=False):
    """Registers a function that trains one model."""

    def register(train):
        CASES[name] = {"train": train, "since": since, "core": core}
        return train

    return register


def numbers(seed=7, gaps=True):
    """Returns five columns: normal, normal with gaps, small integers, skewed with gaps, large values."""
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
    """Returns a target that depends on every column, and on where gaps are."""
    draw = np.random.RandomState(seed)
    present = np.nan_to_num(table.astype(np.float64))
    target = present[:, 0] + 0.5 * present[:, 1] * np.sign(present[:, 4]) + 0.3 * present[:, 2]
    target += np.where(np.isnan(table[:, 3]), 1.5, -0.4 * present[:, 3])
    target += np.where(np.isnan(table[:, 1]), -0.8, 0.0)
    return target + draw.normal(scale=0.3, size=len(table))


def classes(table, count):
    """Returns the signal cut into classes of equal size, 0 to count - 1."""
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
    """Registers a case that is one call of fit on the common table."""

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
    """Two labels per row."""
    return (pair(table) > 0).astype(int)


def named(names):
    """Named classes."""
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
    """Returns a table of text, integers and numbers, and a target that depends on all of them."""
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
    """Registers a case with one-hot features."""

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


def with_combinations():
    """Returns the same table, and a target that depends on combinations of its columns."""
    table, _ = with_categories()
    draw = np.random.RandomState(4)
    integer, unused = table["integer"] % 3, table["unused"].astype(int)
    place = table["text"].map(TEXTS.index) * 3 + integer
    target = draw.normal(scale=2, size=3 * len(TEXTS))[place]
    target += np.where(table["other"] > 0, 1.5, -1.0) * draw.normal(size=3)[integer]
    target += np.where(unused == 1, 2.0, -0.5) * draw.normal(size=len(TEXTS))[place // 3]
    return table, np.asarray(target + 3)


CTR = {
    "depth": 4,
    "iterations": 5,
    "one_hot_max_size": 2,
    "max_ctr_complexity": 3,
    # Trees may use combinations at no cost in memory.
    "model_size_reg": 0,
}


def statistics(name, label=lambda target: target, core=False, pool=None, formats=None, **params):
    """Registers a case with target statistics of categories."""

    # Each release has the cases common to all; the newest has the others too.
    @case(name, since=(0, 0) if core else (1, 2), core=core)
    def train():
        table, target = with_combinations()
        columns = [0, 2, 3]
        of_pool = {"cat_features": columns, **(pool or {})}
        model = fit(table, label(target), pool=of_pool, **{**CTR, **params})
        return Trained(model, table, columns, whole=40, formats=formats or ("cbm", "json"))


def binary(target):
    """Two classes."""
    return (target > 3).astype(int)


def ternary(target):
    """Three classes."""
    return np.digitize(target, [2, 4])


statistics("ctr", core=True)
statistics("ctr_logloss", binary, loss_function="Logloss")
statistics("ctr_multiclass", ternary, core=True, loss_function="MultiClass")
statistics("ctr_one_versus_all", ternary, loss_function="MultiClassOneVsAll")
statistics(
    "ctr_cross_entropy", lambda target: 1 / (1 + np.exp(-target)), loss_function="CrossEntropy"
)
statistics("ctr_poisson", np.abs, loss_function="Poisson")
statistics("ctr_mae", loss_function="MAE")
statistics("ctr_uncertainty", loss_function="RMSEWithUncertainty")
statistics("ctr_yetirank", binary, pool=GROUPS, loss_function="YetiRank")
statistics("ctr_simple", max_ctr_complexity=1)
statistics("ctr_four", max_ctr_complexity=4, depth=6)
# `unused` has three values, which conditions of combinations also test.
statistics("ctr_one_hot", core=True, one_hot_max_size=4, depth=5)
statistics("ctr_nan_max", nan_mode="Max", depth=5)
statistics("ctr_lossguide", grow_policy="Lossguide", max_leaves=8)
statistics("ctr_depthwise", grow_policy="Depthwise")
statistics("ctr_counter_full", counter_calc_method="Full", simple_ctr=["Counter"])
statistics("ctr_buckets", simple_ctr=["Buckets:TargetBorderCount=3"])
statistics("ctr_buckets_classes", ternary, simple_ctr=["Buckets"], loss_function="MultiClass")
statistics(
    "ctr_mean",
    simple_ctr=["BinarizedTargetMeanValue:TargetBorderCount=5"],
    combinations_ctr=["BinarizedTargetMeanValue:TargetBorderCount=2", "Counter"],
)
statistics(
    "ctr_priors",
    binary,
    simple_ctr=["Borders:Prior=0.3:Prior=-1:CtrBorderCount=40", "Counter:Prior=2"],
    combinations_ctr=["Borders:Prior=0.1"],
    loss_function="Logloss",
)
statistics(
    "ctr_target_borders",
    simple_ctr=["Borders:TargetBorderCount=4", "Buckets:TargetBorderCount=2"],
    combinations_ctr=["Borders:TargetBorderCount=2:TargetBorderType=Median", "Counter"],
)
# JSON does not distinguish the tables of a kind.
statistics(
    "ctr_several_targets",
    simple_ctr=["Borders:TargetBorderCount=1", "Borders:TargetBorderCount=3"],
    combinations_ctr=["Borders:TargetBorderCount=1", "Borders:TargetBorderCount=2"],
    formats=("cbm",),
)
statistics("ctr_per_feature", per_feature_ctr=["0:Buckets:Prior=0.2", "2:Borders:Prior=0.7"])


@case("ctr_sum_of_models", since=(1, 2))
def _ctr_sum_of_models():
    table, target = with_combinations()
    columns = [0, 2, 3]
    options = {**CTR, "depth": 3, "max_ctr_complexity": 2}
    halves = [slice(0, 160), slice(80, ROWS)]
    models = [
        fit(table[half], target[half], pool={"cat_features": columns}, **options) for half in halves
    ]
    return Trained(catboost.sum_models(models, weights=[0.3, 0.7]), table, columns, whole=40)


def renamed(model, old, new):
    """Returns the model with statistics of a kind trained only on GPUs, with the same counts."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        model.save_model(path, format="json")
        with open(path, encoding="utf-8") as file:
            content = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(content.replace(old, new))
        return CatBoost().load_model(path, format="json")


@case("ctr_gpu_frequency", since=(1, 2))
def _ctr_gpu_frequency():
    table, target = with_combinations()
    columns = [0, 2, 3]
    options = {**CTR, "simple_ctr": ["Counter"], "combinations_ctr": ["Counter"]}
    model = fit(table, target, pool={"cat_features": columns}, **options)
    return Trained(renamed(model, "Counter", "FeatureFreq"), table, columns, whole=40)


@case("ctr_gpu_mean", since=(1, 2))
def _ctr_gpu_mean():
    table, target = with_combinations()
    columns = [0, 2, 3]
    kind = "BinarizedTargetMeanValue"
    options = {**CTR, "simple_ctr": [kind], "combinations_ctr": [kind]}
    model = fit(table, binary(target), pool={"cat_features": columns}, **options)
    return Trained(renamed(model, kind, "FloatTargetMeanValue"), table, columns, whole=40)
