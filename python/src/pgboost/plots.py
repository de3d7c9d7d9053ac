"""Plots the result of `pgboost.explain` by shap and matplotlib.

Each function draws into the current figure and returns its axes, so that `axes.figure.savefig` stores it.
`output` is the number of one of several outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import needed, translated

if TYPE_CHECKING:
    import shap
    from matplotlib.axes import Axes


@translated()
def waterfall(
    explanation: shap.Explanation, row: int = 0, *, output: int = 0, max_display: int = 10
) -> Axes:
    """Plots how each feature moves the margin of a row from the bias to the prediction."""
    return _drawn("waterfall", _of_output(explanation, output)[row], max_display)


@translated()
def beeswarm(explanation: shap.Explanation, *, output: int = 0, max_display: int = 10) -> Axes:
    """Plots the contributions of each feature for all rows, coloured by the feature's value."""
    return _drawn("beeswarm", _of_output(explanation, output), max_display)


@translated()
def importance(explanation: shap.Explanation, *, output: int = 0, max_display: int = 10) -> Axes:
    """Plots the mean absolute contribution of each feature, SQL's `mean_abs_contribs`."""
    return _drawn("bar", _of_output(explanation, output), max_display)


def _of_output(explanation: shap.Explanation, output: int) -> shap.Explanation:
    return explanation if explanation.values.ndim == 2 else explanation[:, :, output]


def _drawn(plot: str, explanation: shap.Explanation, max_display: int) -> Axes:
    draw = getattr(needed("shap", "plots").plots, plot)
    axes: Axes = draw(explanation, max_display=max_display, show=False)
    return axes
