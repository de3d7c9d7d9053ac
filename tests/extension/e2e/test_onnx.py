"""ONNX files, most of them of pipelines with encoders: predictions from columns are ONNX Runtime's."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from psycopg import Connection, errors
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn import ensemble, impute
from sklearn import preprocessing as pre
from sklearn.compose import make_column_transformer as transformed
from sklearn.pipeline import make_pipeline

import catboost
from tests.connections import make_table
from tests.extension.e2e import golden
from tests.extension.e2e.conftest import Load
from tests.extension.e2e.reference import column, floats, order

ROWS = 500
INPUTS = {
    "age": ("real", FloatTensorType),
    "fare": ("real", FloatTensorType),
    "size": ("bigint", Int64TensorType),
    "port": ("text", StringTensorType),
    "deck": ("text", StringTensorType),
}
OPSETS = {"": 17, "ai.onnx.ml": 3}
NUMBERS, TEXTS = ["age", "fare"], ["port", "deck"]
# The prediction of one row.
ROW = """SELECT predict('m', r) FROM
         (SELECT 31::real AS age, 8::real AS fare, {} AS size, {} AS port, 'A' AS deck) r"""


def passengers(seed: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame({
        "age": draw.normal(40, 12, ROWS).astype(np.float32),
        "fare": np.exp(draw.normal(3, 1, ROWS)).astype(np.float32), "size": draw.integers(-2, 5, ROWS),
        "port": draw.choice(["S", "C", "Kraków", "", "s "], ROWS).astype(object),
        "deck": draw.choice(list("ABCDEF"), ROWS).astype(object),
    })  # fmt: skip


def target(frame: pd.DataFrame) -> np.ndarray:
    score = (frame.age - 40) / 12 + 2 * (frame.port == "Kraków") + (frame["size"] % 3)
    return np.array(score - 1.5 * frame.deck.isin(["B", "E"]), np.float64)


def asked() -> pd.DataFrame:
    """Rows with missing numbers and with categories that training did not see."""
    frame, draw = passengers(2), np.random.default_rng(3)
    for name in NUMBERS:
        frame.loc[draw.random(ROWS) < 0.2, name] = np.nan
    for name, unseen in (("size", 9), ("port", "S "), ("deck", "b")):
        frame.loc[draw.random(ROWS) < 0.2, name] = unseen
    return frame


def forest() -> Any:
    return ensemble.RandomForestRegressor(15, min_samples_leaf=3, random_state=1)


ONE_HOT, ORDINAL, PASS = pre.OneHotEncoder, pre.OrdinalEncoder, "passthrough"
UNKNOWN = {"handle_unknown": "use_encoded_value"}
SCALED = (make_pipeline(impute.SimpleImputer(), pre.StandardScaler()), NUMBERS)
FILLED = (impute.SimpleImputer(), [*NUMBERS, "size"])
IGNORING = {"handle_unknown": "ignore"}
ONE = ONE_HOT(**IGNORING)
PIPELINES: dict[str, tuple[Any, ...]] = {
    "one-hot": ((ONE, TEXTS), SCALED, (PASS, ["size"])),
    "one-hot, of integers too": ((ONE, ["port", "size"]), SCALED),
    "one-hot, the first dropped": ((ONE_HOT(drop="first", **IGNORING), TEXTS), SCALED),
    "one-hot, one column": ((ONE, ["deck"]), FILLED),
    "one-hot as integers": ((ONE_HOT(dtype=np.int64, **IGNORING), TEXTS), SCALED),
    "ordinal": ((ORDINAL(unknown_value=-1, **UNKNOWN), [*TEXTS, "size"]), FILLED),
    "ordinal, unknown is an error": ((ORDINAL(), TEXTS), FILLED),
    "ordinal, unknown is missing": ((ORDINAL(unknown_value=np.nan, **UNKNOWN), TEXTS), FILLED),
    "ordinal, scaled": (
        (make_pipeline(ORDINAL(unknown_value=-3, **UNKNOWN), pre.StandardScaler()), TEXTS), FILLED),
    "target": ((pre.TargetEncoder(random_state=1), TEXTS), FILLED),
    "two encoders of a column": (
        (ORDINAL(unknown_value=-1, **UNKNOWN), ["deck", "size"]), (ONE, ["deck", "size"]), FILLED),
}  # fmt: skip


def piped(name: str, last: Any) -> Any:
    """A Pipeline of these encoders, fitted to the passengers."""
    trained = passengers(1)
    return make_pipeline(transformed(*PIPELINES[name]), last).fit(trained, target(trained))


def onnx_file(model: Any) -> bytes:
    types = [(name, kind([None, 1])) for name, (_, kind) in INPUTS.items()]
    made = to_onnx(model, initial_types=types, target_opset=OPSETS)
    return bytes(made.SerializeToString())


def session(file: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(file, options)


def columns(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    return {name: frame[name].to_numpy().reshape(-1, 1) for name in INPUTS}


def store(connection: Connection, frame: pd.DataFrame) -> None:
    listed = ", ".join(f"{name} {kind}" for name, (kind, _) in INPUTS.items())
    rows = frame.astype(object).where(frame.notna(), None).itertuples()
    make_table(connection, "pg_temp.passengers", f"id int, {listed}", rows)


def predicted(connection: Connection, file: bytes, function: str = "predict") -> list:
    connection.execute("SELECT load_model('m', %s)", (file,))
    return column(connection, f"SELECT {function}('m', t) FROM passengers t ORDER BY id")


def assert_within_a_unit(found: list, expected: np.ndarray) -> None:
    assert np.unique(expected).size > 10
    assert np.abs(order(floats(found)) - order(expected.ravel())).max() <= 1


@pytest.mark.parametrize("name", PIPELINES)
def test_values_are_onnx_runtimes(connection: Connection, name: str) -> None:
    frame, file = asked(), onnx_file(piped(name, forest()))
    store(connection, frame)
    found = predicted(connection, file)
    running = session(file)
    assert_within_a_unit(found, running.run(None, columns(frame))[0])
    some = range(0, ROWS, 20)
    alone = [running.run(None, columns(frame.iloc[row : row + 1]))[0] for row in some]
    assert_within_a_unit([found[row] for row in some], np.concatenate(alone))


def test_classes_are_onnx_runtimes(connection: Connection) -> None:
    trained, frame = passengers(1), asked()
    steps = transformed(*PIPELINES["one-hot"]), ensemble.GradientBoostingClassifier(n_estimators=9)
    label = np.array(["low", "middle", "high"])[np.digitize(target(trained), [0, 1.5])]
    file = onnx_file(make_pipeline(*steps).fit(trained, label))
    store(connection, frame)
    found = predicted(connection, file, "predict_class")
    labels, values = session(file).run(None, columns(frame))
    assert found == [str(label) for label in labels]
    assert set(found) == {"low", "middle", "high"}
    probabilities = predicted(connection, file, "predict_array")
    assert_within_a_unit(
        np.ravel(probabilities), np.array([list(row.values()) for row in values], np.float32)
    )


def test_a_matrix_of_floats_has_categories_too(connection: Connection, load: Load) -> None:
    """Numbers are truncated to integers."""
    draw = np.random.default_rng(4)
    trained = draw.integers(-3, 4, size=(ROWS, 4)).astype(np.float32)
    table = np.round(draw.normal(0, 3, size=(ROWS, 4)) * 2).astype(np.float32) / 2
    table[draw.random(table.shape) < 0.1] = np.nan
    encoder = transformed((ONE, [0, 2]), (ORDINAL(), [1]), (PASS, [3]))
    model = make_pipeline(encoder, forest()).fit(trained, trained.prod(axis=1) + trained[:, 0])
    types = [("X", FloatTensorType([None, 4]))]
    file = to_onnx(model, initial_types=types, target_opset=OPSETS).SerializeToString()
    load(file)
    query = "SELECT predict('m', %s::real[])"
    found = [connection.execute(query, (row,)).fetchone()[0] for row in table.tolist()]
    assert_within_a_unit(found, session(file).run(None, {"X": table})[0])


def test_null_and_unknown_text_are_no_category(connection: Connection, load: Load) -> None:
    load(onnx_file(piped("one-hot", forest())))
    ports = ["NULL::text", "'Cork'", "'kraków'", "'S'"]
    unknown, *others = [connection.execute(ROW.format(2, port)).fetchone() for port in ports]
    assert others[:2] == [unknown, unknown] != others[2:]


def test_unknown_categories_fail_if_the_encoder_refuses_them(connection: Connection) -> None:
    trained = passengers(1)
    encoder = transformed((ONE_HOT(), ["port", "size"]), FILLED)
    file = onnx_file(make_pipeline(encoder, forest()).fit(trained, target(trained)))
    frame = passengers(5)
    store(connection, frame)
    assert_within_a_unit(predicted(connection, file), session(file).run(None, columns(frame))[0])
    for size, port in ((9, "'S'"), (2, "'S '")):
        with pytest.raises(errors.InvalidTextRepresentation, match="unknown category"):
            connection.execute(ROW.format(size, port))
    connection.execute("SET pgboost.unknown_category = 'missing'")
    unknown, null = (ROW.format(2, port) for port in ("'S '", "NULL::text"))
    assert connection.execute(unknown).fetchone() == connection.execute(null).fetchone()


def test_features_are_the_inputs(connection: Connection, load: Load) -> None:
    load(onnx_file(piped("one-hot, one column", forest())))
    query = "SELECT feature, categories FROM model_features('m')"
    found = dict(connection.execute(query).fetchall())
    assert list(found) == list(INPUTS)
    assert found["deck"] == list("ABCDEF")


@pytest.mark.parametrize(("operator", "step"), [
    ("Less", (pre.KBinsDiscretizer(3, encode="ordinal"), NUMBERS)),
    ("Binarizer", (pre.Binarizer(), ["age"])),
    ("Split", (ONE_HOT(handle_unknown="infrequent_if_exist", min_frequency=90), TEXTS)),
    ("LabelEncoder", (impute.SimpleImputer(missing_values="", strategy="most_frequent"), TEXTS)),
    ("OneHotEncoder that fails",
     (make_pipeline(impute.SimpleImputer(strategy="median"), ONE_HOT()), ["size"])),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_other_operators_are_refused_by_name(load: Load, operator: str, step: Any) -> None:
    trained = passengers(1)
    steps = [transformed(step)]
    if operator == "LabelEncoder":
        steps.append(ONE_HOT(handle_unknown="ignore"))
    file = onnx_file(make_pipeline(*steps, forest()).fit(trained, target(trained)))
    with pytest.raises(errors.FeatureNotSupported, match=f"a node {operator}"):
        load(file)


def test_two_classes_are_catboosts(connection: Connection, load: Load, tmp_path: Path) -> None:
    """CatBoost writes weights for both."""
    draw = np.random.default_rng(2)
    table = draw.normal(size=(300, 4)).astype(np.float32)
    label = table[:, 0] + table[:, 1] * table[:, 2] > 0
    model = catboost.CatBoostClassifier(
        iterations=9, depth=3, thread_count=1, verbose=False, allow_writing_files=False
    )
    path = tmp_path / "model.onnx"
    model.fit(table, label.astype(int)).save_model(str(path), format="onnx")
    labels, values = session(path.read_bytes()).run(None, {"features": table})
    load(path.read_bytes())
    query = "SELECT predict('m', %s::real[]), predict_class('m', %s::real[])"
    found = [connection.execute(query, (row, row)).fetchone() for row in table.tolist()]
    expected = np.array([row[1] for row in values], np.float32)
    assert np.abs(order(floats([row[:1] for row in found])) - order(expected[:, None])).max() <= 1
    assert [row[1] for row in found] == [str(label) for label in labels]


def test_model_info(connection: Connection, load: Load) -> None:
    load(golden.file("onnx/1.20.0/forest_classes.onnx"))
    info = connection.execute("SELECT model_info('m')").fetchone()[0]
    assert (info["format"], info["objective"]) == ("onnx", "TreeEnsembleClassifier")
