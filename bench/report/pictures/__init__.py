"""The pictures of the pages, by name: what each shows, and how that is said to those who cannot see it."""

from collections.abc import Callable
from pathlib import Path

from bench.report import computed
from bench.report import fresh as fresh_of
from bench.report import rungs as rungs_of
from bench.report import serving as serving_of
from bench.report.figures import tenths, times, whole
from bench.report.files import Sources, newest
from bench.report.measured import (
    AS_PUBLISHED,
    CLIENTS,
    POSTGRES,
    PYTHON,
    TREES,
    TUNED,
    Asked,
    Entry,
    Measured,
)
from bench.report.pictures import fresh, rungs, serving
from bench.report.pictures.charts import Bar, Line, Panel, bars, panels
from bench.report.pictures.drawing import Drawing
from bench.results import Spread

MEDIANS = "Medians; thin lines from the smallest to the largest repetition."
GROUPS = ("in PostgreSQL", "services", "asked by a Python program")
# The parts of servers, and the steps of a request: colours that are told apart in grey, too.
PARTS = {"postgres": "#0072B2", "pgbouncer": "#56B4E9", "gunicorn": "#D55E00", "redis": "#E3A857"}
STEPS = {"ping": "#8A8F98", "fetch": "#56B4E9", "columns": "#C9B037", "hot": "#D55E00"}
TAIL = {
    "p50": "half are answered within",
    "p99": "99 of 100",
    "p99_9": "999 of 1,000",
    "max": "the slowest of all",
}


def _sorted(measured: Measured, figure: str, sign: int) -> list[tuple[Entry, Spread]]:
    """Entries by a figure of the main cell; the service of 2022 as it was is for the record."""
    found = [
        (one, spread)
        for one in measured.entries
        if one != AS_PUBLISHED and (spread := measured.spread(one, Asked(), figure))
    ]
    return sorted(found, key=lambda pair: sign * pair[1].median)


def _answer(sources: Sources) -> Drawing:
    local = sources.local
    drawing = Drawing(
        f"One prediction per request, {CLIENTS} clients: requests per second",
        f"The same key, {TREES} trees; in brackets, times the tuned service. {MEDIANS}",
    )
    shown = []
    for one, spread in _sorted(local, "rate", -1):
        text = whole(spread.median)
        if one != TUNED and not one.program:
            ratio = local.times(one, TUNED, Asked(), "rate")
            text += f" ({times(ratio.median)})"
        group = GROUPS[2 if one.program else one.side == PYTHON]
        shown.append((group, Bar(one.label, [(one.colour, spread.median)], spread, text)))
    bars(drawing, sorted(shown, key=lambda pair: GROUPS.index(pair[0])))
    return drawing


def _tail(sources: Sources) -> Drawing | None:
    local, rates = sources.local, computed.fixed_rates(sources.local)
    if rates is None:
        return None
    drawing = Drawing(
        "Latency at fixed rates, ms",
        f"From when a request was due; the same key, {rates.of.clients} connections. {MEDIANS}",
    )
    asked = {one: {rate: rates.asked(rate) for rate in rates.held(one)} for one in rates.entries}
    found = []
    for name, title in TAIL.items():
        lines = [_line(local, one, asked[one], name) for one in rates.entries]
        found.append(Panel(title, "requests per second", [line for line in lines if line.points]))
    panels(drawing, found, columns=2, named=False)
    missed = {one.label: rates.held(one, False) for one in rates.entries}
    said = [f"{name} does not hold {whole(min(found))}" for name, found in missed.items() if found]
    for begin in range(0, len(said), 2):
        drawing.note("; ".join(said[begin : begin + 2]))
    return drawing


def _request_time(sources: Sources) -> Drawing | None:
    local = sources.local
    shown = []
    for one, spread in _sorted(local, "us", 1):
        if one in computed.stepped(local):
            steps = [
                (STEPS[name], step.median)
                for name, step in computed.step_spreads(local, one).items()
            ]
            shown.append((one, Bar(one.label, steps, spread, tenths(spread.median))))
    if not shown:
        return None
    drawing = Drawing(
        "Where the time of a request goes: µs of the servers' processor time",
        f"{CLIENTS} clients, the same key. Each step is the difference of two requests. Medians.",
    )
    bars(drawing, [("", bar) for _, bar in shown])
    bars(
        drawing,
        [("PostgreSQL's alone, drawn larger", bar) for one, bar in shown if one.side == POSTGRES],
    )
    drawing.legend([(computed.STEPS[name], colour) for name, colour in STEPS.items()])
    return drawing


def _memory(sources: Sources) -> Drawing:
    local = sources.local
    drawing = Drawing(
        f"Memory of the servers, {CLIENTS} clients, MB",
        f"Proportional set size, the largest sum in a run; the same key, {TREES} trees. {MEDIANS}",
    )
    shown, named = [], {}
    for one, spread in _sorted(local, "mb", 1):
        parts = local.parts(one, Asked())
        named |= {name: colour for name, colour in PARTS.items() if name in parts}
        cut = [(PARTS.get(name, one.colour), part.median) for name, part in parts.items()]
        shown.append(("", Bar(one.label, cut, spread, whole(spread.median))))
    bars(drawing, shown)
    drawing.legend([*named.items()])
    return drawing


def _line(measured: Measured, of: Entry, asked: dict[int, Asked], figure: str) -> Line:
    """A figure along what was asked."""
    spreads = {place: measured.spread(of, one, figure) for place, one in asked.items()}
    return Line(of, [(place, spread) for place, spread in spreads.items() if spread])


def _along(measured: Measured, title: str, asked: dict[int, Asked], what: str) -> Drawing | None:
    """Throughput by load generators along what was asked."""
    drawing = Drawing(title, f"One prediction per request, the same key. {MEDIANS}")
    shown = [one for one in measured.entries if not one.program]
    lines = [_line(measured, one, asked, "rate") for one in shown]
    lines = [line for line in lines if len(line.points) > 1]
    if lines:
        panels(drawing, [Panel("", f"{what} (both scales logarithmic)", lines)])
    return drawing if lines else None


def _clients(sources: Sources) -> Drawing | None:
    asked = {count: Asked(clients=count) for count in sources.local.clients("hot")}
    title = f"Requests per second by the number of clients, {TREES} trees"
    return _along(sources.local, title, asked, "clients")


def _trees(sources: Sources) -> Drawing | None:
    found = sources.local.further_models()
    if not found:
        return None
    count, sizes = found
    asked = {size: Asked(clients=count, trees=size) for size in sorted({TREES, *sizes})}
    title = f"Requests per second by the model's number of trees, {count} clients"
    return _along(sources.local, title, asked, "trees of depth 6")


def _distance(sources: Sources) -> Drawing | None:
    grown = computed.growth(sources.split) if sources.split else []
    if not grown:
        return None
    drawing = Drawing(
        "Mean latency by the distance between hosts, one client, ms",
        "Points are medians; a line's slope is the round trips that a prediction waits for.",
    )
    far = max(trip for one in grown for trip, _ in one.points)
    lines = [Line(one.entry, one.points, [(0, one.at(0)), (far, one.at(far))]) for one in grown]
    panels(drawing, [Panel("", "round trip between client and server, ms", lines, log=False)])
    return drawing


# How each is drawn, None where the results have nothing for it, and what it shows.
PICTURES: dict[str, tuple[Callable[[Sources], Drawing | None], str]] = {
    "answer": (_answer, "requests per second of every entry, sorted"),
    "tail": (_tail, "p50, p99, p99.9 and largest latency by the rate of requests"),
    "request-time": (_request_time, "the servers' processor time for a request, in steps"),
    "clients": (_clients, "requests per second by the number of clients"),
    "trees": (_trees, "requests per second by the model's number of trees"),
    "memory": (_memory, "memory of all server processes, by part, sorted"),
    "distance": (_distance, "mean latency by the round trip between client and server"),
}


# Those of measurements of their own: the file that a run of it leaves, how it is drawn, and what it shows.
APART: dict[str, tuple[str, Callable[[Path], Drawing], str]] = {
    "ladder": (rungs_of.FILE, rungs.drawn, "the time of a prediction by each way, on a log scale"),
    "serving": (serving_of.FILE, serving.drawn, "requests per second of services of one model"),
    "fresh": (fresh_of.FILE, fresh.drawn, "latency over time while features are replaced"),
}


def described(name: str) -> str | None:
    """What the picture of that name shows; None: there is no such."""
    return next((known[name][-1] for known in (PICTURES, APART) if name in known), None)


def svg(name: str, sources: Sources) -> str | None:
    """The file of the picture of that name; None: the results have nothing for it."""
    if name in APART:
        file, draw, _ = APART[name]
        run = newest(sources.directory, file)
        drawing = run and draw(run)
    else:
        drawing = PICTURES[name][0](sources)
    return drawing and drawing.svg()
