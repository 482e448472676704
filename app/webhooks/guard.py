"""The addresses that webhooks can reach: public ones, unless the settings allow private
networks."""

from app.core.errors import InvalidInput
from app.core.guard import addresses_of, is_public
from app.core.settings import get_settings


class ForbiddenAddress(InvalidInput):
    """The address is in a private network."""

    code = "forbidden_address"


def checked_addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host; raises ForbiddenAddress unless all are public or private ones
    are allowed, and OSError if the name cannot be resolved."""
    addresses = addresses_of(host, port)
    if not get_settings().webhooks_to_private and not all(map(is_public, addresses)):
        raise ForbiddenAddress(
            f"{host} is in a private network, and webhooks are not sent there. An "
            "administrator can allow it with LIKEWISE_WEBHOOKS_TO_PRIVATE=1."
        )
    return addresses
