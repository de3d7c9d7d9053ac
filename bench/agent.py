"""`python -m bench.agent`: does on its machine what the harness asks, a line of JSON each way.

A question is {"verb": ..., ...}, its answer {"answer": ...} or {"error": "..."}.
The first line is said unasked: where this repository and its Python are. What is started here ends with
this, and this with its input, so whatever becomes of the harness no server goes on. Nothing but Python is
needed, for the store may have no package.
"""

import base64
import contextlib
import importlib
import io
import json
import os
import queue
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import processes
from bench.processes import Used

STOP_SECONDS = 20
READY_SECONDS = 60
# What a shell, and what enters a namespace, ends with where there is no such program.
NOT_FOUND = 127
GENERATOR = "generator"
CHILD = "import sys; from bench.agent import child; sys.exit(child())"

Answer = dict[str, Any]


class CommandFailed(Exception):
    """A command that could not be run, or did not do what it should."""


def called(function: str, question: dict[str, Any]) -> Any:
    """What a function of this repository, module:name, answers."""
    module, name = function.split(":")
    return getattr(importlib.import_module(module), name)(**question)


def child() -> int:
    """Answers one call in a process of its own."""
    asked = json.load(sys.stdin)
    try:
        print(json.dumps(called(asked["function"], asked["question"])))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


class Agent:
    """The verbs, each a method that takes the question's fields."""

    def __init__(self) -> None:
        self._services: dict[int, subprocess.Popen[bytes]] = {}
        self._watches: list[processes.Watch] = []
        # What is waited for just now.
        self._current: subprocess.Popen[str] | None = None

    def _popen(self, command: list[str], environment: dict[str, str], **more: Any) -> Any:
        """A process in a group of its own."""
        try:
            return subprocess.Popen(
                command, env=os.environ | environment, process_group=0, **more
            )  # fmt: skip
        except FileNotFoundError:
            raise CommandFailed(f"{command[0]} is not installed") from None

    def _output(self, process: Any, name: str, question: str | None = None) -> str:
        """What it prints until it ends; an error if it fails."""
        self._current = process
        output, errors = process.communicate(question)
        self._current = None
        if process.returncode == NOT_FOUND:
            raise CommandFailed(f"{name} is not installed")
        if process.returncode != 0:
            raise CommandFailed(f"{name} failed:\n{output}{errors or ''}")
        return output or errors

    def run(
        self, command: list[str], environment: dict[str, str], question: str | None = None
    ) -> str:
        """What a command prints."""
        stdin = subprocess.DEVNULL if question is None else subprocess.PIPE
        process = self._popen(
            command, environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        return self._output(process, command[0], question)

    def call(self, function: str, question: dict[str, Any], apart: bool) -> Any:
        """A function's answer; from a process of its own, if it takes long or its memory is measured."""
        if not apart:
            return called(function, question)
        asked = json.dumps({"function": function, "question": question})
        return json.loads(self.run([sys.executable, "-c", CHILD], {}, asked))

    def start(
        self, command: list[str], environment: dict[str, str], log: str, user: str | None = None
    ) -> int:
        """Starts a server as a child of this, in a process group of its own; its process id."""
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        with Path(log).open("ab") as output:
            process = self._popen(
                [*become, *command], environment, cwd="/", stdin=subprocess.DEVNULL,
                stdout=output, stderr=output,
            )  # fmt: skip
        self._services[process.pid] = process
        return process.pid

    def stop(self, pid: int) -> None:
        """Asks a server to end, and waits until it has; one that does not heed is killed with its group."""
        process = self._services.pop(pid, None)
        if process is None or process.poll() is not None:
            return
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
            return
        os.killpg(pid, signal.SIGKILL)
        process.wait()

    def wait(self, pid: int, address: str, port: int, path: str | None = None) -> bool:
        """Whether a server came to answer: it accepts a connection, or GET of a path has the status 200."""
        deadline, service = time.monotonic() + READY_SECONDS, self._services[pid]
        while time.monotonic() < deadline and service.poll() is None:
            place = (address, port)
            with contextlib.suppress(OSError), socket.create_connection(place, 5.0) as connection:
                if path is None:
                    return True
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                if connection.recv(64).startswith((b"HTTP/1.0 200", b"HTTP/1.1 200")):
                    return True
            time.sleep(0.05)
        return False

    def timed(self, command: list[str], environment: dict[str, str]) -> Answer:
        """Runs a load generator; its processor time is the kernel's own sum over ended children."""
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        process = self._popen(
            command, environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        watch = processes.Watch({GENERATOR: [process.pid]})
        try:
            output = self._output(process, command[0])
        finally:
            ended, after = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            seen = watch.finish()
        spent = sum(getattr(after, n) - getattr(before, n) for n in ("ru_utime", "ru_stime"))
        used = Used(spent, seen.total.pss_bytes)
        return {"output": output, "seconds": ended - began, "used": asdict(used)}

    def watch(self, trees: dict[str, list[int]]) -> int:
        """Begins to watch the parts of a system, each given as the roots of its processes."""
        self._watches.append(processes.Watch(trees))
        return len(self._watches) - 1

    def finish(self, watch: int) -> Answer:
        """What was used since."""
        return asdict(self._watches[watch].finish())

    def write(self, place: str, text: str, owner: str | None = None) -> None:
        """Writes a file that its owner alone can read, closed to others before it holds anything."""
        path = Path(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(text)
        for each in (path.parent, path) if owner else ():
            shutil.chown(each, owner, owner)

    def unpack(self, directory: str, archive: str) -> None:
        """Makes the files of an archive of tar, in base 64."""
        Path(directory).mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(archive))) as packed:
            packed.extractall(directory)

    def free_port(self, address: str) -> int:
        """A port that nobody listens on just now."""
        with socket.socket() as probe:
            probe.bind((address, 0))
            return probe.getsockname()[1]

    def end(self) -> None:
        """Ends everything: what is waited for at once, with all that it started."""
        if process := self._current:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for pid in [*self._services]:
            self.stop(pid)


def _answer(agent: Agent, asked: Answer) -> Answer:
    verb: Callable[..., Any] = getattr(agent, asked.pop("verb"))
    try:
        return {"answer": verb(**asked)}
    except CommandFailed as error:
        return {"error": str(error)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Answers until there are no more questions."""
    # What is printed here by others is no answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # libpq's variables of whoever started the harness lead to another server.
    for name in [name for name in os.environ if name.startswith("PG") and name != "PG_CONFIG"]:
        del os.environ[name]
    os.environ["PYTHONPATH"] = str(Path.cwd())
    agent, questions = Agent(), queue.SimpleQueue()

    # While something is waited for, the end of the input is still seen.
    def listen() -> None:
        for line in sys.stdin:
            questions.put(json.loads(line))
        agent.end()
        os._exit(0)

    print(json.dumps({"root": str(Path.cwd()), "python": sys.executable}), file=answers, flush=True)
    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    with contextlib.suppress(BrokenPipeError):
        while True:
            print(json.dumps(_answer(agent, questions.get())), file=answers, flush=True)
    # Nobody waits for answers any more; the listener is about to end everything.
    listener.join()


if __name__ == "__main__":
    main()
