"""A session with the rights that a requester's request has in the database."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.core.database import transaction
from app.core.row_security import scope_to_account


@contextmanager
def as_requester(account: Account, *, admin: bool = False) -> Iterator[Session]:
    with transaction() as session:
        scope_to_account(session, account.id, admin=admin)
        yield session
