"""A mail server for tests, which keeps what it gets."""

from collections.abc import Iterator
from email.message import Message

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as Handler

from likewise.embedded import free_port
from tests.conftest import forget_settings


class Kept(Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []

    def handle_message(self, message: Message) -> None:
        self.messages.append(message)


@pytest.fixture
def postbox(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    """A mail server that keeps what it gets."""
    kept = Kept()
    server = Controller(kept, hostname="127.0.0.1", port=free_port())
    server.start()
    monkeypatch.setenv("LIKEWISE_SMTP_URL", f"smtp://127.0.0.1:{server.port}")
    forget_settings()
    yield kept
    server.stop()
