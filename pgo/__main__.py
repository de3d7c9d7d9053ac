"""`make pgo`: a build by a profile of the benchmark's workload, against the release build.

`build` makes the optimised library, `compare` measures it against the one that make install put
into PG_CONFIG's PostgreSQL; without either, both. Everything lies in .build/pgo and is made anew,
and nothing is installed. The result goes to a new directory below bench/results/.
"""

import argparse
import datetime
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import xgboost

from bench import machine
from bench.harness import commit
from bench.results import new_directory
from cluster import ClusterError
from cluster.server import installed
from data.flights import Request
from pgo import pairs, result, workload
from pgo.result import CONTROL, OPTIMISED, PLAIN, Comparison, Plan
from pgo.server import ROOT, STATE, Server, running, script
from pgo.verdict import verdict
from workbench.tell import Teller, say

RESULTS = ROOT / "bench" / "results"
INSTRUMENTED = "instrumented"
FEWEST_ROUNDS = 7
STEPS = {"build": 4, "compare": 3}


def _library(build: str) -> Path:
    return STATE / f"{build}.so"


def _trained_server() -> Server:
    """Its backends write profiles where the cluster's user may, and add up in one file as they end."""
    server = Server(INSTRUMENTED)
    profiles = Path(server.place.home, "profiles", "pgboost-%m.profraw")
    return Server(INSTRUMENTED, {"LLVM_PROFILE_FILE": str(profiles)})


def prepare(teller: Teller, request: Request) -> None:
    """The release build's server with flights and models, and its library by itself."""
    with teller.step(f"copy PostgreSQL; load {request.rows:,} flights and both models"):
        plain = Server(PLAIN)
        plain.install()
        with running(plain) as (cluster,):
            workload.load(cluster, request)
        shutil.copy(installed("--pkglibdir") / "pgboost.so", _library(PLAIN))


def _copied(name: str, library: Path) -> Server:
    server = Server(name)
    server.install()
    server.put_library(library)
    server.copy_data(Server(PLAIN))
    return server


def build(teller: Teller, request: Request) -> None:
    """The optimised library."""
    with teller.step("find llvm-profdata, installing it where it is lacking"):
        say(script("llvm_profdata.sh"))
    with teller.step("build pgboost with counters"):
        script("profiled.sh", "generate", _library(INSTRUMENTED))
    prepare(teller, request)
    with teller.step("run the benchmark's workload with it; build pgboost by what was counted"):
        _copied(INSTRUMENTED, _library(INSTRUMENTED))
        server = _trained_server()
        profiles = Path(server.variables["LLVM_PROFILE_FILE"]).parent
        server.place.run("mkdir", "-p", profiles)
        with running(server) as (cluster,):
            workload.train(cluster, request)
        merged = STATE / "merged"
        for old in STATE.glob("*.profdata"):
            old.unlink()
        for line in script("profiled.sh", "merge", profiles, merged).splitlines():
            say(line)
        # Cargo sees that flags changed, not that a file did.
        digest = hashlib.sha256(merged.read_bytes()).hexdigest()
        profile = merged.rename(STATE / f"{digest[:12]}.profdata")
        script("profiled.sh", "use", profile, _library(OPTIMISED))
        server.delete()
        for name in (PLAIN, OPTIMISED):
            say(f"{name}: {_library(name).stat().st_size:,} bytes")


def _versions() -> dict[str, str]:
    def said(*command: str | Path) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    profdata = said(script("llvm_profdata.sh").splitlines()[-1], "--version")
    return {
        "rustc": said("rustc", "--version"),
        "llvm-profdata": next(line for line in profdata.splitlines() if "version" in line).strip(),
        "PostgreSQL": said(installed("--bindir") / "postgres", "--version")
        .split(") ")[1]
        .split()[0],
        "XGBoost": xgboost.__version__,
    }


def compare(teller: Teller, plan: Plan) -> Path:
    """Measures, and writes the result."""
    with teller.step("three servers with the same data: the release build, twice, and the other"):
        again = _copied(CONTROL, _library(PLAIN))
        servers = [Server(PLAIN), again, _copied(OPTIMISED, _library(OPTIMISED))]
    with running(*servers) as started:
        clusters = dict(zip(result.SERVERS, started, strict=True))
        with teller.step("compare all predictions to the bit"):
            pairs.same_everywhere({n: pairs.digests(c) for n, c in clusters.items()})
        with teller.step(f"{plan.rounds} rounds, each cell on the three servers in turn"):
            cells = pairs.compare(clusters, plan)
    # The first stays, for another comparison.
    for server in servers[1:]:
        server.delete()
    known = machine.facts()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    sizes = {name: _library(name).stat().st_size for name in (PLAIN, OPTIMISED)}
    found = Comparison(today, commit(), known, _versions(), plan, sizes, cells)
    directory = new_directory(RESULTS, f"{machine.short_name(known)}-pgo")
    result.write(directory / result.FILE, found)
    won = verdict(cells)
    say(f"in {directory.relative_to(ROOT)}; make report makes docs/benchmarks/pgo.md of it")
    say(f"the optimised build {'wins' if won.wins else 'does not win'} beyond the noise:")
    say(f"faster in {len(won.better)} of {won.cells} cells, slower in {len(won.worse)}")
    return directory


def main() -> None:
    """Builds, compares, or both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=STEPS, help="default: both, in this order")
    parser.add_argument("--rounds", type=int, default=11, help="default: %(default)s")
    parser.add_argument("--seconds", type=int, default=2, help="of a pgbench run; %(default)s")
    parser.add_argument("--rows", type=int, default=1_000_000, help="default: %(default)s")
    arguments = parser.parse_args()
    if arguments.rounds < FEWEST_ROUNDS:
        parser.error(
            f"--rounds must be at least {FEWEST_ROUNDS}: fewer do not tell a change from noise"
        )
    parts = [arguments.part] if arguments.part else [*STEPS]
    teller = Teller(sum(STEPS[part] for part in parts))
    if "build" in parts:
        build(teller, Request(arguments.rows))
    if "compare" in parts:
        compare(teller, Plan(arguments.rounds, arguments.seconds, arguments.rows))


if __name__ == "__main__":
    try:
        main()
    except (ClusterError, pairs.Unequal, psycopg.OperationalError, RuntimeError) as error:
        sys.exit(f"error: {error}")
