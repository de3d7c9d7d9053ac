"""What the systems of a run share: the host, the models, the keys, the two sources of features."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bench.database import Database
from bench.feature_cache import FeatureCache
from bench.hosts import LocalHost
from bench.key_set import key_set
from bench.workload import Workload
from data.flights import Request
from demo.training import Recipe, trained
from python_baseline.keys import Key


@dataclass(frozen=True)
class Site:
    """One run's common ground. `directory` is the harness's own, and may be deleted after."""

    workload: Workload
    host: LocalHost
    directory: Path

    @cached_property
    def database(self) -> Database:
        """PostgreSQL."""
        return Database(self.directory, self.host.address)

    @cached_property
    def feature_cache(self) -> FeatureCache:
        """Redis."""
        return FeatureCache(self.host, self.directory / "redis")

    @cached_property
    def keys(self) -> list[Key]:
        """The key set, the hot key first."""
        return key_set(self.request, self.workload.keys)

    @property
    def request(self) -> Request:
        """The flights."""
        return Request(self.workload.rows, self.workload.seed)

    def model(self, trees: int) -> Path:
        """The file of the model of so many trees, trained on the first need."""
        self.directory.mkdir(parents=True, exist_ok=True)
        recipe = Recipe(self.workload.rows, trees, seed=self.workload.seed)
        return trained(recipe, self.directory, f"flights_{self.workload.rows}_{trees}")[0].path

    def stop(self) -> None:
        """Stops what was started."""
        self.feature_cache.stop()
        self.database.stop()
