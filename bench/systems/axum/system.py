"""The service in src/, built on the server's host, with features in Redis or read from a file of flights.

It has one thread per core; more do not raise its throughput.
"""

import tomllib
from collections.abc import Sequence
from pathlib import Path, PurePath

from bench.results import Loading
from bench.systems.http import Http, Started

FOLDER = "bench/systems/axum"
PROGRAM = ".build/axum/release/axum_service"


class Axum(Http):
    """One process, whose threads share the model and the features, or the connection to Redis."""

    part = "axum"

    @property
    def _flights(self) -> PurePath:
        """A file of flights without its ending, and a directory of trips and offers."""
        return self._site.server.directory / f"flights-{self._site.workload.rows}"

    def versions(self) -> dict[str, str]:
        server = self._site.server
        server.run([server.root / FOLDER / "build.sh"])
        lock = tomllib.loads(Path(__file__).with_name("Cargo.lock").read_text())
        crates = {crate["name"]: crate["version"] for crate in lock["package"]}
        # Python's Redis client is "redis" in the same record.
        return {"axum": crates["axum"], "tokio": crates["tokio"], "redis (crate)": crates["redis"]}

    def load(self) -> list[Loading]:
        if self._in_redis:
            return super().load()
        server, request = self._site.server, self._site.request
        wanted = (f"--rows={request.rows}", f"--seed={request.seed}", "--output")
        for what, where in (("flights", f"{self._flights}.csv"), ("ranking", self._flights)):
            command = [server.python, "-m", f"data.{what}", *wanted, where]
            server.run(command, {"PYTHONPATH": str(server.root)})
        return []

    def command(self, models: Sequence[PurePath], address: str) -> Started:
        server = self._site.server
        program, threads = str(server.root / PROGRAM), str(server.cores)
        flights = self.redis_url if self._in_redis else str(self._flights)
        flags = ["--bind", address, "--threads", threads, "--flights", flights]
        return [program, *flags, *map(str, models)], {}
