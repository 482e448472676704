"""Fixtures of tests of the web application."""

import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from testbed.builders import an_account, sign_in


@pytest.fixture
def owner(client: TestClient) -> Account:
    """An account that `client` is signed in to."""
    account = an_account()
    sign_in(client, account)
    return account
