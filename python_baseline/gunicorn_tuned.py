"""Gunicorn's configuration of the tuned service.

It uses threads and keep-alive, unlike the default worker. Code is imported before the fork, so that workers
share its pages; the model is loaded after it.
"""

import gc

from python_baseline import releases
from python_baseline.settings import Settings

_settings = Settings.read()

worker_class = "gthread"
workers = _settings.workers
threads = _settings.threads
keepalive = 75
# The kernel spreads connections over the workers' sockets. With a shared socket the worker that wakes first
# accepts most of them, and a worker, being one interpreter, uses one core.
reuse_port = True
preload_app = True

# Imported before the fork, not at a worker's first use.
releases.load()


def post_fork(server, worker) -> None:
    """Loads the model and connects to the features, in each worker."""
    server.app.wsgi().extensions["service"].open()
    # Objects that exist now live as long as the worker, and the garbage collector need not walk them. It runs
    # often, since each call of XGBoost's Python package creates a class, which only the collector can free.
    gc.collect()
    gc.freeze()
