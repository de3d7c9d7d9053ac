"""The records of extension/gbtrees/benches/grid, and tables of them.

A record has a line for each model, call and side, which is a kernel of this engine or a library, with the
nanoseconds per row of each block. A cell is a model, a call and a kernel. Its time is the median of its
blocks; its ratio is that to the fastest of other sides, which were measured interleaved with it, below 1 if
that is faster.
"""

import json
import statistics
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.report.figures import WAYS

ENGINE = "gbdt "
KERNELS = tuple(ENGINE + kernel for kernel in ("avx512", "avx512bw", "avx2", "portable"))
SCORES = "scores"
BATCH = 2048
# The rows of tables.
ROWS = tomllib.loads(Path(__file__).with_name("engine.toml").read_text())


class Call(NamedTuple):
    """A model, what is computed, and the rows per call."""

    model: str
    what: str
    rows: int


# The nanoseconds per row of every block, by side.
Cells = dict[Call, dict[str, list[float]]]


class Ratio(NamedTuple):
    """Nanoseconds per row of a kernel, and of the fastest other side."""

    ours: float
    peer: str
    theirs: float

    @property
    def times(self) -> float:
        """The engine's speed relative to the other side's."""
        return self.theirs / self.ours


# By call and kernel.
Ratios = dict[tuple[Call, str], Ratio]


def lines(path: Path) -> list[dict[str, Any]]:
    """Returns the lines of a record; none without the file."""
    return [*map(json.loads, path.read_text().splitlines())] if path.exists() else []


def cells(found: Iterable[dict[str, Any]]) -> Cells:
    """Returns the times of a record's lines."""
    times: Cells = defaultdict(dict)
    for line in found:
        if "side" in line:
            call = Call(line["model"], line.get("what", SCORES), line["rows"])
            times[call][line["side"]] = line["ns_a_row"]
    return times


def machine(run: Path) -> dict[str, Any]:
    return json.loads((run / "machine.json").read_text())


def short(kernel: str) -> str:
    """Returns a kernel's name on pages."""
    return kernel.removeprefix(ENGINE)


def ratios(of: Cells, is_peer: Callable[[str], bool] = lambda _: True) -> Ratios:
    """Returns the ratios to the fastest of these sides that are not this engine's."""
    found = {}
    for call, sides in of.items():
        ns = {side: statistics.median(blocks) for side, blocks in sides.items()}
        peers = [side for side in ns if not side.startswith(ENGINE) and is_peer(side)]
        if peers:
            peer = min(peers, key=ns.get)
            for kernel in (side for side in ns if side.startswith(ENGINE)):
                found[call, kernel] = Ratio(ns[kernel], peer, ns[peer])
    return found


def won(found: Ratios) -> dict[str, tuple[int, int]]:
    """Returns for each kernel in how many cells it is faster than the other side, and of how many."""
    faster: dict[str, list[bool]] = defaultdict(list)
    for (_, kernel), one in found.items():
        faster[short(kernel)].append(one.times >= 1)
    return {kernel: (sum(each), len(each)) for kernel, each in faster.items()}


def median(found: Ratios, what: str, rows: int, kernel: str) -> float:
    """Returns the median ratio over the models."""
    wanted = (what, rows, kernel)
    return statistics.median(
        one.times for (call, side), one in found.items() if (call.what, call.rows, side) == wanted
    )


def summary(values: Sequence[float], way: str) -> str:
    """Formats up to three figures each, and more as the median and the range."""
    write = WAYS[way]
    if len(values) <= 3:
        return " / ".join(map(write, values)) or "-"
    return f"{write(statistics.median(values))} ({write(min(values))} to {write(max(values))})"


class Column(NamedTuple):
    """A column of a table: the ratios, the call, the kernel, and the figure of `Ratio`."""

    title: str
    found: Ratios
    what: str
    rows: int
    kernel: str
    figure: str = "times"
    # What times are divided by, from nanoseconds.
    unit: float = 1.0

    def text(self, models: Sequence[str]) -> str:
        """Returns the figures of some models."""
        keys = [(Call(model, self.what, self.rows), self.kernel) for model in models]
        known = [getattr(self.found[key], self.figure) for key in keys if key in self.found]
        if self.figure == "times":
            return summary(known, "times")
        return summary([value / self.unit for value in known], "three")


def batch_columns(found: Ratios, what: str, kernels: Sequence[str], unit: str) -> list[Column]:
    """Returns the columns of batches: times of each kernel and of the library, and each ratio."""
    of, scale = (found, what, BATCH), {"ns": 1.0, "us": 1e3}[unit]
    return [
        *(Column(f"{short(kernel)}, {unit}", *of, kernel, "ours", scale) for kernel in kernels),
        Column(f"library, {unit}", *of, kernels[0], "theirs", scale),
        *(Column(f"{short(kernel)}, times", *of, kernel) for kernel in kernels),
    ]


def data(of: Cells, names: Callable[[Call], list[Any]], decimals: int) -> list[list[Any]]:
    """Returns every cell for a CSV file: its names, its side, and median, least and most of its blocks."""
    figures = (statistics.median, min, max)
    return [
        [*names(call), side, *(f"{figure(ns):.{decimals}f}" for figure in figures)]
        for call, sides in of.items()
        for side, ns in sides.items()
    ]
