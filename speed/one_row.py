"""The one-row query with predict against the same with array_length, by pgbench, in turn."""

from demo.preparation import DATABASE
from demo.timing import OneRow, transactions_per_second
from speed.record import CLIENTS, PROTOCOLS, Subject
from speed.site import Site
from speed.turns import Measure, in_turn

SCRIPTS = {"predict": "predict.sql", "control": "control.sql"}


def one_row(site: Site, duration: int, repetitions: int) -> Subject:
    """Transactions a second: `PROTOCOL/CLIENTS/predict` and `.../control`."""

    def run(script: str, how: OneRow) -> Measure:
        return lambda: transactions_per_second(site.cluster, DATABASE, script, how)

    measures = {
        f"{protocol}/{clients}/{name}": run(script, OneRow(protocol, clients, duration))
        for protocol in PROTOCOLS
        for clients in CLIENTS
        for name, script in SCRIPTS.items()
    }
    return Subject("transactions/s", in_turn(measures, repetitions))
