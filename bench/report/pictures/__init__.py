"""The pictures of the pages, by name: what each shows, and how that is said to those who cannot see it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.report import distance, ladder
from bench.report.entries import AS_PUBLISHED, MAIN, POSTGRES, PYTHON, TUNED, Entry
from bench.report.figures import tenths, times, whole
from bench.report.files import Sources
from bench.report.measured import CLIENTS, TREES, Asked, Measured
from bench.report.pictures.charts import Bar, Line, Panel, bars, panels
from bench.report.pictures.drawing import Drawing
from bench.report.rates import fixed_rates
from bench.results import Spread

MEDIANS = "Medians; thin lines from the smallest to the largest repetition."
SIDES = {POSTGRES: "in PostgreSQL", PYTHON: "services"}
# The parts of servers, and the steps of a request: colours that are told apart in grey, too.
PARTS = {"postgres": "#0072B2", "pgbouncer": "#56B4E9", "gunicorn": "#D55E00", "redis": "#E3A857"}
STEPS = {"ping": "#8A8F98", "fetch": "#56B4E9", "columns": "#C9B037", "hot": "#D55E00"}
TAIL = {
    "p50": "half are answered within",
    "p99": "99 of 100",
    "p99_9": "999 of 1,000",
    "max": "the slowest of all",
}


def _sorted(measured: Measured, asked: Asked, figure: str, best: int) -> list[tuple[Entry, Spread]]:
    """Entries that have the figure, best first; the service of 2022 as it was is for the record."""
    found = [
        (one, spread)
        for one in measured.entries
        if one != AS_PUBLISHED and (spread := measured.spread(one, asked, figure))
    ]
    return sorted(found, key=lambda pair: best * pair[1].median)


def answer(sources: Sources) -> Drawing:
    """Throughput of every entry, by side."""
    local = sources.local
    drawing = Drawing(
        f"One prediction per request, {CLIENTS} clients: requests per second",
        f"The same key, {TREES} trees; in brackets, times the tuned service. {MEDIANS}",
    )
    found = _sorted(local, Asked(), "rate", -1)
    shown = []
    for side, heading in SIDES.items():
        for one, spread in found:
            if one.side == side:
                ratio = local.times(one, TUNED, Asked(), "rate")
                text = (
                    f"{whole(spread.median)} ({times(ratio.median)})"
                    if one != TUNED
                    else whole(spread.median)
                )
                shown.append((heading, Bar(one.label, [(one.colour, spread.median)], spread, text)))
    bars(drawing, shown)
    return drawing


def tail(sources: Sources) -> Drawing | None:
    """Latencies at the rates that were held; in words who did not hold which."""
    rates = fixed_rates(sources.local)
    if rates is None:
        return None
    drawing = Drawing(
        "Latency at fixed rates, ms",
        f"From when a request was due; the same key, {rates.of.clients} connections. {MEDIANS}",
    )
    found = []
    for name, title in TAIL.items():
        lines = [
            Line(one, points)
            for one in rates.entries
            if (points := [
                (rate, spread)
                for rate in rates.held(one)
                if (spread := sources.local.spread(one, rates.asked(rate), name))
            ])
        ]  # fmt: skip
        found.append(Panel(title, "requests per second", lines))
    panels(drawing, found, columns=2, named=False)
    missed = [
        f"{one.label} does not hold {whole(min(rates.missed(one)))}"
        for one in rates.entries
        if rates.missed(one)
    ]
    for begin in range(0, len(missed), 2):
        drawing.text(12, drawing.height + 12, "; ".join(missed[begin : begin + 2]), "small")
        drawing.height += 18
    drawing.height += 6
    return drawing


def request_time(sources: Sources) -> Drawing | None:
    """The servers' processor time in steps: all to one scale, then PostgreSQL's alone."""
    local = sources.local
    shown = sorted(ladder.shown(local), key=lambda one: local.spread(one, Asked(), "us").median)
    if not shown:
        return None
    drawing = Drawing(
        "Where the time of a request goes: µs of the servers' processor time",
        f"{CLIENTS} clients, the same key. Each step is the difference of two requests. Medians.",
    )

    def bar(one: Entry) -> Bar:
        parts = [(STEPS[name], spread.median) for name, spread in ladder.parts(local, one).items()]
        together = local.spread(one, Asked(), "us")
        return Bar(one.label, parts, together, tenths(together.median))

    bars(drawing, [("", bar(one)) for one in shown])
    own = [one for one in shown if one.side == POSTGRES]
    if own:
        bars(drawing, [("PostgreSQL's alone, drawn larger", bar(one)) for one in own])
    drawing.legend([(ladder.PARTS[name], colour) for name, colour in STEPS.items()])
    return drawing


def memory(sources: Sources) -> Drawing:
    """What all server processes hold, by part."""
    local = sources.local
    drawing = Drawing(
        f"Memory of the servers, {CLIENTS} clients, MB",
        f"Proportional set size, the largest sum in a run; the same key, {TREES} trees. {MEDIANS}",
    )
    shown, named = [], {}
    for one, spread in _sorted(local, Asked(), "mb", 1):
        parts = local.parts(one, Asked())
        colours = {name: PARTS.get(name, one.colour) for name in parts}
        named |= {name: colour for name, colour in colours.items() if name in PARTS}
        cut = [(colours[name], part.median) for name, part in parts.items()]
        shown.append(("", Bar(one.label, cut, spread, whole(spread.median))))
    bars(drawing, shown)
    drawing.legend([(name, colour) for name, colour in named.items()])
    return drawing


def _by(sources: Sources, shown: Sequence[Entry], asked: dict[int, Asked]) -> list[Line]:
    return [
        Line(one, points)
        for one in shown
        if len(points := [
            (place, spread)
            for place, what in asked.items()
            if (spread := sources.local.spread(one, what, "rate"))
        ]) > 1
    ]  # fmt: skip


def clients(sources: Sources) -> Drawing:
    """Throughput by the number of clients."""
    drawing = Drawing(
        "Requests per second by the number of clients",
        f"One prediction per request, the same key, {TREES} trees. {MEDIANS}",
    )
    asked = {count: Asked(clients=count) for count in sources.local.clients("hot")}
    panels(
        drawing,
        [
            Panel(
                "", "clients (both scales logarithmic)", _by(sources, (*MAIN, AS_PUBLISHED), asked)
            )
        ],
    )
    return drawing


def trees(sources: Sources) -> Drawing | None:
    """Throughput by the size of the model."""
    found = sources.local.further_models()
    if not found:
        return None
    count, sizes = found
    drawing = Drawing(
        f"Requests per second by the model's number of trees, {count} clients",
        f"One prediction per request, the same key, trees of depth 6. {MEDIANS}",
    )
    asked = {size: Asked(clients=count, trees=size) for size in sorted({TREES, *sizes})}
    panels(
        drawing,
        [Panel("", "trees (both scales logarithmic)", _by(sources, sources.local.entries, asked))],
    )
    return drawing


def distances(sources: Sources) -> Drawing | None:
    """Latency of one client by the distance, with the line that explains it."""
    grown = distance.growth(sources.split) if sources.split else []
    if not grown:
        return None
    drawing = Drawing(
        "Mean latency by the distance between hosts, one client, ms",
        "Points are medians; a line's slope is the round trips that a prediction waits for.",
    )
    lines = []
    for one in grown:
        points = [(point.round_trip_ms, point.latency) for point in one.points]
        far = points[-1][0]
        lines.append(Line(one.entry, points, [(0, one.at(0)), (far, one.at(far))]))
    panels(drawing, [Panel("", "round trip between client and server, ms", lines, log=False)])
    return drawing


@dataclass(frozen=True)
class Picture:
    """One picture. What it cannot be drawn of it gives as None."""

    draw: Callable[[Sources], Drawing | None]
    alternative: str


PICTURES = {
    "answer": Picture(answer, "requests per second of every entry, sorted"),
    "tail": Picture(tail, "p50, p99, p99.9 and largest latency by the rate of requests"),
    "request-time": Picture(request_time, "the servers' processor time for a request, in steps"),
    "clients": Picture(clients, "requests per second by the number of clients"),
    "trees": Picture(trees, "requests per second by the model's number of trees"),
    "memory": Picture(memory, "memory of all server processes, by part, sorted"),
    "distance": Picture(distances, "mean latency by the round trip between client and server"),
}


def svg(name: str, sources: Sources) -> str | None:
    """The file of the picture of that name; None: the results have nothing for it."""
    drawing = PICTURES[name].draw(sources)
    return drawing and drawing.svg()
