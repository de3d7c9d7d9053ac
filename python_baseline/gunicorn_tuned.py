"""Gunicorn's configuration of the tuned service.

Threads and keep-alive, which the default worker has not. The code is imported before the
fork, so that workers share its pages; the model is loaded after it.
"""

import gc

from python_baseline import releases
from python_baseline.settings import Settings

_settings = Settings.read()

worker_class = "gthread"
workers = _settings.workers
threads = _settings.threads
keepalive = 75
# A socket for each worker, over which the kernel spreads connections. Of one that all share, whoever wakes
# first takes what is there and keeps it, and a worker has one core, for it is one interpreter.
reuse_port = True
preload_app = True

# Imported with the code, not at the worker's first use of it.
releases.load(_settings.xgboost)


def post_fork(server, worker) -> None:
    """Loads the model and connects to the features, in each worker."""
    server.app.wsgi().extensions["service"].open()
    # What is there by now stays, so the garbage collector need not walk it time and again:
    # each call of XGBoost's Python package makes a class, which only the collector can free.
    gc.collect()
    gc.freeze()
