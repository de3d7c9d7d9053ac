"""Hot standbys of a throw-away cluster, which can be promoted.

A standby uses the primary's port at another address, or at none, with its files in a separate directory.
"""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tools.cluster.server import Cluster, bin_directory, launch


def follow(primary: Cluster, home: Path, added: Mapping[str, str], *options: str) -> Cluster:
    """Copies the primary by pg_basebackup, and starts the copy, which the caller has to stop."""
    place = primary.place
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    if place.user:
        shutil.chown(home, place.user, place.user)
    copy = Cluster(replace(place, home=str(home)))
    copy.place.run("mkdir", "-m", "700", copy.place.sockets)
    copy.place.run(
        bin_directory() / "pg_basebackup", "-D", copy.place.data, "-R", "-c", "fast", "--no-sync",
        "-d", primary.conninfo(), *options,
    )  # fmt: skip
    launch(copy.place, {"hot_standby": "on", **added})
    return copy


def promote(standby: Cluster) -> None:
    """Promotes a standby, and waits until it is a primary."""
    standby.place.run(bin_directory() / "pg_ctl", "promote", "-D", standby.place.data, "-w")


def stop(server: Cluster, mode: str = "fast") -> None:
    """Stops a server, if it runs; its files stay."""
    server.place.run(
        bin_directory() / "pg_ctl", "stop", "-D", server.place.data, "-m", mode, "-w", check=False
    )
