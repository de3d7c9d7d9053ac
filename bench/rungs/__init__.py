"""The rungs of the ladder, a folder each: what they are is data, in its rung.toml (README.md).

A rung is a way from a row to its prediction. The caller (bench/caller) speaks its transport; a rung with a
server of its own names the command that starts it, and a build.sh beside it makes what the command needs.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
# Whose answers are compared; of the others nothing is to be seen.
PREDICTING = ("raw", "features", "key")
POSTGRES = ("socket", "tcp", "pgbouncer")
# Calls of some nanoseconds are timed in blocks: one takes less than to look at the clock.
BLOCK_IN_PROCESS = 10_000


@dataclass(frozen=True)
class Document:
    """The row of the document that a rung stands for, and its figure."""

    name: str
    ns: float


@dataclass(frozen=True)
class Rung:
    """What a rung.toml says of one rung."""

    name: str
    order: int
    label: str
    # One sentence, in Markdown.
    what: str
    transport: str
    verbs: tuple[str, ...]
    # What starts its server; without one the caller calls in its own process, or asks PostgreSQL.
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    # What takes the caller's flags in its place: a loop of another language.
    program: str | None = None
    # How PostgreSQL is reached.
    postgres: str | None = None
    # Rows in a request; of a call in process in a block that is timed.
    block: int = 1
    # Of the flights each so many-th is compared alone, where answers take too long.
    every: int = 1
    document: Document | None = None
    # What starts it for bench/serving.py, with {workers}.
    serving: tuple[str, ...] = ()
    # A measure of the caller itself.
    control: bool = False

    @property
    def in_process(self) -> bool:
        """Whether no server is asked."""
        return not (self.command or self.postgres)

    @property
    def rows(self) -> int:
        """How many are asked for at once."""
        return BLOCK_IN_PROCESS if self.in_process and self.block == 1 else self.block


def _rung(name: str, order: int, known: dict) -> Rung:
    document = known.pop("document", None)
    lists = {one: (*known.pop(one, ()),) for one in ("verbs", "command", "serving")}
    if known.get("postgres") not in (None, *POSTGRES):
        raise ValueError(f"{name}: PostgreSQL is reached by one of {', '.join(POSTGRES)}")
    return Rung(name, order, document=document and Document(**document), **lists, **known)


@cache
def described() -> dict[str, Rung]:
    """Every rung by its name, in the order of folders."""
    found = []
    for file in FOLDER.glob("*/rung.toml"):
        known = tomllib.loads(file.read_text())
        order = known.pop("order")
        found += [_rung(name, order, one) for name, one in known.items()]
    names = {one.name: one for one in sorted(found, key=lambda one: one.order)}
    if len(names) < len(found):
        raise ValueError("two rungs have one name")
    return names


def builds() -> list[Path]:
    """What makes the caller, and then what the rungs need."""
    return [FOLDER.parent / "caller" / "build.sh", *sorted(FOLDER.glob("*/build.sh"))]
