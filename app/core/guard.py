"""Requests to addresses that users choose, without access to our own network.

A host name is resolved once, every address it has is checked, and the connection goes to a checked
address. So a name that changes its address between check and use (DNS rebinding) gains nothing. TLS
still checks the certificate against the name.
"""

import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpcore

# The unicast addresses that have ever been allocated (RFC 4291, IANA). Everything else is special
# or reserved, including site-local, IPv4-compatible and the local-use NAT64 of 64:ff9b:1::/48.
_GIVEN_OUT = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Tell whether an IP address is on the public internet, including addresses that embed another
    one.

    Raises ValueError if it is not an IP address.
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast and not address.is_reserved
    inner = _embedded(address)
    if inner:
        return all(is_public(str(ipv4)) for ipv4 in inner)
    return address in _GIVEN_OUT and address.is_global


def _embedded(address: ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """Return the IPv4 addresses embedded in an IPv6 address: mapped, 6to4, Teredo, NAT64."""
    if address in _NAT64:
        return [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)]
    candidates = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    return [candidate for candidate in candidates if candidate is not None]


def addresses_of(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host name, each once; raises OSError if it cannot be
    resolved."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


_deadline: ContextVar[float] = ContextVar("deadline")


@contextmanager
def ending_within(seconds: float) -> Iterator[None]:
    """Limit the total time of everything this thread does over a GuardedNetwork inside the block.

    The usual timeouts limit each read alone, so a server that sends one byte every nine seconds
    could take hours.
    """
    token = _deadline.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


def remaining(timeout: float | None = None) -> float:
    """Return the seconds left, at most `timeout`; raises httpcore.ReadTimeout if there are none."""
    left = _deadline.get() - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the time limit was reached")
    return left if timeout is None else min(left, timeout)


class GuardedNetwork(httpcore.NetworkBackend):
    """Connects only to addresses that `checked` returns for a host and a port, within the time of
    `ending_within`.

    checked: raises its own error for a host that must not be reached, OSError if there is no
    address
    """

    def __init__(self, checked: Callable[[str, int], list[str]]) -> None:
        self._backend = httpcore.SyncBackend()
        self._checked = checked

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            addresses = self._checked(host, port)
        except OSError as error:
            raise httpcore.ConnectError(
                f"The host name {host} could not be resolved: {error}."
            ) from error
        failure: Exception = httpcore.ConnectError(f"The host name {host} has no IP address.")
        for address in addresses:
            left = remaining(timeout)
            try:
                stream = self._backend.connect_tcp(address, port, left, local_address)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _BoundedStream(stream)
        raise failure


class _BoundedStream(httpcore.NetworkStream):
    """A connection that obeys the time limit of its current user, since it may be kept for the next
    one."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, remaining(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, remaining(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = remaining(timeout)
        return _BoundedStream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
