"""Sharing: which other accounts can view or edit a campaign."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from app.accounts.models import VISITOR, Account
from app.accounts.service import account_by_email, record_audit
from app.campaigns import hooks
from app.campaigns.models import Campaign, ReadOnlyLink, Share
from app.core.errors import InvalidInput, LikewiseError, NotFound
from app.core.row_security import bypass_row_security

ACCESS = ("view", "edit")


class MayNotChange(LikewiseError):
    """The account can only view the campaign, or only the owner can do this."""

    code = "may_not_change"
    status = 403


@dataclass(frozen=True)
class SharedWith:
    account_id: UUID
    email: str
    access: str

    @classmethod
    def of(cls, account: Account, access: str) -> "SharedWith":
        return cls(account.id, account.email, access)


def access_of(session: Session, account: Account, campaign: Campaign) -> str | None:
    """Return "own", "edit" or "view", or None if the account has no access to the campaign."""
    if account.role == VISITOR:
        link = session.get(ReadOnlyLink, account.id)
        return "view" if link is not None and link.campaign_id == campaign.id else None
    if campaign.owner_id == account.id:
        return "own"
    return session.scalar(
        select(Share.access).where(Share.campaign_id == campaign.id, Share.account_id == account.id)
    )


def shares_of(campaign: Campaign) -> Select[Account, str]:
    return (
        select(Account, Share.access)
        .join(Share, Share.account_id == Account.id)
        .where(Share.campaign_id == campaign.id)
    )


def list_shares(session: Session, campaign: Campaign) -> list[SharedWith]:
    rows = session.execute(shares_of(campaign).order_by(Account.email))
    return [SharedWith.of(*row) for row in rows]


def share_campaign(
    session: Session, owner: Account, campaign: Campaign, email: str, access: str
) -> None:
    """Share a campaign with the account that has this e-mail address, or change its access.

    Raises InvalidInput, NotFound, and MayNotChange if `owner` does not own the campaign.
    """
    require_owner(owner, campaign)
    if access not in ACCESS:
        raise InvalidInput(f"Access must be one of {', '.join(ACCESS)}, not {access!r}.")
    # Nothing may be shared with this account yet, so row security would hide it.
    with bypass_row_security(session):
        account = account_by_email(session, email)
    if account.id == owner.id:
        raise InvalidInput(
            "You own this campaign. Enter someone else's address.", code="already_yours"
        )
    share = session.scalar(
        select(Share).where(Share.campaign_id == campaign.id, Share.account_id == account.id)
    )
    if share is None:
        session.add(Share(campaign_id=campaign.id, account_id=account.id, access=access))
    else:
        share.access = access
    if access != "edit":
        hooks.edit_ended(session, campaign.id, account.id)
    record_audit(
        session, owner.id, "campaign.shared", "campaign", campaign.id,
        with_account=str(account.id), access=access,
    )  # fmt: skip


def end_share(session: Session, owner: Account, campaign: Campaign, account_id: UUID) -> None:
    """Stop sharing with an account. Raises NotFound if it had no access, and MayNotChange."""
    require_owner(owner, campaign)
    share = session.scalar(
        select(Share).where(Share.campaign_id == campaign.id, Share.account_id == account_id)
    )
    if share is None:
        raise NotFound("This campaign is not shared with that account.")
    session.delete(share)
    hooks.edit_ended(session, campaign.id, account_id)
    record_audit(
        session, owner.id, "campaign.share_ended", "campaign", campaign.id,
        with_account=str(account_id),
    )  # fmt: skip


def require_owner(account: Account, campaign: Campaign) -> None:
    if campaign.owner_id != account.id:
        raise MayNotChange("Only the campaign's owner can share it.")
