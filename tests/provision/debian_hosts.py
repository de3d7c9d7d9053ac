"""Fresh Debian 12 hosts on this machine, with a systemd, an sshd and an address of their own each.

A host is a container of systemd-nspawn over a root that debootstrap made, which only an
overlay changes, so the next host is as fresh as this one. The hosts share a bridge, and reach the package
registries through this machine; where its network has a certificate authority of its
own, they trust that too. Needs root, and Debian's debootstrap, systemd-container and iptables.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
IMAGE = ROOT / ".build" / "debian-12"
MIRROR = "http://deb.debian.org/debian"
# What Debian's cloud image has beyond the minimal system, as far as anything here relies on it.
PACKAGES = "ca-certificates,systemd-sysv,dbus,openssh-server,sudo,procps,iproute2"
OWN_AUTHORITIES = Path("/usr/local/share/ca-certificates")
NETWORK = "10.22.9"
BRIDGE = "pgb-hosts0"
BOOT_SECONDS = 60


def run(*command: str | Path) -> str:
    """What a command prints; its words are part of the error."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}:\n{done.stdout}{done.stderr}"
    return done.stdout


def _make_image() -> None:
    making = IMAGE.with_name(IMAGE.name + ".making")
    shutil.rmtree(making, ignore_errors=True)
    run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", making, MIRROR)
    run("chroot", making, "useradd", "--create-home", "--shell=/bin/bash", "admin")
    (making / "etc/sudoers.d/admin").write_text("admin ALL=(ALL) NOPASSWD: ALL\n")
    # Each host makes keys of its own.
    for key in (making / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    if any(OWN_AUTHORITIES.glob("*.crt")):
        shutil.copytree(
            OWN_AUTHORITIES, making / "usr/local/share/ca-certificates", dirs_exist_ok=True
        )
        run("chroot", making, "update-ca-certificates")
    making.rename(IMAGE)


@dataclass(frozen=True)
class DebianHost:
    """A host that has booted."""

    name: str
    address: str
    root: Path
    key: Path

    def ssh(self, command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command there as admin, who has sudo."""
        options = ("BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null",
                   "ConnectTimeout=5", "LogLevel=ERROR")  # fmt: skip
        told = [word for option in options for word in ("-o", option)]
        words = ["ssh", "-F", "none", "-i", str(self.key), *told, f"admin@{self.address}", command]
        return subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )

    def output(self, command: str) -> str:
        """What a command there prints, both streams; an error if it fails."""
        done = self.ssh(f"{{ {command}; }} 2>&1")
        assert done.returncode == 0, f"{self.name}: {command}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def gone(self) -> bool:
        """Whether it stops letting in, within the time that a shutdown takes."""
        deadline = time.monotonic() + BOOT_SECONDS
        while self.ssh("true").returncode == 0:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.3)
        return True

    def wait(self) -> None:
        """Until it lets in."""
        deadline = time.monotonic() + BOOT_SECONDS
        while (done := self.ssh("true")).returncode != 0:
            assert time.monotonic() < deadline, f"{self.name} does not boot: {done.stderr}"
            time.sleep(0.3)


@contextmanager
def _bridge() -> Iterator[None]:
    """The hosts' network, with this machine as its way out."""
    forwarding = Path("/proc/sys/net/ipv4/ip_forward")
    before = forwarding.read_text()
    network = f"{NETWORK}.0/24"
    rule = ("POSTROUTING", "--source", network, "!", "--destination", network, "-j", "MASQUERADE")
    with ExitStack() as undone:
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        undone.callback(run, "ip", "link", "delete", BRIDGE)
        run("ip", "address", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        run("iptables", "--table", "nat", "--append", *rule)
        undone.callback(run, "iptables", "--table", "nat", "--delete", *rule)
        forwarding.write_text("1\n")
        undone.callback(forwarding.write_text, before)
        yield


@contextmanager
def _namespace(name: str, number: int) -> Iterator[tuple[Path, str]]:
    """A host's end of a cable to the bridge, and its address."""
    namespace, address, cable = f"debian-host-{name}", f"{NETWORK}.{number}", f"pgbh-{name}"
    with ExitStack() as undone:
        run("ip", "netns", "add", namespace)
        undone.callback(run, "ip", "netns", "delete", namespace)
        run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        # With its namespace it would go only when the last process there has ended.
        undone.callback(run, "ip", "link", "delete", cable)
        run("ip", "link", "set", cable, "master", BRIDGE, "up")
        for change in (
            ("address", "add", f"{address}/24", "dev", "eth0"), ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"), ("route", "add", "default", "via", f"{NETWORK}.1"),
        ):  # fmt: skip
            run("ip", "-n", namespace, *change)
        yield Path("/run/netns", namespace), address


@contextmanager
def _root(directory: Path, key: Path) -> Iterator[Path]:
    """A fresh root, which lets in the key."""
    parts = {name: directory / name for name in ("upper", "work", "root")}
    for part in parts.values():
        part.mkdir(parents=True)
    layers = f"lowerdir={IMAGE},upperdir={parts['upper']},workdir={parts['work']}"
    run("mount", "-t", "overlay", "overlay", "-o", layers, parts["root"])
    try:
        root = parts["root"]
        home = root / "home/admin/.ssh"
        home.mkdir(mode=0o700)
        shutil.copy(key.with_suffix(".pub"), home / "authorized_keys")
        run("chroot", root, "chown", "-R", "admin:", "/home/admin/.ssh")
        run("chroot", root, "ssh-keygen", "-A")
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        # sudo looks up its host's name, which AWS has in its DNS.
        (root / "etc/hostname").write_text(f"{directory.name}\n")
        (root / "etc/hosts").write_text(f"127.0.0.1 localhost {directory.name}\n")
        yield root
    finally:
        run("umount", parts["root"])
        shutil.rmtree(directory)


@contextmanager
def _booted(name: str, root: Path, namespace: Path, log: Path) -> Iterator[None]:
    command = [
        "systemd-nspawn", f"--directory={root}", "--boot", "--register=no", "--keep-unit",
        f"--machine=pgboost-{name}", f"--network-namespace-path={namespace}",
        # As on a host of its own: the limits of its network are its to set.
        "--capability=CAP_NET_ADMIN", "--resolv-conf=off",
    ]  # fmt: skip
    environment = os.environ | {"SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield
    finally:
        # nspawn answers this by shutting the host down in order.
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def debian_hosts(names: Sequence[str], directory: Path) -> Iterator[dict[str, DebianHost]]:
    """Fresh hosts, booted, that let in the key in `directory`."""
    if not IMAGE.exists():
        _make_image()
    key = directory / "key"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    with ExitStack() as stack:
        stack.enter_context(_bridge())
        hosts = {}
        for number, name in enumerate(names, start=10):
            root = stack.enter_context(_root(directory / name, key))
            namespace, address = stack.enter_context(_namespace(name, number))
            stack.enter_context(_booted(name, root, namespace, directory / f"{name}.log"))
            hosts[name] = DebianHost(name, address, root, key)
        for host in hosts.values():
            host.wait()
        yield hosts


def copy_repository(to: Path) -> None:
    """What git knows of this work tree, as it is now, but for results."""
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--", ".", ":(exclude)bench/results"]
    names = subprocess.run(listed, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            place = to / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place, follow_symlinks=False)
