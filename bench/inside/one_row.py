"""The one-row query with predict relative to the same with the cheapest function of the same arguments.

pgbench measures both interleaved. A run's first second, in which connections are made and load the library,
is not counted. Runs are short and many, since a connection keeps its placement in memory and on cores for the
whole run.
"""

import tempfile
from pathlib import Path

from bench import generators
from bench.generators import pgbench
from bench.inside import series
from bench.inside.series import PROTOCOLS, SMALL, Load, Subjects, subject
from bench.inside.site import COLUMNS, NAMES, ONE, Measure, Site
from bench.interleaving import interleaved
from tools.workbench.preparation import DATABASE
from tools.workbench.queries import CONTROL, JSONB_CONTROL, ROW_CONTROL, predict

SCRIPTS = {"predict": COLUMNS[SMALL], "control": CONTROL}
OTHER_SCRIPTS = {form: predict(form, NAMES[SMALL]) for form in series.OTHER_FORMS} | {
    "row control": ROW_CONTROL,
    "jsonb control": JSONB_CONTROL,
}


def one_row(site: Site, load: Load) -> Subjects:
    """Measures transactions/s: `PROTOCOL/CLIENTS/predict`, `.../control`, `.../row`, `.../row control`."""
    wanted = [(SCRIPTS, clients) for clients in series.CLIENTS] + [
        (OTHER_SCRIPTS, series.OTHER_CLIENTS)
    ]
    with tempfile.TemporaryDirectory() as folder:

        def run(name: str, expression: str, protocol: str, clients: int) -> Measure:
            script = Path(folder, f"{name}.sql")
            script.write_text(f"SELECT {expression} {ONE};\n")
            asked = generators.Load(clients, load.seconds, seed=0, warm_up=1)
            return lambda: (
                pgbench.run(site.cluster, DATABASE, script, protocol, asked).requests_per_second
            )

        measures = {
            f"{protocol}/{clients}/{name}": run(name, expression, protocol, clients)
            for protocol in PROTOCOLS
            for scripts, clients in wanted
            for name, expression in scripts.items()
        }
        return {"one row": subject("transactions/s", interleaved(measures, load.rounds))}
