"""What a clock that was set has to do with times that are stored.

Whoever stores until when something lasts, or since when, takes the machine's time, and so does
PostgreSQL. If the clock is set back by an hour, what was stored before lies an hour ahead: a time
that nobody can have stored by the clock as it is now.
"""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func

# By so much the clocks of several machines may differ, and nothing is made of it.
AHEAD = timedelta(minutes=1)


def latest_now() -> ColumnElement[datetime]:
    """SQL: a time that was stored as past or present is at most this, unless the clock was set."""
    return func.now() + AHEAD
