"""The platforms that a plan can reckon with: links, and those that recruitment knows."""

from typing import Any

LINK = "link"
_titles: dict[str, str] = {LINK: "A link that you share yourself"}


def add_platform(name: str, title: str) -> None:
    """Offer a platform in plans."""
    _titles[name] = title


def known_platform(name: str) -> str:
    """Return the name of a platform. Raises ValueError if there is none."""
    if name not in _titles:
        raise ValueError(f"choose one of {', '.join(_titles)}, not {name!r}")
    return name


def offer_platforms(schema: dict[str, Any]) -> None:
    """Add the choices, and what a form calls them, to the schema of a field."""
    schema.update(enum=list(_titles), labels=dict(_titles))
