"""A panel's own site, served on this machine: it sends people to a study and takes them back."""

import html
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class PanelSite:
    """`origin` is the site's. `returned` has the paths and queries of people who came back."""

    def __init__(self, port: int) -> None:
        self.origin = f"http://localhost:{port}"
        # The same pages at an address of another origin and another site.
        self.elsewhere = f"http://127.0.0.1:{port}"
        self.studies: dict[str, str] = {}
        self.returned: list[str] = []

    def last(self) -> tuple[str, dict[str, str]]:
        """Where the last person came back to, and what their address said."""
        parts = urlsplit(self.returned[-1])
        return parts.path, {name: value for name, [value] in parse_qs(parts.query).items()}

    def page(self, address: str) -> str:
        """The page at an address: `/study/NAME` links to a study, `/frame/NAME` frames it, and all
        others are for those who come back."""
        kind, _, name = urlsplit(address).path.strip("/").partition("/")
        study = html.escape(self.studies.get(name, ""))
        if kind == "study":
            return f'<h1>Studies</h1><a href="{study}">Take part</a>'
        if kind == "frame":
            return f'<h1>Survey</h1><iframe src="{study}" width="1000" height="700"></iframe>'
        if kind != "favicon.ico":
            self.returned.append(address)
        return "<h1>Welcome back</h1>"


@contextmanager
def panel_site() -> Iterator[PanelSite]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<!doctype html><title>Panel</title>{site.page(self.path)}".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Requests are looked at in `returned`."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = PanelSite(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
