"""What a worker of the service is told, by environment variables.

Gunicorn's workers are started by Gunicorn, so the environment is the one way to
them. Every name begins with BASELINE_; `environment` and `Settings.read` are each
other's inverse.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

PREFIX = "BASELINE_"


@dataclass(frozen=True)
class Settings:
    """One service's configuration."""

    # The model's file, in XGBoost's own format; of several, each after the other's path separator.
    model: str
    # Where features come from: redis; memory for bench/systems/asgi alone.
    store: str = "redis"
    # How they are written in Redis: json; float32 for bench/systems/asgi alone.
    serializer: str = "json"
    # XGBoost's interface: sklearn (as published) or inplace; of bench/systems/asgi, the library.
    predictor: str = "sklearn"
    # XGBoost itself: installed (in this Python's environment) or pinned (see releases.py).
    xgboost: str = "installed"
    # What reads requests and writes answers: json (Flask's own) or orjson.
    http_json: str = "json"
    # How a worker's threads reach Redis: shared (one pool, as published) or own (a connection each).
    redis_connections: str = "shared"
    redis_url: str = "redis://127.0.0.1:6379/0"
    # The generated flights that the store memory holds.
    rows: int = 1_000_000
    seed: int = 2022
    # Of the tuned service: two workers for each core.
    workers: int = field(default_factory=lambda: 2 * (os.cpu_count() or 1))
    threads: int = 2

    @property
    def models(self) -> list[str]:
        """Each model's file."""
        return self.model.split(os.pathsep)

    def environment(self) -> dict[str, str]:
        """The variables that say this."""
        return {PREFIX + name.upper(): str(value) for name, value in asdict(self).items()}

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """The settings that the variables say; what none says has its default."""
        known = {}
        for one in fields(cls):
            # An empty one is as good as none: docker compose cannot leave one out.
            if value := environment.get(PREFIX + one.name.upper()):
                known[one.name] = int(value) if one.type is int else value
        if "model" not in known:
            raise SystemExit(f"set {PREFIX}MODEL to the model's file")
        return cls(**known)
