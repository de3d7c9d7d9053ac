"""A training that replaces a version keeps the order of its features and means the same."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from psycopg import Connection, errors

import lightgbm as lgb
from tests.connections import Notice

TRAIN = "SELECT train_model('m', %s, %s, rounds => 1{})"
OTHER_MEANING = errors.ObjectNotInPrerequisiteState
Refused = Callable[..., errors.Diagnostic]


def quantiles(level: float | list[float]) -> str:
    return json.dumps({"objective": "reg:quantileerror", "quantile_alpha": level})


def expectiles(level: float) -> str:
    return json.dumps({"objective": "reg:expectileerror", "expectile_alpha": level})


@pytest.fixture(scope="module", autouse=True)
def passengers(cluster: Any, dbname: str) -> None:
    with cluster.connect(dbname) as connection:
        connection.execute(
            """CREATE TABLE passenger (age real, class real, marks real[], lived boolean, kind text);
            INSERT INTO passenger SELECT i % 70, i % 3, ARRAY[i % 5, i % 7], i % 2 = 0,
                (ARRAY['a', 'b', 'c'])[1 + i % 3] FROM generate_series(1, 300) AS i"""
        )


def names(connection: Connection, model: str = "m") -> list[str]:
    query = "SELECT feature FROM model_features(%s) ORDER BY position"
    return [name for (name,) in connection.execute(query, (model,))]


def train(connection: Connection, source: str, target: str, more: str = "") -> None:
    connection.execute(TRAIN.format(more), (source, target)).fetchall()


@pytest.fixture
def refused(connection: Connection, notices: list[Notice]) -> Refused:
    """Asserts that a training is refused before its first round; returns the diagnostics."""

    def run(reason: str, source: str, target: str, more: str = "") -> errors.Diagnostic:
        notices.clear()
        with connection.transaction(), pytest.raises(OTHER_MEANING, match=reason) as raised:
            train(connection, source, target, f"{more}, verbose_eval => 1")
            pytest.fail("it was deployed")
        assert not any(said.message.startswith(("round", "[")) for said in notices), notices
        assert "allow_change => true" in raised.value.diag.message_hint
        return raised.value.diag

    return run


def test_the_order_of_features_is_kept(connection: Connection) -> None:
    source = "SELECT age, class, marks, lived FROM passenger"
    train(connection, source, "lived", ", allow_change => true")
    before = names(connection)
    assert before == ["age", "class", "marks[1]", "marks[2]"]
    for source, more in (
        ("SELECT marks, lived, class, age FROM passenger", ""),
        ("passenger", ", features => '{class, marks, age}'"),
        ("SELECT class, age, lived, marks FROM passenger", ", deploy => false"),
    ):
        train(connection, source, "lived", more)
        (last,) = connection.execute(
            "SELECT 'm@' || max(version) FROM pgboost_models WHERE name = 'm'"
        ).fetchone()
        assert names(connection, last) == before
    # Other features have their order in the source.
    train(connection, "SELECT class, age, lived FROM passenger", "lived")
    assert names(connection) == ["class", "age"]
    # A new one takes the place of the one that it replaces.
    train(connection, "SELECT kind, class, lived FROM passenger", "lived")
    assert names(connection) == ["class", "kind"]


@pytest.mark.parametrize(("deployed", "trained", "what"), [
    (("lived", "{}"), ("age", "{}"), "another task"),
    (("lived", "{}"), ("kind", "{}"), "another task"),
    (("lived", "{}"), ("lived", '{"objective": "binary:logitraw"}'), "another link"),
    (("age", "{}"), ("age", '{"objective": "reg:absoluteerror"}'), "another objective"),
    (("age", quantiles(0.5)), ("age", quantiles(0.9)), "other quantiles"),
    (("age", quantiles([0.1, 0.5])), ("age", quantiles([0.1, 0.9])), "other quantiles"),
    (("age", expectiles(0.5)), ("age", expectiles(0.9)), "other quantiles"),
])  # fmt: skip
def test_another_meaning_is_refused_before_the_first_round(
    connection: Connection, refused: Refused, deployed: tuple, trained: tuple, what: str
) -> None:
    source = "SELECT class, {} FROM passenger"
    (before, options), (target, params) = deployed, trained
    more = f", params => '{options}'"
    train(connection, source.format(before), before, f"{more}, allow_change => true")
    # The same meaning takes its place.
    train(connection, source.format(before), before, more)
    more = f", params => '{params}'"
    reason = f'^the new version of model "m" has {what} than version '
    refused(reason, source.format(target), target, more)
    for way in (", deploy => false", ", allow_change => true"):
        train(connection, source.format(target), target, more + way)


def test_moved_elements_of_an_array_are_refused_before_the_first_round(
    connection: Connection, refused: Refused
) -> None:
    train(connection, "SELECT age, marks, lived FROM passenger", "lived", ", allow_change => true")
    source = "SELECT marks || 1::real AS marks, lived FROM passenger"
    detail = refused("in another order", source, "lived").message_detail
    assert 'has feature "marks[1]" at position 2; the new one has' in detail
    train(connection, source, "lived", ", allow_change => true")
    assert names(connection) == ["marks[1]", "marks[2]", "marks[3]"]


@pytest.mark.parametrize("kinds", [("kind", "ascii(kind)"), ("ascii(kind)", "kind")])
def test_texts_and_numbers_in_place_of_each_other_are_refused_before_the_first_round(
    connection: Connection, refused: Refused, kinds: tuple[str, str]
) -> None:
    first, other = (f"SELECT age, {kind} AS kind, lived FROM passenger" for kind in kinds)
    train(connection, first, "lived", ", allow_change => true")
    words = {"kind": "texts", "ascii(kind)": "numbers"}
    before, after = (f'{words[kind]} as feature "kind"' for kind in kinds)
    said = refused("has other values of a feature than", other, "lived")
    assert f"has {before}; the new one has {after}" in said.message_detail
    train(connection, other, "lived", ", allow_change => true")


def test_other_quantiles_than_those_of_another_library(
    connection: Connection, refused: Refused
) -> None:
    params = {"objective": "quantile", "alpha": 0.25, "verbosity": -1, "min_data_in_leaf": 1}
    rows = np.arange(40.0).reshape(20, 2)
    model = lgb.train(params, lgb.Dataset(rows, rows[:, 0]), 2).model_to_string().encode()
    names = "feature_names => '{age,class}', allow_change => true"
    connection.execute(f"SELECT load_model('m', %s, {names})", (model,))
    source, more = "SELECT age, class, age AS y FROM passenger", ", params => '{}'"
    train(connection, source, "y", more.format(quantiles(0.25)))
    connection.execute(f"SELECT load_model('m', %s, {names})", (model,))
    refused("other quantiles", source, "y", more.format(quantiles(0.75)))


def test_other_labels_are_refused(connection: Connection) -> None:
    """At the end, since the rows have the labels."""
    train(connection, "SELECT age, kind FROM passenger", "kind", ", allow_change => true")
    with connection.transaction(), pytest.raises(OTHER_MEANING, match="has other labels than"):
        train(connection, "SELECT age, upper(kind) AS kind FROM passenger", "kind")
