"""The server of the page: on 127.0.0.1 only, for requests that carry its token, one process per open page.

A request with another Host or Origin, or without the token's cookie, gets 403.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from biasfree.lab._processes import Pool, Process

ADDRESS = "127.0.0.1"
#: The largest message from the page, in bytes, and the number of pages that may be open.
LARGEST_MESSAGE = 2**16
MOST_PAGES = 4
PAGE = Path(__file__).parent / "page"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: Seconds between two looks at whether the server is to end.
_BEAT = 0.1


class Lab:
    """The server: its sockets, its token, its processes."""

    def __init__(self, port: int = 0):
        listening = socket.create_server((ADDRESS, port))
        listening.setblocking(False)
        self.port = int(listening.getsockname()[1])
        self.token = secrets.token_urlsafe(24)
        self.processes = Pool()
        self.pages: set[Talk] = set()
        self._server = HTTPServer(self._application())
        self._server.add_sockets([listening])

    @property
    def origin(self) -> str:
        """The origin of the page."""
        return f"http://{ADDRESS}:{self.port}"

    def address(self, fragment: str = "") -> str:
        """The address that opens the page, with the token; a shared link has only the fragment."""
        return f"{self.origin}/?token={self.token}" + (f"#{fragment}" if fragment else "")

    def _application(self) -> Application:
        files = {f"/{path.name}": path for path in PAGE.iterdir() if path.suffix in TYPES}
        routes: list[Any] = [
            (r"/talk", Talk, {"lab": self}),
            (r"/.*", File, {"lab": self, "files": files | {"/": PAGE / "index.html"}}),
        ]
        # a server of one user keeps no log of requests; errors are logged by Tornado
        return Application(routes, websocket_max_message_size=LARGEST_MESSAGE, log_function=lambda _: None)

    async def close(self) -> None:
        """Close the sockets and end every process."""
        self._server.stop()
        for page in list(self.pages):
            page.close()
        await self.processes.close()
        await self._server.close_all_connections()


async def serve_until(lab: Lab, ended: Callable[[], Any]) -> None:
    """Serve until `ended()` is true."""
    lab.processes.warm()
    try:
        while not ended():
            await asyncio.sleep(_BEAT)
    finally:
        await lab.close()


class _Guarded(RequestHandler):
    """A request that is answered only to the page itself."""

    def initialize(self, lab: Lab, files: dict[str, Path] | None = None) -> None:
        self.lab = lab
        self._files = files or {}

    def set_default_headers(self) -> None:
        for name, value in HEADERS.items():
            self.set_header(name, value)
        self.clear_header("Server")

    def prepare(self) -> None:
        """Refuse other hosts and origins, and requests without the token."""
        hosts, origins = (self.request.headers.get_list(name) for name in ("Host", "Origin"))
        own = hosts == [f"{ADDRESS}:{self.lab.port}"] and set(origins) <= {self.lab.origin}
        if not own or not self._known():
            self._refuse()

    def _known(self) -> bool:
        cookie = self.get_cookie(self._cookie, "") or ""
        return hmac.compare_digest(cookie.encode(), self.lab.token.encode())

    @property
    def _cookie(self) -> str:
        """By port, because the ports of one host share their cookies."""
        return f"biasfree_lab_{self.lab.port}"

    def _refuse(self) -> None:
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish("403: open the address that `biasfree lab` printed.")


class File(_Guarded):
    """A file of the page, or the first request, whose token becomes a cookie."""

    def _known(self) -> bool:
        given = self.get_query_argument("token", "") if self.request.path == "/" else ""
        self._first = bool(given) and hmac.compare_digest(given.encode(), self.lab.token.encode())
        return self._first or super()._known()

    def get(self) -> None:
        """Answer with the file."""
        if self._first:
            self.set_cookie(self._cookie, self.lab.token, httponly=True, samesite="Strict", path="/")
            self.redirect("/")  # the browser keeps what follows #
            return
        path = self._files.get(self.request.path)
        if path is None:
            self.set_status(404)
            self.finish("404: there is no such file.")
            return
        self.set_header("Content-Type", f"{TYPES[path.suffix]}; charset=utf-8")
        self.finish(path.read_bytes())


class Talk(_Guarded, WebSocketHandler):
    """The conversation with one open page."""

    _process: Process | None = None

    def check_origin(self, origin: str) -> bool:
        """Only the page's own origin; `prepare` has refused others."""
        return origin == self.lab.origin

    def prepare(self) -> None:
        """Require an Origin, which browsers always send here."""
        super().prepare()
        if not self._finished and not self.request.headers.get("Origin"):
            self._refuse()

    async def open(self, *_: str, **__: str) -> None:
        """Give the page a process, unless too many pages are open."""
        if len(self.lab.pages) >= MOST_PAGES:
            self._say(f"{MOST_PAGES} pages are open already; close one and reload this one.")
            self.close()
            return
        self.lab.pages.add(self)
        self._process = await self.lab.processes.take(self._tell)

    def on_message(self, message: str | bytes) -> None:
        """Pass a JSON object on to the process."""
        try:
            found = json.loads(message)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("id"), int):
            self._say("A message must be a JSON object with a whole number as its id.")
        elif self._process is not None:
            self._process.send(found)

    def on_close(self) -> None:
        """Free the process."""
        self.lab.pages.discard(self)
        if self._process is not None:
            self._process.release()

    def _say(self, text: str) -> None:
        self._tell(json.dumps({"id": None, "stage": "failed", "text": text}))

    def _tell(self, line: str) -> None:
        try:
            sent = self.write_message(line)
        except WebSocketClosedError:
            return
        sent.add_done_callback(lambda done: done.exception())  # the page may close while it is written
