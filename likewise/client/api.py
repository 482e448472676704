"""`Likewise`, where the client begins."""

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import httpx

from likewise.client.campaigns import Campaign
from likewise.client.collections import Collection
from likewise.client.transport import Transport
from likewise.client.webhooks import Webhook


class Likewise:
    """A Likewise server as one account sees it.

    base_url: an address such as `https://likewise.example.org`
    token:    an API token, which you create under *Account*; `lw_…`
    timeout:  seconds for each step of a request
    tries:    number of tries if the server cannot be reached or is overloaded
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        timeout: float = 60.0,
        tries: int = 6,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._transport = Transport(base_url, token, timeout, tries, transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    def collections(self) -> Iterator[Collection]:
        """All collections, newest first."""
        for data in self._transport.pages("/collections"):
            yield Collection(self._transport, data)

    def collection(self, collection_id: str) -> Collection:
        return Collection(self._transport, self._transport.get(f"/collections/{collection_id}"))

    def create_collection(self, name: str) -> Collection:
        return Collection(self._transport, self._transport.post("/collections", {"name": name}))

    def campaigns(self) -> Iterator[Campaign]:
        """The account's campaigns and those shared with it, newest first."""
        for data in self._transport.pages("/campaigns"):
            yield Campaign(self._transport, data)

    def campaign(self, campaign_id: str) -> Campaign:
        return Campaign(self._transport, self._transport.get(f"/campaigns/{campaign_id}"))

    def create_campaign(self, name: str, collection: Collection | str, **settings: Any) -> Campaign:
        """Create a draft.

        settings: fields of the API's `NewCampaign`, such as `kind="bins"`,
        `strategy="crowdster"`, `budget=200` or `question="…"`; others have their defaults
        """
        about = collection.id if isinstance(collection, Collection) else collection
        body = {"name": name, "collection_id": about, **settings}
        return Campaign(self._transport, self._transport.post("/campaigns", body))

    def webhooks(self) -> Iterator[Webhook]:
        """All webhooks of the account, newest first."""
        for data in self._transport.pages("/webhooks"):
            yield Webhook(self._transport, data)

    def create_webhook(
        self, url: str, events: list[str], campaign: Campaign | str | None = None
    ) -> Webhook:
        """Send events to `url`: `round.finished`, `campaign.finished` or `job.failed`.

        They come from one campaign or from all that the account can see. Store the webhook's
        `secret`: it is only shown now.
        """
        about = campaign.id if isinstance(campaign, Campaign) else campaign
        body = {"url": url, "events": events, "campaign_id": about}
        return Webhook(self._transport, self._transport.post("/webhooks", body))
