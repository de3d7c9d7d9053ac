"""The models: each case, a function or a call of `simple`, is for one fault that a scorer can have.

A case has a name, the first release that can train it, and whether every release trains it (`core`)
or only those that generate.sh lists as complete. Training is single-threaded and seeded, so a release
gives the same file every time.
"""

import numpy as np
import xgboost as xgb

import tables

RELEASE = tuple(int(part) for part in xgb.__version__.split(".")[:2])
COMMON = {"nthread": 1, "seed": 5, "max_depth": 3, "eta": 0.4, "tree_method": "exact"}
CASES = {}


class Trained:
    """A model, the table of its scoring rows, and what scoring them requires."""

    def __init__(self, booster, table, categorical=(), codes=0, text=None):
        self.booster = booster
        self.table = table
        self.categorical = categorical
        self.codes = codes
        self.text = text


def case(name, since=(1, 0), until=(99, 0), core=False, ubjson=False):
    """Registers a function that trains one model; `ubjson` stores it in both formats."""

    def register(train):
        CASES[name] = {
            "train": train,
            "since": since,
            "until": until,
            "core": core,
            "ubjson": ubjson,
        }
        return train

    return register


def fit(params, table, label=None, rounds=3, names=None, prepare=None, **options):
    """Trains on a table; `prepare` may add to the DMatrix what the objective needs."""
    data = xgb.DMatrix(table, label=label, missing=np.nan, feature_names=names)
    if prepare:
        prepare(data)
    return xgb.train({**COMMON, **params}, data, rounds, verbose_eval=False, **options)


def simple(name, label, since=(1, 0), core=False, ubjson=False, rounds=3, prepare=None, **params):
    """Registers a case that is one call of fit on the common table."""

    @case(name, since=since, core=core, ubjson=ubjson)
    def train():
        table = tables.features()
        return Trained(fit(params, table, label(table), rounds, tables.NAMES, prepare), table)


def positive(table):
    """A target above 0."""
    return np.exp(tables.signal(table) / 2).astype(np.float32)


def unit(table):
    """A target in (0, 1)."""
    return (1 / (1 + np.exp(-tables.signal(table)))).astype(np.float32)


def millions(table):
    """A target of the size of a large base score."""
    return tables.signal(table) * 1e7


def counts(table):
    """A target of non-negative integers."""
    return np.floor(positive(table))


def binary(table):
    """Two classes."""
    return tables.classes(table, 2)


def three(table):
    """Three classes."""
    return tables.classes(table, 3)


def survival_times(table):
    """Times, negative for censored observations."""
    times = positive(table)
    return np.where(np.arange(len(times)) % 4 == 0, -times, times)


def censored(data):
    """Bounds for survival:aft, a fifth of them open above."""
    lower = positive(tables.features())
    upper = lower.copy()
    upper[::5] = np.inf
    data.set_float_info("label_lower_bound", lower)
    data.set_float_info("label_upper_bound", upper)


def groups(data):
    """Queries of 12 rows for the ranking objectives."""
    data.set_group([12] * (data.num_row() // 12))


# Every objective, with the base score that the release chooses.
simple("reg_squarederror", tables.signal, core=True, ubjson=True, objective="reg:squarederror")
simple("reg_squaredlogerror", positive, objective="reg:squaredlogerror")
simple("reg_pseudohubererror", tables.signal, since=(1, 2), objective="reg:pseudohubererror")
simple("reg_absoluteerror", tables.signal, since=(1, 7), objective="reg:absoluteerror")
simple("reg_logistic", unit, objective="reg:logistic")
simple("binary_logistic", binary, core=True, ubjson=True, objective="binary:logistic")
simple("binary_logitraw", binary, objective="binary:logitraw")
simple("binary_hinge", binary, objective="binary:hinge")
simple("multi_softprob", three, core=True, objective="multi:softprob", num_class=3)
simple("multi_softmax", three, core=True, objective="multi:softmax", num_class=3, rounds=2)
simple("count_poisson", counts, core=True, objective="count:poisson")
simple("reg_gamma", positive, objective="reg:gamma")
simple("reg_tweedie", counts, objective="reg:tweedie", tweedie_variance_power=1.3)
simple("survival_cox", survival_times, objective="survival:cox")
simple("survival_aft", positive, since=(1, 2), prepare=censored, objective="survival:aft")
simple("rank_pairwise", three, core=True, prepare=groups, objective="rank:pairwise")
simple("rank_ndcg", three, prepare=groups, objective="rank:ndcg")
simple("rank_map", binary, prepare=groups, objective="rank:map")
simple(
    "reg_quantileerror",
    tables.signal,
    since=(2, 0),
    rounds=2,
    objective="reg:quantileerror",
    quantile_alpha=[0.1, 0.5, 0.9],
    tree_method="hist",
)
simple(
    "quantiles_crossing",
    tables.signal,
    since=(2, 0),
    rounds=2,
    objective="reg:quantileerror",
    quantile_alpha=[0.45, 0.5, 0.55],
    tree_method="hist",
    eta=1.5,
    max_depth=3,
)
simple(
    "quantile_single",
    tables.signal,
    since=(2, 0),
    objective="reg:quantileerror",
    quantile_alpha=0.3,
    tree_method="hist",
)
simple(
    "reg_expectileerror",
    tables.signal,
    since=(3, 3),
    objective="reg:expectileerror",
    expectile_alpha=[0.2, 0.5, 0.8],
    tree_method="hist",
)
simple(
    "expectile_single",
    tables.signal,
    since=(3, 3),
    objective="reg:expectileerror",
    expectile_alpha=0.7,
    tree_method="hist",
)
simple("reg_linear", tables.signal, objective="reg:linear")

# Base scores: given, at the limits of an objective, and one for several outputs.
simple(
    "base_score_regression", tables.signal, core=True, objective="reg:squarederror", base_score=-3.7
)
simple("base_score_large", millions, objective="reg:squarederror", base_score=1.2345678e8)
simple("base_score_binary", binary, core=True, objective="binary:logistic", base_score=0.3)
simple("base_score_poisson", counts, objective="count:poisson", base_score=2.6)
simple(
    "base_score_multiclass",
    three,
    objective="multi:softprob",
    num_class=3,
    base_score=0.7,
    rounds=1,
)

# Forests, growth policies, and shapes of trees.
simple(
    "forest",
    tables.signal,
    core=True,
    rounds=1,
    objective="reg:squarederror",
    num_parallel_tree=4,
    subsample=0.6,
    tree_method="hist",
    eta=1,
)
simple(
    "forest_boosted",
    three,
    ubjson=True,
    rounds=2,
    objective="multi:softprob",
    num_class=3,
    num_parallel_tree=2,
    subsample=0.6,
    max_depth=2,
)
simple("grown_hist", tables.signal, core=True, tree_method="hist", objective="reg:squarederror")
simple(
    "grown_lossguide",
    tables.signal,
    ubjson=True,
    tree_method="hist",
    grow_policy="lossguide",
    max_leaves=9,
    max_depth=0,
    objective="reg:squarederror",
)
simple("grown_approx", binary, tree_method="approx", objective="binary:logistic")
simple(
    "pruned",
    tables.signal,
    core=True,
    ubjson=True,
    max_depth=5,
    gamma=3.0,
    rounds=2,
    objective="reg:squarederror",
)
simple(
    "deep",
    tables.signal,
    rounds=1,
    max_depth=8,
    min_child_weight=0,
    reg_lambda=0,
    objective="reg:squarederror",
)
simple("stump", tables.signal, core=True, rounds=1, max_depth=1, objective="reg:squarederror")
simple("single_leaves", tables.signal, min_child_weight=1e6, objective="reg:squarederror")
simple("many_stumps", binary, rounds=16, max_depth=1, objective="binary:logistic")
simple("no_trees", tables.signal, ubjson=True, rounds=0, objective="reg:squarederror")
simple("no_trees_multiclass", three, rounds=0, objective="multi:softmax", num_class=3)
simple("two_classes_softprob", binary, objective="multi:softprob", num_class=2, rounds=2)

# Tree weights. DART has three layouts; gbtree drops trees too since 3.4.
DROPS = {"rate_drop": 0.4, "one_drop": 1, "rounds": 8}
simple("dart", tables.signal, core=True, ubjson=True, booster="dart", **DROPS)
simple(
    "dart_multiclass",
    three,
    core=True,
    booster="dart",
    normalize_type="forest",
    objective="multi:softprob",
    num_class=3,
    **DROPS,
)
simple(
    "dart_forest",
    binary,
    booster="dart",
    objective="binary:logistic",
    num_parallel_tree=2,
    subsample=0.6,
    **DROPS,
)
simple("gbtree_dropout", tables.signal, since=(3, 4), booster="gbtree", **DROPS)


def linear(name, label, rounds=3, **params):
    """Registers a case of the linear booster, which has no parameters of trees."""

    @case(name, core=True, ubjson=True)
    def train():
        table = tables.features()
        data = xgb.DMatrix(table, label=label(table), missing=np.nan)
        params.update(booster="gblinear", nthread=1, seed=5, eta=0.4)
        return Trained(xgb.train(params, data, rounds), table)


linear("gblinear", tables.signal, objective="reg:squarederror")
linear("gblinear_logistic", binary, objective="binary:logistic")
linear("gblinear_multiclass", three, objective="multi:softprob", num_class=3)
linear("gblinear_no_rounds", binary, rounds=0, objective="binary:logistic")

# Unusual numbers.
simple("logistic_saturated", binary, eta=60.0, min_child_weight=0, objective="binary:logistic")
simple("softprob_saturated", three, eta=150.0, objective="multi:softprob", num_class=3)


@case("leaves_large")
def leaves_large():
    table = tables.features()
    label = tables.signal(table) * 1e17
    return Trained(fit({"objective": "reg:squarederror", "reg_lambda": 0}, table, label), table)


@case("features_extreme", core=True)
def features_extreme():
    table = tables.features()
    label = tables.signal(table)
    table[:, 0] *= np.float32(1e37)
    table[:, 1] *= np.float32(1e-41)
    table[:, 5] *= np.float32(-1e6)
    return Trained(fit({"objective": "reg:squarederror"}, table, label), table)


@case("feature_single")
def feature_single():
    table = np.ascontiguousarray(tables.features()[:, 1:2])
    return Trained(fit({}, table, tables.signal(tables.features())), table)


@case("features_wide", ubjson=True)
def features_wide():
    draw = np.random.RandomState(3)
    table = draw.normal(size=(120, 300)).astype(np.float32)
    table[draw.rand(120, 300) < 0.1] = np.nan
    label = np.nansum(table[:, ::20], axis=1)
    return Trained(fit({"colsample_bytree": 0.5}, table, label), table)


@case("names_odd", since=(1, 4), ubjson=True)
def names_odd():
    names = ["größe", 'say "hi"', "back\\slash", "tab\tand\nline", "温度 🌡", "a/b c's\u0001"]
    table = tables.features()
    return Trained(fit({}, table, tables.signal(table), 2, names), table)


@case("names_none")
def names_none():
    table = tables.features()
    return Trained(fit({}, table, tables.signal(table), 2), table)


# Courses of training.
@case("early_stopping", core=True)
def early_stopping():
    table = tables.features()
    label = tables.signal(table)
    held_out = xgb.DMatrix(table[:60], label=label[:60] * -0.2, feature_names=tables.NAMES)
    return Trained(
        fit(
            {"eta": 0.9, "max_depth": 1},
            table,
            label,
            20,
            tables.NAMES,
            evals=[(held_out, "held_out")],
            early_stopping_rounds=3,
        ),
        table,
    )


@case("continued")
def continued():
    table = tables.features()
    label = tables.signal(table)
    first = fit({}, table, label, 2, tables.NAMES)
    return Trained(fit({"max_depth": 2}, table, label, 2, tables.NAMES, xgb_model=first), table)


@case("sliced", since=(1, 3))
def sliced():
    table = tables.features()
    params = {"objective": "multi:softprob", "num_class": 3, "max_depth": 2}
    return Trained(fit(params, table, three(table), 4, tables.NAMES)[1:3], table)


def squared(label):
    """Returns the gradients of half the squared error, whatever objective the file names."""

    def gradients(margin, data):
        return margin - label, np.ones_like(margin)

    return gradients


def custom(name, label, **params):
    """Registers a case with custom gradients, so that its margins follow the label."""

    @case(name)
    def train():
        table = tables.features()
        return Trained(
            fit(params, table, binary(table), 3, tables.NAMES, obj=squared(label(table))), table
        )


custom("custom_objective", tables.signal, base_score=0.5)
custom("base_score_near_zero", tables.signal, objective="binary:logistic", base_score=1e-9)
custom("base_score_near_one", tables.signal, objective="binary:logistic", base_score=0.99999994)
custom(
    "exponential_overflow",
    lambda table: tables.signal(table) * 80,
    objective="reg:gamma",
    base_score=1,
)


# Several targets, a tree each.
@case("targets", since=(1, 6), core=True)
def targets():
    table = tables.features()
    signal = tables.signal(table)
    label = np.stack([signal, signal**2 + 5, -3 * signal], axis=1)
    params = {"objective": "reg:squarederror", "tree_method": "hist"}
    return Trained(fit(params, table, label, 2, tables.NAMES), table)


@case("targets_logistic", since=(1, 6))
def targets_logistic():
    table = tables.features()
    label = np.stack([binary(table), three(table) == 1], axis=1).astype(np.float32)
    params = {"objective": "binary:logistic", "tree_method": "hist"}
    return Trained(fit(params, table, label, 2, tables.NAMES), table)


# Several outputs per tree: vectors in leaves, which files store separately since 3.2.
VECTORS = {"multi_strategy": "multi_output_tree", "tree_method": "hist"}


@case("vector_leaf", since=(3, 2), core=True, ubjson=True)
def vector_leaf():
    table = tables.features()
    signal = tables.signal(table)
    label = np.stack([signal, signal**2 + 5, -3 * signal], axis=1)
    return Trained(
        fit({"objective": "reg:squarederror", **VECTORS}, table, label, 3, tables.NAMES), table
    )


simple(
    "vector_leaf_multiclass",
    three,
    since=(3, 2),
    objective="multi:softprob",
    num_class=3,
    **VECTORS,
)


# Categorical features given as codes.
def coded(count, params, ubjson_label=None, rounds=3):
    table, added = tables.codes(tables.features(), 3, count, seed=23)
    label = tables.signal(tables.features()) * 0.3 + added
    kinds = ["q", "float", "int", "c", "q", "q"]
    data = xgb.DMatrix(
        table, label=label, feature_names=tables.NAMES, feature_types=kinds, enable_categorical=True
    )
    booster = xgb.train({**COMMON, "max_depth": 4, **params}, data, rounds)
    return Trained(booster, table, categorical=[3], codes=count)


@case("categories_one_hot", since=(1, 6), core=True, ubjson=True)
def categories_one_hot():
    return coded(5, {"tree_method": "hist", "max_cat_to_onehot": 100})


@case("categories_partition", since=(1, 6), core=True, ubjson=True)
def categories_partition():
    return coded(12, {"tree_method": "hist", "max_cat_to_onehot": 1})


@case("categories_many", since=(1, 6))
def categories_many():
    return coded(
        80, {"tree_method": "hist", "max_cat_to_onehot": 1, "max_cat_threshold": 64}, rounds=2
    )


@case("categories_approx", since=(1, 6))
def categories_approx():
    return coded(6, {"tree_method": "approx", "max_cat_to_onehot": 4})


# Categorical features of a data frame, with values in the file.
def framed(values, dtype=None):
    import pandas

    table, added = tables.codes(tables.features(), 3, len(values), seed=29)
    label = tables.signal(tables.features()) * 0.3 + added
    kind = pandas.CategoricalDtype(pandas.Index(values, dtype=dtype))

    def frame(coded, order):
        columns = {name: coded[:, index] for index, name in enumerate(tables.NAMES)}
        chosen = np.nan_to_num(coded[:, 3], nan=-1).astype(int)
        column = pandas.Categorical.from_codes(chosen, dtype=kind)
        columns[tables.NAMES[3]] = column.set_categories(order)
        return pandas.DataFrame(columns)

    data = xgb.DMatrix(frame(table, kind.categories), label=label, enable_categorical=True)
    params = {**COMMON, "tree_method": "hist", "max_cat_to_onehot": 3, "max_depth": 4}
    booster = xgb.train(params, data, 3)
    text = table[:24]
    # Releases before 3.4 take some categories as unknown if the frame has another order.
    order = kind.categories[::-1] if RELEASE >= (3, 4) else kind.categories
    # They also count characters instead of bytes, so that non-ASCII values are lost.
    lost = RELEASE < (3, 4) and not all(str(value).isascii() for value in values)
    kept = frame(text, order)
    margins = booster.predict(xgb.DMatrix(kept, enable_categorical=True), output_margin=True)
    return Trained(
        booster, table, categorical=[3], codes=len(values), text=(values, text, margins, lost)
    )


@case("dictionary_text", since=(3, 1), core=True, ubjson=True)
def dictionary_text():
    return framed(["red", "green", "blue", "", "with space", 'quo"te', "A", "a", "back\\slash"])


@case("dictionary_unicode", since=(3, 1), core=True)
def dictionary_unicode():
    return framed(["red", "grün", "blau", "黄", "🌡", "é"])


@case("dictionary_unicode_twice", since=(3, 1))
def dictionary_unicode_twice():
    """Where a release cuts by characters, the second and third value are the same."""
    return framed(["éa", "a", "b"])


@case("dictionary_integer", since=(3, 1), core=True, ubjson=True)
def dictionary_integer():
    return framed([7, -3, 1000000000000, 0, 12, 9223372036854775807], "int64")


@case("dictionary_integer_small", since=(3, 1))
def dictionary_integer_small():
    return framed([7, -3, 127, 0, 12], "int8")
