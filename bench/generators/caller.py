"""The caller (bench/caller): every transport by one clock, rows in turn, every request in its log.

Its log begins with the start of its clock, in nanoseconds since 1970; request_log.py reads it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from bench.generators import Load

# Where bench/caller/build.sh puts it, in the repository.
PROGRAM = PurePath(".build/caller/caller")
PATIENCE_SECONDS = 30


class Different(Exception):
    """An answer that is not the table's: nothing may be timed."""


@dataclass(frozen=True)
class Question:
    """What is asked of whom."""

    transport: str
    address: str
    verb: str
    # The file in a process of the caller's, its name in PostgreSQL.
    model: str
    rows: Path
    # Rows in a request, where the transport takes several.
    block: int = 1


def _asked(program: PurePath, question: Question) -> list[str | PurePath]:
    return [
        program, "-transport", question.transport, "-address", question.address, "-verb", question.verb,
        "-model", question.model, "-rows", question.rows, "-block", str(question.block),
        "-patience", f"{PATIENCE_SECONDS}s",
    ]  # fmt: skip


def checking(
    program: PurePath, question: Question, clients: int = 1, every: int = 1
) -> list[str | PurePath]:
    """What compares the answers to all rows, or to each so-and-so many-th, by so many clients at once."""
    parts = ["-check", "-clients", str(clients), "-every", str(every)]
    return [*_asked(program, question), *parts]


def compared(said: str) -> int:
    """How many answers were equal to the bit, by what `checking` printed."""
    found = json.loads(said)
    if "different" in found:
        raise Different(found["different"])
    return found["compared"]


def beside(log: PurePath) -> PurePath:
    """The log of what is asked beside."""
    return log.with_name("also")


def command(
    program: PurePath, question: Question, load: Load, log: PurePath, also: str = ""
) -> list[str | PurePath]:
    """What asks for so long; `also` is a verb, its clients and its rate, VERB:CLIENTS:RATE."""
    rate: Sequence[str] = ["-rate", str(load.rate)] if load.rate else []
    more = ["-also", also, "-also-log", beside(log)] if also else []
    return [
        *_asked(program, question), "-clients", str(load.clients), "-warm-up", f"{load.warm_up}s",
        "-lasts", f"{load.seconds}s", "-log", log, *rate, *more,
    ]  # fmt: skip
