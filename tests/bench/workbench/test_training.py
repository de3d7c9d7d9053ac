"""A model is trained once for a recipe, and again for another."""

from dataclasses import replace
from pathlib import Path

from tools.workbench.training import Recipe, trained

RECIPE = Recipe(rows=5000, rounds=4)


def test_a_recipe_is_trained_once_and_gives_the_same_file_each_time(tmp_path: Path) -> None:
    first, new = trained(RECIPE, tmp_path, "flights")
    assert new
    written = first.path.stat().st_mtime_ns
    assert trained(RECIPE, tmp_path, "flights") == (first, False)
    assert first.path.stat().st_mtime_ns == written
    other, _ = trained(RECIPE, tmp_path, "other")
    assert first.path.read_bytes() == other.path.read_bytes()
    for recipe in (
        replace(RECIPE, rounds=5), replace(RECIPE, seed=1), replace(RECIPE, xgboost="0")
    ):  # fmt: skip
        assert trained(recipe, tmp_path, "flights")[1]


def test_the_model_beats_the_mean(tmp_path: Path) -> None:
    model, _ = trained(Recipe(rows=100_000, rounds=25), tmp_path, "flights")
    assert model.rmse < 0.95 * model.rmse_of_mean
