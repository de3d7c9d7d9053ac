"""Another time of day for servers, which jumps, by libfaketime.

Files keep the kernel's times, and the clock that only goes forward is left alone, as when an administrator
sets the time.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
# The seconds of jumps, back or forth.
JUMPS = (2, 3600, 86400, 400 * 86400)
# libfaketime reads the file at every look at the clock.
AT_ONCE = {"FAKETIME_NO_CACHE": "1"}
# It reads the file once a second: to open a file allocates, and PostgreSQL's timeouts look at the clock in a
# signal's handler, which may have interrupted an allocation.
WITHIN_A_SECOND = {"FAKETIME_CACHE_DURATION": "0"}


class Clock:
    """The distance of the servers' time of day from the right one."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """Sets the clock this number of seconds from the right time."""
        # Written to another file and renamed: the server never reads half a line.
        written = self.file.with_suffix(".new")
        written.write_text(f"{seconds:+d}\n")
        written.chmod(0o644)
        written.rename(self.file)

    @contextmanager
    def is_that_of_servers(self, reads: Mapping[str, str]) -> Iterator[None]:
        """Gives the clock to programs that are started meanwhile."""
        faked = {
            "LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1", **reads,
        }  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            for name, text in faked.items():
                patch.setenv(name, text)
            yield
