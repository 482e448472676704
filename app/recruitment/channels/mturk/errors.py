"""What a failed request to MTurk means: refused, not now, or unknown.

MTurk has two errors of its own, RequestError and ServiceFault, with the real code in
`TurkErrorCode`. AWS adds errors about signatures, permissions and throttling.
"""

import re

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    CredentialRetrievalError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ProfileNotFound,
    SSLError,
)

from app.recruitment.channel import (
    ChannelError,
    ChannelRefused,
    ChannelUnavailable,
    OutcomeUnknown,
)

PREFIX = "AWS.MechanicalTurk."
_THROTTLED = {
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottled",
    "RequestThrottledException",
    "RequestLimitExceeded",
    "TooManyRequestsException",
    "SlowDown",
}
_BAD_KEYS = {
    "UnrecognizedClientException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "IncompleteSignature",
    "IncompleteSignatureException",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "ExpiredToken",
    "ExpiredTokenException",
    "RequestExpired",
    "AuthFailure",
    "AWS.BadCredentialSupplied",
    "AWS.BadClaimsSupplied",
    "AWS.NotAuthorized",
}
_NOT_ALLOWED = {
    "AccessDenied",
    "AccessDeniedException",
    "UnauthorizedOperation",
    "PermissionDenied",
    "PermissionDeniedException",
}
_NOT_LINKED = {"AWS.AccountNotLinked", "AccountNotLinked", "OptInRequired", "SubscriptionRequired"}
_NO_CREDENTIALS = (NoCredentialsError, PartialCredentialsError, ProfileNotFound)
# These are our own words for errors that requesters can fix.
_PLAIN = {
    "InsufficientFunds": "The MTurk account does not have enough money for this. Add money on "
    "MTurk (Account settings, Prepaid HITs), then try again.",
    "InvalidMaximumAssignmentsIncrease": "MTurk does not let a task with fewer than ten places "
    "grow to ten or more, because its fee would change. Publish another task instead.",
    "HITDoesNotExist": "MTurk does not have this task. It removes tasks 120 days after they end.",
    "AssignmentDoesNotExist": "MTurk does not have this work. It removes tasks 120 days after they "
    "end.",
}


class BadKeys(ChannelUnavailable):
    """MTurk does not accept the credentials. Everything waits until they are corrected."""


class NotAllowed(ChannelUnavailable):
    """The credentials are valid but lack a permission. The request waits until they have it."""


def translated(error: ClientError | BotoCoreError, *, pays: bool = False) -> ChannelError:
    """Return the channel error for a failed request.

    pays: whether money moves if the request took effect, and repeating it is not known to be
        harmless.
    """
    if isinstance(error, ClientError):
        return _of_reply(error, pays)
    if isinstance(error, _NO_CREDENTIALS):
        return BadKeys(
            "The server has no complete AWS credentials of its own. Set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY or a profile, or enter keys for this account."
        )
    if isinstance(error, ParamValidationError):
        return ChannelRefused(f"MTurk does not allow this request: {plain(str(error))}", "invalid")
    if isinstance(error, ConnectionError | CredentialRetrievalError):
        # No connection was made, so nothing was sent.
        secured = " securely" if isinstance(error, SSLError) else ""
        return ChannelUnavailable(
            f"MTurk can't be reached{secured}. AWS closed it on 30 September 2026. If it still "
            "answers elsewhere, check this server's network."
        )
    problem = f"MTurk did not answer ({type(error).__name__})."
    return OutcomeUnknown(problem) if pays else ChannelUnavailable(problem)


def _of_reply(error: ClientError, pays: bool) -> ChannelError:
    kind = str(error.response.get("Error", {}).get("Code", ""))
    code = str(error.response.get("TurkErrorCode") or kind)
    message = plain(str(error.response.get("Error", {}).get("Message", "")))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    names = {kind, code, code.removeprefix(PREFIX)}
    if names & _THROTTLED or status == 429:
        return ChannelUnavailable("MTurk is receiving too many requests at the moment.")
    if kind == "ServiceFault" or status >= 500:
        problem = f"MTurk has a problem at the moment ({code})."
        return OutcomeUnknown(problem) if pays else ChannelUnavailable(problem)
    if names & _BAD_KEYS:
        return BadKeys(
            f"MTurk does not accept the access keys ({code}). Enter valid keys, and check that "
            "the server's clock is right."
        )
    if names & _NOT_LINKED:
        return BadKeys(
            "The AWS account is not linked to an MTurk requester account. Link them on "
            "https://requester.mturk.com/developer (for the sandbox: "
            "https://requestersandbox.mturk.com/developer)."
        )
    if names & _NOT_ALLOWED:
        return NotAllowed(
            "The access keys lack a permission. In AWS, attach the policy "
            f"AmazonMechanicalTurkFullAccess to the keys' user. MTurk says: {message}"
        )
    own = _PLAIN.get(code.removeprefix(PREFIX))
    return ChannelRefused(own or f"MTurk refused: {message} ({code})", code)


def plain(message: str) -> str:
    """Return MTurk's sentence without its timestamp and without ids of people, because it is
    stored."""
    message = re.sub(r"\s*\(\d{10,}(?: s)?\)\s*$", "", message)
    return re.sub(r"\bA[A-Z0-9]{9,}\b", "…", message)[:500]


def has_code(error: ChannelRefused, *codes: str) -> bool:
    """Return whether MTurk's code is one of these, whatever its prefix and case."""
    error_code = error.code.removeprefix(PREFIX).lower()
    return error_code in {code.lower() for code in codes}


def token_known(error: ChannelRefused, token: str) -> bool:
    """Return whether MTurk refused because it has already done this under the same
    UniqueRequestToken.

    The documentation only promises "an error with a message containing the request ID". Our tokens
    are long and random, so no other refusal has a reason to quote one.
    """
    return token in str(error) or has_code(error, "DuplicateRequest")
