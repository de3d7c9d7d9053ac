"""A headless Chromium, controlled by the DevTools protocol over two pipes, without a port or a package."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--remote-debugging-pipe",
)  # fmt: skip


class Page:
    """One tab."""

    def __init__(self, to: int, answers: Any) -> None:
        self._to, self._answers, self._asked = to, answers, 0
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        self._call("Page.enable")

    def _call(self, method: str, **given: Any) -> dict[str, Any]:
        self._asked += 1
        question = {"id": self._asked, "method": method, "params": given}
        if self._session:
            question["sessionId"] = self._session
        os.write(self._to, json.dumps(question).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._asked:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "Chromium ended"
            text += byte
        return json.loads(text)

    def show(self, address: str, scheme: str, width: int) -> None:
        """Opens the page again, this wide, in a light or a dark scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", features=features)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=address)
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def ask(self, expression: str) -> Any:
        """Evaluates an expression in the page."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")


@contextlib.contextmanager
def opened(directory: Path) -> Iterator[Page]:
    """A browser with a separate profile, which ends with the block."""
    (reads, to), (answers, writes) = os.pipe(), os.pipe()
    # Chromium reads the file 3 and writes to the file 4.
    joined = f'exec chromium "$@" 3<&{reads} 4>&{writes}'
    command = ["bash", "-c", joined, "chromium", *FLAGS, f"--user-data-dir={directory}"]
    process = subprocess.Popen(command, pass_fds=(reads, writes), stderr=subprocess.DEVNULL)
    os.close(reads)
    os.close(writes)
    try:
        with os.fdopen(answers, "rb", buffering=65536) as stream:
            yield Page(to, stream)
    finally:
        os.close(to)
        process.terminate()
        process.wait(20)
