"""Verification of Signature Version 4 with botocore's own signer."""

import hmac
import re
from datetime import UTC, datetime, timedelta

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from emulators.mturk.errors import Refused

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<day>\d{8})/(?P<region>[^/]+)/"
    r"(?P<service>[^/]+)/aws4_request, ?SignedHeaders=(?P<signed>[^,]+), ?"
    r"Signature=(?P<signature>\w+)"
)
# MTurk has only one region.
REGION = "us-east-1"
SKEW = timedelta(minutes=15)
_MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your "
    "AWS Secret Access Key and signing method. Consult the service documentation for details."
)


def verify(
    headers: dict[str, str], url: str, body: bytes, service: str, secrets: dict[str, str]
) -> str:
    """The access key that signed a request.

    headers: with lower-case names; secrets: by access key. Signatures are compared with the real
    clock, because clients do not know the emulator's.
    """
    authorization = headers.get("authorization")
    if not authorization:
        raise _refused("MissingAuthenticationTokenException", "Missing Authentication Token")
    parts = _AUTHORIZATION.fullmatch(authorization)
    if not parts or "x-amz-date" not in headers:
        raise _refused("IncompleteSignatureException", "Authorization header is incomplete.")
    if parts["key"] not in secrets:
        raise _refused(
            "UnrecognizedClientException", "The security token included in the request is invalid."
        )
    if (parts["region"], parts["service"]) != (REGION, service):
        raise _refused(
            "InvalidSignatureException",
            f"Credential should be scoped to region {REGION} and service {service}.",
        )
    _check_date(headers["x-amz-date"], parts["day"])
    credentials = Credentials(parts["key"], secrets[parts["key"]])
    expected = _signature(credentials, service, headers, parts["signed"].split(";"), url, body)
    if not hmac.compare_digest(expected, parts["signature"]):
        raise _refused("InvalidSignatureException", _MISMATCH)
    return parts["key"]


def _signature(
    credentials: Credentials,
    service: str,
    headers: dict[str, str],
    signed: list[str],
    url: str,
    body: bytes,
) -> str:
    named = {name: headers.get(name, "") for name in signed}
    request = AWSRequest(method="POST", url=url, headers=named, data=body)
    request.context["timestamp"] = headers["x-amz-date"]
    signer = SigV4Auth(credentials, service, REGION)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return str(signer.signature(text, request))


def _check_date(stamp: str, day: str) -> None:
    try:
        at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise _refused("IncompleteSignatureException", "X-Amz-Date is not a date.") from None
    if abs(datetime.now(UTC) - at) > SKEW or not stamp.startswith(day):
        raise _refused("InvalidSignatureException", f"Signature expired: {stamp} is too far off.")


def _refused(kind: str, message: str) -> Refused:
    return Refused(message, kind=kind, status=400)
