"""Scoring rows: values that decide a comparison, and special values.

Next to rows of the training table there are rows on the model's thresholds, one unit of f64 from
them and on the nearest f32, and rows of missing values, infinities, zeros and values that LightGBM
takes as 0.
"""

import re

import numpy as np

ZERO = float(np.float32(1e-35))
SPECIAL = [
    np.nan,
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    1.7976931348623157e308,
    -1e300,
    1e30,
    -1e30,
    5e-324,
    -1e-40,
]
SPECIAL += [
    ZERO,
    -ZERO,
    np.nextafter(ZERO, 1),
    np.nextafter(-ZERO, -1),
    2.0**24 + 1,
    0.1,
    np.float32(0.1),
]
ODD_CODES = [
    31,
    32,
    63,
    64,
    200,
    70000,
    2.0**24 - 1,
    2.0**24,
    2.0**31 - 1,
    2.0**31,
    3e9,
    -3e9,
    np.inf,
    -np.inf,
]
ODD_CODES += [0.5, 1.9, 1.9999999999999998, -0.5, -0.9999999999999999, -1, -1e-300, np.nan]


def _list(tree, key):
    found = re.search(rf"^{key}=(.*)$", tree, re.MULTILINE)
    return found.group(1).split() if found else []


def thresholds(text, num_features):
    """Returns the distinct thresholds of each feature's numerical splits in a model's text."""
    found = [set() for _ in range(num_features)]
    for tree in text.split("\nTree=")[1:]:
        splits = zip(
            _list(tree, "split_feature"), _list(tree, "threshold"), _list(tree, "decision_type")
        )
        for feature, threshold, kind in splits:
            if not int(kind) & 1:
                found[int(feature)].add(float(threshold))
    return [np.array(sorted(values)) for values in found]


def at_thresholds(table, cuts, count):
    """Returns training rows with each numerical feature on or next to a threshold or on the nearest f32."""
    chosen = table[np.arange(count) % len(table)].copy()
    for feature, values in enumerate(cuts):
        for row in range(count if len(values) else 0):
            value = values[(row // 4 + feature) % len(values)]
            near = [
                value,
                np.nextafter(value, np.inf),
                np.nextafter(value, -np.inf),
                float(np.float32(value)),
            ]
            chosen[row, feature] = near[row % 4]
    return chosen


def special(num_features):
    """Returns a row of each special value alone, and some that mix them."""
    chosen = [[value] * num_features for value in SPECIAL]
    for row in range(4):
        chosen.append(
            [SPECIAL[(row + 3 * feature) % len(SPECIAL)] for feature in range(num_features)]
        )
    return np.array(chosen, dtype=np.float64)


def category_codes(table, categorical, count):
    """Returns rows of the categorical features' codes, past the last one and in between."""
    codes = np.concatenate([np.arange(count), ODD_CODES])
    chosen = table[np.arange(len(codes)) % len(table)].copy()
    chosen[:, categorical] = codes[:, np.newaxis]
    return chosen


def choose(table, text, categorical=()):
    """Returns all rows for a model, as f64."""
    num_features = table.shape[1]
    wide = num_features > 50
    cuts = thresholds(text, num_features)
    parts = [table[: 2 if wide else 6], at_thresholds(table, cuts, 4 if wide else 24)]
    parts.append(special(num_features)[:: 6 if wide else 1])
    if categorical:
        parts.append(
            category_codes(
                table, list(categorical), int(np.nanmax(table[:, list(categorical)])) + 2
            )
        )
    return np.ascontiguousarray(np.concatenate(parts), dtype=np.float64)
