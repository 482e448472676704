"""A program that webhooks are sent to: an HTTP server in a thread."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Receiver:
    """What came in, and what is answered: the statuses in turn, the last one from then on."""

    url: str = ""
    statuses: list[int] = field(default_factory=lambda: [204])
    reply: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    seconds_per_byte: float = 0.0
    came: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    def next_status(self) -> int:
        return self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]


@contextmanager
def a_receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.came.append((dict(self.headers), body))
            self.send_response(receiver.next_status())
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(receiver.reply)))
            self.end_headers()
            if not receiver.seconds_per_byte:
                self.wfile.write(receiver.reply)
                return
            for byte in receiver.reply:
                time.sleep(receiver.seconds_per_byte)
                try:
                    self.wfile.write(bytes([byte]))
                except OSError:
                    return

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def a_trickle(reply: bytes, seconds_per_byte: float = 0.05) -> Iterator[str]:
    """The address of a server that sends `reply` byte by byte."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                for byte in reply:
                    time.sleep(seconds_per_byte)
                    try:
                        connection.sendall(bytes([byte]))
                    except OSError:
                        return

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
