"""What only the operator's machine knows: its address, its key, the commit, the operator's consent."""

import ipaddress
import subprocess
import urllib.request
from pathlib import Path

from bench.aws.choices import NotPossible
from bench.aws.reach import ROOT

# AWS's own answer to "where do I come from".
ADDRESS_SERVICE = "https://checkip.amazonaws.com"
KEYS = ("id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub")


def cidr(given: str | None, dry: bool) -> str:
    """Who may connect by ssh: as given, or this machine as AWS sees it."""
    if given is None and dry:
        return f"<this machine's address, as {ADDRESS_SERVICE} sees it>/32"
    try:
        network = ipaddress.IPv4Network(given or f"{_address()}/32")
    except ValueError as error:
        raise NotPossible(f"--caller-cidr must be an IPv4 network: {error}") from None
    if network.prefixlen < 24:
        raise NotPossible(
            "--caller-cidr must be a network of 256 addresses or fewer: ssh is not to be open to many"
        )
    return str(network)


def _address() -> str:
    try:
        with urllib.request.urlopen(ADDRESS_SERVICE, timeout=10) as answer:
            return answer.read().decode().strip()
    except OSError as error:
        raise NotPossible(
            f"{ADDRESS_SERVICE} does not answer ({error}): give --caller-cidr"
        ) from None


def public_key(given: Path | None) -> Path:
    """The file of the public key that the hosts let in."""
    places = [given] if given else [Path.home() / ".ssh" / name for name in KEYS]
    for place in places:
        if place.is_file():
            return place.resolve()
    raise NotPossible(
        f"no public key at {' or '.join(map(str, places))}: give --public-key, or make one with ssh-keygen"
    )


def commit() -> str:
    """What the hosts are to get, which is what is committed."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotPossible(f"the hosts get what git has committed: {done.stderr.strip()}")
        return done.stdout.strip()

    if git("status", "--porcelain", "-uno"):
        print("    changes that are not committed stay here: the hosts get the last commit")
    return git("rev-parse", "HEAD")


def agreed(question: str) -> bool:
    """Whether the operator says yes, in full."""
    try:
        return input(f"{question} Type yes to go on: ").strip() == "yes"
    except EOFError:
        return False
