"""Chromium without a window, which tests lead through pages as a reader would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None
)
SECONDS = 60  # that anything may take on a busy machine
KEYS = {"Tab": 9, "Enter": 13}


class Browser:
    """A browser that takes commands of the DevTools protocol over a pipe, with nothing to install.

    Close it, or use it as a context.
    """

    def __init__(self, folder: Path) -> None:
        commands, self._to = os.pipe()
        answers, given = os.pipe()
        self._from = os.fdopen(answers, "rb")
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        arguments += ["--hide-scrollbars", f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{given}', "bash", CHROMIUM, *arguments],
            pass_fds=[commands, given],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(given)
        self._n_calls, self._unread = 0, b""

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        self.call("Browser.close")
        self._process.wait(SECONDS)
        self._from.close()
        os.close(self._to)

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Give a command and return its answer."""
        self._n_calls += 1
        command = {"id": self._n_calls, "method": method, "params": params}
        command |= {} if session is None else {"sessionId": session}
        os.write(self._to, json.dumps(command).encode() + b"\0")
        while True:  # events come in between
            while b"\0" not in self._unread:
                self._unread += self._from.read1(2**20)
            message, _, self._unread = self._unread.partition(b"\0")
            answer = json.loads(message)
            if answer.get("id") == self._n_calls:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def open(self, url: str, *, width: int = 1200, theme: str = "light") -> Page:
        """Load a page in a tab of its own."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        feature = {"name": "prefers-color-scheme", "value": theme}
        page.call("Emulation.setEmulatedMedia", features=[feature])
        page.call("Page.navigate", url=url)
        page.wait("document.readyState == 'complete'")
        return page


class Page:
    """A page in a tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Give a command about this page."""
        return self._browser.call(method, self._session, **params)

    def value(self, expression: str) -> Any:
        """Evaluate JavaScript in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def text(self, selector: str) -> str:
        """Return what a reader sees of an element."""
        return self.value(f"document.querySelector({selector!r})?.innerText ?? ''")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + SECONDS
        while not self.value(expression):
            assert time.monotonic() < end, expression
            time.sleep(0.02)

    def write(self, text: str) -> None:
        """Put a text in where the cursor is."""
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press a key and release it."""
        code = {"key": key, "windowsVirtualKeyCode": KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **code)
