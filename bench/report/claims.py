"""Compares others' claims with the committed results.

claims.toml lists them; each names a function of finding.py that finds its figure. Without a figure it was not
run. A verdict needs four measurements, and a share of time that is not negative in any. A claim holds if the
median reaches its bound, is weaker if the whole range is on its side of `none`, and else does not hold.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report.files import Sources
from bench.report.finding import found_by
from bench.report.headline import ENOUGH
from bench.results import Spread

CLAIMS = Path(__file__).with_name("claims.toml")


@dataclass(frozen=True)
class Claim:
    """A claim, as its file describes it, with the measured figure or None."""

    says: str
    found: Sequence[Any]
    figure: str = ""
    least: float | None = None
    most: float | None = None
    none: float = 1.0
    shown: str = "times"
    note: str = ""
    ours: Spread | None = None

    @property
    def bound(self) -> float:
        """The bound from which it holds."""
        return self.least if self.most is None else self.most

    @property
    def verdict(self) -> str:
        """The verdict of a claim."""
        if few := self.few:
            return few
        sign = 1 if self.most is None else -1
        if sign * self.ours.median >= sign * self.bound:
            return "holds"
        worst = self.ours.smallest if sign > 0 else self.ours.largest
        return "weaker" if sign * worst > sign * self.none else "does not hold"

    @property
    def few(self) -> str:
        """Why there is no verdict; empty if there is one."""
        if self.ours is None:
            return "not run"
        count = self.ours.count
        if count < ENOUGH:
            return "one run" if count <= 1 else f"{count} runs"
        # Differences of two measurements that are smaller than their noise.
        return "noise" if self.shown == "percent" and self.ours.smallest < 0 else ""

    @property
    def noisy(self) -> bool:
        """Whether the bound is within the range."""
        if self.few:
            return False
        low, high = self.ours.smallest, self.ours.largest
        return low < self.bound <= high if self.most is None else low <= self.bound < high


def judged(sources: Sources) -> list[dict[str, Any]]:
    """Returns the documents, each with its claims."""
    documents = tomllib.loads(CLAIMS.read_text())["document"]
    return [
        document
        | {"claims": [Claim(**one, ours=found_by(sources, one["found"])) for one in claims]}
        for document in documents
        if (claims := document.pop("claim"))
    ]
