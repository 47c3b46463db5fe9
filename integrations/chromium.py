"""Chromium without a window, driven through its debugging pipe: what a page asks for, says and measures.
Needs nothing but the program."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # no page, and nothing of the browser itself, reaches another machine
)
PATIENCE_S = 60.0


def program() -> str | None:
    """The browser's path, where it is installed."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


@dataclass(frozen=True)
class Visit:
    """A page as it was shown.

    requests   addresses that the page asked for, not the browser itself; its own file and data: left out
    messages   errors and warnings of the console, and exceptions
    width      of the page's content, in pixels; where it is more than that of the window, the page scrolls sideways
    cut        texts that stand outside the window and in no box that scrolls
    collided   texts of figures that overlap, or that stand outside their figure
    """

    requests: tuple[str, ...]
    messages: tuple[str, ...]
    width: int
    cut: tuple[str, ...]
    collided: tuple[str, ...]


class Browser:
    """A running browser with one tab."""

    def __init__(self, process: subprocess.Popen, to: int, back: int) -> None:
        self._process, self._to, self._back = process, to, back
        self._number, self._rest, self._session = 0, b"", None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer; events that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def value(self, expression: str) -> Any:
        """What an expression is worth in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def visit(
        self,
        page: Path,
        width: int,
        *,
        dark: bool = False,
        height: int = 900,
        opened: bool = True,
        query: str = "",
        until: str = "true",
    ) -> Visit:
        """Show a page in a window of this width, light or dark.

        opened   with everything unfolded; query: of the address; until: expression that is true once the page is ready
        """
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        own = page.resolve().as_uri() + query
        self.call("Page.navigate", url=own)
        self._wait("Page.loadEventFired")
        self.value(f"new Promise(done => {{const look = () => {until} ? done() : setTimeout(look, 50); look();}})")
        if opened:
            self.value("document.querySelectorAll('details').forEach(d => d.open = true)")
        self.value("new Promise(done => requestAnimationFrame(() => setTimeout(done, 100)))")
        asked = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return Visit(
            tuple(url for url in asked if url != own and not url.startswith("data:")),
            tuple(m for e in self.events for m in _message(e)),
            int(self.value("document.documentElement.scrollWidth")),
            tuple(self.value(CUT)),
            tuple(self.value(COLLIDED)),
        )

    def screenshot(self, to: Path) -> None:
        """The whole page as a PNG."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        to.write_bytes(base64.b64decode(taken["data"]))

    def printed(self, to: Path) -> None:
        """The page on paper."""
        to.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"]))

    def _wait(self, method: str) -> None:
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self._read())

    def _read(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE_S
        while b"\0" not in self._rest:
            if not select.select([self._back], [], [], max(until - time.monotonic(), 0.0))[0]:
                raise TimeoutError(f"the browser said nothing for {PATIENCE_S:g} seconds")
            block = os.read(self._back, 1 << 20)
            if not block:
                raise RuntimeError("the browser has gone")
            self._rest += block
        answer, _, self._rest = self._rest.partition(b"\0")
        return json.loads(answer)


def _message(event: dict[str, Any]) -> list[str]:
    parameters = event.get("params", {})
    if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("warning", "error"):
        return [parameters["entry"]["text"]]
    if event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("warning", "error", "assert"):
        return [str(a.get("value", a.get("description"))) for a in parameters["args"]]
    if event.get("method") == "Runtime.exceptionThrown":
        return [parameters["exceptionDetails"]["text"]]
    return []


# Texts whose end lies beyond the window, and that no ancestor lets one scroll to.
CUT = """(() => {
  const out = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (!node.textContent.trim()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.width === 0 || (box.right <= document.documentElement.clientWidth + 1 && box.left >= -1)) continue;
    let inside = node.parentElement;
    while (inside && !['auto', 'scroll'].includes(getComputedStyle(inside).overflowX)) inside = inside.parentElement;
    if (!inside) out.push(node.textContent.trim().slice(0, 60));
  }
  return out;
})()"""

# Pairs of texts in a figure of which one covers more than a tenth of the other, and texts that leave it.
COLLIDED = """(() => {
  const out = [];
  for (const svg of document.querySelectorAll('figure svg')) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim());
    const boxes = texts.map(t => t.getBoundingClientRect());
    boxes.forEach((a, i) => {
      const name = texts[i].textContent.slice(0, 40);
      if (a.left < frame.left - 3 || a.right > frame.right + 3 || a.top < frame.top - 3 || a.bottom > frame.bottom + 3)
        out.push('outside: ' + name);
      for (let j = i + 1; j < boxes.length; j++) {
        const b = boxes[j];
        const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        const smaller = Math.min(a.width * a.height, b.width * b.height);
        if (width > 0 && height > 0 && width * height > 0.1 * smaller)
          out.push(name + ' / ' + texts[j].textContent.slice(0, 40));
      }
    });
  }
  return out;
})()"""


@contextmanager
def running(path: str) -> Iterator[Browser]:
    """A browser with a profile of its own."""
    command_in, command_out = os.pipe()
    answer_in, answer_out = os.pipe()
    high = [os.dup(os.dup(os.dup(fd))) for fd in (command_in, answer_out)]

    def place() -> None:
        kept = [os.dup(fd) for fd in high]
        os.dup2(kept[0], 3)
        os.dup2(kept[1], 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [path, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=place,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield Browser(process, command_out, answer_in)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for fd in (command_in, command_out, answer_in, answer_out, *high):
                os.close(fd)
