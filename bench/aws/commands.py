"""Runs the programs of the operator's machine, or only says what would be run."""

import shlex
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.aws.choices import NotPossible

# What ends this program: a Ctrl-C, a kill, a terminal that is closed.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failed(Exception):
    """A program that did not do what it should."""


def say(text: str) -> None:
    """Progress: a line of its own, at once."""
    print(f"==> {text}", flush=True)


@dataclass(frozen=True)
class Commands:
    """How commands are run; with `dry` they are printed instead."""

    dry: bool = False

    def _told(self, command: Sequence[str | Path], told: bool) -> list[str]:
        words = [str(word) for word in command]
        if told or self.dry:
            print(f"    $ {shlex.join(words)}", flush=True)
        return words

    def run(self, command: Sequence[str | Path]) -> None:
        """Runs a program whose output is the operator's to see."""
        words = self._told(command, told=True)
        if not self.dry:
            _check(words, _run_in_order(words))

    def ask(self, command: Sequence[str | Path]) -> str:
        """What a program prints; empty when dry."""
        words = self._told(command, told=False)
        if self.dry:
            return ""
        done = _run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Failed(f"{words[0]} failed: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout.decode()

    def pipe(self, source: Sequence[str | Path], sink: Sequence[str | Path]) -> None:
        """One program's output into another."""
        first, second = self._told(source, told=False), self._told(sink, told=False)
        if self.dry:
            return
        with subprocess.Popen(first, stdout=subprocess.PIPE) as writing:
            done = _run(second, stdin=writing.stdout)
            writing.stdout.close()
        _check(second, done.returncode)
        _check(first, writing.returncode)

    def together(self, commands: dict[str, Sequence[str | Path]]) -> None:
        """Runs programs beside each other; each line they print begins with the one's name."""
        everyone = {name: self._told(command, told=False) for name, command in commands.items()}
        if self.dry:
            return
        running = {
            name: subprocess.Popen(
                words,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
            )
            for name, words in everyone.items()
        }
        try:
            threads = [threading.Thread(target=_repeat, args=pair) for pair in running.items()]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException:
            for process in running.values():
                process.terminate()
            raise
        failed = [name for name, process in running.items() if process.wait() != 0]
        if failed:
            raise Failed(f"failed on: {', '.join(failed)}")


def _run(words: list[str], **how) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(words, check=False, **how)
    except FileNotFoundError:
        raise NotPossible(f"{words[0]} is not installed") from None


def _run_in_order(words: list[str]) -> int:
    """The status of a program that is interrupted once, and then waited for, however long it takes.

    Terraform that is killed, or interrupted twice, forgets what it was just making. So it is not in
    the terminal's group of processes, which a Ctrl-C reaches without us.
    """
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, process_group=0)
    except FileNotFoundError:
        raise NotPossible(f"{words[0]} is not installed") from None
    try:
        return process.wait()
    except KeyboardInterrupt:
        before = {name: signal.signal(name, signal.SIG_IGN) for name in ENDING}
        process.send_signal(signal.SIGINT)
        process.wait()
        for name, handler in before.items():
            signal.signal(name, handler)
        raise


def _check(words: list[str], status: int) -> None:
    if status != 0:
        raise Failed(f"{shlex.join(words)} ended with status {status}")


def _repeat(name: str, process: subprocess.Popen[str]) -> None:
    for line in process.stdout:
        print(f"[{name}] {line}", end="", flush=True)
