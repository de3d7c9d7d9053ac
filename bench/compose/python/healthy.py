"""Whether the service answers: GET /ping with a status of 2xx, or this ends with an error."""

import urllib.request

with urllib.request.urlopen("http://127.0.0.1:8000/ping", timeout=2):
    pass
