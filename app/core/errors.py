"""The error hierarchy: each error has a stable code, an HTTP status and a message for people."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

# This message is also used when a database's disk is full.
NO_ROOM = (
    "The server's disk is full, so this could not be done. Ask the administrator to free "
    "some space, then try again. No restart is needed."
)


class LikewiseError(Exception):
    """A rule of the product was broken; `str(error)` says what is wrong and what to do.

    code:    stable identifier that clients can rely on
    status:  HTTP status of the response
    headers: additional response headers, such as Retry-After
    details: additional members of the response to programs
    fields:  which fields of the request are to blame, as `annotation.gold_share`, if it is known
    words:   the message for people who see a form, which has titles in place of names
    """

    code = "error"
    status = 400
    headers: ClassVar[Mapping[str, str]] = {}
    details: Mapping[str, Any] = MappingProxyType({})

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        fields: Sequence[str] = (),
        words: str | None = None,
    ) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.fields = tuple(fields)
        self.words = words or message
        if fields:
            self.details = {**self.details, "fields": self.fields, "words": self.words}


class NotFound(LikewiseError):
    """The object does not exist, or is not the caller's."""

    code = "not_found"
    status = 404


class Conflict(LikewiseError):
    """The object is in a state that does not allow the request."""

    code = "conflict"
    status = 409


class LostLease(Conflict):
    """Another worker owns this piece of work now, so this one must stop and write nothing."""

    code = "lost_job_lease"


class InvalidInput(LikewiseError):
    """The request is well-formed, but it cannot be carried out."""

    code = "invalid_input"
    status = 422


class NoRoom(LikewiseError):
    """A disk of the server is full."""

    code = "no_room"
    status = 507
    headers: ClassVar = {"Retry-After": "60"}

    def __init__(self, message: str = NO_ROOM) -> None:
        super().__init__(message)


class SignInRequired(LikewiseError):
    """No valid session cookie came with the request."""

    code = "sign_in_required"
    status = 401
