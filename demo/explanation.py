"""`python -m demo.explanation`: draws docs/explaining.svg, why a flight of the demo is predicted late.

It explains the prediction in the demo's cluster, which `make demo` has started, and draws the lines
one under the other: each begins where the one before ends, from the bias to the prediction.
"""

from collections.abc import Iterator
from pathlib import Path

from bench.report.pictures.drawing import WIDTH, Drawing
from cluster import start
from workbench.preparation import DATABASE, PREFERRED_PORT, STATE
from workbench.queries import MODEL

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "explaining.svg"
BIAS = "(bias)"
QUERY = f"""
    SELECT e.feature, e.value, e.contribution
      FROM (SELECT f FROM flights AS f ORDER BY predict('{MODEL}', f) DESC LIMIT 1) AS latest,
           explain_prediction('{MODEL}', latest.f, top => 6) AS e
     WHERE e.feature <> '(prediction)'"""
# Blue and orange are told apart by those who see few colours, and in grey.
MORE, LESS, SUM = "#D55E00", "#0072B2", "#8A8F98"
LABELS, BEHIND, ROW = 300, 80, 26

# A label, where its bar begins and ends, its colour, and what stands behind it.
Line = tuple[str, float, float, str, str]


def lines(rows: list[tuple[str, str | None, float]]) -> Iterator[Line]:
    """The bias, the contributions on top of it, the largest first, and what they come to."""
    (sum_,) = [contribution for feature, _, contribution in rows if feature == BIAS]
    yield "mean of all flights", 0, sum_, SUM, f"{sum_:.1f}"
    for feature, value, more in rows:
        if feature != BIAS:
            label = feature if value is None else f"{feature} = {value}"
            yield label, sum_, sum_ + more, MORE if more > 0 else LESS, f"{more:+.1f}"
            sum_ += more
    yield "prediction", 0, sum_, SUM, f"{sum_:.1f}"


def drawn(found: list[Line]) -> Drawing:
    """The picture of the lines."""
    drawing = Drawing(
        "Why this flight is predicted late: minutes of delay",
        "From the mean of all flights to the prediction, by what each feature contributes.",
    )
    places = [place for _, begin, end, *_ in found for place in (begin, end)]
    scale = (WIDTH - LABELS - BEHIND) / (max(places) - min(places))
    for label, *ends, colour, text in found:
        begin, end = (LABELS + (place - min(places)) * scale for place in ends)
        top, middle = drawing.height, drawing.height + ROW / 2
        drawing.text(LABELS - 10, middle + 4.5, label, anchor="end")
        drawing.box(min(begin, end), top + 4, max(abs(end - begin), 1), ROW - 8, colour)
        if label != found[-1][0]:
            drawing.line(end, top + 4, end, top + ROW + 4, "rule")
        drawing.text(max(begin, end) + 8, middle + 4.5, text)
        drawing.height += ROW
    drawing.height += 6
    drawing.legend([("later", MORE), ("earlier", LESS)])
    return drawing


def main() -> None:
    """Asks and draws."""
    cluster, _ = start(STATE, PREFERRED_PORT)
    with cluster.connect(DATABASE) as connection:
        rows = connection.execute(QUERY).fetchall()
    PICTURE.write_text(drawn([*lines(rows)]).svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
