"""A page of the session's Chromium, spoken to in the protocol of its developer tools, which names all that happens."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

COMPLAINTS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
REQUEST = "Network.requestWillBeSent"


class Tab:
    """One page; events of network and console are kept as they come."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self.events: list[dict[str, Any]] = []
        for name in (*COMPLAINTS, REQUEST):
            self._session.on(name, partial(self._keep, name))
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _keep(self, name: str, parameters: dict[str, Any]) -> None:
        self.events.append({"method": name, "params": parameters})

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._session.send(method, parameters)

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
        return [event for event in self.events if event["method"] in COMPLAINTS]

    def requests(self) -> list[str]:
        """Addresses asked for, but for those of data that the page itself holds."""
        sent = (event["params"] for event in self.events if event["method"] == REQUEST)
        urls = (each["request"]["url"] for each in sent)
        return [url for url in urls if not url.startswith(("data:", "blob:"))]
