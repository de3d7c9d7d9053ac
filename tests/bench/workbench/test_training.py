"""A model is trained once for a recipe, and again for another."""

from dataclasses import replace
from pathlib import Path

from tools.workbench.training import Recipe, trained

RECIPE = Recipe(rows=5000, rounds=4)


def test_the_same_recipe_is_trained_once(tmp_path: Path) -> None:
    first, new = trained(RECIPE, tmp_path, "flights")
    assert new
    written = first.path.stat().st_mtime_ns
    again, new = trained(RECIPE, tmp_path, "flights")
    assert not new
    assert again == first
    assert again.path.stat().st_mtime_ns == written


def test_another_recipe_is_trained_anew(tmp_path: Path) -> None:
    trained(RECIPE, tmp_path, "flights")
    for other in (replace(RECIPE, rounds=5), replace(RECIPE, seed=1), replace(RECIPE, xgboost="0")):
        assert trained(other, tmp_path, "flights")[1]


def test_training_gives_the_same_file_each_time(tmp_path: Path) -> None:
    one, other = (trained(RECIPE, tmp_path, name)[0].path for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()


def test_the_model_beats_the_mean(tmp_path: Path) -> None:
    model, _ = trained(Recipe(rows=100_000, rounds=25), tmp_path, "flights")
    assert model.rmse < 0.95 * model.rmse_of_mean
