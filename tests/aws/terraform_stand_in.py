#!/usr/bin/env python3
"""Stands in for terraform where AWS would be needed: writes down its verbs and keeps a state file.

STAND_IN_ASKED names the file of verbs, STAND_IN_TOPOLOGY one with the hosts that `apply`
is to have made, STAND_IN_FAILS a verb that fails after it began, STAND_IN_HANGS one that takes
for ever.
"""

import json
import os
import sys
import time
from pathlib import Path

NOBODY = {"name": "aws", "hosts": {}}


def write_down(word: str) -> None:
    """For the test to read."""
    with Path(os.environ["STAND_IN_ASKED"]).open("a") as record:
        record.write(f"{word}\n")


def hang() -> None:
    """Until an interrupt; then, as terraform does, it first puts its things in order."""
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        time.sleep(1)
        write_down("interrupted")
        sys.exit(1)


def main() -> None:
    """One verb."""
    directory = Path(sys.argv[1].removeprefix("-chdir="))
    verb, arguments = sys.argv[2], sys.argv[3:]
    state = directory / ".state" / "terraform.tfstate"
    write_down(verb)
    if verb == "apply":
        state.write_text(json.dumps({"resources": [{"type": "aws_instance"}]}))
    if verb == os.environ.get("STAND_IN_HANGS"):
        hang()
    if verb == os.environ.get("STAND_IN_FAILS"):
        sys.exit("no such zone")
    if verb == "destroy":
        state.write_text(json.dumps({"resources": []}))
    if verb == "output":
        topology = os.environ.get("STAND_IN_TOPOLOGY")
        made = json.loads(Path(topology).read_text()) if topology else NOBODY
        print(json.dumps(made if arguments[-1] == "topology" else {"region": "stand-in"}))


main()
