"""`python -m bench.agent`: does on its machine what the harness asks, a line of JSON each way.

A question is {"verb": ..., ...}, its answer {"answer": ...} or {"error": "..."}. What is started here ends
with this, and this with its input, so whatever becomes of the harness no server goes on. Nothing but Python
and psutil is needed. With a function and its question as arguments this answers that one call and ends.
"""

import base64
import contextlib
import importlib
import json
import os
import queue
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import processes
from bench.processes import Used

# A worker of Gunicorn that has just been started may miss the signal, and none has anything to save.
STOP_SECONDS = 5
READY_SECONDS = 60
LAST_LINES = 10
# What a shell, and what enters a namespace, ends with where there is no such program.
NOT_FOUND = 127
GENERATOR = "generator"
# Variables of builds, which libpq does not have.
OURS = ("PG_CONFIG", "PGBOOST_")

Answer = dict[str, Any]


class CommandFailed(Exception):
    """A command that could not be run, or did not do what it should."""


class Agent:
    """The verbs, each a method that takes the question's fields."""

    def __init__(self) -> None:
        self._services: dict[int, subprocess.Popen[bytes]] = {}
        self._watches: list[processes.Watch] = []
        # What is waited for just now.
        self._current: subprocess.Popen[str] | None = None

    def places(self) -> Answer:
        """Where this repository and its Python are."""
        return {"root": str(Path.cwd()), "python": sys.executable}

    def _popen(self, command: list[str], environment: dict[str, str], **more: Any) -> Any:
        """A process in a separate group, with nothing to read."""
        known = {"env": os.environ | environment, "stdin": subprocess.DEVNULL, "process_group": 0}
        try:
            return subprocess.Popen(command, **known, **more)
        except FileNotFoundError:
            raise CommandFailed(f"{command[0]} is not installed") from None

    def _output(self, process: subprocess.Popen[str], name: str) -> str:
        """What it prints until it ends; an error if it fails."""
        self._current = process
        output, errors = process.communicate()
        self._current = None
        if process.returncode == NOT_FOUND:
            raise CommandFailed(f"{name} is not installed")
        if process.returncode != 0:
            raise CommandFailed(f"{name} failed:\n{output}{errors or ''}")
        return output or errors

    def run(self, command: list[str], environment: dict[str, str]) -> str:
        """What a command prints."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return self._output(self._popen(command, environment, **pipes), command[0])

    def call(self, function: str, question: dict[str, Any]) -> Any:
        """What a function of this repository, module:name, answers."""
        module, name = function.split(":")
        return getattr(importlib.import_module(module), name)(**question)

    def start(
        self, command: list[str], environment: dict[str, str], log: str, user: str | None
    ) -> int:
        """Starts a server as a child of this, in a separate process group; its process id."""
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        become = {"user": user, "group": user, "extra_groups": ()} if user else {}
        with Path(log).open("ab") as to:
            more = {"cwd": "/", "stdout": to, "stderr": to}
            process = self._popen(command, environment, **more, **become)
        self._services[process.pid] = process
        return process.pid

    def stop(self, pid: int) -> None:
        """Asks a server to end, and waits until it has; one that does not heed is killed with its group."""
        process = self._services.pop(pid, None)
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(pid, signal.SIGKILL)
            process.wait()

    def ready(self, pid: int, log: str, address: str, port: int, path: str | None) -> None:
        """Waits until a server accepts a connection, or GET of a path has the status 200; else an error."""
        deadline, service = time.monotonic() + READY_SECONDS, self._services[pid]
        while time.monotonic() < deadline and service.poll() is None:
            place = (address, port)
            with contextlib.suppress(OSError), socket.create_connection(place, 5.0) as connection:
                if path is None:
                    return
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                if connection.recv(64).startswith((b"HTTP/1.0 200", b"HTTP/1.1 200")):
                    return
            time.sleep(0.05)
        self.stop(pid)
        last_words = Path(log).read_text(errors="replace").splitlines()[-LAST_LINES:]
        raise CommandFailed("\n".join([f"{Path(log).stem} does not answer:", *last_words]))

    def timed(self, command: list[str], environment: dict[str, str]) -> Answer:
        """Runs a load generator; its processor time is the kernel's own sum over ended children."""
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        process = self._popen(command, environment, **pipes)
        watch = processes.Watch({GENERATOR: [process.pid]})
        try:
            output = self._output(process, command[0])
        finally:
            ended, after = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            seen = watch.finish()
        spent = sum(getattr(after, n) - getattr(before, n) for n in ("ru_utime", "ru_stime"))
        used = Used(spent, seen["total"]["pss_bytes"])
        return {"output": output, "seconds": ended - began, "used": asdict(used)}

    def watch(self, trees: dict[str, list[int]]) -> int:
        """Begins to watch the parts of a system, each given as the roots of its processes."""
        self._watches.append(processes.Watch(trees))
        return len(self._watches) - 1

    def finish(self, watch: int) -> Answer:
        """What was used since."""
        return self._watches[watch].finish()

    def write(self, place: str, content: str, owner: str | None) -> None:
        """Writes base 64 into a file that its owner alone can read, closed to others before that."""
        path = Path(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(base64.b64decode(content))
        for each in (path.parent, path) if owner else ():
            shutil.chown(each, owner, owner)

    def free_port(self, address: str) -> int:
        """A port that nobody listens on just now."""
        with socket.socket() as probe:
            probe.bind((address, 0))
            return probe.getsockname()[1]

    def answer(self, verb: str, question: Answer) -> Answer:
        """To a question, or why there is none."""
        try:
            return {"answer": getattr(self, verb)(**question)}
        except Exception as error:
            known = isinstance(error, CommandFailed)
            return {"error": str(error) if known else f"{type(error).__name__}: {error}"}

    def end(self) -> None:
        """Ends everything: what is waited for at once, with all that it started."""
        if process := self._current:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for pid in [*self._services]:
            self.stop(pid)


def serve() -> None:
    """Answers until there are no more questions."""
    # What is printed here by others is no answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # libpq's variables of whoever started the harness lead to another server.
    for name in [
        name for name in os.environ if name.startswith("PG") and not name.startswith(OURS)
    ]:
        del os.environ[name]
    os.environ["PYTHONPATH"] = str(Path.cwd())
    agent, questions = Agent(), queue.SimpleQueue()

    # While something is waited for, the end of the input is still seen.
    # An interrupt may leave half a question.
    def listen() -> None:
        try:
            for line in sys.stdin:
                questions.put(json.loads(line))
        finally:
            agent.end()
            os._exit(0)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    with contextlib.suppress(BrokenPipeError):
        while asked := questions.get():
            print(json.dumps(agent.answer(asked.pop("verb"), asked)), file=answers, flush=True)
    # Nobody waits for answers any more; the listener is about to end everything.
    listener.join()


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(Agent().call(sys.argv[1], json.loads(sys.argv[2]))))
    else:
        serve()
