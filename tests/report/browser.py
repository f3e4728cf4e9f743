"""A headless Chromium spoken to over its debugging pipe, so that no port is open and no library is needed."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Tab:
    """One page; events of network and console are kept as they come."""

    def __init__(self, send: Any, receive: Any) -> None:
        self._send, self._receive, self._last, self._session = send, receive, 0, ""
        self.events: list[dict[str, Any]] = []
        target = next(each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._send.write(json.dumps(message).encode() + b"\0")
        self._send.flush()
        while (answer := self._read()).get("id") != self._last:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _read(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self._receive.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("The browser left.")
            text += byte
        return json.loads(text)

    def open(self, page: Path, *, width: int, scheme: str = "light") -> None:
        """Opens a page and waits until its plots are drawn."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=page.as_uri())
        self.value(
            "new Promise((done) => { const look = () => document.readyState === 'complete' && "
            "'ready' in document.documentElement.dataset ? done(true) : setTimeout(look, 50); look(); })"
        )

    def value(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)
            text = {}

    def complaints(self) -> list[dict[str, Any]]:
        """Console messages, exceptions, and what the browser logs."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [event for event in self.events if event.get("method") in kinds]

    def requests(self) -> list[str]:
        """Addresses asked for, but for those of data that the page itself holds."""
        sent = (event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent")
        urls = (each["request"]["url"] for each in sent)
        return [url for url in urls if not url.startswith(("data:", "blob:"))]


@contextmanager
def browser(program: str, profile: Path) -> Iterator[Tab]:
    read_end, send_end = os.pipe()
    receive_end, write_end = os.pipe()
    command = [program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
    # The browser reads file 3 and writes file 4; a shell moves the pipes there.
    shell = ["bash", "-c", f'exec "$@" 3<&{read_end} 4>&{write_end}', "bash", *command]
    process = subprocess.Popen(shell, pass_fds=(read_end, write_end), stderr=subprocess.DEVNULL)
    os.close(read_end)
    os.close(write_end)
    try:
        with os.fdopen(send_end, "wb") as send, os.fdopen(receive_end, "rb") as receive:
            yield Tab(send, receive)
    finally:
        process.terminate()
        process.wait(timeout=30)
