"""`python -m tools.cluster start|stop|delete DIRECTORY...`: throw-away clusters, for another program.

`start` prints the cluster's directory, port and user as JSON.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from tools.cluster.paths import ClusterError
from tools.cluster.server import start, stop


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"no name=value: {text}")
    return name, value


def _start(arguments: argparse.Namespace) -> None:
    (directory,) = arguments.directories
    cluster, _ = start(directory, arguments.port, dict(arguments.set), arguments.allow)
    print(json.dumps(asdict(cluster.place)))


def _stop(arguments: argparse.Namespace) -> None:
    for directory in arguments.directories:
        stopped = stop(directory, delete=arguments.verb == "delete")
        print(f"{directory}: {'stopped' if stopped else 'no cluster was running'}")


def main() -> None:
    """Starts the cluster of a state directory, or stops or deletes those of several."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=("start", "stop", "delete"))
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--port", type=int, default=0, help="preferred, where it is free")
    parser.add_argument("--set", type=_setting, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--allow", metavar="NETWORK", help="who else may log in with a password")
    arguments = parser.parse_args()
    if arguments.verb == "start" and len(arguments.directories) != 1:
        parser.error("start takes one directory")
    (_start if arguments.verb == "start" else _stop)(arguments)


if __name__ == "__main__":
    try:
        main()
    except ClusterError as error:
        sys.exit(f"error: {error}")
