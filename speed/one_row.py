"""The one-row query with predict against the same with the cheapest function of the same arguments.

By pgbench, in turn. A run's first second is not counted: pgbench connects in it, and every
connection loads the library. Runs are short and many, since what one connection happens to get,
of memory and of the cores, stays with it for the run.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench.generators import pgbench
from speed.record import CLIENTS, OTHER_CLIENTS, OTHER_FORMS, PROTOCOLS, SMALL, Subject
from speed.sessions import Measure
from speed.site import NAMES, ONE, Site, columns
from workbench import timing
from workbench.preparation import DATABASE
from workbench.queries import CONTROL, JSONB_CONTROL, ROW_CONTROL, predict
from workbench.timing import OneRow
from workbench.turns import in_turn

SCRIPTS = {"predict": columns(SMALL), "control": CONTROL}
OTHER_SCRIPTS = {form: predict(form, NAMES[SMALL]) for form in OTHER_FORMS} | {
    "row control": ROW_CONTROL,
    "jsonb control": JSONB_CONTROL,
}
CONNECTING_SECONDS = 1


def _measures(site: Site, folder: Path, duration: int) -> Mapping[str, Measure]:
    def run(name: str, expression: str, protocol: str, clients: int) -> Measure:
        script = folder / f"{name}.sql"
        script.write_text(f"SELECT {expression} {ONE};\n")
        how = OneRow(protocol, clients, CONNECTING_SECONDS + duration)

        def measure() -> float:
            report = timing.pgbench(site.cluster, DATABASE, script, how, ["--progress=1"])
            return pgbench.rate(report, CONNECTING_SECONDS)

        return measure

    wanted = [(SCRIPTS, clients) for clients in CLIENTS] + [(OTHER_SCRIPTS, OTHER_CLIENTS)]
    return {
        f"{protocol}/{clients}/{name}": run(name, expression, protocol, clients)
        for protocol in PROTOCOLS
        for scripts, clients in wanted
        for name, expression in scripts.items()
    }


def one_row(site: Site, duration: int, repetitions: int) -> Subject:
    """Transactions a second: `PROTOCOL/CLIENTS/predict`, `.../control`, `.../row`, `.../row control`."""
    with tempfile.TemporaryDirectory() as folder:
        return Subject(
            "transactions/s", in_turn(_measures(site, Path(folder), duration), repetitions)
        )
