"""Addresses of annotators' pages."""

from app.campaigns.models import Campaign
from app.core.security import sign

ADDRESS = "annotator-link"


def link_address(token: str, base_url: str) -> str:
    """Return the public address of a link, or of one person on its list. It is signed and
    unguessable."""
    return f"{base_url.rstrip('/')}/a/{sign(ADDRESS, token)}"


def annotator_link(campaign: Campaign, base_url: str) -> str:
    """Return the address of the campaign's first link, which never changes. Other links have their
    own."""
    return link_address(campaign.link_token, base_url)
