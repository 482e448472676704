"""How a change of the machine's clock affects stored times.

Code that stores a time uses the clock of the machine, and so does PostgreSQL. If the clock is set
back by an hour, times stored before are up to an hour in the future, where the current clock could
not have put them.
"""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func

# Clocks of several machines may differ by this much without any consequence.
AHEAD = timedelta(minutes=1)


def latest_now() -> ColumnElement[datetime]:
    """Return SQL for the latest time that can be stored as past or present, unless the clock was
    set back."""
    return func.now() + AHEAD
