"""Console output: numbered steps, lines within them, and tables.

It is readable both on a terminal and in a log: no line is rewritten, and progress bars appear on terminals
only.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Teller:
    """Prints numbered steps and their durations."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._step = 0

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Prints a step's title, and its duration at the end."""
        self._step += 1
        print(f"\n[{self._step}/{self._steps}] {title}", flush=True)
        began = time.monotonic()
        yield
        took = time.monotonic() - began
        if took >= 1.0:
            say(f"({took:.0f} s)")


def say(text: str) -> None:
    """Prints a line within a step, indented."""
    print(f"      {text}".rstrip(), flush=True)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints rows below a header; columns of numbers are aligned right, of text left."""

    def text(value: object) -> str:
        return "" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)

    cells = [[text(value) for value in row] for row in rows]
    lines = [""] * (len(cells) + 2)
    for title, *column in zip(header, *cells, strict=True):
        width = max(map(len, (title, *column)))
        numbers = [one.replace(",", "").replace(".", "").removeprefix("-") for one in column if one]
        side = ">" if all(map(str.isdecimal, numbers)) else "<"
        for place, one in enumerate((title, "-" * width, *column)):
            lines[place] += f"{one:{side}{width}}  "
    for line in lines:
        say(line)
