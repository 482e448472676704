"""A web server that kills itself at a chosen moment of a submission, like SIGKILL from outside.

`python -m tests.support.crashing_web PORT LOG [PATH]`: each line of its input is a moment, for
which a server is forked; the server's process id is its output. A moment is a number, counted from
1 (0: never), or its name as in LOG, and after `|` the name of one that must have passed before. The
product's code knows nothing of this: moments are events of SQLAlchemy and messages of ASGI. Each
that is passed is a line of LOG, so the last one says where a server died.

The first submission that it gets may be the repetition of one that was cut short, so it dies in the
second. With PATH, it dies in the first request whose path ends so.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import uvicorn
from sqlalchemy import Connection, Engine, event
from sqlalchemy.orm import Session
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SUBMISSION = "/answer"


class Moments:
    """Counts what happens while an answer is being submitted, and dies at number `fatal`."""

    def __init__(self, fatal: str, log: Path, path: str = SUBMISSION) -> None:
        self.fatal, _, self.since = fatal.partition("|")
        self.log, self.path = log, path
        self.has_begun = not self.since
        self.fatal_request = 2 if path == SUBMISSION else 1
        self.passed = 0
        self.n_submissions = 0

    def pass_by(self, name: str) -> None:
        if not self.n_submissions:
            return
        self.passed += 1
        with self.log.open("a") as file:
            file.write(name + "\n")
        self.has_begun = self.has_begun or name.startswith(self.since)
        is_fatal = self.fatal == str(self.passed) or (
            self.has_begun and not self.fatal.isdigit() and name.startswith(self.fatal)
        )
        if self.n_submissions == self.fatal_request and is_fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch_database(self) -> None:
        def executed(connection: Connection, cursor: Any, statement: str, *_: Any) -> None:
            self.pass_by("after " + " ".join(statement.split())[:60])

        event.listen(Engine, "after_cursor_execute", executed)
        event.listen(Engine, "commit", lambda _: self.pass_by("before the commit"))
        # First of all who listen: live pages are told afterwards.
        event.listen(
            Session, "after_commit", lambda _: self.pass_by("after the commit"), insert=True
        )

    def around(self, app: ASGIApp) -> ASGIApp:
        """The application, with moments before and after what comes in and what goes out."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or not scope["path"].endswith(self.path):
                await app(scope, receive, send)
                return

            async def received() -> Message:
                message = await receive()
                self.pass_by(f"after receiving {message['type']}")
                return message

            async def sent(message: Message) -> None:
                self.pass_by(f"before sending {message['type']}")
                await send(message)
                self.pass_by(f"after sending {message['type']}")

            self.n_submissions, self.passed = self.n_submissions + 1, 0
            self.pass_by("before everything")
            await app(scope, received, sent)

        return watched


def serve(config: uvicorn.Config, moments: Moments) -> None:
    moments.watch_database()
    config.loaded_app = moments.around(config.loaded_app)
    uvicorn.Server(config).run()


def main(port: int, log: Path, path: str = SUBMISSION) -> None:
    # Loaded once; a fork is there at once.
    config = uvicorn.Config(
        "app.main:app", port=port, ws="none", log_level="warning", access_log=False
    )
    config.load()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            serve(config, Moments(line.strip(), log, path))
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
