"""What happens at the first `likewise up` with a data folder."""

from app.accounts.service import ensure_first_account
from app.core.database import transaction
from app.core.settings import get_settings
from likewise.commands.demo import seed_demo
from likewise.commands.shared import owner_of
from likewise.processes import say


def first_start(*, with_demo: bool) -> list[str]:
    """Create the first account and the demo; returns lines to print below the address."""
    with transaction() as session:
        link = ensure_first_account(session, get_settings().base_url)
    if link is None:
        return ["Sign in:           likewise user link EMAIL prints a one-time link"]
    if with_demo:
        say("likewise", "creating the demo collections")
        with transaction() as session:
            seed_demo(session, owner_of(session, ""))
    lines = [f"Sign in (once):    {link}"]
    if with_demo:
        lines.append("See it learn:      make demo   (in another terminal)")
    return lines
