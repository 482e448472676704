"""Addresses that mail goes to: one recipient each, and no line of a header more."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.accounts.models import Account
from app.core.database import transaction
from app.core.mail import MailFailed, send_mail
from tests.support.accounts import an_admin
from tests.support.mail import Kept, postbox

__all__ = ["postbox"]

BAD = (
    "eve",
    "@x.org",
    "eve@",
    "eve@x.org, mallory@y.org",
    "eve@x.org;mallory@y.org",
    "eve@x.org mallory@y.org",
    "eve@x.org\r\nBcc: mallory@y.org",
    "eve@x.org\nmallory@y.org",
    "eve@x.org\x00",
    "eve@x.org\x85mallory",
    "eve\u202e@x.org",
    "Eve <mallory@y.org>",
    "all:eve@x.org",
    "eve@mallory@y.org",
    '"eve,mallory"@y.org',
    f"{'e' * 320}@x.org",
)


@pytest.mark.parametrize("address", BAD)
def test_what_is_not_one_address_gets_no_account_and_no_mail(
    postbox: Kept, client: TestClient, address: str
) -> None:
    an_admin(client)
    refused = client.post("/accounts", data={"email": address})
    assert refused.status_code == 422
    assert "is not an e-mail address" in refused.text
    assert postbox.messages == []
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Account)) == 1


@pytest.mark.parametrize(
    "address", [" Eve.o'Neil+likewise@x-y.example.org\n", "müller@köln.example"]
)
def test_what_is_one_gets_an_account(client: TestClient, address: str) -> None:
    an_admin(client)
    assert client.post("/accounts", data={"email": address}).status_code == 200
    with transaction() as session:
        assert address.strip().lower() in session.scalars(select(Account.email)).all()


def test_a_header_of_two_lines_is_never_sent(postbox: Kept) -> None:
    with pytest.raises(MailFailed):
        send_mail("eve@x.org\r\nBcc: mallory@y.org", "Likewise", "Hello")
    assert postbox.messages == []
