"""The pictures of the pages, by name: how each is drawn, and what it shows for those who cannot see it."""

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from bench.report import distance, goals, ladder
from bench.report.files import Sources
from bench.report.measured import Lacking
from bench.report.pictures import bars, drawing, lines, request_time, split, tail
from bench.report.rates import fixed_rates


@dataclass(frozen=True)
class Picture:
    """One picture. What it cannot be drawn of it gives as None."""

    draw: Callable[[Sources], Figure | None]
    alternative: str


def _split(sources: Sources) -> Figure | None:
    apart = sources.split
    if apart is None or goals.SPLIT_DELAY_MS not in distance.delays(apart):
        return None
    return split.throughput(sources.local, apart, goals.SPLIT_DELAY_MS)


def _split_latency(sources: Sources) -> Figure | None:
    grown = distance.growth(sources.split) if sources.split else []
    return split.latencies(grown) if grown else None


PICTURES = {
    "answer": Picture(
        lambda sources: bars.answer(sources.local), "throughput and mean latency of the main entries"
    ),
    "throughput": Picture(
        lambda sources: lines.throughput(sources.local), "requests per second by the number of clients"
    ),
    "latency": Picture(
        lambda sources: lines.latencies(sources.local), "mean latency by the number of clients"
    ),
    "tail": Picture(
        lambda sources: tail.draw(sources.local, fixed_rates(sources.local)),
        "p50, p99, p99.9 and largest latency by the rate of requests",
    ),
    "memory": Picture(
        lambda sources: bars.memory(sources.local), "memory of all server processes, by part"
    ),
    "trees": Picture(
        lambda sources: lines.trees(sources.local), "requests per second by the model's number of trees"
    ),
    "request-time": Picture(
        lambda sources: request_time.draw(sources.local, ladder.shown(sources.local)),
        "the servers' processor time for a request, in three steps",
    ),
    "batches": Picture(
        lambda sources: bars.batches(sources.local), "predictions per second, a hundred per request"
    ),
    "entries": Picture(
        lambda sources: bars.entries(sources.local), "requests per second of every entry"
    ),
    "split": Picture(_split, "requests per second on one machine and on three hosts"),
    "split-latency": Picture(_split_latency, "mean latency by the round trip between client and server"),
}  # fmt: skip


def svg(name: str, sources: Sources) -> str:
    """The file of the picture of that name."""
    with drawing.look():
        figure = PICTURES[name].draw(sources)
        if figure is None:
            raise Lacking(f"there are no figures to draw the picture {name} of")
        return drawing.svg(figure)
