"""What was measured where: machine, topology, versions and workload as they stand in the result."""

from bench.report.figures import tenths
from bench.report.markdown import table
from bench.report.measured import Measured

# Of a machine's facts those that a reader looks for, in this order.
FACTS = (
    "processor", "cores", "threads per core", "memory", "governor", "virtual machine", "system", "kernel",
)  # fmt: skip
WORKLOAD = {
    "rows": "rows in the table and in Redis",
    "keys": "keys whose answers were compared, and from which random ones are drawn",
    "repetitions": "repetitions, interleaved",
    "seconds": "seconds of a run",
    "warm_up_seconds": "seconds of warm-up before it",
    "seed": "seed",
}


def _readable(name: str, value: str) -> str:
    if name == "memory" and value.endswith(" kB"):
        return f"{int(value.removesuffix(' kB')) / 1024**2:.1f} GiB"
    return value


def machine(measured: Measured) -> str:
    """The hosts and their roles."""
    topology = measured.result.topology
    hosts = [*topology.hosts]
    roles = {
        host: ", ".join(role for role, where in topology.roles.items() if where == host)
        for host in hosts
    }
    rows = [("roles", *(roles[host] for host in hosts))]
    for name in FACTS:
        facts = [topology.hosts[host].get(name) for host in hosts]
        if any(fact and fact != "unknown" for fact in facts):
            rows.append((name, *(_readable(name, fact or "unknown") for fact in facts)))
    return table(("", *hosts), rows, text_columns=1 + len(hosts))


def round_trips(measured: Measured) -> str:
    """How far the hosts are apart, as measured."""
    rows = [
        (
            f"{trip.source} to {trip.target}", trip.via,
            "as it is" if trip.delay_ms is None else f"{trip.delay_ms:g} ms",
            tenths(trip.p50_us), tenths(trip.p99_us),
        )
        for trip in measured.result.topology.round_trips
    ]  # fmt: skip
    header = ("round trip", "by", "delay set, one way", "half within, µs", "99 of 100 within, µs")
    return table(header, rows, text_columns=3)


def settings(measured: Measured) -> str:
    """What was set between the hosts, as far as it is said in words."""
    known = measured.result.topology.settings
    rows = [(name, value) for name, value in known.items() if isinstance(value, str)]
    return table(("set", ""), rows, text_columns=2)


def versions(measured: Measured) -> str:
    """Every component's version."""
    rows = [(name, version) for name, version in sorted(measured.result.versions.items())]
    return table(("component", "version"), rows, text_columns=2)


def workload(measured: Measured) -> str:
    """How much was asked, and how often."""
    known = measured.result.workload
    rows = [
        (text, f"{known[name]:,}" if name != "seed" else str(known[name]))
        for name, text in WORKLOAD.items()
        if name in known
    ]
    return table(("", ""), rows)
