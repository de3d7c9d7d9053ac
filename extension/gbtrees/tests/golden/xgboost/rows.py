"""Scoring rows: values that decide a comparison, and special values.

Next to rows of the training table there are rows that lie on the model's own thresholds and one unit
in the last place from them, and rows of missing values, both zeros, the largest floats and
denormals. Infinities are left out: a DMatrix refuses them.
"""

import numpy as np

LARGEST = np.finfo(np.float32).max
SPECIAL = [np.nan, 0.0, -0.0, LARGEST, -LARGEST, 1e30, -1e30, 1e-45, -1e-45, 1.1754944e-38]


def model_of(document):
    """Returns the booster's model of a parsed file; DART up to 3.2 nests a booster."""
    booster = document["learner"]["gradient_booster"]
    return booster.get("gbtree", booster)["model"]


def trees_of(document):
    """Returns the trees of a parsed file; a linear model has none."""
    return model_of(document).get("trees", [])


def thresholds(document, num_features):
    """Returns the distinct thresholds of each feature in a parsed file."""
    found = [set() for _ in range(num_features)]
    for tree in trees_of(document):
        kinds = tree.get("split_type") or [0] * len(tree["left_children"])
        for node, left in enumerate(tree["left_children"]):
            if left != -1 and not kinds[node]:
                found[tree["split_indices"][node]].add(np.float32(tree["split_conditions"][node]))
    return [np.array(sorted(values), dtype=np.float32) for values in found]


def _beside(values, step):
    if step == 0:
        return values
    return np.nextafter(values, np.float32(np.inf if step > 0 else -np.inf))


def at_thresholds(table, cuts, count):
    """Returns training rows with every numerical feature moved to a threshold, or just below or above it."""
    chosen = table[np.arange(count) % len(table)].copy()
    for feature, values in enumerate(cuts):
        for row in range(count):
            if len(values):
                chosen[row, feature] = _beside(
                    values[(row // 3 + feature) % len(values)], row % 3 - 1
                )
    return chosen


def special(num_features, categorical):
    """Returns a row of each special value alone, and one that mixes them."""
    chosen = np.empty((len(SPECIAL) + 4, num_features), dtype=np.float32)
    for row, value in enumerate(SPECIAL):
        chosen[row] = value
    for row in range(len(SPECIAL), len(chosen)):
        for feature in range(num_features):
            chosen[row, feature] = SPECIAL[(row + 3 * feature) % len(SPECIAL)]
    chosen[:, categorical] = np.where(np.isnan(chosen[:, categorical]), np.nan, 0)
    return chosen


def category_codes(table, categorical, count):
    """Returns rows of a categorical feature's codes, past the last one and in between."""
    odd = [31, 32, 63, 64, 200, 70000, 16777215, 16777216, 3e7, 0.5, 1.9, -0.5, -1]
    chosen = table[np.arange(count + len(odd)) % len(table)].copy()
    chosen[:, categorical] = np.concatenate([np.arange(count), odd])[:, np.newaxis]
    return chosen


def choose(table, document, categorical=(), codes=0):
    """Returns all rows for a model, as f32."""
    num_features = table.shape[1]
    wide = num_features > 50
    cuts = thresholds(document, num_features)
    parts = [
        table[: 2 if wide else 6],
        at_thresholds(table, cuts, 3 if wide else 18),
        special(num_features, list(categorical))[:: 4 if wide else 1],
    ]
    if codes:
        parts.append(category_codes(table, list(categorical), codes))
    return np.ascontiguousarray(np.concatenate(parts), dtype=np.float32)
