"""A proxy that records how a driver sends statements, and changes no byte."""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

SIMPLE, UNNAMED = "simple query", "unnamed statement"
# A named statement, in the call that makes it and in later ones.
NEW, PREPARED = "new prepared statement", "prepared statement"
# Requests before a connection's first message that end with eight bytes: for TLS and for GSSAPI.
ENCRYPTION = (80877103, 80877104)


@dataclass
class Frontend:
    """The messages of one connection's client, as they come."""

    # Text that a statement of interest contains.
    text: bytes
    # How each execution of such a statement was sent, of all connections.
    sent: list[str]
    _read: bytes = b""
    _started: bool = False
    # The statements of interest by name, and whether each was executed before.
    _statements: dict[bytes, bool] = field(default_factory=dict)

    def feed(self, data: bytes) -> None:
        """Reads the next bytes."""
        self._read += data
        while message := self._next():
            self._message(*message)

    def _next(self) -> tuple[bytes, bytes] | None:
        """Takes a message's type and content, once it is complete; the first message has no type."""
        begin = int(self._started)
        if len(self._read) < begin + 4:
            return None
        (length,) = struct.unpack_from("!i", self._read, begin)
        if len(self._read) < begin + length:
            return None
        kind, content = self._read[:begin], self._read[begin + 4 : begin + length]
        self._read = self._read[begin + length :]
        self._started = self._started or struct.unpack_from("!i", content)[0] not in ENCRYPTION
        return kind, content

    def _message(self, kind: bytes, content: bytes) -> None:
        first, _, rest = content.partition(b"\0")
        if kind == b"Q" and self.text in content:
            self.sent.append(SIMPLE)
        elif kind == b"P":
            self._statements.pop(first, None)
            if self.text in rest:
                self._statements[first] = False
        elif kind == b"B":
            name = rest.partition(b"\0")[0]
            if name in self._statements:
                known = PREPARED if self._statements[name] else NEW
                self.sent.append(known if name else UNNAMED)
                self._statements[name] = True


def _carry(source: socket.socket, target: socket.socket, frontend: Frontend | None) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if frontend:
                frontend.feed(data)
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def recorded(port: int, text: str) -> Iterator[tuple[int, list[str]]]:
    """Carries connections to a port of this machine; yields its own port, and how statements are sent."""
    sent: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    backend = socket.create_connection(("127.0.0.1", port))
                    frontend = Frontend(text.encode(), sent)
                    for way in ((client, backend, frontend), (backend, client, None)):
                        threading.Thread(target=_carry, args=way, daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], sent
