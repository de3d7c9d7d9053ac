"""The caller (bench/caller): every transport by one clock, rows in turn, every request in its log.

Its log begins with the start of its clock, in nanoseconds since 1970; request_log.py reads it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from bench.generators import Load

# Where bench/caller/build.sh puts it, in the repository.
PROGRAM = PurePath(".build/caller/caller")
PATIENCE_SECONDS = 30


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


def checking(program: PurePath, question: Question) -> list[str | PurePath]:
    """What compares the answers to all rows, one at a time where the transport allows."""
    return [*_asked(program, question), "-check"]


def command(
    program: PurePath, question: Question, load: Load, log: PurePath, seconds: float | None = None
) -> list[str | PurePath]:
    """What asks for so long; `seconds` may be part of one."""
    lasts = load.seconds if seconds is None else seconds
    rate: Sequence[str] = ["-rate", str(load.rate)] if load.rate else []
    return [
        *_asked(program, question), "-clients", str(load.clients), "-warm-up", f"{load.warm_up}s",
        "-lasts", f"{lasts}s", "-log", log, *rate,
    ]  # fmt: skip
