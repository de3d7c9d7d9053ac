"""Compares others' claims with the committed results.

claims.toml lists them; each names a method of finding.py that finds its figure. Without a figure it was not
run. A verdict needs four measurements, and a share of time that is not negative in any. A claim holds if the
median reaches its bound, is weaker if the whole range is on its side of `none`, and else does not hold.
"""

import csv
import io
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report.files import Sources
from bench.report.finding import found_by
from bench.report.headline import ENOUGH
from bench.results import Spread

CLAIMS = Path(__file__).with_name("claims.toml")
FILE = "claims.csv"
HOLDS, WEAKER, FALSE, NOT_RUN = "holds", "weaker", "does not hold", "not run"
VERDICTS = (HOLDS, WEAKER, FALSE, "no verdict", NOT_RUN)


@dataclass(frozen=True)
class Claim:
    """A claim, as its file describes it, with the measured figure or None."""

    says: str
    found: Sequence[Any] = ()
    figure: str = ""
    least: float | None = None
    most: float | None = None
    none: float = 1.0
    shown: str = "times"
    note: str = ""
    # What ours is compared with, and the results it is from.
    against: str = ""
    runs: Sequence[str] = ()
    ours: Spread | None = None

    @property
    def bound(self) -> float:
        """The bound from which it holds."""
        return self.least if self.most is None else self.most

    @property
    def verdict(self) -> str:
        if few := self.few:
            return few
        sign = 1 if self.most is None else -1
        if sign * self.ours.median >= sign * self.bound:
            return HOLDS
        worst = self.ours.smallest if sign > 0 else self.ours.largest
        return WEAKER if sign * worst > sign * self.none else FALSE

    @property
    def few(self) -> str:
        """Why there is no verdict; empty if there is one."""
        if self.ours is None:
            return NOT_RUN
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
    for document in documents:
        document["claims"] = []
        for known in document.pop("claim"):
            ours, finding = found_by(sources, known.get("found", ()))
            claim = Claim(**{"against": finding.rival, **known}, runs=finding.runs, ours=ours)
            document["claims"].append(claim)
    return documents


def day(run: str) -> str:
    """Returns the day of a result from its directory."""
    return re.search(r"\d{4}-\d\d-\d\d", run)[0]


def counts(claims: Sequence[Claim]) -> list[int]:
    """Returns the number of claims with each of `VERDICTS`."""
    found = Counter(one.verdict if one.verdict in VERDICTS else "no verdict" for one in claims)
    return [found[verdict] for verdict in VERDICTS]


def table(documents: Sequence[dict[str, Any]]) -> str:
    """Returns every claim as CSV."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([
        "document", "claim", "figure", "at_least", "at_most", "compared_with", "ours", "smallest", "largest",
        "measurements", "verdict", "runs",
    ])  # fmt: skip
    for title, one in ((of["title"], one) for of in documents for one in of["claims"]):
        ours: list[Any] = ["", "", "", 0]
        if known := one.ours:
            ours = [f"{value:.6g}" for value in (known.median, known.smallest, known.largest)]
            ours.append(known.count)
        said = [title, one.says, one.figure, one.least, one.most, one.against]
        lines.writerow([*said, *ours, one.verdict, " ".join(one.runs)])
    return text.getvalue()
