"""`python -m bench.hosts.there VERB DIRECTORY`: the far end of an `SshHost`, run on that machine.

It does there what a `LocalHost` does here. The question is one line of JSON on the input, so
that no password stands in a command line; so is the answer. `watch` answers twice, when it has
begun and when its input ends. Servers go on when this ends, so each is noted in the directory,
and `sweep` ends those that an earlier run has left.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.hosts.host import CommandFailed, Service
from bench.hosts.local import LocalHost
from bench.processes import Watch

SERVICES = "services.json"

Question = dict[str, Any]


def _noted(host: LocalHost) -> list[dict[str, Any]]:
    path = Path(host.directory, SERVICES)
    return json.loads(path.read_text()) if path.exists() else []


def _note(host: LocalHost, services: list[dict[str, Any]]) -> None:
    Path(host.directory, SERVICES).write_text(json.dumps(services) + "\n")


def _service(host: LocalHost, known: Question) -> Service:
    return Service(host, known["name"], known["pid"], known["began"], Path(known["log"]))


def _start(host: LocalHost, question: Question) -> Question:
    log = Path(question.pop("log"))
    service = host.start(log=log, **question)
    known = {
        "name": service.name, "pid": service.pid, "began": service.began, "log": str(log),
    }  # fmt: skip
    _note(host, [*_noted(host), known])
    return known


def _stop(host: LocalHost, question: Question) -> None:
    host.stop(_service(host, question))
    _note(host, [known for known in _noted(host) if known["pid"] != question["pid"]])


def _sweep(host: LocalHost, _: Question) -> list[str]:
    """The names of those that were still there."""
    left = [service for known in _noted(host) if host.is_alive(service := _service(host, known))]
    for service in left:
        host.stop(service)
    _note(host, [])
    return [service.name for service in left]


def _watch(host: LocalHost, question: Question) -> Question:
    watch: Watch = host.watch(question["trees"])
    print(json.dumps("watching"), flush=True)
    sys.stdin.read()
    return asdict(watch.finish())


VERBS: dict[str, Callable[[LocalHost, Question], Any]] = {
    "run": lambda host, q: host.run(**q),
    "start": _start,
    "alive": lambda host, q: host.is_alive(_service(host, q)),
    "stop": _stop,
    "sweep": _sweep,
    "timed": lambda host, q: asdict(host.timed(**q)),
    "watch": _watch,
    "write": lambda host, q: host.write(Path(q["place"]), q["text"], q["owner"]),
}


def main() -> None:
    """One question, one answer: {"answer": ...} or {"error": "..."}."""
    directory = Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    try:
        question = json.loads(sys.stdin.readline())
        print(json.dumps({"answer": VERBS[sys.argv[1]](LocalHost(directory), question)}))
    except CommandFailed as error:
        print(json.dumps({"error": str(error)}))


if __name__ == "__main__":
    main()
