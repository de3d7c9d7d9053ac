"""How the programs speak: numbered steps, what each found, and tables.

Written to be read both on a terminal and in a log: a line is printed once and
never again, and progress bars appear on terminals only. A program may leave out
all but its results.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

# Whether only results are printed.
_is_brief = False


class Teller:
    """Prints steps one after the other, and how long each took; or only results, if `brief`."""

    def __init__(self, steps: int, brief: bool = False) -> None:
        global _is_brief  # noqa: PLW0603
        _is_brief = brief
        self._began = time.monotonic()
        self._steps = steps
        self._step = 0

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """A numbered step; what is said within it is indented below its title."""
        self._step += 1
        if not _is_brief:
            print(f"\n[{self._step}/{self._steps}] {title}", flush=True)
        began = time.monotonic()
        yield
        took = time.monotonic() - began
        if took >= 1.0:
            say(f"({took:.0f} s)")

    def result(self, text: str) -> None:
        """What the steps since the last result found, and how long they took; if results are all."""
        if _is_brief:
            print(f"{text} ({time.monotonic() - self._began:.0f} s)", flush=True)
        self._began = time.monotonic()


def say(text: str) -> None:
    """One line within a step."""
    if not _is_brief:
        print(f"      {text}".rstrip(), flush=True)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows under a header; columns of numbers to the right, of text to the left."""

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
