"""The wheel alone: with NumPy and without any of the libraries whose models it predicts."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gbtrees
from tests.extension.e2e.golden import cases, file

BINARY = "xgboost/3.4.1/binary_logistic.ubj"
# The wheel may be on the path alone.
ENVIRONMENT = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
CLASSES = "lightgbm/4.7.0/multiclass.txt"


def same(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether the bits are the same; NaN is NaN, whatever its sign."""
    found, expected = found.reshape(expected.shape), np.asarray(expected)
    unsigned = f"u{expected.itemsize}"
    bits = found.view(unsigned) == expected.view(unsigned)
    return found.dtype == expected.dtype and bool(
        (bits | (np.isnan(found) & np.isnan(expected))).all()
    )


def rows(model: gbtrees.Model, count: int, dtype: Any = np.float64) -> np.ndarray:
    found = np.random.default_rng(1).normal(size=(count, model.num_features)) * 3
    found[::7, 0] = np.nan
    return found.astype(dtype)


LEAST = [("xgboost", 200), ("lightgbm", 180), ("catboost", 60)]


@pytest.mark.parametrize(("library", "least"), LEAST)
def test_margins_of_golden_models_have_the_bits_of_their_library(library: str, least: int) -> None:
    count = 0
    for case in cases(library):
        model = gbtrees.Model(case.content)
        given, expected = case.numbers("rows"), case.numbers("margins")
        if model._reader.valued:
            continue
        assert same(model.margins(given), expected), case.name
        if "contribs" in case.expected:
            sums = model.contributions(given).sum(axis=-1, dtype=np.float64)
            near = np.isclose(sums, model.margins(given), rtol=1e-4, atol=1e-4)
            assert (near | ~np.isfinite(model.margins(given))).all(), case.name
        count += 1
    assert count >= least


def forms(X: np.ndarray) -> dict[str, Any]:
    """The same rows in other orders, strides and types."""
    wide = np.zeros((2 * len(X), 2 * X.shape[1]), X.dtype)
    wide[::2, ::2] = X
    padded = np.zeros((len(X), X.shape[1] + 3), X.dtype)
    padded[:, 1:-2] = X
    records = np.zeros(len(X), [("flag", "u1"), ("x", X.dtype, X.shape[1])])
    records["x"] = X
    return {
        "Fortran": np.asfortranarray(X),
        "every second": wide[::2, ::2],
        "part of the columns": padded[:, 1:-2],
        "descending": X[::-1, ::-1].copy()[::-1, ::-1],
        "unaligned": records["x"],
        "big endian": X.astype(X.dtype.newbyteorder(">")),
        "read-only": np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
        "lists": X.tolist(),
        "objects": X.astype(object),
        "masked": np.ma.masked_array(np.nan_to_num(X), np.isnan(X)),
    }


@pytest.mark.parametrize("name", [BINARY, CLASSES])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_any_strides_predict_alike(name: str, dtype: Any) -> None:
    model = gbtrees.Model(file(name))
    X = rows(model, 700, dtype)
    wanted = model.margins(X), model.contributions(X)
    for form, given in forms(X).items():
        assert same(model.margins(given), wanted[0]), form
        assert same(model.contributions(given), wanted[1]), form


@pytest.mark.parametrize("name", [BINARY, CLASSES])
@pytest.mark.parametrize("count", [0, 1, 511, 5000])
def test_threads_give_the_bits_of_one(name: str, count: int) -> None:
    model = gbtrees.Model(file(name))
    X = rows(model, count)
    for call in ("predict", "margins", "contributions", "interactions", "leaves", "predict_proba"):
        given = X[:600] if call == "interactions" else X
        one, several = (getattr(model, call)(given, n_jobs=jobs) for jobs in (1, 3))
        assert same(several, one) and len(one) == len(given), call


def test_shapes_and_types_follow_the_library() -> None:
    binary, several = (gbtrees.Model(file(name)) for name in (BINARY, CLASSES))
    X, Y = rows(binary, 5), rows(several, 5)
    outputs = several.num_outputs
    assert binary.predict(X).shape == (5,) and binary.predict(X).dtype == np.float32
    assert several.predict(Y).shape == (5, outputs) and several.predict(Y).dtype == np.float64
    assert binary.predict_proba(X).shape == (5, 2)
    assert np.array_equal(binary.predict_proba(X)[:, 1], binary.predict(X))
    assert np.array_equal(several.predict_class(Y), several.predict(Y).argmax(axis=1))
    width = several.num_features + 1
    assert several.contributions(Y).shape == (5, outputs, width)
    assert several.interactions(Y).shape == (5, outputs, width, width)
    assert several.leaves(Y).shape == (5, several.num_trees)
    importance = binary.importance()
    assert importance is not None and importance.shape == (binary.num_features,)


def test_models_come_from_paths_and_survive_pickling(tmp_path: Path) -> None:
    path = tmp_path / "model.ubj"
    path.write_bytes(file(BINARY))
    model = gbtrees.Model(path, rounds=2)
    X = rows(model, 40)
    copied = pickle.loads(pickle.dumps(model))
    assert same(copied.margins(X), model.margins(X))
    assert not same(gbtrees.Model(str(path)).margins(X), model.margins(X))


def zeros(model: gbtrees.Model, *shape: int, dtype: Any = float) -> np.ndarray:
    return np.zeros(shape or (3, model.num_features), dtype)


@pytest.mark.parametrize(("make", "message"), [
    (lambda _: gbtrees.Model("absent.ubj"), "cannot be read"),
    (lambda _: gbtrees.Model(b"no model"), "."),
    (lambda _: gbtrees.Model(b""), "."),
    (lambda _: gbtrees.Model(object()), "pass a path"),
    (lambda _: gbtrees.Model(7), "builtins?.int|a int is not read"),
    (lambda _: gbtrees.Model(file(BINARY), rounds=-1), "rounds"),
    (lambda _: gbtrees.Model(file(BINARY), rounds="all"), "rounds"),
    (lambda _: gbtrees.Model(file(BINARY), feature_names=["a"]), "name"),
    (lambda _: gbtrees.Model(file(BINARY), labels=["a"]), "label"),
    (lambda model: model.predict(zeros(model, 3, 99)), "99"),
    (lambda model: model.predict(zeros(model, 0, 99)), "99"),
    (lambda model: model.predict(zeros(model, model.num_features)), "1 dimensions"),
    (lambda model: model.predict(zeros(model, 1, 1, 1)), "3 dimensions"),
    (lambda model: model.predict(zeros(model, dtype=complex)), "complex"),
    (lambda model: model.predict(zeros(model, dtype="M8[s]")), "datetime"),
    (lambda model: model.predict([["a"] * model.num_features]), "'a'"),
    (lambda model: model.predict([[1], [2, 3]]), "no array"),
    (lambda model: model.predict(None), "NoneType"),
    (lambda model: model.predict("rows"), "str"),
    (lambda model: model.predict(zeros(model), n_jobs=0), "n_jobs"),
    (lambda model: model.predict(zeros(model), n_jobs=None), "n_jobs"),
    (lambda model: model.importance("beauty"), "beauty"),
    (lambda model: model.to_sql(""), "name"),
    (lambda model: model.to_sql("a" * 64), "name"),
])  # fmt: skip
def test_errors_are_of_one_class(make: Any, message: str) -> None:
    model = gbtrees.Model(file(BINARY))
    with pytest.raises(gbtrees.GbtreesError, match=message):
        make(model)


def test_models_and_labels_are_written_as_sql() -> None:
    content = file(BINARY)
    script = gbtrees.Model(content).to_sql("churn", schema="models", version=3)
    assert '"models"."churn_3"' in script
    assert script != gbtrees.Model(content, rounds=2).to_sql("churn", schema="models", version=3)
    assert "'it''s'" in gbtrees.Model(content, labels=["no", "it's"]).to_sql("churn")


def test_a_regression_has_no_classes() -> None:
    model = gbtrees.Model(file("lightgbm/4.7.0/regression.txt"))
    X = rows(model, 2)
    for call in (model.predict_class, model.predict_proba):
        with pytest.raises(gbtrees.GbtreesError, match=r"class|probabilities"):
            call(X)


# Work of about a minute, which a signal must end early.
LONG = """
import signal, sys
import numpy as np, gbtrees
# A shell's background jobs ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
model = gbtrees.Model(sys.argv[1])
X = np.random.default_rng(1).normal(size=(400_000, model.num_features))
print("ready", flush=True)
call, jobs = getattr(model, sys.argv[2]), int(sys.argv[3])
try:
    while True:
        call(X, n_jobs=jobs)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("call", ["contributions", "margins"])
def test_ctrl_c_ends_a_call(tmp_path: Path, call: str, jobs: int) -> None:
    path = tmp_path / "model"
    path.write_bytes(file(CLASSES))
    command = [sys.executable, "-c", LONG, str(path), call, str(jobs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        try:
            assert process.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            process.kill()


def _in_child(content: bytes, X: np.ndarray) -> Any:
    return gbtrees.Model(content).margins(X, n_jobs=2)


def test_a_forked_process_has_threads() -> None:
    content = file(BINARY)
    model = gbtrees.Model(content)
    X = rows(model, 6000)
    expected = model.margins(X, n_jobs=2)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert same(pool.apply_async(_in_child, (content, X)).get(60), expected)


def test_threads_of_python_share_a_model_and_run_meanwhile() -> None:
    model = gbtrees.Model(file(CLASSES))
    X = rows(model, 20_000)
    expected = model.margins(X)
    seen, ended = [], threading.Event()

    def count() -> None:
        while not ended.is_set():
            seen.append(None)
            time.sleep(0.001)

    counting = threading.Thread(target=count)
    counting.start()
    many = np.tile(X, (10, 1))
    # One call that keeps the interpreter would leave nothing to count but before and after it.
    before = len(seen)
    model.contributions(many)
    during = len(seen) - before
    ended.set()
    counting.join()
    assert during > 5
    with ThreadPoolExecutor(4) as pool:
        assert all(same(one, expected) for one in pool.map(model.margins, [X] * 8))


def test_no_library_is_imported() -> None:
    code = (
        "import sys, gbtrees; known = {'xgboost', 'lightgbm', 'catboost', 'sklearn', 'pandas', 'scipy'};"
        "print(sorted(known & {*sys.modules}))"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert found.stdout == "[]\n"
