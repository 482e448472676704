"""Webhooks."""

from collections.abc import Iterator
from typing import Any

from likewise.client.objects import Delivery
from likewise.client.transport import Transport


class Webhook:
    """An address that events are sent to. Only a new webhook knows its `secret`."""

    def __init__(self, transport: Transport, data: dict[str, Any]) -> None:
        self._transport = transport
        self.id: str = data["id"]
        self.secret: str | None = data.get("secret")
        self._take(data)

    def _take(self, data: dict[str, Any]) -> None:
        self.url: str = data["url"]
        self.events: list[str] = data["events"]
        self.campaign_id: str | None = data["campaign_id"]
        self.enabled: bool = data["enabled"]

    def __repr__(self) -> str:
        return f"<Webhook {self.url}>"

    @property
    def _path(self) -> str:
        return f"/webhooks/{self.id}"

    def change(
        self,
        url: str | None = None,
        events: list[str] | None = None,
        enabled: bool | None = None,
    ) -> None:
        """Change the given settings and keep the others."""
        given = {"url": url, "events": events, "enabled": enabled}
        body = {name: value for name, value in given.items() if value is not None}
        self._take(self._transport.request("PATCH", self._path, json=body))

    def new_secret(self) -> str:
        """Replace the secret; from now on, messages are signed with the new one."""
        self.secret = self._transport.post(f"{self._path}/secret")["secret"]
        return str(self.secret)

    def ping(self) -> Delivery:
        return Delivery.of(self._transport.post(f"{self._path}/ping"))

    def deliveries(self) -> Iterator[Delivery]:
        """Deliveries of the last thirty days, newest first."""
        for data in self._transport.pages(f"{self._path}/deliveries"):
            yield Delivery.of(data)

    def redeliver(self, delivery: Delivery) -> Delivery:
        path = f"{self._path}/deliveries/{delivery.id}/redeliver"
        return Delivery.of(self._transport.post(path))

    def delete(self) -> None:
        self._transport.request("DELETE", self._path)
