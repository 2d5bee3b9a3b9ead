"""Serve a page that is made anew when files change, on this machine alone: `tapec explore --serve`.

The browser asks once a moment for the number of the page, and loads the page again when it is another one. The page is
made by a process of its own, which imports what has changed.
"""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tapec.cli import tuning

__all__ = ["LivePage"]

_RELOAD = """<script>
(() => {
  const mine = "NUMBER";
  const ask = async () => {
    const number = await (await fetch("/number")).text();
    if (number !== mine) location.reload();
  };
  setInterval(() => ask().catch(() => {}), 500);
})();
</script>
</body>"""

_ERROR = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>tapec explore</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>:root { color-scheme: light dark } body { margin: 2rem; font: 15px/1.5 system-ui, sans-serif }
pre { font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; white-space: pre-wrap }</style></head>
<body><h1>This could not be explored</h1><pre>TEXT</pre><p>The page comes back when the file is saved again.</p>
</body></html>"""


class LivePage:
    """Holds the page as it is now. `make` returns it, or raises an error whose text is shown; `files` are watched."""

    def __init__(self, make: Callable[[], str], files: Callable[[], Iterable[Path]], port: int = 0):
        self.make, self.files = make, files
        self.number = 0
        self.seen = self._state()
        self.page = self._made()
        self.server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self.server.daemon_threads = True
        self.is_over = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/"

    def run(self) -> None:
        """Serve until somebody interrupts."""
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        try:
            while not self.is_over.wait(tuning.WATCH_SECONDS):
                self.look()
        finally:
            self.server.shutdown()
            self.server.server_close()

    def look(self) -> None:
        """Make the page anew if a file has changed."""
        now = self._state()
        if now != self.seen:
            self.seen = now
            self.page, self.number = self._made(), self.number + 1

    def _state(self) -> dict[Path, tuple[int, int]]:
        found = {}
        for file in self.files():
            try:
                about = file.stat()
            except OSError:  # it is being written
                continue
            found[file] = (about.st_mtime_ns, about.st_size)
        return found

    def _made(self) -> str:
        start = time.perf_counter()
        try:
            page = self.make()
        except Exception as error:  # whatever the user's file raises
            page = _ERROR.replace("TEXT", html.escape(str(error)))
        self.seconds = time.perf_counter() - start
        return page

    def text(self) -> str:
        """Return the page with the lines that load it again."""
        head, end, tail = self.page.rpartition("</body>")
        return f"{head}{_RELOAD.replace('NUMBER', str(self.number))}{tail}" if end else self.page


def _handler(live: LivePage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = (self.headers.get("Host") or "").rpartition(":")[0]
            if host not in ("127.0.0.1", "localhost"):  # another site's name that leads here
                self.send_error(403)
            elif self.path == "/":
                self._answer(live.text(), "text/html")
            elif self.path == "/number":
                self._answer(str(live.number), "text/plain")
            else:
                self.send_error(404)

        def _answer(self, text: str, kind: str) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
