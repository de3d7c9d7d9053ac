"""The pages about the Python package: its API, the README's tables, and the recipes of docs/formats.md.

To run the recipes, install ngboost, or econml with the scikit-learn that goes with it.
"""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psycopg import Connection

import pgboost
import pgboost.estimators
from pgboost.libraries import known
from tools.toolchain import api_page

PAGE = api_page.page()
HEADINGS = dict(re.findall(r"^#{3,4} (\S+)\n\n```py\n(.*?)\n```\n", PAGE, re.M | re.S))
MODULES = [getattr(pgboost, name) for name in api_page.MODULES]
README = Path("python/README.md").read_text()
FORMATS = Path("docs/formats.md").read_text()
GENERATOR = np.random.default_rng(8)
ROWS = np.round(GENERATOR.normal(size=(800, 4)), 2)


def exported() -> dict[str, Any]:
    """Returns the names that the package exports and its modules define."""
    found = {name: getattr(pgboost, name) for name in pgboost.__all__}
    for module in MODULES:
        found |= {
            name: one
            for name, one in vars(module).items()
            if not name.startswith("_") and getattr(one, "__module__", None) == module.__name__
        }
    return {name: one for name, one in found.items() if not inspect.ismodule(one)}


def written(signature: str) -> str:
    """Removes line breaks and quotes from a signature."""
    return re.sub(r"[\s'\"]", "", signature).replace(",)", ")")


def test_every_name_has_a_heading() -> None:
    assert {name for name in HEADINGS if "." not in name} == set(exported())


@pytest.mark.parametrize("heading", HEADINGS)
def test_signatures_and_docstrings_are_pythons(heading: str) -> None:
    name, *methods = heading.split(".")
    one = exported()[name]
    for method in methods:
        one = getattr(one, method)
    assert inspect.getdoc(one) in PAGE
    if not inspect.isclass(one):
        assert written(HEADINGS[heading]) == written(f"{one.__name__}{inspect.signature(one)}")


# Of trees and linear models, the page names the kinds.
FAMILIES = ("tree", "ensemble", "linear_model")
LISTED = [
    (name, parameters)
    for module, classes in known.PARAMETERS.items()
    for names, parameters in classes.items()
    for name in names.split()
    if not module.endswith(FAMILIES) or name.startswith(("Voting", "Stacking"))
]


@pytest.mark.parametrize(("name", "parameters"), LISTED, ids=[name for name, _ in LISTED])
def test_the_readme_names_the_refused_parameters(name: str, parameters: str) -> None:
    rows = [row for row in README.splitlines() if f"`{name}`" in row and row.startswith("|")]
    assert rows or name == "FrozenEstimator"
    limited = {word.partition("=")[0] for word in parameters.split() if "=" in word}
    assert all(any(parameter in row for row in rows) for parameter in limited), limited


def test_the_readme_has_the_functions_of_function_transformer() -> None:
    (row,) = (row for row in README.splitlines() if row.startswith("| `FunctionTransformer`"))
    # abs is NumPy's absolute.
    names = {*known.FUNCTIONS.split(), "FunctionTransformer", "kw_args"} - {"absolute"}
    assert {*re.findall(r"`(\w+)`", row)} == names


def recipe(title: str) -> dict[str, Any]:
    """Runs the function of a recipe, with which its block begins."""
    section = FORMATS.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    block = section.partition("```python\n")[2].partition("\n\n\n")[0]
    names: dict[str, Any] = {"np": np, "json": json}
    exec(block, names)
    return names


def test_ngboost(connection: Connection) -> None:
    ngboost = pytest.importorskip("ngboost")
    target = ROWS[:, 0] + np.abs(ROWS[:, 1]) * GENERATOR.normal(size=len(ROWS))
    model = ngboost.NGBRegressor(n_estimators=60, verbose=False, col_sample=0.5).fit(ROWS, target)
    content = recipe("NGBoost")["ngboost_file"](model)
    pgboost.push(connection, "demand", content, check=False)
    found = pgboost.predict(connection, "demand", ROWS)
    law = model.pred_dist(ROWS)
    np.testing.assert_allclose(found, np.float32(np.c_[law.loc, law.scale**2]), rtol=2e-7)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("discrete", [True, False])
def test_causal_forests(connection: Connection, intercept: bool, discrete: bool) -> None:
    dml = pytest.importorskip("econml.dml")
    treated = GENERATOR.random(len(ROWS)) < 0.5 if discrete else ROWS[:, 1] + ROWS[:, 2]
    treated = treated * 1.0 + (0 if discrete else GENERATOR.normal(size=len(ROWS)))
    target = ROWS[:, 0] * treated + ROWS[:, 1] + GENERATOR.normal(size=len(ROWS)) * 0.1
    options = {"n_estimators": 40, "random_state": 1, "n_jobs": 1, "fit_intercept": intercept}
    model = dml.CausalForestDML(discrete_treatment=discrete, **options)
    model.fit(target, treated, X=ROWS)
    forest = model.model_cate.estimators_[0]
    content = recipe("Causal forests of econml")["causal_forest_file"](forest)
    pgboost.push(connection, "uplift", content, check=False)
    effect = (
        re.findall(r"^SELECT (\(m.*) AS effect$", FORMATS, re.M)[0] if intercept else "m[1] / m[2]"
    )
    rows = ", ".join(
        f"({number}, ARRAY{row}::float8[])" for number, row in enumerate(ROWS.tolist())
    )
    found = connection.execute(
        f"SELECT {effect} FROM (VALUES {rows}) AS r(n, a),"
        " LATERAL (SELECT predict_array('uplift', a)::float8[] AS m) AS sides ORDER BY n"
    ).fetchall()
    expected = np.ravel(model.effect(ROWS))
    assert np.abs(np.ravel(found) - expected).max() < 5e-7 * np.abs(expected).max()
