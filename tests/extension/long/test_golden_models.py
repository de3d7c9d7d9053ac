"""Golden models on many rows: by the installed libraries, on emulated processors, and as SQL functions.

With the files lies what the newest libraries gave for some twenty rows. Here the installed ones are asked
for rows drawn from the values in those, which are the models' thresholds, codes and special values, and from
their neighbours. Left out are files that the installed library cannot read, or that are of a later
release, and models for which a release gives other numbers than the newest (the engine's
tests/golden/README.md). QEMU emulates a processor without AVX2, and one with it; it knows no AVX-512.
As SQL functions models are compared with what the engine's tests write, on a server without the extension.
"""

import json
import math
import os
import platform
import re
import shutil
import struct
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np
import psycopg
import pytest
import xgboost

import lightgbm
from catboost import CatBoost
from tests.extension.e2e import golden
from tests.state import TIMES
from tools.cluster import Cluster

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


def engine(tests: str, *options: str, **variables: object) -> str:
    """Runs tests of the engine with these variables; returns their output."""
    done = subprocess.run(
        [
            "cargo", "test", "--quiet", "--locked", "--release", "-p", "gbtrees", "--target-dir",
            "target/engine-tests", "--test", "engine", tests, "--", *options,
        ],
        cwd=ROOT / "extension", env=os.environ | {name: str(one) for name, one in variables.items()},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
    try:
        said = engine("golden_many_rows", "--ignored", "--nocapture", PGBOOST_ROWS=tmp_path)
    finally:
        for path in tmp_path.glob("*.rows"):
            path.unlink()
    (compared,) = [line for line in said.splitlines() if " rows of " in line]
    print(f"{release}: {compared}")


PROCESSORS = {"Nehalem": "portable", "max": "avx2, portable"}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its kernels are those of x86-64")
@pytest.mark.parametrize("processor", PROCESSORS)
def test_golden_models_have_the_oracles_bits(processor: str) -> None:
    qemu = shutil.which("qemu-x86_64-static") or pytest.fail(
        "no QEMU: apt-get install qemu-user-static"
    )
    runner = f"{qemu} -cpu {processor}"
    said = engine(
        "golden_many_rows", "--nocapture", CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=runner
    )
    (rows, kernels) = re.search(r"(\d+) rows of \d+ models by (.*)", said).groups()
    print(f"{processor}: {rows} rows by {kernels}")
    assert kernels == PROCESSORS[processor]


DATABASE = "exported"
INEXACT = re.compile(
    r"Unsupported: cannot export a model with target statistics of categories as SQL"
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of scripts and rows."""
    directory = tmp_path_factory.mktemp("sql")
    engine("sql::", "--ignored", GBTREES_SQL=directory)
    return directory


@pytest.fixture(scope="module")
def bare(cluster: Cluster) -> Iterator[psycopg.Connection]:
    """A database without the extension."""
    cluster.create_database(DATABASE, replace=True)
    with cluster.connect(DATABASE) as connection:
        yield connection


def ordered(value: float, single: bool) -> int:
    """An integer that counts floating-point numbers; -0 and 0 differ."""
    number, of_bits, half = ("<f", "<i", 31) if single else ("<d", "<q", 63)
    (bits,) = struct.unpack(of_bits, struct.pack(number, value))
    return bits if bits >= 0 else -(1 << half) - bits - 1


def distance(found: str, expected: str, single: bool) -> int:
    """Units in the last place between two arrays' numbers, the largest."""
    pairs = zip(numbers(found), numbers(expected), strict=True)
    return max(
        0 if math.isnan(a) and math.isnan(b) else abs(ordered(a, single) - ordered(b, single))
        for a, b in pairs
    )


def numbers(array: str) -> list[float]:
    return [float(number) for number in array.strip("{}").split(",")]


def store(connection: psycopg.Connection, script: Path) -> tuple[str, bool, bool]:
    """Creates the functions, and the rows as table `x`.

    Returns the arguments, whether sums are real, and whether there are classes.
    """
    connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    connection.execute(script.read_text())
    rows = script.with_suffix(".tsv").read_text()
    types, result = connection.execute(
        "SELECT proargtypes::regtype[]::text[], prorettype::regtype::text FROM pg_proc "
        "WHERE proname = 'm_margin' AND proargtypes::text NOT IN ('3802', '2249')"
    ).fetchone()
    is_array = types == ["double precision[]"]
    if is_array:
        types = ["float8"] * (rows.partition("\n")[0].count("\t") - 2)
    names = ", ".join(f"c{number}" for number in range(len(types)))
    columns = ", ".join(f"c{number} {name}" for number, name in enumerate(types))
    connection.execute(f"CREATE TABLE x ({columns}, margins text, results text, class text)")
    with connection.cursor().copy("COPY x FROM STDIN") as copy:
        copy.write(rows)
    (classes,) = connection.execute(
        "SELECT count(*) FROM pg_proc WHERE proname = 'm_class'"
    ).fetchone()
    return f"ARRAY[{names}]" if is_array else names, result.startswith("real"), classes > 0


def compare(connection: psycopg.Connection, script: Path) -> int:
    """Compares the rows of a model; returns how many."""
    arguments, single, has_classes = store(connection, script)
    array = f"array[]::{'real' if single else 'float8'}[] || "
    rows = 0
    for ending in ("", "_scan"):
        margin, value = (f"({array} m{ending}{of}({arguments}))::text" for of in ("_margin", ""))
        label = f"m_class({arguments})" if has_classes else "NULL"
        query = f"SELECT {margin}, margins, {value}, results, {label}, class FROM x"
        for margins, own, values, results, label, expected in connection.execute(query):
            assert distance(margins, own, single) == 0, (margins, own)
            assert distance(values, results, single) <= 2, (values, results)
            assert label == (expected if has_classes else None)
            rows += 1
    return rows + compare_query(connection, array, single)


def compare_query(connection: psycopg.Connection, array: str, single: bool) -> int:
    """Compares the rows of a query; returns how many."""
    (text,) = connection.execute(
        "SELECT prosrc FROM pg_proc WHERE proname ~ '^m_.*_query$'"
    ).fetchone()
    names = re.findall(r'pg_typeof\(q\.("(?:[^"]|"")*")\)', text)
    columns = ", ".join(f"c{number} AS {name}" for number, name in enumerate(names))
    numbered = "SELECT *, row_number() OVER () AS id FROM x"
    query = f"SELECT id, {columns} FROM ({numbered}) AS x"
    found = connection.execute(
        f"SELECT ({array} m.margin)::text, x.margins, ({array} p.prediction)::text, x.results "
        f"FROM ({numbered}) AS x JOIN m_rows_margin(%s) AS m ON m.id = x.id::text "
        "JOIN m_rows(%s) AS p ON p.id = m.id",
        (query, query),
    ).fetchall()
    for margins, own, values, results in found:
        assert distance(margins, own, single) == 0, (margins, own)
        assert distance(values, results, single) <= 2, (values, results)
    return len(found)


@pytest.mark.parametrize("library", ["catboost", "lightgbm", "onnx", "xgboost"])
def test_functions_have_the_engines_results(
    written: Path, bare: psycopg.Connection, library: str
) -> None:
    """A tenth of the models of each library, and more with PGBOOST_TIMES."""
    scripts = sorted(written.glob(f"{library}-*.sql"))
    assert len(scripts) > 100
    step = max(1, 10 // TIMES)
    rows = 0
    for script in scripts[::step]:
        try:
            rows += compare(bare, script)
        except (AssertionError, psycopg.Error) as error:
            error.add_note(script.name)
            raise
    assert rows >= 180 * (len(scripts) // step)


def test_inexact_exports_are_refused_by_name(written: Path) -> None:
    refused = [path.read_text() for path in written.glob("*.refused")]
    assert refused
    assert all(INEXACT.fullmatch(message) for message in refused)
