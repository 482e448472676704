"""A clock that runs with the real one and can be set forward but not back."""

from datetime import UTC, datetime, timedelta


class Clock:
    def __init__(self) -> None:
        self.offset = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset

    def advance(self, seconds: float) -> datetime:
        if seconds < 0:
            raise ValueError("The clock cannot be set back.")
        self.offset += timedelta(seconds=seconds)
        return self.now()
