"""`python -m cluster stop|delete DIRECTORY...`: ends throw-away clusters."""

import argparse
import sys
from pathlib import Path

from cluster.place import ClusterError
from cluster.server import stop


def main() -> None:
    """Stops the clusters of the named state directories, and deletes their files if told to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("stop", "delete"))
    parser.add_argument("directories", nargs="+", type=Path)
    arguments = parser.parse_args()
    for directory in arguments.directories:
        stopped = stop(directory, delete=arguments.verb == "delete")
        print(f"{directory}: {'stopped' if stopped else 'no cluster was running'}")


if __name__ == "__main__":
    try:
        main()
    except ClusterError as error:
        sys.exit(f"error: {error}")
