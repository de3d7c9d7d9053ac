"""`server.py MODEL ROWS SOCKET`: a byte for the verb and features of 32 bits in, one such number out.

A connection may hold one question, as the document's does, or many.
"""

import socketserver
import struct
import sys

import numpy as np

from bench.rungs.predicting import Predictor

PREDICTOR = Predictor(sys.argv[1], sys.argv[2])
SIZE = 1 + 4 * len(PREDICTOR.columns)
NOTHING = struct.pack("<f", 0)


class Connection(socketserver.BaseRequestHandler):
    """Answers until the other side has no more."""

    def handle(self) -> None:
        """Every question of a connection."""
        while len(question := self.request.recv(SIZE)) == SIZE:
            answer = NOTHING
            if question[0] != ord("p"):
                features = np.frombuffer(question, "<f4", offset=1).reshape(1, -1)
                if question[0] == ord("f"):
                    answer = struct.pack("<f", PREDICTOR.predict(features))
            self.request.sendall(answer)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """A thread for each connection."""

    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    Server(sys.argv[3], Connection).serve_forever()
