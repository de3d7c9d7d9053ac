"""Training tables: small, from fixed seeds, with values that tree scoring can get wrong.

numpy's RandomState gives the same stream in every release, so every XGBoost release trains on the
same numbers. Features are f32 throughout, since that is what XGBoost compares.
"""

import numpy as np

NAMES = ["speed", "height", "step", "pressure", "side", "distance"]


def features(rows=240, seed=7):
    """Six columns: normal, normal with gaps, small integers, skewed with gaps, a sign, large values."""
    draw = np.random.RandomState(seed)
    table = np.empty((rows, 6), dtype=np.float32)
    table[:, 0] = draw.normal(size=rows)
    table[:, 1] = draw.normal(size=rows)
    table[:, 2] = draw.randint(-3, 4, size=rows)
    table[:, 3] = draw.exponential(size=rows)
    table[:, 4] = np.where(draw.rand(rows) < 0.5, -1, 1)
    table[:, 5] = draw.uniform(-1000, 1000, size=rows)
    table[draw.rand(rows) < 0.15, 1] = np.nan
    table[draw.rand(rows) < 0.30, 3] = np.nan
    return table


def signal(table, seed=11):
    """Returns a target that depends on every column, and on where gaps are."""
    draw = np.random.RandomState(seed)
    present = np.nan_to_num(table.astype(np.float64))
    target = present[:, 0] + 0.5 * present[:, 1] * present[:, 4] + 0.3 * present[:, 2]
    target += np.where(np.isnan(table[:, 3]), 1.5, -0.4 * present[:, 3])
    target += np.where(np.isnan(table[:, 1]), -0.8, 0.0)
    target += np.sin(present[:, 5] / 200.0)
    return target + draw.normal(scale=0.3, size=len(table))


def classes(table, count):
    """Returns the signal cut into classes of equal size, 0 to count - 1."""
    target = signal(table)
    bounds = np.quantile(target, np.arange(1, count) / count)
    return np.searchsorted(bounds, target).astype(np.float32)


def codes(table, column, count, seed):
    """Returns a copy of the table whose column holds category codes, and each code's effect on a target."""
    draw = np.random.RandomState(seed)
    coded = table.copy()
    gaps = np.isnan(table[:, column])
    coded[:, column] = draw.randint(0, count, size=len(table))
    effect = draw.normal(scale=2.0, size=count)
    added = effect[coded[:, column].astype(int)]
    coded[gaps, column] = np.nan
    return coded, np.where(gaps, 0.7, added)
