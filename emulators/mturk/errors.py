"""Errors in AWS's format: `__type`, `Message`, `TurkErrorCode` and the HTTP status.

The codes come from Amazon's own clients (the error filter of its Java SDK lists them) and the API
reference; the sentences come from users' public reports. Where there is no source, the nearest
documented code is used and a comment says so.
"""

PREFIX = "AWS.MechanicalTurk."


class Refused(Exception):
    """A call is answered with an error and has no effect.

    `kind` becomes the exception's name in boto3. Only RequestError and ServiceFault are in the
    service model; others arrive as a plain ClientError without a TurkErrorCode.
    """

    def __init__(
        self, message: str, code: str = "", kind: str = "RequestError", status: int = 400
    ) -> None:
        super().__init__(message)
        self.message, self.kind, self.status = message, kind, status
        self.code = PREFIX + code if code and "." not in code else code


def missing(what: str, identifier: str, code: str) -> Refused:
    return Refused(f"{what} {identifier} does not exist.", code)


def wrong_state(allowed: str, code: str) -> Refused:
    """MTurk names the states in which an operation can be called, not the current one."""
    return Refused(f"This operation can be called with a status of: {allowed}", code)


def already_processed(token: str) -> Refused:
    """The error of a second call with the same UniqueRequestToken.

    The sentence is quoted in Dallinger's issue 3109; the API reference only says "an error with a
    message containing the request ID". The code is undocumented and follows the sentence.
    """
    return Refused(
        f'The idempotency token "{token}" has already been processed.', "DuplicateRequest"
    )


def not_emulated(what: str) -> Refused:
    return Refused(f"{what} is not emulated.", "NotEmulated", "ServiceFault", 500)


def unavailable() -> Refused:
    sentence = "Amazon Mechanical Turk is temporarily unable to process your request. "
    return Refused(sentence + "Try your call again.", "AWS.ServiceUnavailable", "ServiceFault", 500)


def throttled() -> Refused:
    return Refused("Rate exceeded", kind="ThrottlingException", status=400)
