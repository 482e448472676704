"""Errors as AWS words them: `__type`, `Message`, `TurkErrorCode`, and the HTTP status.

The codes are those of Amazon's own clients (the error filter of its Java SDK lists them) and of
the API reference; the sentences are those that users quote in public reports. Where neither says
anything, the nearest documented code is used and the place says so.
"""

PREFIX = "AWS.MechanicalTurk."


class Refused(Exception):
    """The answer to a call is an error; nothing has happened.

    `kind` becomes the exception's name in boto3; only RequestError and ServiceFault are part of
    the service model, others arrive as plain ClientError without a TurkErrorCode.
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
    """MTurk tells the states in which an operation can be called, not the present one."""
    return Refused(f"This operation can be called with a status of: {allowed}", code)


def already_processed(token: str) -> Refused:
    """The second call with one UniqueRequestToken.

    The sentence is quoted in Dallinger's issue 3109; the API reference says only "an error with a
    message containing the request ID". Its code is undocumented, this one follows the sentence.
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
