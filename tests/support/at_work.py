"""Somebody at work on a task of a marketplace, as tests remember it."""

from dataclasses import dataclass, field
from typing import Any

from testbed.recruits import Recruit


@dataclass
class Sent:
    """A submission as its page remembers it."""

    person: Recruit
    lease: str
    body: dict[str, Any]
    reply: dict[str, Any] | None = None


@dataclass
class At:
    """Somebody at work, with what they have in hand. more: how many grids beyond those of the
    assignment they may do."""

    person: Recruit
    lease: dict[str, Any] | None = None
    sent: list[Sent] = field(default_factory=list)
    more: int = 0
    left: bool = False
    handed_in: bool = False

    def beyond(self, n_own: int) -> int:
        """Acknowledged answers to grids beyond the assignment's own, late ones too."""
        done = {answer.lease for answer in self.sent if answer.reply}
        return min(max(0, len(done) - n_own), self.more)
