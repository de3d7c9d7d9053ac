"""The page of profile-guided optimisation: the release build against the one optimised by a profile.

It is made from the pgo.json of one `make pgo`, and so is the verdict it opens with.
"""

from pathlib import Path

from bench.report.figures import ranged, three_digits, whole
from bench.report.markdown import sentence_list, table
from pgo import result
from pgo.result import Comparison
from pgo.verdict import THROUGHPUT, Change, Verdict, changes, verdict

MEASURED = result.FILE

SET_UP = """\
Measured on {date} on {processor} ({cores} cores, {system}), {rustc}, {llvm_profdata},
PostgreSQL {postgresql}. Raw results, run by run, are in `bench/results/{results}`. To repeat it: `make pgo`.

Three servers run with copies of one data directory, {rows} flights: the release build, the same file
once more, and the build that was optimised by a profile of the benchmark's workload (`pgo/workload.py`
says what that is). Their predictions for all flights, by 25 trees of depth 6 and 500 of depth 8, in
batches and row by row, were first found equal **to the bit**. Then there were {rounds} rounds. In each,
every query was put to the three servers one after the other, in an order that changed each time: for
{seconds} s by pgbench, which logged every transaction, or as a few full scans in one process without `jit`.

Before and after are medians of the rounds, with smallest and largest. The change is the median of the
rounds' own ratios. The noise is how far apart, up or down, the release build is from itself within
a round: the second largest of the rounds, as one may be disturbed by something else. A change within
it says nothing. The optimised build wins if in at least half of the queries more is done a second, beyond
the noise, and in none less. Latencies are in ms; a run's longest is a single event, no basis for a verdict.
"""


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f} %"


def _named(found: list[Change]) -> str:
    return sentence_list([f"{one.cell.name} ({_percent(one.ratio)})" for one in found])


def _opening(found: Verdict) -> str:
    """The verdict in a few sentences."""
    wins = "wins" if found.wins else "does not win"
    lines = [f"**Optimised by a profile, pgboost {wins} beyond the noise.**"]
    for word, some in (("More", found.better), ("Less", found.worse)):
        cells = f"{len(some)} of {found.cells} queries"
        lines.append(f"{word} is done a second in {cells}{': ' + _named(some) if some else ''}.")
    lines.append(
        f"Changes of up to ± {(found.noise - 1) * 100:.1f} % could not be told from noise."
    )
    lines.append(
        "So it is worth having as the release build."
        if found.wins
        else "So the release build stays as it is."
    )
    return "\n".join(lines) + "\n"


def _line(one: Change) -> list[str]:
    written = whole if one.figure == THROUGHPUT else three_digits
    figure = f"{one.cell.unit} a second" if one.figure == THROUGHPUT else one.figure
    return [
        one.cell.name, figure, ranged(one.plain, written), ranged(one.optimised, written),
        _percent(one.ratio), f"± {(one.noise - 1) * 100:.1f} %", one.outcome.value,
    ]  # fmt: skip


def _set_up(found: Comparison, name: str) -> str:
    return SET_UP.format(
        results=name, date=found.date, rows=whole(found.plan.rows), rounds=found.plan.rounds,
        seconds=found.plan.seconds, rustc=found.versions["rustc"],
        llvm_profdata=found.versions["llvm-profdata"], postgresql=found.versions["PostgreSQL"],
        **{name: found.machine[name] for name in ("processor", "cores", "system")},
    )  # fmt: skip


def page(directory: Path) -> str:
    """The page's text, from a run's directory."""
    found = result.read(directory / MEASURED)
    header = ("query", "figure", "before", "after", "change", "noise", "beyond it")
    parts = [
        "# Profile-guided optimisation\n",
        _opening(verdict(found.cells)),
        "## Before and after\n",
        table(header, [_line(one) for one in changes(found.cells)], text_columns=2) + "\n",
        "## How\n",
        _set_up(found, directory.name),
        f"The library has {whole(found.bytes[result.PLAIN])} bytes before and"
        f" {whole(found.bytes[result.OPTIMISED])} after.\n",
    ]
    return "\n".join(parts)
