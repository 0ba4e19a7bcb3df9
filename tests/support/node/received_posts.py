"""A real HTTP server on the loopback interface that records what is posted to it.

This module must not know what is posted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TOKEN = "top-secret-1"


class Received:
    """What the server received; it answers with ``statuses`` in turn, then with 204."""

    def __init__(self, statuses: Sequence[int] = ()) -> None:
        self.posts: list[tuple[str, dict[str, str], Any]] = []
        left = list(statuses)
        posts = self.posts

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                posts.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(left.pop(0) if left else 204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hooks/{TOKEN}?team=a"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
