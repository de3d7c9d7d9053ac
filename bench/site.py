"""The resources that a run's systems share: topology, models, keys, and the two sources of features."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.database import Database
from bench.feature_cache import FeatureCache
from bench.hosts import Host
from bench.key_set import features_of, key_set
from bench.requests import REQUESTS, RequestInputs
from bench.topology import Topology
from bench.workload import Workload
from data.flights import Request
from data.ranking import Ranking
from python_baseline.keys import Key
from tools.workbench.training import Recipe, trained

TENANT_ROWS = 20_000


@dataclass(frozen=True)
class Site:
    """The shared resources of one run. `directory` is the harness's and may be deleted afterwards."""

    workload: Workload
    topology: Topology
    directory: Path

    @property
    def server(self) -> Host:
        """The host of PostgreSQL, PgBouncer and Gunicorn."""
        return self.topology.server

    @property
    def client(self) -> Host:
        """The host of the load generators."""
        return self.topology.client

    @cached_property
    def database(self) -> Database:
        most = max((n for one in self.workload.cells.values() for n in one.clients), default=0)
        return Database(self.server, self.client, self.topology.network, most)

    @cached_property
    def feature_cache(self) -> FeatureCache:
        return FeatureCache(self.topology.store, self.server)

    @cached_property
    def keys(self) -> list[Key]:
        """The key set, the hot key first."""
        return key_set(self.request, self.workload.keys)

    @property
    def request(self) -> Request:
        return Request(self.workload.rows, self.workload.seed)

    @cached_property
    def ranking(self) -> Ranking:
        return Ranking(self.request)

    def inputs(self, trees: int, call: str = "") -> RequestInputs:
        """Returns the inputs of requests for a model; `call` is the SQL of a prediction."""
        features = self.features[0].tolist()
        return RequestInputs(trees, self.keys, call, features, self.ranking)

    @cached_property
    def features(self) -> NDArray[np.float32]:
        """The features of each key's flight."""
        return features_of(self.request, self.keys)

    def models(self, trees: int) -> list[Path]:
        """Returns the files of the models with that many trees, as many as a request uses at most."""
        asked = (one.requests for one in self.workload.cells.values() if trees in one.trees)
        most = max((REQUESTS[name].models for names in asked for name in names), default=1)
        return [self.model(trees, number) for number in range(most)]

    def model(self, trees: int, number: int = 0) -> Path:
        """Returns the file of a model, trained on first use; a tenant's is of fewer and other flights."""
        self.directory.mkdir(parents=True, exist_ok=True)
        rows = min(self.workload.rows, TENANT_ROWS) if number else self.workload.rows
        recipe = Recipe(rows, trees, seed=self.workload.seed + number)
        name = f"flights_{rows}_{trees}" + (f"_{number}" if number else "")
        return trained(recipe, self.directory, name)[0].path

    def ask(self, function: str, **question: Any) -> list[Any]:
        """Calls a function of bench.asking on the client's host."""
        return self.client.call(f"bench.asking:{function}", **question)

    def stop(self) -> None:
        self.feature_cache.stop()
        self.database.stop()
