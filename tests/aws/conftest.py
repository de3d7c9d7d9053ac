"""An operator's machine: a clone with bench/aws and a stand-in for terraform before the real one.

The stand-in is there because what terraform does needs AWS and an account. It writes
down what it was asked, and keeps a state file as terraform does, which says which hosts
there are; nothing else in these tests stands in for anything.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
STAND_IN = Path(__file__).resolve().parent / "terraform_stand_in.py"
STATE = Path("bench/aws/.state")


@dataclass(frozen=True)
class Operator:
    """The clone and the operator's home."""

    clone: Path
    home: Path

    @property
    def state(self) -> Path:
        """What bench/aws/run keeps."""
        return self.clone / STATE

    @property
    def key(self) -> Path:
        """The operator's public key."""
        return self.home / "key.pub"

    def environment(self, **added: str) -> dict[str, str]:
        """With the stand-in before the real terraform."""
        path = f"{self.home / 'bin'}:{os.environ['PATH']}"
        asked = str(self.home / "asked")
        return os.environ | {"HOME": str(self.home), "PATH": path, "STAND_IN_ASKED": asked} | added

    def command(self, *arguments: str) -> list[str]:
        """bench/aws/run with these arguments."""
        return [str(self.clone / "bench/aws/run"), *arguments]

    def run(
        self, *arguments: str, given: str = "", **added: str
    ) -> subprocess.CompletedProcess[str]:
        """One run to its end."""
        return subprocess.run(
            self.command(*arguments), env=self.environment(**added), input=given,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def up(self, *arguments: str, **added: str) -> subprocess.CompletedProcess[str]:
        """`up` with what it would otherwise ask or look up."""
        own = ("--caller-cidr", "192.0.2.7/32", "--public-key", str(self.key))
        return self.run("up", *own, *arguments, **added)

    def asked(self) -> list[str]:
        """The verbs that terraform was given, in order."""
        record = self.home / "asked"
        return record.read_text().split() if record.exists() else []

    def chosen(self) -> dict[str, object]:
        """The variables that terraform was given last."""
        return json.loads((self.state / "chosen.tfvars.json").read_text())


def clone(to: Path, copy: Callable[[Path], None]) -> None:
    """A repository of one commit."""
    copy(to)
    who = ("-c", "user.name=operator", "-c", "user.email=operator@localhost")
    for arguments in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "All")):
        subprocess.run(["git", "-C", str(to), *arguments], check=True)


def settle(home: Path) -> None:
    """The operator's home: the stand-in, and a key."""
    (home / "bin").mkdir(parents=True)
    shutil.copy(STAND_IN, home / "bin" / "terraform")
    (home / "bin" / "terraform").chmod(0o755)
    key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / "key")]
    subprocess.run(key, check=True)


def _copy_aws(to: Path) -> None:
    ignored = shutil.ignore_patterns(".state", ".terraform", "__pycache__")
    shutil.copytree(ROOT / "bench/aws", to / "bench/aws", ignore=ignored)
    shutil.copy(ROOT / "bench/__init__.py", to / "bench/__init__.py")


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    """An operator who has nothing up."""
    machine = Operator(tmp_path / "clone", tmp_path / "home")
    clone(machine.clone, _copy_aws)
    settle(machine.home)
    return machine
