"""The ways to run the service, each a command and an environment.

`published` is the 2022 comparison's: `OMP_NUM_THREADS=2 gunicorn predict:app -w 5 -t 2`, in which -t is the
timeout, so five workers of one thread each, without keep-alive. `published_one_thread` differs in
OMP_NUM_THREADS only: on few cores five teams of two threads spend the time waiting for each other. `tuned` is
the fastest of the configurations that were tried with the same parts, without a proxy matrix by ctypes.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from python_baseline.settings import Settings

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Mode:
    """A way to start the service."""

    arguments: tuple[str, ...]
    settings: dict[str, str]
    openmp_threads: int

    def apply(self, settings: Settings) -> Settings:
        """Returns the settings with this mode's changes."""
        return replace(settings, **self.settings)


_PUBLISHED = ("--workers=5", "--timeout=2", "python_baseline.service:opened_app()")
_TUNED = (
    "--config=python:python_baseline.gunicorn_tuned",
    "python_baseline.service:prepared_app()",
)
_TUNED_SETTINGS = {"predictor": "inplace", "http_json": "orjson", "redis_connections": "own"}

MODES = {
    "published": Mode(_PUBLISHED, {}, openmp_threads=2),
    "published_one_thread": Mode(_PUBLISHED, {}, openmp_threads=1),
    "tuned": Mode(_TUNED, _TUNED_SETTINGS, openmp_threads=1),
}


def command(name: str, address: str, settings: Settings) -> tuple[list[str], dict[str, str]]:
    """Returns the command, run in the repository, and the variables it adds to the environment."""
    mode = MODES[name]
    variables = mode.apply(settings).environment()
    variables["OMP_NUM_THREADS"] = str(mode.openmp_threads)
    # The service is started in the repository, not installed.
    variables["PYTHONPATH"] = str(ROOT)
    # Gunicorn's control socket would be in the home directory.
    gunicorn = [sys.executable, "-m", "gunicorn", "--no-control-socket", f"--bind={address}"]
    return [*gunicorn, *mode.arguments], variables
