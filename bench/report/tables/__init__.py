"""The tables of the pages, each from one result: medians, with the smallest and the largest in brackets."""

from collections.abc import Callable, Mapping

from bench.report import goals, records
from bench.report.measured import Measured
from bench.report.tables import clients, distance, preparing, servers, verdicts

# By the name that a template calls it.
TABLES: Mapping[str, Callable[[Measured], str]] = {
    "throughput": clients.throughput,
    "latency": clients.latencies,
    "generator": clients.generator,
    "random": clients.random_keys,
    "control": clients.control,
    "rates": clients.fixed,
    "memory": servers.memory,
    "memory-parts": servers.memory_parts,
    "trees": servers.trees,
    "trees-time": servers.trees_time,
    "request-time": servers.request_time,
    "batches": servers.batches,
    "further": servers.further,
    "loading": preparing.loading,
    "training": preparing.training,
    "goals": lambda measured: verdicts.goals(goals.of_local(measured)),
    "split-goals": lambda measured: verdicts.goals(goals.of_split(measured)),
    "wins": verdicts.wins,
    "slower-preparations": verdicts.preparations,
    "skipped": verdicts.skipped,
    "starved": verdicts.starved,
    "distance": distance.distance,
    "growth": distance.growth,
    "machine": records.machine,
    "round-trips": records.round_trips,
    "settings": records.settings,
    "versions": records.versions,
    "workload": records.workload,
}
