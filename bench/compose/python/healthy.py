"""Checks the service's health: fails unless GET /ping has the status 2xx."""

import urllib.request

with urllib.request.urlopen("http://127.0.0.1:8000/ping", timeout=2):
    pass
