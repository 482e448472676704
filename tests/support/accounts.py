"""People who sign in: with a password, in another browser, with a token, as an admin."""

import re
from typing import Any

from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.core.database import transaction
from testbed.builders import an_account, sign_in

PASSWORD = "correct horse battery"


def with_password(client: TestClient, email: str = "ada@example.org") -> Account:
    """An account that came by link, chose a password and signed out."""
    account = an_account(email)
    sign_in(client, account)
    assert client.post("/account/password", data={"new": PASSWORD}).status_code == 200
    client.post("/sign-out")
    return account


def enter(client: TestClient, password: str, email: str = "ada@example.org") -> Any:
    form = {"email": email, "password": password}
    return client.post("/sign-in", data=form, follow_redirects=False)


def another_browser() -> TestClient:
    from app.main import app

    return TestClient(app)


def is_in(client: TestClient) -> bool:
    return client.get("/api/v1/campaigns").status_code == 200


def a_token(client: TestClient, scope: str, days: str = "") -> dict[str, str]:
    page = client.post("/account/tokens", data={"name": "robot", "scope": scope, "days": days})
    match = re.search(r'value="(lw_[^"]+)"', page.text)
    assert match, page.text
    return {"Authorization": f"Bearer {match.group(1)}"}


def an_admin(client: TestClient) -> Account:
    with transaction() as session:
        account = Account(email="root@example.org", role="admin")
        session.add(account)
    sign_in(client, account)
    return account
