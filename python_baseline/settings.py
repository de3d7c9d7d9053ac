"""The settings of a worker, passed by environment variables because Gunicorn starts the workers.

Every name begins with BASELINE_; `environment` and `Settings.read` are inverse.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

PREFIX = "BASELINE_"


@dataclass(frozen=True)
class Settings:
    """One service's configuration."""

    # The model's file, in XGBoost's format; several are separated as in PATH.
    model: str
    # The source of features: redis, or memory for bench/systems/asgi only.
    store: str = "redis"
    # Their format in Redis: json, or float32 for bench/systems/asgi only.
    serializer: str = "json"
    # XGBoost's interface: sklearn (as published) or inplace; for bench/systems/asgi, the library.
    predictor: str = "sklearn"
    # The library for requests and answers: json (Flask's) or orjson.
    http_json: str = "json"
    # A worker's connections to Redis: shared (one pool, as published) or own (one per thread).
    redis_connections: str = "shared"
    redis_url: str = "redis://127.0.0.1:6379/0"
    # The generated flights of the store memory.
    rows: int = 1_000_000
    seed: int = 2022
    # For the tuned service: two workers per core.
    workers: int = field(default_factory=lambda: 2 * (os.cpu_count() or 1))
    threads: int = 2

    @property
    def models(self) -> list[str]:
        """The models' files."""
        return self.model.split(os.pathsep)

    def environment(self) -> dict[str, str]:
        """Returns the settings as variables."""
        return {PREFIX + name.upper(): str(value) for name, value in asdict(self).items()}

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Reads the settings from variables, with defaults for missing ones."""
        known = {}
        for one in fields(cls):
            # docker compose passes an unset variable as an empty one.
            if value := environment.get(PREFIX + one.name.upper()):
                known[one.name] = int(value) if one.type is int else value
        if "model" not in known:
            raise SystemExit(f"set {PREFIX}MODEL to the model's file")
        return cls(**known)
