"""Gunicorn's configuration of the tuned service.

Threads and keep-alive, which the default worker has not. The code is imported before the
fork, so that workers share its pages; the model is loaded after it.
"""

import importlib

from python_baseline.settings import Settings

_settings = Settings.read()

worker_class = "gthread"
workers = _settings.workers
threads = _settings.threads
keepalive = 75
preload_app = True

# Imported with the code, not at the worker's first use of them.
for _name in ("xgboost", f"python_baseline.stores.{_settings.store}_store"):
    importlib.import_module(_name)


def post_fork(server, worker) -> None:
    """Loads the model and connects to the features, in each worker."""
    server.app.wsgi().extensions["service"].open()
