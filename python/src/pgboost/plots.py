"""Plots the result of `pgboost.explain` by shap and matplotlib, and partial dependence by matplotlib.

Each function draws into the current figure and returns its axes, so that `axes.figure.savefig` stores it.
`output` is the number of one of several outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import needed, translated

if TYPE_CHECKING:
    import pandas
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


@translated()
def partial_dependence(dependence: pandas.DataFrame, *, output: str | None = None) -> Axes:
    """Plots the result of `pgboost.partial_dependence`: a line, bars for categories, a map for two features.

    `output` is the name of one of several outputs, the first by default. A missing value is the last bar, and
    is left out of a line.
    """
    axes: Axes = needed("matplotlib.pyplot", "plots").gca()
    output = dependence["output"].iloc[0] if output is None else output
    points = dependence[dependence["output"] == output]
    first, *second = points.columns[1:-1]
    if second:
        table = points.pivot(index=second[0], columns=first, values="average")
        axes.figure.colorbar(axes.pcolormesh(table.to_numpy()), ax=axes, label="average prediction")
        for axis, values in ((axes.xaxis, table.columns), (axes.yaxis, table.index)):
            places = range(0, len(values), max(1, len(values) // 8))
            axis.set_ticks([place + 0.5 for place in places], [_short(values[at]) for at in places])
        axes.set_ylabel(second[0])
    elif points[first].dtype.kind == "f":
        axes.plot(points[first], points["average"])
        axes.set_ylabel("average prediction")
    else:
        axes.bar([_short(value) for value in points[first]], points["average"])
        axes.set_ylabel("average prediction")
    axes.set_xlabel(first)
    return axes


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _of_output(explanation: shap.Explanation, output: int) -> shap.Explanation:
    return explanation if explanation.values.ndim == 2 else explanation[:, :, output]


def _drawn(plot: str, explanation: shap.Explanation, max_display: int) -> Axes:
    draw = getattr(needed("shap", "plots").plots, plot)
    axes: Axes = draw(explanation, max_display=max_display, show=False)
    return axes
