"""What accounts ask the rooms above them (see `app.core.hooks`)."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.core.hooks import Hook
from app.core.visits import Visit

# What browsers have blocked on our pages lately, for the administrators' page.
violations: Hook[[Session], Sequence[Any]] = Hook("accounts.violations")
# The account that stands for a visitor with a read-only link; raises an error if it is not valid.
visitor: Hook[[Session, Visit], Account] = Hook("accounts.visitor")
