"""Golden models on many rows: margins have the bits of the installed library, whatever release wrote them.

With the files lies what the newest libraries gave for some twenty rows. Here the installed ones are asked
for rows drawn from the values in those, which are the models' thresholds, codes and special values, and from
their neighbours. Left out are files that the installed library cannot read, or that are of a later
release, and models for which a release gives other numbers than the newest (the engine's
tests/golden/xgboost/README.md).
"""

import json
import os
import subprocess
import warnings
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
import xgboost

import lightgbm
from catboost import CatBoost
from tests.extension.e2e import golden
from tests.times import TIMES

ROOT = Path(__file__).resolve().parents[3]
ROWS = 10_000 * TIMES
# Wide models have fewer rows.
MOST_VALUES = 20_000_000
RELEASES = sorted(
    {
        str(PurePosixPath(name).parent)
        for library in ("catboost", "lightgbm", "xgboost")
        for name in golden.names(f"{library}/[0-9]*/*")
    }
)
# Clamped by 3.4 alone.
OTHERWISE = ("base_score_near",)
# Of a linear model from before 1.4 the library takes a logistic base score for a margin.
OTHERWISE_BEFORE_1_4 = "gblinear_logistic"
# Refused by 3.2 in the files of some releases.
REFUSED = ("no_trees", "pruned", "snapshot")
# Its format is not read by 3.2.
OLDEST = "xgboost/0.90"


def from_hex(lines: list[str], digits: int) -> np.ndarray:
    kind = ">f4" if digits == 8 else ">f8"
    return np.array([np.frombuffer(bytes.fromhex(line), dtype=kind) for line in lines]).astype(
        kind[1:]
    )


def drawn(known: np.ndarray, codes: list[int], infinities: bool) -> np.ndarray:
    """Rows whose values are those of the known rows and, except for codes, their neighbours."""
    generator = np.random.default_rng(5)
    count = min(ROWS, MOST_VALUES // known.shape[1])
    columns = []
    for index, column in enumerate(known.T):
        values = column
        if index not in codes:
            infinite = np.array(np.inf, column.dtype)
            values = np.concatenate(
                [column, np.nextafter(column, infinite), np.nextafter(column, -infinite)]
            )
        if not infinities:
            values = values[~np.isinf(values)]
        columns.append(values[generator.integers(0, len(values), count)])
    return np.stack(columns, axis=1)


def by_xgboost(file: bytes, record: dict) -> tuple[np.ndarray, np.ndarray]:
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(file))
    kinds = booster.feature_types or []
    codes = [index for index, kind in enumerate(kinds) if kind == "c"]
    rows = drawn(from_hex(record["rows"], 8), codes, infinities=False)
    data = xgboost.DMatrix(
        rows, missing=np.nan, feature_names=booster.feature_names, feature_types=booster.feature_types,
        enable_categorical=bool(codes), nthread=1,
    )  # fmt: skip
    return rows, booster.predict(data, output_margin=True)


def by_lightgbm(file: bytes, record: dict) -> tuple[np.ndarray, np.ndarray]:
    booster = lightgbm.Booster(model_str=file.decode())
    rows = drawn(from_hex(record["rows"], 16), record["categorical"], infinities=True)
    return rows, booster.predict(rows, raw_score=True, num_threads=1)


def by_catboost(file: bytes, record: dict) -> tuple[np.ndarray, np.ndarray]:
    model = CatBoost().load_model(blob=file)
    rows = drawn(from_hex(record["rows"], 8), [], infinities=True)
    margins = model.predict(rows, prediction_type="RawFormulaVal", thread_count=1).reshape(
        len(rows), -1
    )
    return rows, margins[:, ~np.isneginf(margins).all(axis=0)]


LIBRARIES = {
    "catboost": (by_catboost, ["cbm"]),
    "lightgbm": (by_lightgbm, ["txt"]),
    "xgboost": (by_xgboost, ["json", "ubj"]),
}


def version(text: str) -> list[int]:
    return [int(part) for part in text.split(".")]


def is_later(release: str) -> bool:
    """Returns whether a later XGBoost than the installed one wrote it, which may read it differently."""
    library, _, number = release.partition("/")
    return library == "xgboost" and version(number) > version(xgboost.__version__)


def cases(release: str, place: Path) -> list[dict]:
    """Asks the library about each model of a release that it can read."""
    library, _, number = release.partition("/")
    otherwise = OTHERWISE
    if library == "xgboost" and version(number) < version("1.4"):
        otherwise = (*OTHERWISE, OTHERWISE_BEFORE_1_4)
    ask, suffixes = LIBRARIES[library]
    found = []
    for expected in golden.names(f"{release}/*{golden.SUFFIX}"):
        base = expected.removesuffix(golden.SUFFIX)
        name = PurePosixPath(base).name
        record = golden.record(expected)
        models = [f"{base}.{suffix}" for suffix in suffixes]
        model = next((model for model in models if model in golden.library(library)), None)
        # CatBoost's categories are texts and whole numbers, which rows of numbers are not.
        texts = ask is by_catboost and record["categorical"]
        if model is None or name.startswith(otherwise) or not record["rows"] or texts:
            continue
        try:
            rows, margins = ask(golden.file(model), record)
        except xgboost.core.XGBoostError:
            if name.startswith(REFUSED):
                continue
            raise
        case = {"model": model, "single": ask is by_xgboost}
        for what, values in (("rows", rows), ("margins", margins)):
            case[what] = str(place / f"{name}.{what}")
            values.astype("<f8").tofile(case[what])
        found.append(case)
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_margins_are_the_librarys(release: str, tmp_path: Path) -> None:
    if is_later(release):
        pytest.skip(f"XGBoost {xgboost.__version__} is installed")
    warnings.simplefilter("ignore")
    if release == OLDEST:
        pytest.skip(f"XGBoost {xgboost.__version__} does not read it")
    found = cases(release, tmp_path)
    assert found
    (tmp_path / "cases.json").write_text(json.dumps(found))
    done = subprocess.run(
        [
            "cargo", "test", "--quiet", "--locked", "--release", "-p", "gbtrees", "--target-dir",
            "target/engine-tests", "--test", "engine", "golden_library_rows", "--", "--ignored",
            "--nocapture",
        ],
        cwd=ROOT / "extension", env=os.environ | {"PGBOOST_ROWS": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    for path in tmp_path.glob("*.rows"):
        path.unlink()
    assert done.returncode == 0, done.stdout + done.stderr
    (compared,) = [line for line in done.stdout.splitlines() if " rows of " in line]
    print(f"{release}: {compared}")
