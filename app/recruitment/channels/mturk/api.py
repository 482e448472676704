"""Requests to MTurk with boto3. There are two clients, because only reads may be repeated
blindly."""

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from threading import Lock
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from app.recruitment.channels.mturk.errors import translated
from app.recruitment.channels.mturk.sites import Site

# MTurk exists in one region only.
REGION = "us-east-1"
PAGE = 100
CONNECT_SECONDS = 5
READ_SECONDS = 20
# boto3's session can't be used by several threads at once to create clients.
making_clients = Lock()


class MTurkApi:
    """One account on one MTurk. Clients are created when first used and can be shared by threads.

    `access_key_id` and `secret_access_key` are either both set or both empty. If they are empty,
    AWS's own rules find credentials in the server's environment or in the named profile.
    """

    def __init__(
        self,
        site: Site,
        access_key_id: str,
        secret_access_key: str,
        profile: str,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        self.site = site
        self._keys = (access_key_id, secret_access_key)
        self._profile = profile
        self._read_seconds = read_seconds

    @property
    def who(self) -> str:
        """Describe whose credentials these are without revealing them."""
        if self._keys[0]:
            return f"access key …{self._keys[0][-4:]}"
        named = f"profile {self._profile}" if self._profile else "AWS credentials"
        return f"the server's own {named}"

    def tell(self, operation: str, **parameters: object) -> dict[str, Any]:
        """Send a request that changes something, once; it can be sent again. Raises ChannelError.

        operation: its name in boto3.
        """
        return self._ask(lambda: self._teller, operation, False, parameters)

    def pay(self, operation: str, **parameters: object) -> dict[str, Any]:
        """Send a request as `tell` does, if money moves. Raises OutcomeUnknown if it may have
        moved."""
        return self._ask(lambda: self._teller, operation, True, parameters)

    def read(self, operation: str, **parameters: object) -> dict[str, Any]:
        """Send a request that changes nothing, up to three times. Raises ChannelError."""
        return self._ask(lambda: self._reader, operation, False, parameters)

    @staticmethod
    def _ask(
        client: Callable[[], Any], operation: str, pays: bool, parameters: dict[str, object]
    ) -> dict[str, Any]:
        try:
            # Creating the client already fails if the profile is unknown.
            reply: dict[str, Any] = getattr(client(), operation)(**parameters)
        except (ClientError, BotoCoreError) as error:
            raise translated(error, pays=pays) from error
        return reply

    def every(self, operation: str, key: str, **parameters: object) -> Iterator[dict[str, Any]]:
        """Yield all entries of a list, page by page. `key` names the entries in a page."""
        more: dict[str, object] = {}
        while True:
            page = self.read(operation, MaxResults=PAGE, **parameters, **more)
            yield from page.get(key, [])
            # MTurk may announce a next page that turns out to be empty.
            if not page.get("NextToken") or not page.get(key):
                return
            more = {"NextToken": page["NextToken"]}

    @cached_property
    def _teller(self) -> Any:
        return self._client({"total_max_attempts": 1})

    @cached_property
    def _reader(self) -> Any:
        return self._client({"mode": "standard", "total_max_attempts": 3})

    def _client(self, retries: dict[str, object]) -> Any:
        config = Config(
            connect_timeout=CONNECT_SECONDS, read_timeout=self._read_seconds, retries=retries
        )
        with making_clients:
            return self._session.client("mturk", endpoint_url=self.site.endpoint, config=config)

    @cached_property
    def _session(self) -> Any:
        access_key_id, secret_access_key = self._keys
        return boto3.session.Session(
            aws_access_key_id=access_key_id or None,
            aws_secret_access_key=secret_access_key or None,
            profile_name=self._profile or None,
            region_name=REGION,
        )


# Creating a client takes a tenth of a second, and a channel is opened for each request.
@lru_cache(maxsize=64)
def api_of(site: Site, access_key_id: str, secret_access_key: str, profile: str) -> MTurkApi:
    """Return the same object for the same credentials."""
    return MTurkApi(site, access_key_id, secret_access_key, profile)
