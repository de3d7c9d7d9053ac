"""How the demo speaks: numbered steps, what each found, and tables.

Written to be read both on a terminal and in a log: a line is printed once and
never again, and progress bars appear on terminals only.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Teller:
    """Prints steps one after the other, and how long each took."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._step = 0

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """A numbered step; what is said within it is indented below its title."""
        self._step += 1
        print(f"\n[{self._step}/{self._steps}] {title}", flush=True)
        began = time.monotonic()
        yield
        took = time.monotonic() - began
        if took >= 1.0:
            say(f"({took:.0f} s)")


def say(text: str) -> None:
    """One line within a step."""
    print(f"      {text}".rstrip(), flush=True)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    return "" if value is None else str(value)


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "").removeprefix("-").isdecimal()


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows under a header; columns of numbers to the right, of text to the left."""
    cells = [[_text(value) for value in row] for row in rows]
    columns = [*zip(header, *cells, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    numeric = [all(_is_number(text) for text in column[1:] if text) for column in columns]

    def line(values: Sequence[str]) -> str:
        parts = [
            value.rjust(width) if right else value.ljust(width)
            for value, width, right in zip(values, widths, numeric, strict=True)
        ]
        return "  ".join(parts).rstrip()

    say(line(header))
    say("  ".join("-" * width for width in widths))
    for row in cells:
        say(line(row))
    if not rows:
        say("(no rows)")
