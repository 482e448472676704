"""What accounts ask the rooms above them (see `app.core.hooks`)."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.core.hooks import Hook

# What browsers have blocked on our pages lately, for the administrators' page.
violations: Hook[[Session], Sequence[Any]] = Hook("accounts.violations")
