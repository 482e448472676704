"""What a screen reader gets: Chromium's accessibility tree."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page


@dataclass(frozen=True)
class Spoken:
    """A node that is not hidden from screen readers. `live`: how its changes are read out, if they
    are."""

    role: str
    name: str
    focused: bool
    live: str


def spoken(page: Page) -> list[Spoken]:
    """Return all nodes of the page that screen readers see."""
    session = page.context.new_cdp_session(page)
    try:
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    finally:
        session.detach()
    return list(_seen(nodes))


def _seen(nodes: list[dict[str, Any]]) -> Iterator[Spoken]:
    live: dict[str, str] = {}
    for node in nodes:
        properties = {
            item["name"]: item["value"].get("value") for item in node.get("properties", [])
        }
        # Parents come before their children, and how they are read out counts for these, too.
        own = properties.get("live") or live.get(node.get("parentId", ""), "")
        live[node["nodeId"]] = own
        if not node["ignored"]:
            yield Spoken(
                role=node["role"]["value"],
                name=node.get("name", {}).get("value", ""),
                focused=bool(properties.get("focused")),
                live=own,
            )
