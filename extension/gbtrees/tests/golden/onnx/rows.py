"""Training rows, and scoring rows."""

import numpy as np

COLUMNS = 5
TEXTS = ["red", "", "grün", "Red", "deep blue"]


def training():
    random = np.random.default_rng(5)
    x = random.normal(size=(500, COLUMNS)).astype(np.float32)
    y = 2 * x[:, 0] + np.sin(3 * x[:, 1]) + x[:, 2] * x[:, 3] + random.normal(size=500) * 0.1
    x[random.random(x.shape) < 0.05] = np.nan
    return x, y


def asked(thresholds, columns=COLUMNS):
    """Returns rows around the thresholds (a list per column), missing values, infinities and zeros."""
    random = np.random.default_rng(6)
    rows = random.normal(size=(120, columns))
    for column, values in enumerate(thresholds[:columns]):
        if len(values):
            own = random.choice(values, 120)
            rows[30:60, column] = own[30:60]
            rows[60:80, column] = np.nextafter(own[60:80].astype(np.float32), np.float32(np.inf))
            rows[80:100, column] = np.nextafter(own[80:100].astype(np.float32), np.float32(-np.inf))
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 1e-9]
    for row in range(100, 120):
        rows[row, random.integers(columns)] = special[row % len(special)]
        rows[row, random.integers(columns)] = special[row % 3]
    return rows


def beside(thresholds, values, columns=COLUMNS):
    """Returns further rows, a few f32 from thresholds converted through the steps before the trees,
    or equal to a value that such a step replaces."""
    random = np.random.default_rng(8)
    rows = random.normal(size=(160, columns))
    for column, own in enumerate(thresholds[:columns]):
        if len(own):
            near = random.choice(own, 120).astype(np.float32)
            steps = random.integers(-3, 4, size=120)
            for _ in range(3):
                toward = np.where(steps > 0, np.inf, -np.inf).astype(np.float32)
                near = np.where(steps == 0, near, np.nextafter(near, toward))
                steps -= np.sign(steps)
            rows[:120, column] = near
    for row in range(100, 160):
        rows[row, random.integers(columns)] = [*values, np.nan, 0.0][row % (len(values) + 2)]
    return rows
