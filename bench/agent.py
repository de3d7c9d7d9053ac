"""`python -m bench.agent`: executes the harness's requests on its machine, one line of JSON each way.

A request is {"verb": ..., ...}, its answer {"answer": ...} or {"error": "..."}. The agent ends when its
input does and stops the processes it started, so no server outlives the harness. It needs Python and psutil
only. With a function and its arguments on the command line it makes that one call and exits.
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

# A new Gunicorn worker may miss the signal; it is then killed, since no server has anything to save.
STOP_SECONDS = 5
READY_SECONDS = 60
LAST_LINES = 10
# The exit status of a shell or nsenter for an unknown program.
NOT_FOUND = 127
GENERATOR = "generator"
# Build variables that begin with PG and are not libpq's.
OURS = ("PG_CONFIG", "PGBOOST_")

Answer = dict[str, Any]


class CommandFailed(Exception):
    """A command that could not be run, or did not do what it should."""


class Agent:
    """The verbs: one method each, with the request's fields as parameters."""

    def __init__(self) -> None:
        self._services: dict[int, subprocess.Popen[bytes]] = {}
        self._watches: list[processes.Watch] = []
        # The command that is being waited for.
        self._current: subprocess.Popen[str] | None = None

    def places(self) -> Answer:
        """Returns the paths of this repository and its Python."""
        return {"root": str(Path.cwd()), "python": sys.executable}

    def _popen(self, command: list[str], environment: dict[str, str], **more: Any) -> Any:
        """Starts a process in a separate group, without standard input."""
        known = {"env": os.environ | environment, "stdin": subprocess.DEVNULL, "process_group": 0}
        try:
            return subprocess.Popen(command, **known, **more)
        except FileNotFoundError:
            raise CommandFailed(f"{command[0]} is not installed") from None

    def _output(self, process: subprocess.Popen[str], name: str) -> str:
        """Waits for the process and returns its output; raises if it fails."""
        self._current = process
        output, errors = process.communicate()
        self._current = None
        if process.returncode == NOT_FOUND:
            raise CommandFailed(f"{name} is not installed")
        if process.returncode != 0:
            raise CommandFailed(f"{name} failed:\n{output}{errors or ''}")
        return output or errors or ""

    def run(self, command: list[str], environment: dict[str, str]) -> str:
        """Runs a command and returns its output."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return self._output(self._popen(command, environment, **pipes), command[0])

    def call(self, function: str, question: dict[str, Any]) -> Any:
        """Calls a function of this repository, given as module:name."""
        module, name = function.split(":")
        return getattr(importlib.import_module(module), name)(**question)

    def start(self, command: list[str], environment: dict[str, str], log: str, user: str) -> int:
        """Starts a server as a child in a separate process group, and returns its process id."""
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        more = {"user": user, "group": user, "extra_groups": ()} if user else {}
        with Path(log).open("ab") as to:
            process = self._popen(command, environment, cwd="/", stdout=to, stderr=to, **more)
        self._services[process.pid] = process
        return process.pid

    def stop(self, pid: int) -> None:
        """Terminates a server and waits for it; one that does not end in time is killed with its group."""
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
        """Waits until a server accepts connections, or answers GET of `path` with 200; raises otherwise."""
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
        """Runs a load generator; its CPU time is the kernel's total for ended children."""
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
        """Starts a `Watch` of a system's parts, each given by its root processes, and returns its number."""
        self._watches.append(processes.Watch(trees))
        return len(self._watches) - 1

    def finish(self, watch: int) -> Answer:
        """Ends a watch and returns its usage."""
        return self._watches[watch].finish()

    def write(self, place: str, content: str, owner: str | None) -> None:
        """Writes base64 content to a file that is made readable by its owner only before it is filled."""
        path = Path(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(base64.b64decode(content))
        for each in (path.parent, path) if owner else ():
            shutil.chown(each, owner, owner)

    def free_port(self, address: str) -> int:
        with socket.create_server((address, 0)) as probe:
            return probe.getsockname()[1]

    def answer(self, verb: str, question: Answer) -> Answer:
        """Executes a request and returns its answer or its error."""
        try:
            return {"answer": getattr(self, verb)(**question)}
        except Exception as error:
            known = isinstance(error, CommandFailed)
            return {"error": str(error) if known else f"{type(error).__name__}: {error}"}

    def end(self) -> None:
        """Kills the command that is being waited for, with its group, and stops all servers."""
        if process := self._current:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for pid in [*self._services]:
            self.stop(pid)


def serve() -> None:
    """Answers requests until the end of input."""
    # Prints of called functions must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # libpq's variables of whoever started the harness lead to another server.
    for name in [*os.environ]:
        if name.startswith("PG") and not name.startswith(OURS):
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
