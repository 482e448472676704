"""Fetches images from web addresses that requesters give, but never from inside the network.

A host name is resolved once, every address it has must be public, and the connection goes to the
very address that was checked. So neither a name that changes its address in between (DNS rebinding)
nor a redirect leads inside: each redirect is a new connection, checked in the same place.
"""

import ssl
from functools import lru_cache
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import httpcore

from app.collections.addresses import WEB, BadAddress, NotReadable, TooLarge
from app.core.guard import GuardedNetwork, addresses_of, ending_within, is_public, remaining
from app.core.settings import get_settings

MAX_REDIRECTS = 5
TIMEOUT_SECONDS = 10.0
# The time for one file, including connections, headers and redirects, however slowly it arrives.
FILE_SECONDS = 60.0
PORTS = (80, 443, 8080, 8443)
CONNECTIONS = 16
REDIRECTS = (301, 302, 303, 307, 308)
PAGES = ("text/", "application/json", "application/xml", "application/xhtml")


class PrivateAddress(BadAddress):
    """The address is in a private network, not on the public internet."""

    code = "private_address"


class Unreachable(NotReadable):
    """The host cannot be reached now, but another attempt may work."""

    code = "unreachable"


def checked_addresses(host: str, port: int) -> list[str]:
    """Return the addresses to connect to; raises PrivateAddress, or OSError if there are none."""
    addresses = addresses_of(host, port)
    if get_settings().import_from_private:
        return addresses
    if port not in PORTS:
        raise PrivateAddress(
            f"Images cannot be imported from port {port}, only from {', '.join(map(str, PORTS))}."
        )
    if not all(map(is_public, addresses)):
        raise PrivateAddress(
            f"{host} is a private network address. Images can be imported from public "
            "addresses only."
        )
    return addresses


@lru_cache
def _pool() -> httpcore.ConnectionPool:
    return httpcore.ConnectionPool(
        ssl_context=ssl.create_default_context(),
        max_connections=CONNECTIONS,
        keepalive_expiry=15,
        network_backend=GuardedNetwork(checked_addresses),
    )


def fetch(address: str, max_bytes: int) -> bytes:
    """Return the bytes of an image on the web, following redirects.

    Raises BadAddress (it can never work), NotReadable (it may work later) or TooLarge.
    """
    with ending_within(FILE_SECONDS):
        for _ in range(MAX_REDIRECTS + 1):
            response = _get(address, max_bytes)
            if isinstance(response, bytes):
                return response
            address = _followed(address, response)
    raise NotReadable(
        f"The address redirects more than {MAX_REDIRECTS} times.", code="too_many_redirects"
    )


def _followed(address: str, target: str) -> str:
    after = urljoin(address, target)
    parts = urlsplit(after)
    if parts.scheme not in WEB or parts.username is not None:
        raise BadAddress(f"The address redirects to {after[:100]!r}, which is not a web address.")
    return after


def _get(address: str, max_bytes: int) -> bytes | str:
    """Return the file, or the address to which it redirects."""
    headers = [("Host", _host_of(address)), ("User-Agent", "Likewise"), ("Accept", "image/*, */*")]
    try:
        left = remaining(TIMEOUT_SECONDS)
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), left)
        with _pool().stream(
            "GET", _ascii(address), headers=headers, extensions={"timeout": timeouts}
        ) as response:
            given = {name.lower(): value.decode("latin-1") for name, value in response.headers}
            if response.status in REDIRECTS and given.get(b"location"):
                return given[b"location"]
            _check(response.status, given.get(b"content-type", ""))
            return _body(response, max_bytes)
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
        raise Unreachable(f"The host did not respond properly ({error or 'too slow'}).") from error
    except (httpcore.UnsupportedProtocol, UnicodeError, ValueError) as error:
        raise BadAddress(f"{address[:100]!r} is not a web address ({error}).") from error


def _ascii(address: str) -> str:
    """Return the address with special characters quoted; what is already quoted stays."""
    parts = urlsplit(address)
    path = quote(parts.path, safe="/%:@!$&'()*+,;=~-._") or "/"
    query = quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
    return urlunsplit((parts.scheme, _host_of(address), path, query, ""))


def _host_of(address: str) -> str:
    parts = urlsplit(address)
    host = (parts.hostname or "").encode("idna").decode()
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{parts.port}" if parts.port else host


def _check(status: int, content_type: str) -> None:
    if status in (404, 410):
        raise NotReadable("There is no file at this address.", code="not_found")
    if status in (401, 403):
        raise NotReadable(
            "The host does not allow this server to download the file.", code="forbidden"
        )
    if status in (408, 425, 429) or status >= 500:
        raise Unreachable(f"The host responded with status {status}.")
    if status != 200:
        raise NotReadable(f"The host responded with status {status}.")
    if content_type.lower().startswith(PAGES):
        kind = content_type.partition(";")[0]
        raise NotReadable(
            f"The address leads to a web page ({kind}), not to an image.", code="not_an_image"
        )


def _body(response: httpcore.Response, max_bytes: int) -> bytes:
    data = bytearray()
    for part in response.iter_stream():
        data += part
        if len(data) > max_bytes:
            raise TooLarge(f"The file is larger than {max_bytes // 2**20} MB.")
    return bytes(data)
