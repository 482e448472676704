"""The operations of the requester API by topic. Importing this package fills `OPERATIONS`."""

from emulators.mturk.operations import account, assignments, hits, notifications, qualifications
from emulators.mturk.operations.call import OPERATIONS, Call

__all__ = [
    "OPERATIONS",
    "Call",
    "account",
    "assignments",
    "hits",
    "notifications",
    "qualifications",
]
