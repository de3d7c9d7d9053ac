"""`python -m tools.demo.explanation`: draws docs/explaining.svg, why a flight of the demo is predicted late.

It explains the prediction in the demo's cluster, which `make demo` has started, and draws a waterfall from
the bias to the prediction.
"""

from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from bench.report.pictures import written
from tools.cluster import start
from tools.workbench.preparation import DATABASE, PREFERRED_PORT, STATE
from tools.workbench.queries import MODEL

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "explaining.svg"
BIAS = "(bias)"
QUERY = f"""
    SELECT e.feature, e.value, e.contribution
      FROM (SELECT f FROM flights AS f ORDER BY predict('{MODEL}', f) DESC LIMIT 1) AS latest,
           explain_prediction('{MODEL}', latest.f, top => 6) AS e
     WHERE e.feature <> '(prediction)'"""
# Blue and orange are distinguishable for colour-blind readers, and in grey.
MORE, LESS, SUM = "#D55E00", "#0072B2", "#8A8F98"

# A label, the start and the end of its bar, the bar's colour, and the text after it.
Line = tuple[str, float, float, str, str]


def lines(rows: list[tuple[str, str | None, float]]) -> Iterator[Line]:
    """Yields the bias, the contributions in descending order, and their sum."""
    (sum_,) = [contribution for feature, _, contribution in rows if feature == BIAS]
    yield "mean of all flights", 0, sum_, SUM, f"{sum_:.1f}"
    for feature, value, more in rows:
        if feature != BIAS:
            label = feature if value is None else f"{feature} = {value}"
            yield label, sum_, sum_ + more, MORE if more > 0 else LESS, f"{more:+.1f}"
            sum_ += more
    yield "prediction", 0, sum_, SUM, f"{sum_:.1f}"


def drawn(found: list[Line]) -> Figure:
    """Draws the lines, the first on top: positive contributions in orange, negative ones in blue."""
    figure = Figure((9, 0.8 + 0.3 * len(found)), layout="constrained")
    axes = figure.subplots()
    for place, (_, begin, end, colour, text) in enumerate(found):
        axes.barh(place, end - begin, left=begin, color=colour)
        at = (max(begin, end), place)
        axes.annotate(text, at, (5, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(found)), [label for label, *_ in found])
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.set_title(
        "Why this flight is predicted late: minutes of delay, from the mean of all flights"
    )
    return figure


def main() -> None:
    """Explains the prediction and writes the picture."""
    if not STATE.exists():
        raise SystemExit("error: make demo has not been run")
    cluster, _ = start(STATE, PREFERRED_PORT)
    with cluster.connect(DATABASE) as connection:
        rows = connection.execute(QUERY).fetchall()
    PICTURE.write_text(written(lambda: drawn([*lines(rows)])), encoding="utf-8")


if __name__ == "__main__":
    main()
