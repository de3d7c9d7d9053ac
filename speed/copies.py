"""What many connections that predict hold together, beside as many that ran the same query without.

The sum of their proportional set sizes counts a shared page once, so that what the predicting ones
have more is the image, once for all or once for each, and what each connection keeps to itself. The
small model's connections keep about as much to themselves, and have next to no image.
"""

from contextlib import ExitStack

from bench.processes import private_bytes, pss_bytes
from speed.record import LARGE, SMALL, Subject
from speed.site import ONE, Site, columns
from workbench.queries import CONTROL
from workbench.turns import in_turn


class _Held:
    """Memory of connections that ran a statement, as of the last time that they were made."""

    def __init__(self, site: Site, connections: int) -> None:
        self._site = site
        self._connections = connections
        self.private: dict[str, list[float]] = {}

    def measure(self, name: str, statement: str) -> float:
        """The sum of their Pss; what each has of its own is kept, as the mean."""
        with ExitStack() as stack:
            made = [stack.enter_context(self._site.connect()) for _ in range(self._connections)]
            for connection in made:
                connection.execute(statement).fetchall()
            pids = [connection.info.backend_pid for connection in made]
            own = sum(private_bytes(pid) for pid in pids) / len(pids)
            self.private.setdefault(name, []).append(own)
            return float(pss_bytes(pids))


def copies(site: Site, connections: int, repetitions: int) -> Subject:
    """Bytes: `sum/control`, `sum/MODEL`, and the mean private memory, `private/...`."""
    held = _Held(site, connections)
    expressions = {"control": CONTROL, SMALL: columns(SMALL), LARGE: columns(LARGE)}
    measures = {
        name: lambda name=name, expression=expression: held.measure(
            name, f"SELECT {expression} {ONE}"
        )
        for name, expression in expressions.items()
    }
    sums = in_turn(measures, repetitions)
    series = {f"sum/{name}": values for name, values in sums.items()}
    return Subject("bytes", series | {f"private/{name}": v for name, v in held.private.items()})
