"""Requests to addresses that strangers choose, without reaching into our own network.

A name is resolved once, every address it has is checked, and the connection goes to a checked
address: a name that changes its mind between check and use (DNS rebinding) gains nothing. TLS still
checks the certificate against the name.
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

# The unicast addresses that were ever given out (RFC 4291, IANA): all else is special or reserved,
# among it site-local, IPv4-compatible and the local-use NAT64 of 64:ff9b:1::/48.
_GIVEN_OUT = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Whether an IP address is one of the public internet, also where it stands for another.

    Raises ValueError for what is no address.
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast and not address.is_reserved
    inner = _embedded(address)
    if inner:
        return all(is_public(str(one)) for one in inner)
    return address in _GIVEN_OUT and address.is_global


def _embedded(address: ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """IPv4 addresses that an IPv6 address leads to: mapped, 6to4, Teredo, NAT64."""
    if address in _NAT64:
        return [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)]
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    return [one for one in found if one is not None]


def addresses_of(host: str, port: int) -> list[str]:
    """IP addresses of a name, each once; raises OSError when the name is not known."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


_deadline: ContextVar[float] = ContextVar("deadline")


@contextmanager
def ending_within(seconds: float) -> Iterator[None]:
    """Everything that this thread does over a GuardedNetwork inside ends after so many seconds.

    The usual timeouts bound each read alone, and one byte in nine seconds would go on for hours.
    """
    token = _deadline.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


def remaining(timeout: float | None = None) -> float:
    """Seconds left, at most `timeout`; raises httpcore.ReadTimeout when there are none."""
    left = _deadline.get() - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the time limit was reached")
    return left if timeout is None else min(left, timeout)


class GuardedNetwork(httpcore.NetworkBackend):
    """Connects to addresses that `checked` returns for a host and a port, `ending_within` a time.

    checked: raises an error of its own for a host that is not to be reached, OSError for none
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
    """A connection that ends with the time of whoever uses it: it may be kept for the next."""

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
